"""How the runner's machine code comes: compiled once, kept on disk, loaded without code generation; builder errors."""

from __future__ import annotations

import ctypes

import pytest

from pellucid.runtime.native import jit, program, pylayout
from pellucid.runtime.native.builder import I64, PTR, Module
from pellucid.torchdoor import symbols


def run(module: Module, name: str, *args: int) -> int:
    linked = jit.link(jit.compile_text(module.text()), {}, [name])
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(args))(linked.address[name])(*args)


def test_control_flow():
    m = Module()
    with m.function("sum_even", I64, [("n", I64)], internal=False) as (f, n):
        total = f.variable(I64, 0)
        with f.for_loop(n) as (i, loop):
            with f.if_(i > 100):
                loop.break_()
            with f.if_((i & 1) == 1) as odd:
                loop.continue_()
            with odd.else_():
                total.add(i)
        with f.switch(n, [0, 7]) as s:
            with s.case(0):
                f.ret(-1)
            with s.case(7):
                total.add(1000)
        f.ret(total.get())
    assert [run(m, "sum_even", n) for n in (0, 5, 7, 1000)] == [-1, 6, 1012, sum(range(0, 101, 2))]


def test_misuse_is_refused():
    m = Module()
    with m.function("open_end", I64, [("p", PTR)]) as (f, p):
        with pytest.raises(TypeError, match="expected i64"):
            f.value(p, I64)
        with pytest.raises(TypeError, match="takes 1 arguments"):
            f.call(m.extern("free", "void", [PTR]))
    with pytest.raises(ValueError, match="open_end does not end"):
        m.text()


@pytest.fixture
def fresh(monkeypatch, tmp_path):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", str(tmp_path))
    return tmp_path


def made_from(fresh) -> program.Program:
    return program.program.__wrapped__()


def test_code_is_kept_and_loaded_without_code_generation(fresh, monkeypatch):
    assert not made_from(fresh).from_disk
    files = list((fresh / "native").iterdir())
    assert len(files) == 1

    def refuse(*args):
        raise AssertionError("code was generated")

    monkeypatch.setattr(jit, "compile_text", refuse)
    monkeypatch.setattr(program, "write", refuse)
    assert made_from(fresh).from_disk


def test_damaged_file_is_made_anew(fresh):
    made_from(fresh)
    (file,) = (fresh / "native").iterdir()
    raw = bytearray(file.read_bytes())
    raw[len(raw) // 2] ^= 1
    file.write_bytes(raw)
    assert not made_from(fresh).from_disk
    assert made_from(fresh).from_disk


def test_no_cache_folder(monkeypatch):
    monkeypatch.setenv("PELLUCID_CACHE_DIR", "")
    assert jit.cache_folder() is None
    assert jit.cached_objects("key", lambda: [b"code"]) == ([b"code"], False)


def test_missing_symbol_is_named():
    with pytest.raises(symbols.Unavailable, match="no_such_symbol_anywhere"):
        symbols.addresses(["free", "no_such_symbol_anywhere"])


def test_other_pythons_poll_no_state(monkeypatch):
    monkeypatch.setattr(pylayout.sys, "version_info", (3, 14, 0))
    with pytest.raises(symbols.Unavailable, match="3.14"):
        pylayout.pylayout.__wrapped__()


def test_other_systems_are_refused(monkeypatch):
    import platform

    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(symbols.Unavailable, match="riscv64"):
        program.program.__wrapped__()

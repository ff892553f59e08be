"""Modules of several kernels, other CPUs, caches, and what must not happen: processes, eager imports, leaks."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys

import pytest
import torch

from pellucid.codegen.llvm import LlvmTarget, module
from pellucid.codegen.llvm.jit import assemble, load
from pellucid.codegen.llvm.target import Cpu, host, machine, with_features
from pellucid.ir.build import call
from pellucid.ir.types import Kernel

from .harness import Builder, at, fold_kernel, lit, map_kernel, nest, put

FUNCTIONS = ["exp", "tanh", "neg", "sin", "erf", "log", "abs", "sqrt", "floor", "sigmoid"]


def several() -> list[tuple[Builder, Kernel, torch.Tensor, torch.Tensor]]:
    """Ten maps, three sums and a kernel with a scratch row."""
    torch.manual_seed(0)
    out = []
    for fn in FUNCTIONS:
        x, o = torch.rand(5, 33) + 0.5, torch.zeros(5, 33)
        b, body = map_kernel(lambda p, fn=fn: call(fn, p), [x], o)
        out.append((b, b.kernel(body), o, getattr(torch, fn)(x)))
    for n in (7, 64, 5000):
        x, o = torch.rand(3, n), torch.zeros(3)
        b, body = fold_kernel("sum", x, [1], o, torch.float32)
        out.append((b, b.kernel(body), o, x.sum(1)))
    return out


def test_kernels_in_one_function_each_by_its_entry() -> None:
    cases = several()
    unit = LlvmTarget().compile(tuple(k for _, k, _, _ in cases))
    loaded = load(unit)
    assert len(set(loaded.addresses.values())) == len(cases)
    for b, k, out, want in cases:
        assert b.call(k, loaded) == 0
        torch.testing.assert_close(out, want, rtol=1e-6, atol=1e-6)


def test_functions_of_their_own_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = dataclasses.replace(host(), jump=None)
    cases = several()
    unit = LlvmTarget(cpu).compile(tuple(k for _, k, _, _ in cases))
    assert "switch" not in unit.text and "module asm" not in unit.text
    loaded = load(unit)
    for b, k, out, want in cases:
        assert b.call(k, loaded) == 0
        torch.testing.assert_close(out, want, rtol=1e-6, atol=1e-6)


def test_equal_kernels_are_compiled_once() -> None:
    made = []
    for _ in range(3):
        b, body = map_kernel(lambda p: call("neg", p), [torch.randn(3, 9)], torch.zeros(3, 9))
        made.append(b.kernel(body))
    b, body = map_kernel(lambda p: call("abs", p), [torch.randn(3, 9)], torch.zeros(3, 9))
    unit = LlvmTarget().compile((*made, b.kernel(body)))
    assert len(unit.entries) == 4 and len(set(unit.entries.values())) == 2


def test_object_code_is_kept_by_text_and_cpu() -> None:
    b, body = map_kernel(lambda p: call("neg", p), [torch.randn(3, 9)], torch.zeros(3, 9))
    k = b.kernel(body)
    first, second = LlvmTarget().compile((k,)), LlvmTarget().compile((k,))
    assert first.object_code is second.object_code
    small = dataclasses.replace(host(), features=host().features.replace("+avx2", "-avx2"))
    assert assemble(first.text, small) is not first.object_code


def test_no_kernels() -> None:
    unit = LlvmTarget().compile(())
    assert unit.entries == {} and load(unit).addresses == {}


def test_names_must_be_unique() -> None:
    b, body = map_kernel(lambda p: p, [torch.randn(3)], torch.zeros(3))
    k = b.kernel(body, "twice")
    with pytest.raises(ValueError, match="'twice'"):
        LlvmTarget().compile((k, k))


@pytest.mark.parametrize("bytes_,baseline", [(16, False), (64, False), (16, True)])
def test_text_for_other_cpus_is_right(bytes_: int, baseline: bool) -> None:
    """Run here, where LLVM splits or masks what this CPU has not; `baseline`: code for a CPU without AVX and FMA."""
    cpu = dataclasses.replace(host(), vector_bytes=bytes_, masked=bytes_ == 64, masked_small=bytes_ == 64,
                              gather=bytes_ == 64)
    if baseline:
        if not cpu.triple.startswith("x86_64"):
            pytest.skip("the baseline named is x86's")
        cpu = with_features(cpu.triple, "x86-64", {"sse2": True, "64bit": True})
    cases = [c for c in several()]
    for dtype in (torch.int8, torch.int64, torch.bool) if baseline else (torch.int8, torch.float16, torch.int64,
                                                                         torch.bool):
        x, o = torch.randint(0, 2, (3, 77)).to(dtype), torch.zeros(3, 77, dtype=dtype)
        b, body = map_kernel(lambda p: call("add", p, p), [x], o)
        cases.append((b, b.kernel(body), o, x + x))
    table, ids, o = torch.randn(50), torch.randint(0, 50, (77,)), torch.zeros(77)
    b = Builder()
    t, d, ov = b.tensor(table), b.tensor(ids), b.tensor(o)
    j = b.axis(77)
    cases.append((b, b.kernel(nest([j], ["vector"], [put(ov, [j], at(t, call("check_index", at(d, j), lit(50))))])), o,
                  table[ids]))
    unit = LlvmTarget(cpu).compile(tuple(k for _, k, _, _ in cases))
    loaded = load(unit)
    for b, k, out, want in cases:
        assert b.call(k, loaded) == 0
        torch.testing.assert_close(out, want, rtol=1e-6, atol=1e-6)


AVX512 = ("avx avx2 fma f16c bmi bmi2 avx512f avx512vl avx512dq avx512bw avx512cd sse sse2 sse3 ssse3 sse4.1 sse4.2 "
          "popcnt fxsr cx16 64bit cmov").split()


def test_avx512_code_is_emitted() -> None:
    """Compute-bound kernels use 512-bit registers there, others 256-bit ones; masks are mask registers."""
    if not host().triple.startswith("x86_64"):
        pytest.skip("the assembly checked is x86's")
    cpu: Cpu = with_features(host().triple, "skylake-avx512", dict.fromkeys(AVX512, True))
    assert (cpu.vector_bytes, cpu.masked_small, cpu.gather) == (64, True, True)
    from pellucid.codegen.llvm.target import llvm

    def assembly(fn: str, n: int) -> str:
        b, body = map_kernel(lambda p: call("erf", call(fn, p)) if fn == "exp" else call(fn, p), [torch.randn(3, n)],
                             torch.zeros(3, n))
        text, _ = module.print_module([b.kernel(body)], cpu)
        return machine(cpu).emit_assembly(llvm().parse_assembly(text))

    heavy, light = assembly("exp", 77), assembly("neg", 77)
    assert "%zmm" in heavy and "%zmm" not in light and "%ymm" in light
    assert re.search(r"\{%k\d\}", light)
    for _, k, _, _ in several():
        text, _ = module.print_module([k], cpu)
        assert len(assemble(text.replace("Sleef_", "S_"), cpu)) > 200


def test_import_is_lazy_and_no_process_is_started() -> None:
    """llvmlite is imported by the first compilation, and compiling starts no process: every way to is closed first."""
    code = """
import sys, os, subprocess
import pellucid.codegen.llvm as cg
assert not any(m.split('.')[0] == 'llvmlite' for m in sys.modules), 'llvmlite imported early'
def refuse(*a, **k): raise AssertionError('a process was started')
for name in ('fork', 'forkpty', 'posix_spawn', 'posix_spawnp', 'execv', 'execve', 'system', 'popen'):
    if hasattr(os, name): setattr(os, name, refuse)
subprocess.Popen = refuse
import _posixsubprocess; _posixsubprocess.fork_exec = refuse
import torch
from tests.codegen.llvm.harness import map_kernel
from pellucid.ir.build import call
x, out = torch.randn(2, 5, dtype=torch.float64), torch.zeros(2, 5, dtype=torch.float64)
b, body = map_kernel(lambda p: call('atan', p), [x], out)
assert b.run(body) == 0
torch.testing.assert_close(out, torch.atan(x))
print('fine')
"""
    env = {"PYTHONPATH": ":".join(p for p in sys.path if p), "PATH": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "fine", done.stderr


def test_missing_function_is_named() -> None:
    b, body = map_kernel(lambda p: call("atan", p), [torch.randn(3)], torch.zeros(3))
    unit = LlvmTarget().compile((b.kernel(body),))
    name = next(iter(re.findall(r"@(Sleef_\w+|atanf)\(", unit.text)))
    other = dataclasses.replace(unit, text=unit.text.replace(name, "no_such_function"))
    with pytest.raises(ValueError, match="'no_such_function'"):
        load(other)

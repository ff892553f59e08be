"""From LLVM text to callable addresses in this process: one LLJIT, and objects kept on disk under a content key."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import itertools
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ...torchdoor.symbols import Unavailable

_names = itertools.count()


@functools.cache
def host() -> tuple[str, str]:
    """(cpu, features) that code is generated for."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@functools.cache
def vector_bytes() -> int:
    """Width of the widest vector registers of this machine."""
    features = host()[1].split(",")
    return 64 if "+avx512f" in features else 32 if "+avx" in features else 16


@functools.cache
def machine(level: int = 1) -> Any:
    """A target machine: level 1 for code that is run often; 0 (a quarter of the time) for plain code that is not."""
    cpu, features = host()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=cpu, features=features, opt=level, reloc="pic", codemodel="jitdefault",
                                        jit=True)


def lljit() -> Any:
    """The process's one JIT, which kernels are linked by too. It is never shut down: addresses are for good."""
    from ...codegen.llvm import jit

    return jit._linker()


def compile_text(text: str, level: int = 1) -> bytes:
    """Object code of LLVM text. Only stack slots are turned into registers and branches tidied: the text is written as
    it should run."""
    module = llvm.parse_assembly(text)
    builder = llvm.create_pass_builder(machine(), llvm.create_pipeline_tuning_options(speed_level=1))
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return bytes(machine(level).emit_object(module))


class Linked:
    """Linked code. Addresses stay valid as long as this object lives."""

    def __init__(self, tracker: Any, exports: Sequence[str]):
        self._tracker = tracker
        self.address: dict[str, int] = {name: tracker[name] for name in exports}


def link(objects: bytes | Sequence[bytes], imports: Mapping[str, int], exports: Sequence[str]) -> Linked:
    library = llvm.JITLibraryBuilder()
    for code in (objects,) if isinstance(objects, bytes) else objects:
        library.add_object_img(code)
    for name, address in imports.items():
        library.import_symbol(name, address)
    for name in exports:
        library.export_symbol(name)
    return Linked(library.link(lljit(), f"pellucid_{next(_names)}"), exports)


# ------------------------------------------------------------------ objects on disk
def cache_folder() -> Path | None:
    """$PELLUCID_CACHE_DIR, else pellucid under the user's cache folder; None where that is set to nothing."""
    chosen = os.environ.get("PELLUCID_CACHE_DIR")
    if chosen is not None:
        return Path(chosen) if chosen else None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "pellucid"


def key_of(*parts: object) -> str:
    """The content key of an object: what it was made from, for which cpu, by which llvmlite."""
    h = hashlib.sha256()
    for p in (*parts, *host(), llvmlite.__version__, llvm.llvm_version_info):
        h.update(repr(p).encode())
        h.update(b"\0")
    return h.hexdigest()


def cached_objects(key: str, make: Callable[[], Sequence[bytes]]) -> tuple[Sequence[bytes], bool]:
    """The objects stored under `key`, or make()'s, stored. Second: whether they came from disk.

    A file is its SHA-256, then each object after its length (8 bytes). One that does not match is made anew. A folder
    that cannot be written only costs the reuse.
    """
    folder = cache_folder()
    path = folder / "native" / f"{key}.o" if folder is not None else None
    if path is not None:
        try:
            raw = path.read_bytes()
        except OSError:
            raw = b""
        if len(raw) > 32 and hashlib.sha256(raw[32:]).digest() == raw[:32]:
            return _unpack(raw[32:]), True
    objects = make()
    if path is not None:
        body = b"".join(len(o).to_bytes(8, "little") + o for o in objects)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                file.write(hashlib.sha256(body).digest() + body)
            os.replace(file.name, path)
        except OSError:
            return objects, False
    return objects, False


def _unpack(body: bytes) -> list[bytes]:
    out, at = [], 0
    while at < len(body):
        n = int.from_bytes(body[at:at + 8], "little")
        out.append(body[at + 8:at + 8 + n])
        at += 8 + n
    return out


# ------------------------------------------------------------------ built-in functions
class MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]


METH_FASTCALL, METH_KEYWORDS = 0x80, 0x02
PAYLOAD = bytes.__basicsize__ - 1
"""Where the contents of a bytes object begin."""


class Self(bytes):
    """What a native built-in gets as its first argument: eight bytes, the address of its data. `held` keeps alive what
    the data refers to, where the garbage collector sees it."""

    held: Any
    data: Any

    @classmethod
    def of(cls, address: int, data: Any, held: Any) -> "Self":
        made = cls(address.to_bytes(8, "little"))
        made.data, made.held = data, held
        return made


def builtin(name: str, function: int, self: Self, flags: int = METH_FASTCALL, doc: str | None = None) -> Any:
    """A built-in function that calls machine code at `function` with `self`."""
    definition = MethodDef(name.encode(), function, flags, doc.encode() if doc else None)
    self.definition = definition  # type: ignore[attr-defined]
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(MethodDef), ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.byref(definition), self, None)


__all__ = ["Unavailable", "builtin", "cached_objects", "compile_text", "host", "key_of", "link", "lljit"]

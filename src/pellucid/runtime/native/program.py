"""The native runner's machine code: written once by the emitters, compiled or loaded once a process."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import torch

from ...torchdoor.fresh import ALIGNMENT, FreshLayout, fresh_layout
from ...torchdoor.layout import layout
from ...torchdoor.symbols import Unavailable, addresses, find
from . import jit
from .emit_arena import KEY, emit_arena
from .emit_base import Base, emit_helpers
from .emit_bind import emit_bind
from .emit_call import emit_call
from .emit_gemm import emit_gemm
from .emit_news import emit_news
from .emit_run import emit_run
from .emit_setters import emit_setters
from .emit_steps import emit_interpreter, emit_steps


class Program:
    """Loaded code. `address[name]` for each exported function or variable; `from_disk` and `seconds` say how it
    came."""

    def __init__(self, linked: jit.Linked, from_disk: bool, seconds: float):
        self.linked, self.from_disk, self.seconds = linked, from_disk, seconds
        self.address = linked.address

    def variable(self, name: str, count: int = 1) -> Any:
        return (ctypes.c_int64 * count).from_address(self.address[name])


def fresh() -> FreshLayout | None:
    """How new tensors look, or None where they are to be made by torch only."""
    try:
        return fresh_layout()
    except Unavailable:
        return None


def write() -> Base:
    """The module's text, by all emitters in order."""
    b = Base(layout(), fresh(), jit.vector_bytes())
    b.m.global_(KEY)
    b.m.global_("forked")
    b.m.global_("types", 4)
    emit_helpers(b)
    emit_arena(b)
    emit_bind(b)
    emit_news(b)
    emit_steps(b)
    emit_gemm(b)
    emit_interpreter(b)
    emit_run(b)
    emit_setters(b)
    emit_call(b)
    return b


@functools.cache
def program() -> Program:
    """The runner, ready to be called. Raises Unavailable with the reason where it cannot be made."""
    import platform

    if platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux":
        raise Unavailable(f"the native runner is for x86-64 Linux, this is {platform.machine()} {platform.system()}")
    start = time.perf_counter()
    key = jit.key_of(_sources(), layout(), fresh(), ALIGNMENT, jit.vector_bytes(), torch.__version__,
                     sys.version_info[:3])
    (hot, cold, names), from_disk = jit.cached_objects(key, _compile)
    imports, exports = json.loads(names)
    linked = jit.link((hot, cold), addresses(imports), exports)
    made = Program(linked, from_disk, time.perf_counter() - start)
    _start(made)
    return made


def _compile() -> tuple[bytes, bytes, bytes]:
    """(code that is run often, code that is not, JSON of the names of imports and exports)"""
    module = write().m
    hot, cold = module.split()
    return jit.compile_text(hot), jit.compile_text(cold, 0), json.dumps([module.imports(), module.exports]).encode()


_WRITERS = ("builder.py", "values.py", "records.py", "program.py", "vectorcall.py")
"""Files beside the emitters that the text is written by."""


def _sources() -> str:
    """A hash of the files that write the text, which stands for the text in the cache's key."""
    h = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.name.startswith("emit_") or path.name in _WRITERS:
            h.update(path.read_bytes())
    return h.hexdigest()


def _start(p: Program) -> None:
    """Set the module's variables: the arena's thread key, the types, and the mark that a forked child has no pool (its
    BLAS is told so too)."""
    key = ctypes.c_uint32()
    create = ctypes.CDLL(None).pthread_key_create
    create.argtypes = [ctypes.POINTER(ctypes.c_uint32), ctypes.c_void_p]
    if create(ctypes.byref(key), p.address["arena_free"]):
        raise Unavailable("the system has no thread-specific key left")
    p.variable(KEY)[0] = key.value
    types = p.variable("types", 4)
    types[0], types[1], types[2] = id(torch.Tensor), id(int), id(None)

    serial = find("MKL_Set_Num_Threads_Local")
    one_thread = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(serial) if serial is not None else None

    def child() -> None:
        p.variable("forked")[0] = 1         # by way of the program, whose memory this keeps
        if one_thread is not None:
            one_thread(1)

    os.register_at_fork(after_in_child=child)

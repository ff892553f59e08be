"""From text to addresses, in this process: LLVM compiles, ORC links. No other process is ever started."""

from __future__ import annotations

import hashlib
import itertools
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from ..types import Unit
from . import libm
from .errors import CodegenError
from .target import Cpu, host, llvm, machine

_EXTERNAL = re.compile(r"^declare [^@]*@([\w.$]+)\(", re.M)
_lock = threading.RLock()
_objects: OrderedDict[str, bytes] = OrderedDict()
_numbers = itertools.count()
OBJECTS_KEPT = 512
"""Units whose object code is kept in memory, the least recently used dropped first."""


def assemble(text: str, cpu: Cpu) -> bytes:
    """Object code of LLVM text; kept by text and CPU."""
    key = hashlib.blake2b(f"{cpu.name}\0{cpu.features}\0{text}".encode(), digest_size=20).hexdigest()
    with _lock:
        got = _objects.get(key)
        if got is not None:
            _objects.move_to_end(key)
            return got
        ll = llvm()
        try:
            parsed = ll.parse_assembly(text)
        except RuntimeError as error:
            raise CodegenError(f"LLVM does not accept the generated text: {error}") from None
        code: bytes = machine(cpu).emit_object(parsed)
        _objects[key] = code
        while len(_objects) > OBJECTS_KEPT:
            _objects.popitem(last=False)
        return code


def externals(text: str) -> list[str]:
    """Names of the functions that the text calls and does not define, LLVM's own excluded."""
    return [n for n in _EXTERNAL.findall(text) if not n.startswith("llvm.")]


@dataclass(frozen=True)
class Loaded:
    """Linked code: the address of each kernel's entry, by kernel name. It lives as long as this object."""

    addresses: dict[str, int]
    _tracker: Any = field(repr=False, default=None)


_jit: Any = None


def _linker() -> Any:
    global _jit
    if _jit is None:
        _jit = llvm().create_lljit_compiler(machine(host()), use_jit_link=True)
    return _jit


def load(unit: Unit) -> Loaded:
    """Link a unit's object code into this process.

    Raises CodegenError if it calls a function that this process does not have.
    """
    ll = llvm()
    names = sorted(set(unit.entries.values()))
    with _lock:
        builder = ll.JITLibraryBuilder()
        builder.add_object_img(unit.object_code)
        for name in externals(unit.text):
            address = libm.resolve(name)
            if address is None:
                raise CodegenError(f"function {name!r} that compiled code calls is not in this process; "
                                   "compile for this machine and torch build")
            builder.import_symbol(name, address)
        # for what LLVM itself calls where the CPU lacks an instruction: fmaf, roundevenf ...
        builder.add_current_process()
        for name in names:
            builder.export_symbol(name)
        tracker = builder.link(_linker(), f"unit{next(_numbers)}")
    return Loaded({k: tracker[e] for k, e in unit.entries.items()}, tracker)

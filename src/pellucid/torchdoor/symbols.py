"""Addresses of functions that torch's and Python's own libraries export, for native code to call."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Iterable

import torch

_TORCH_LIBRARIES = ("libtorch_python.so", "libtorch_cpu.so", "libc10.so")
"""A look-up through a library's handle searches what it depends on too: libgomp, libstdc++, libc."""


class Unavailable(RuntimeError):
    """Native pieces cannot be used here; the message says why."""


@functools.cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    found = []
    for name in _TORCH_LIBRARIES:
        try:
            found.append(ctypes.CDLL(os.path.join(folder, name)))
        except OSError as e:
            raise Unavailable(f"torch's library {name} cannot be opened: {e}") from e
    return (*found, ctypes.pythonapi)


_ALLOCATOR = frozenset(("malloc", "free", "posix_memalign"))
"""Looked up as the process's own code finds them: an allocator that was loaded before libc replaces libc's, and what
torch deletes has to come from the same one."""


@functools.cache
def find(symbol: str) -> int | None:
    """The address of an exported function or variable, or None."""
    for library in (ctypes.CDLL(None),) if symbol in _ALLOCATOR else _libraries():
        try:
            return ctypes.addressof(ctypes.c_char.in_dll(library, symbol))
        except ValueError:
            continue
    return None


def addresses(symbols: Iterable[str]) -> dict[str, int]:
    """Addresses by name. Raises Unavailable naming those that this build of torch or Python does not export."""
    found = {s: find(s) for s in symbols}
    missing = sorted(s for s, a in found.items() if a is None)
    if missing:
        raise Unavailable(f"this build of torch {torch.__version__} or Python does not export {', '.join(missing)}")
    return {s: a for s, a in found.items() if a is not None}

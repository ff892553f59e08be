"""Calls of an instance of a Python class go straight to machine code: CPython's vectorcall, hung into a heap type.

A class's `__call__` costs a look-up, a tuple and, with keywords, a dict a call. A type can instead name a place in its
instances that holds the address of a C function (PEP 590). The class is given room for it before it has instances;
from `hang` on that function is what a call of the instance runs.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import types
from typing import TYPE_CHECKING, Any

from ...torchdoor.layout import word

if TYPE_CHECKING:
    from .call import NativeCallable

BASIC_SIZE, VECTORCALL_OFFSET, TYPE_FLAGS = 32, 56, 168
"""Bytes into PyTypeObject, the same from Python 3.8 to 3.12; `_verified` checks them on types that are known."""
HAVE_VECTORCALL = 1 << 11
ROOM = 16
"""The function's address, then the built-in's first argument."""


@functools.cache
def _verified() -> bool:
    """Whether this Python's types are laid out as assumed. From 3.13 on an object's inline values lie behind its basic
    size, where the room would be: such instances are called by `__call__`."""
    if sys.version_info >= (3, 13):
        return False
    def holds(t: type, vectorcall: bool) -> bool:
        offset = word(id(t) + VECTORCALL_OFFSET)
        return (word(id(t) + BASIC_SIZE) == t.__basicsize__ and word(id(t) + TYPE_FLAGS) == t.__flags__
                and bool(t.__flags__ & HAVE_VECTORCALL) == vectorcall
                and (16 <= offset < t.__basicsize__ if vectorcall else offset == 0))
    return (all(holds(t, True) for t in (types.FunctionType, types.BuiltinFunctionType, types.MethodType))
            and all(holds(t, False) for t in (int, dict, list, str)))


def make_room(cls: type) -> None:
    """Give instances of `cls` that are made from now on room for `hang`. The class must have none yet."""
    if _verified():
        ctypes.c_int64.from_address(id(cls) + BASIC_SIZE).value += ROOM


def hang(instance: Any, native: NativeCallable) -> bool:
    """Calls of `instance` are calls of the built-in native.function, which must live as long as the instance's class.

    False, and nothing is done, where the class was given no room.
    """
    from .program import program

    cls = type(instance)
    own = cls.__basicsize__ - ROOM
    if not _verified() or own < max(b.__basicsize__ for b in cls.__mro__[1:]):
        return False
    place = (ctypes.c_int64 * 2).from_address(id(instance) + own)
    place[1], place[0] = id(native.function.__self__), program().address["call_object"]
    ctypes.c_int64.from_address(id(cls) + VECTORCALL_OFFSET).value = own
    ctypes.c_int64.from_address(id(cls) + TYPE_FLAGS).value |= HAVE_VECTORCALL
    return True

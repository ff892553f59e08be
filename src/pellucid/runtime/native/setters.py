"""Noticing `obj.__class__ = C` and `obj.__dict__ = d` without looking at the objects: their setters count up one word.

The interpreter keeps a setter as a function pointer in a static PyGetSetDef, which all classes share. Ours is put in
its place (emit_setters.py) when the first entry with such state is made, and taken out again at exit.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import types
from typing import Any

from ...torchdoor.layout import word
from .emit_setters import COUNTED, ORIGINALS, REPLACED, SETTERS
from .program import program

GETSET, GETSET_SETTER = 40, 16
"""Offsets: of a getset descriptor's PyGetSetDef (behind the head, class, name, qualified name), of its setter there."""
NEVER = -1
"""What an entry has seen that must look at its objects."""


class _Both:
    pass


class _DictOnly:
    __slots__ = ("__dict__",)


def _definition(descriptor: Any, name: str) -> int | None:
    """Address of the descriptor's PyGetSetDef if it looks like one of that name, else None."""
    if type(descriptor) is not types.GetSetDescriptorType:
        return None
    at = word(id(descriptor) + GETSET)
    return at if at and word(at) and ctypes.string_at(word(at)) == name.encode() else None


@functools.cache
def setters() -> "Setters":
    return Setters()


class Setters:
    """The setters, replaced. Where they cannot be, an entry looks at its objects in each call."""

    def __init__(self) -> None:
        p = program()
        self.word_address: int = p.address[REPLACED]
        self.definitions: tuple[int, ...] = ()
        self._originals, self._counted = p.variable(ORIGINALS, len(SETTERS)), p.variable(COUNTED)
        self._was: list[int] = []
        found = (_definition(object.__dict__["__class__"], "__class__"),
                 _definition(_Both.__dict__["__dict__"], "__dict__"),
                 _definition(_DictOnly.__dict__["__dict__"], "__dict__"))
        whole = tuple(d for d in found if d is not None)
        if len(whole) < len(found) or len(set(whole)) < len(whole) or not all(word(d + GETSET_SETTER) for d in whole):
            return
        self.definitions = whole
        self._was = [word(d + GETSET_SETTER) for d in whole]
        for k, was in enumerate(self._was):
            self._originals[k] = was
        for d, name in zip(whole, SETTERS):
            _put(d + GETSET_SETTER, p.address[name])
        atexit.register(self.restore)
        if self._count():
            self._counted[0] = 1
        else:
            self.restore()

    @property
    def count(self) -> int:
        return word(self.word_address)

    def _count(self) -> bool:
        """Whether each assignment is counted, and done."""
        class Other:
            pass

        both, only = _Both(), _DictOnly()
        new: dict[str, Any] = {"x": 1}
        seen = [self.count]
        for obj, name, value in ((both, "__class__", Other), (both, "__dict__", new), (only, "__dict__", new)):
            setattr(obj, name, value)
            seen.append(self.count)
            if getattr(obj, name) is not value:
                return False
        return all(a < b for a, b in zip(seen, seen[1:]))

    def restore(self) -> None:
        for d, was in zip(self.definitions, self._was):
            _put(d + GETSET_SETTER, was)
        self.definitions = ()
        self._counted[0] = 0

    def dict_is_counted(self, cls: type) -> bool:
        """Whether assigning `__dict__` of an instance of cls is counted."""
        found = next((k.__dict__["__dict__"] for k in cls.__mro__ if "__dict__" in k.__dict__), None)
        return _definition(found, "__dict__") in self.definitions[1:]


def _put(address: int, value: int) -> None:
    ctypes.c_uint64.from_address(address).value = value

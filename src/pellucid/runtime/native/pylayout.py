"""Where CPython keeps the fields that native checks read, found on live objects. Only what this version verifies is
used."""

from __future__ import annotations

import collections
import ctypes
import functools
import sys
from dataclasses import dataclass
from typing import Any

from ...torchdoor.layout import word
from ...torchdoor.symbols import Unavailable


@dataclass(frozen=True, slots=True)
class PyLayout:
    """Byte offsets in objects: the type of any; length and items of tuples and lists; a float's value; a cell's
    contents;
    a dict's length and version tag; a type's version tag; a function's code, defaults, keyword defaults."""

    type: int
    length: int
    tuple_items: int
    list_items: int
    float_value: int
    cell_contents: int
    dict_used: int
    dict_tag: int
    type_tag: int
    code: int
    defaults: int
    kwdefaults: int
    order: tuple[int, int]
    """First and last byte of the words of an OrderedDict that change with its order."""


def _one(what: str, hits: list[int]) -> int:
    if len(hits) != 1:
        raise Unavailable(f"Python {sys.version_info[:3]}: {len(hits)} places of {what} were found, not 1")
    return hits[0]


def half_word(address: int) -> int:
    return ctypes.c_uint32.from_address(address).value


@functools.cache
def pylayout() -> PyLayout:
    """The offsets in this Python. Raises Unavailable on versions without dict version tags (3.14 and later)."""
    if sys.version_info[:2] > (3, 13):
        raise Unavailable(f"state is polled natively up to Python 3.13 (this is {sys.version_info[0]}."
                          f"{sys.version_info[1]}): later versions have no dict version tags")
    a, b = object(), object()
    tup, lst = (a, b), [a, b, a]
    tuple_items = _one("a tuple's items", [k for k in range(8, 64, 8) if word(id(tup) + k) == id(a)])
    list_items = _one("a list's items", [k for k in range(16, 40, 8) if word(id(lst) + k) > 4096
                                         and word(word(id(lst) + k)) == id(a)])
    length = _one("a length", [k for k in (16,) if word(id(tup) + k) == 2 and word(id(lst) + k) == 3])
    number = 12345.678901
    float_value = _one("a float's value",
                       [k for k in (16,) if ctypes.c_double.from_address(id(number) + k).value == number])

    def outer() -> Any:
        x = a

        def inner(p: Any = b, *, q: Any = 3) -> Any:
            return x, p, q
        return inner

    f = outer()
    cell = f.__closure__[0]
    contents = _one("a cell's contents", [k for k in range(16, 32, 8) if word(id(cell) + k) == id(a)])
    fields = [_one(f"a function's {n}", [k for k in range(16, 128, 8) if word(id(f) + k) == id(getattr(f, n))])
              for n in ("__code__", "__defaults__", "__kwdefaults__")]
    used, tag = _dict()
    return PyLayout(8, length, tuple_items, list_items, float_value, contents, used, tag, _type_tag(),
                    fields[0], fields[1], fields[2], _order())


def _dict() -> tuple[int, int]:
    d: dict[str, Any] = {"a": 1, "b": 2, "c": 3}
    used = _one("a dict's length", [k for k in (16,) if word(id(d) + k) == 3])
    candidates = []
    for k in (24,):
        seen = [word(id(d) + k)]
        d["a"] = 7
        seen.append(word(id(d) + k))
        d["a"] = d["a"]
        seen.append(word(id(d) + k))
        del d["b"]
        seen.append(word(id(d) + k))
        if seen[0] != seen[1] == seen[2] != seen[3] and all(seen):
            candidates.append(k)
    return used, _one("a dict's version tag", candidates)


def _type_tag() -> int:
    class Probe:
        x = 1

    lookup = ctypes.pythonapi._PyType_Lookup
    lookup.argtypes, lookup.restype = [ctypes.py_object, ctypes.py_object], ctypes.c_void_p
    lookup(Probe, "x")
    before = [half_word(id(Probe) + k) for k in range(0, 440, 4)]
    Probe.x = 2
    after = [half_word(id(Probe) + k) for k in range(0, 440, 4)]
    lookup(Probe, "x")
    again = [half_word(id(Probe) + k) for k in range(0, 440, 4)]
    return _one("a type's version tag", [4 * k for k in range(110) if before[k] and not after[k] and again[k]
                                         and before[k] != again[k]])


def _order() -> tuple[int, int]:
    first, last = dict.__basicsize__ + 24, dict.__basicsize__ + 48
    d = collections.OrderedDict((k, k) for k in range(5))

    def look() -> list[int]:
        return [word(id(d) + k) for k in range(first, last, 8)]

    before = look()
    if look() != before:
        raise Unavailable("the words of an OrderedDict's order are not stable")
    for k, end in ((2, True), (1, False)):
        d.move_to_end(k, end)
        if look() == before:
            raise Unavailable("the words of an OrderedDict's order were not found")
        before = look()
    return first, last


def type_tag(cls: type) -> int:
    """The class's current version tag, assigned if it had none. Raises Unavailable where Python gives out none."""
    lookup = ctypes.pythonapi._PyType_Lookup
    lookup.argtypes, lookup.restype = [ctypes.py_object, ctypes.py_object], ctypes.c_void_p
    lookup(cls, "__class__")
    tag = half_word(id(cls) + pylayout().type_tag)
    if not tag:
        raise Unavailable(f"class {cls.__qualname__} has no version tag")
    return tag


def dict_slot(obj: Any) -> int | None:
    """Address of obj's pointer to its instance dictionary (made if need be), or None if it has none."""
    get = ctypes.pythonapi._PyObject_GetDictPtr
    get.argtypes, get.restype = [ctypes.py_object], ctypes.c_void_p
    slot = get(obj)
    return slot if slot and word(slot) else None

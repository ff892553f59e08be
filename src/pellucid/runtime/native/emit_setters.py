"""Emits what the interpreter calls where state changes: setters of `__class__` and `__dict__`, which count and do what
the interpreter's did, and the watcher of dictionaries, which counts."""

from __future__ import annotations

from .builder import I32, I64, PTR
from .emit_base import Base

SETTERS = ("set_class", "set_dict", "set_dict_only")
ORIGINALS, REPLACED, COUNTED = "original_setters", "replaced", "replacements_are_counted"
WATCHER, DICT_EVENTS, WATCHED = "dict_changes", "dict_events", "dicts_are_watched"


def emit_setters(b: Base) -> None:
    """`replaced` counts the assignments of all objects' `__class__` and `__dict__`; `original_setters` are called.
    `replacements_are_counted` is 1 while these functions are in their place; `dicts_are_watched` while `dict_changes`
    counts each change to come of a watched dictionary in `dict_events`. `detach` makes a dictionary keep its own
    values."""
    for name in (REPLACED, COUNTED, DICT_EVENTS, WATCHED):
        b.m.global_(name)
    with b.m.function(WATCHER, I32, [("event", I32), ("dict", PTR), ("key", PTR), ("value", PTR)], internal=False) as (
            f, event, d, key, value):
        count = b.data(f, DICT_EVENTS)
        f.store(f.load(I64, count) + 1, count)
        f.ret(0)
    with b.m.function("detach", I32, [("dict", PTR), ("key", PTR)], internal=False) as (f, d, key):
        with f.if_(f.call(b.c("PyDict_SetItem"), d, key, key) != 0):
            f.ret(-1)
        f.ret(f.call(b.c("PyDict_DelItem"), d, key))
    for number, name in enumerate(SETTERS):
        with b.m.function(name, I32, [("object", PTR), ("value", PTR), ("closure", PTR)], internal=False) as (
                f, obj, value, closure):
            count = b.data(f, REPLACED)
            f.store(f.load(I64, count) + 1, count)
            original = f.load(PTR, b.data(f, ORIGINALS, len(SETTERS)), 8 * number)
            result = f.call(original, obj, value, closure, ret=I32, params=[PTR, PTR, PTR])
            # Counted again behind it: between the two another thread may have looked.
            f.store(f.load(I64, count) + 1, count)
            f.ret(result)

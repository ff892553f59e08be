"""Emits what stands in the interpreter's setters of `__class__` and `__dict__`: it counts, then does what they did."""

from __future__ import annotations

from .builder import I32, I64, PTR
from .emit_base import Base

SETTERS = ("set_class", "set_dict", "set_dict_only")
ORIGINALS, REPLACED, COUNTED = "original_setters", "replaced", "replacements_are_counted"


def emit_setters(b: Base) -> None:
    """`replaced` counts the assignments of all objects' `__class__` and `__dict__`; `original_setters` are called.
    `replacements_are_counted` is 1 while these functions are in their place."""
    b.m.global_(REPLACED)
    b.m.global_(COUNTED)
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

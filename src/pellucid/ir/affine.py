"""Index expressions that are affine in the loop axes: a coefficient an axis and a constant, all of them sizes."""

from __future__ import annotations

from dataclasses import dataclass

from ..shapes.dim import Size
from .types import Axis, Call, Expr, Index, Literal, Load, SizeOf, View


@dataclass(frozen=True, slots=True)
class Affine:
    """const + sum(coefficient * axis). `terms` are in order of first use, none of them zero."""

    terms: tuple[tuple[Axis, Size], ...]
    const: Size = 0


def affine(e: Expr) -> Affine | None:
    """The affine form of an integer expression, or None where it has none (a load, a modulo ...)."""
    if isinstance(e, Index):
        return Affine(((e.axis, 1),))
    if isinstance(e, Literal):
        return Affine((), int(e.value)) if isinstance(e.value, int) and not e.dtype.is_floating_point else None
    if isinstance(e, SizeOf):
        return Affine((), e.size)
    if not isinstance(e, Call) or e.fn not in ("add", "sub", "mul", "neg"):
        return None
    a = affine(e.args[0])
    if a is None or e.fn == "neg":
        return None if a is None else scale(a, -1)
    b = affine(e.args[1])
    if b is None:
        return None
    if e.fn == "mul":
        if not a.terms:
            return scale(b, a.const)
        return scale(a, b.const) if not b.terms else None
    return add(a, b if e.fn == "add" else scale(b, -1))


def scale(a: Affine, k: Size) -> Affine:
    if type(k) is int:
        if k == 1:
            return a
        if k == 0:
            return Affine((), 0)
    return Affine(tuple([(x, c * k) for x, c in a.terms]), a.const * k)


def add(a: Affine, b: Affine) -> Affine:
    if not b.terms:
        return Affine(a.terms, a.const + b.const)
    if not a.terms:
        return Affine(b.terms, a.const + b.const)
    total = dict(a.terms)
    for x, c in b.terms:
        total[x] = total[x] + c if x in total else c
    return Affine(tuple([(x, c) for x, c in total.items() if not (type(c) is int and c == 0)]), a.const + b.const)


def address(view: View, index: tuple[Expr, ...]) -> Affine | None:
    """The element address (in the view's buffer) that `index` names, as an affine form."""
    total = Affine((), view.offset)
    for e, stride in zip(index, view.strides):
        if type(stride) is int and stride == 0:
            continue
        a = affine(e)
        if a is None:
            return None
        total = add(total, scale(a, stride))
    return total


def load_address(load: Load) -> Affine | None:
    return address(load.view, load.index)

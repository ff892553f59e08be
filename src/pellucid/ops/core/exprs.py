"""Scalar expressions for lowerings: operands as functions of an index, integer arithmetic that folds, and views cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from ...graph.types import Ref
from ...ir.build import Lowering, call, cast, size_expr
from ...ir.types import Call, Expr, Literal, Load, View
from ...shapes.dim import Dim, Size, hint
from ..promote import HALVES

INT = torch.int64
ZERO = Literal(0, INT)
ONE = Literal(1, INT)
Element = Callable[[Sequence[Expr]], Expr]
"""One element of an operand at an index of the output's space."""


def literal(x: Any, dtype: torch.dtype) -> Expr:
    """A Python number or size as a scalar of `dtype`."""
    if type(x) is Dim:
        return cast(size_expr(x), dtype)
    if dtype.is_floating_point:
        return Literal(float(x), dtype)
    if dtype is torch.bool:
        return Literal(bool(x), dtype)
    return Literal(int(x), dtype)


def is_literal(e: Expr, value: Any) -> bool:
    return type(e) is Literal and e.value == value


def add(a: Expr, b: Expr) -> Expr:
    """Integer sum, folded where both are known."""
    if type(a) is Literal and type(b) is Literal:
        return Literal(a.value + b.value, a.dtype)
    if is_literal(a, 0):
        return b
    return a if is_literal(b, 0) else Call("add", (a, b), a.dtype)


def sub(a: Expr, b: Expr) -> Expr:
    if type(a) is Literal and type(b) is Literal:
        return Literal(a.value - b.value, a.dtype)
    return a if is_literal(b, 0) else Call("sub", (a, b), a.dtype)


def mul(a: Expr, b: Expr) -> Expr:
    if type(a) is Literal and type(b) is Literal:
        return Literal(a.value * b.value, a.dtype)
    if is_literal(a, 1):
        return b
    return a if is_literal(b, 1) else Call("mul", (a, b), a.dtype)


def offset(e: Expr, n: Size) -> Expr:
    return add(e, size_expr(n))


def scaled(e: Expr, n: Size) -> Expr:
    return mul(e, size_expr(n))


def floordiv(a: Expr, n: Size) -> Expr:
    return a if n == 1 else Call("floordiv", (a, size_expr(n)), a.dtype)


def mod(a: Expr, n: Size) -> Expr:
    return ZERO if n == 1 else Call("mod", (a, size_expr(n)), a.dtype)


def both(a: Expr | None, b: Expr | None) -> Expr | None:
    """Logical and of conditions, None meaning true."""
    if a is None or b is None:
        return a if b is None else b
    return Call("and", (a, b), torch.bool)


def compare(fn: str, a: Expr, b: Expr) -> Expr:
    return Call(fn, (a, b), torch.bool)


def where(cond: Expr, a: Expr, b: Expr) -> Expr:
    return Call("where", (cond, a, b), a.dtype)


def checked(index: Expr, size: Size, wrap: bool) -> Expr:
    """`index` as an int64 in 0..size-1; out of range raises at run time. Negative ones count from the end if `wrap`."""
    i = cast(index, INT)
    n = size_expr(size)
    if not wrap:
        i = where(compare("lt", i, ZERO), n, i)
    return Call("check_index", (i, n), INT)


def is_one(size: Size) -> bool:
    """Whether a size is 1 in this entry (shape rules have guarded every symbolic size that broadcasts)."""
    return size == 1 if type(size) is int else hint(size) == 1


def at(view: View, index: Sequence[Expr], out: Sequence[Size] | None = None) -> Expr:
    """Element of a view that broadcasts to an index space of len(index) dimensions (of sizes `out`, if known)."""
    lead = len(index) - len(view.shape)
    own: list[Expr] = []
    for k, s in enumerate(view.shape):
        spread = is_one(s) if out is None or s != out[lead + k] else False
        own.append(ZERO if spread or s == 1 and type(s) is int else index[lead + k])
    return Load(view, tuple(own))


def element(lx: Lowering, operand: Any, dtype: torch.dtype, shape: Sequence[Size],
            through: torch.dtype | None = None) -> Element:
    """The operand (Ref or number) as a function of an index in `shape`; cast to `through` (if given), then `dtype`."""
    if type(operand) is not Ref:
        if through in HALVES and type(operand) is float:
            operand = torch.tensor(operand, dtype=through).item()
        value = literal(operand, dtype)
        return lambda index: value
    view = lx.view(operand)
    if through is None or view.dtype == through:
        return lambda index: cast(at(view, index, shape), dtype)
    return lambda index: cast(cast(at(view, index, shape), through), dtype)


def window(view: View, dim: int, start: Size, length: Size) -> View:
    """The part start..start+length of a view along `dim`."""
    shape = view.shape[:dim] + (length,) + view.shape[dim + 1:]
    return replace(view, shape=shape, offset=view.offset + view.strides[dim] * start)


def without(view: View, dims: Sequence[int]) -> View:
    """A view with size-1 dimensions `dims` left out."""
    keep = [i for i in range(len(view.shape)) if i not in dims]
    return replace(view, shape=tuple([view.shape[i] for i in keep]), strides=tuple([view.strides[i] for i in keep]))


def merge(outer: Sequence[Expr], inner: Sequence[Expr], dims: Sequence[int], ndim: int) -> list[Expr]:
    """An index of `ndim` dimensions: `inner` at dimensions `dims`, `outer` at the others, each in order."""
    o, r = iter(outer), iter(inner)
    return [next(r) if i in dims else next(o) for i in range(ndim)]


__all__ = ["INT", "ONE", "ZERO", "Element", "add", "at", "both", "call", "cast", "checked", "compare", "element",
           "floordiv", "is_literal", "is_one", "literal", "merge", "mod", "mul", "offset", "scaled", "size_expr",
           "sub", "where", "window", "without"]

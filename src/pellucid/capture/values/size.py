"""Symbolic integers: Python ints that are sizes of dynamic dimensions, or arithmetic on them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ...shapes.dim import Dim, Size, floordiv, mod
from ..types import FromSize, Recipe
from .base import NotConstant, Result, Value
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture


class SizeVal(Value):
    __slots__ = ("dim",)
    identity = False

    def __init__(self, dim: Dim):
        self.dim = dim

    def __repr__(self) -> str:
        return f"SizeVal({self.dim})"

    def pytype(self, cx: Capture) -> type:
        return int

    def truth(self, cx: Capture) -> bool:
        return not cx.env.decide("==", self.dim, 0)

    def concrete(self, cx: Capture) -> int:
        """The example's integer; the size is fixed to it by a guard."""
        cx.env.cause = cx.cause("integer needed")
        return cx.env.concrete(self.dim)

    def constant(self, cx: Capture) -> Any:
        raise NotConstant(self)

    def key(self, cx: Capture) -> Any:
        return self.concrete(cx)

    def attr(self, cx: Capture, name: str) -> Result:
        if name in ("real", "numerator"):
            return self
        if name == "denominator":
            return Const(1)
        if name == "imag":
            return Const(0)
        return Const(self.concrete(cx)).attr(cx, name)

    def recipe(self, cx: Capture) -> Recipe:
        return FromSize(self.dim)


def size_value(size: Size) -> Value:
    return SizeVal(size) if type(size) is Dim else Const(size)


def size_of(v: Value) -> Size | None:
    """The size that an int value is, or None for a value that is not an int."""
    if type(v) is SizeVal:
        return v.dim
    if type(v) is Const and isinstance(v.value, int) and v.pending is None:
        return int(v.value)
    return None


_COMPARE = {operator.eq: "==", operator.ne: "!=", operator.lt: "<", operator.le: "<=", operator.gt: ">",
            operator.ge: ">="}
_ARITHMETIC = {operator.add: operator.add, operator.iadd: operator.add, operator.sub: operator.sub,
               operator.isub: operator.sub, operator.mul: operator.mul, operator.imul: operator.mul,
               operator.floordiv: floordiv, operator.ifloordiv: floordiv, operator.mod: mod, operator.imod: mod}


def size_binary(cx: Capture, op: Any, a: Value, b: Value) -> Value | None:
    """a op b where one is symbolic; None if the other is not an integer."""
    x, y = size_of(a), size_of(b)
    if x is None or y is None:
        other = b if x is not None else a
        if type(other) is Const and type(other.constant(cx)) in (int, bool):
            return size_binary(cx, op, a, b)
        if type(other) is Const and type(other.value) is float:
            other.constant(cx)
            made = _number.calculation(cx, op, [a, b])
            if made is not None:
                return made
            fixed = (
                Const(a.concrete(cx)) if type(a) is SizeVal else a,
                Const(b.concrete(cx)) if type(b) is SizeVal else b,
            )
            try:
                return Const(op(fixed[0].value, fixed[1].value))  # type: ignore[attr-defined]
            except Exception as e:
                raise cx.reraise(e) from None
        return None
    symbol = _COMPARE.get(op)
    if symbol is not None:
        cx.env.cause = cx.cause("comparison of sizes")
        return Const(cx.env.decide(symbol, x, y))
    fn = _ARITHMETIC.get(op)
    if fn is not None:
        if fn in (floordiv, mod) and cx.env.decide("==", y, 0):
            raise cx.raised(ZeroDivisionError, "integer division or modulo by zero")
        return size_value(fn(x, y))
    if op is operator.truediv or op is operator.itruediv:
        made = _number.calculation(cx, op, [a, b])
        if made is not None:
            return made
    try:
        return Const(op(cx.env.concrete(x), cx.env.concrete(y)))
    except Exception as e:
        raise cx.reraise(e) from None


def size_unary(cx: Capture, op: Any, a: SizeVal) -> Value:
    if op is operator.neg:
        return size_value(-a.dim)
    if op is operator.pos or op is operator.index:
        return a
    return Const(op(a.concrete(cx)))

# Modules that need this one: bound when all are loaded.
from . import number as _number  # noqa: E402

"""The pointwise core operators of arithmetic, comparison, logic and bits, and the scalar functions."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, cast
from ...ir.types import Call, Expr, Literal
from ..errors import Unsupported, WouldRaise
from ..meta import broadcast_pair, new
from ..promote import math_type, result_type
from ..registry import lowering, op
from .elementwise import pointwise, pointwise_meta
from .exprs import INT, compare, element, literal, where

BOOL = torch.bool


# ------------------------------------------------------------------ arithmetic
def _add(dtype: torch.dtype, a: Expr, b: Expr, alpha: Any) -> Expr:
    if dtype is BOOL:
        return call("or", a, b)
    if alpha == 1:
        return call("add", a, b)
    if dtype.is_floating_point:
        return call("fma", b, literal(alpha, dtype), a)
    return call("add", a, call("mul", b, literal(alpha, dtype)))


def _sub(dtype: torch.dtype, a: Expr, b: Expr, alpha: Any) -> Expr:
    return call("sub", a, b) if alpha == 1 else _add(dtype, a, b, -alpha)


def _mul(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
    return call("and" if dtype is BOOL else "mul", a, b)


def nonzero(dtype: torch.dtype, b: Expr) -> Expr:
    """An integer divisor: zero raises at run time (and then divides by 1)."""
    if dtype.is_floating_point or (type(b) is Literal and b.value != 0):
        return b
    zero = compare("eq", b, literal(0, dtype))
    flag = cast(Call("check_index", (cast(zero, INT), Literal(1, INT)), INT), dtype)
    return where(zero, literal(1, dtype), call("add", b, flag))


def _truncdiv(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
    if dtype.is_floating_point:
        return call("trunc", call("div", a, b))
    return call("truncdiv", a, nonzero(dtype, b))


def _extreme(fn: str, of_bool: str) -> Any:
    return lambda dtype, a, b: call(of_bool if dtype is BOOL else fn, a, b)


def _skip_nan(fn: str) -> Any:
    def body(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
        if not dtype.is_floating_point:
            return call({"min": "and", "max": "or"}[fn] if dtype is BOOL else fn, a, b)
        return where(call("isnan", a, dtype=BOOL), b, where(call("isnan", b, dtype=BOOL), a, call(fn, a, b)))
    return body


pointwise("add", 2, "same", _add, params=(("alpha", 1),), autocast="promote")
pointwise("sub", 2, "same", _sub, params=(("alpha", 1),), bools=False, autocast="promote")
pointwise("mul", 2, "same", _mul, exact=True, autocast="promote")
pointwise("div", 2, "float", lambda d, a, b: call("div", a, b), exact=True, autocast="promote")
pointwise("floordiv", 2, "same", lambda d, a, b: call("floordiv", a, nonzero(d, b)), exact=True, bools=False,
          can_raise=True)
pointwise("truncdiv", 2, "same", _truncdiv, bools=False, can_raise=True)
pointwise("remainder", 2, "same", lambda d, a, b: call("mod", a, nonzero(d, b)), bools=False, can_raise=True)
pointwise("fmod", 2, "same", lambda d, a, b: call("fmod", a, nonzero(d, b)), bools=False, can_raise=True)
pointwise("minimum", 2, "same", _extreme("min", "and"))
pointwise("maximum", 2, "same", _extreme("max", "or"))
pointwise("fmin", 2, "same", _skip_nan("min"))
pointwise("fmax", 2, "same", _skip_nan("max"))
pointwise("atan2", 2, "float", lambda d, a, b: call("atan2", a, b))
pointwise("neg", 1, "same", lambda d, a: call("neg", a), bools=False)
pointwise("abs", 1, "same", lambda d, a: a if d is torch.uint8 else call("abs", a), bools=False)
pointwise("square", 1, "same", lambda d, a: call("mul", a, a), bools=False)


def _sign(dtype: torch.dtype, a: Expr) -> Expr:
    if dtype is BOOL:
        return a
    zero, one = literal(0, dtype), literal(1, dtype)
    above = where(compare("gt", a, zero), one, zero)
    if dtype is torch.uint8:
        return above
    return where(compare("lt", a, zero), literal(-1, dtype), above)


pointwise("sign", 1, "same", _sign)


# ------------------------------------------------------------------ power
def _power(dtype: torch.dtype, a: Expr, n: int) -> Expr:
    """a**n for a positive integer, by squaring."""
    if n == 1:
        return a
    half = _power(dtype, a, n // 2)
    square = call("mul", half, half)
    return call("mul", square, a) if n % 2 else square


def _pow(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
    n: Any = b.value if type(b) is Literal else None
    if n is not None and not dtype.is_floating_point:
        return literal(1, dtype) if n == 0 else _power(dtype, a, int(n))
    if n in (0, 1, 2, 3):
        return literal(1, dtype) if n == 0 else _power(dtype, a, int(n))
    if n == 0.5:
        return call("sqrt", a)
    if n == -0.5:
        return call("rsqrt", a)
    if n == -1:
        return call("reciprocal", a)
    if n == -2:
        return call("reciprocal", call("mul", a, a))
    return call("pow", a, b)


@op("pow", "self", "exponent", autocast="float32")
def _pow_rule(builder: GraphBuilder, self: Any, exponent: Any) -> TensorMeta:
    dtype = result_type(self, exponent)
    if dtype.is_complex or dtype is BOOL:
        raise Unsupported(f"pow: operands of dtype {dtype} have no rule")
    if type(exponent) is int and exponent < 0 and not dtype.is_floating_point:
        raise WouldRaise(f"pow: exponent={exponent} is negative and self is of an integer dtype; convert self to float")
    return pointwise_meta(builder.env, dtype, (self, exponent), type(self) is not Val)


@lowering("pow")
def _pow_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    dtype = math_type(out.dtype)
    a, b = (element(lx, x, dtype, out.shape, out.dtype) for x in node.args)
    lx.map(out, lambda *i: cast(_pow(dtype, a(i), b(i)), out.dtype))


# ------------------------------------------------------------------ scalar functions
for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sin", "cos",
              "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid", "erf"):
    pointwise(_name, 1, "float", lambda d, a, fn=_name: call(fn, a),
              autocast="float32" if _name in ("exp", "expm1", "log", "log2", "log10", "log1p", "rsqrt", "reciprocal",
                                              "tan", "asin", "acos", "sinh", "cosh", "exp2") else None)


def _log_of_twice(d: torch.dtype, m: Expr) -> Expr:
    """log(2m): what asinh and acosh are, to all digits, from 2^28 on (there m^2 may overflow)."""
    return call("add", call("log", m), literal(math.log(2), d))


def _odd(d: torch.dtype, a: Expr, value: Expr) -> Expr:
    """An odd function's value at a from that at |a|; a zero keeps its sign."""
    signed = where(compare("lt", a, literal(0, d)), call("neg", value), value)
    return where(compare("eq", a, literal(0, d)), a, signed)


def _asinh(d: torch.dtype, a: Expr) -> Expr:
    """sign(a) * log(|a| + sqrt(a^2 + 1)), written with log1p so that small a keep their digits."""
    m = call("abs", a)
    square = call("mul", m, m)
    root = call("sqrt", call("add", square, literal(1, d)))
    small = call("log1p", call("add", m, call("div", square, call("add", literal(1, d), root))))
    value = where(compare("gt", m, literal(2.0**28, d)), _log_of_twice(d, m), small)
    return _odd(d, a, value)


def _acosh(d: torch.dtype, a: Expr) -> Expr:
    """log(a + sqrt(a^2 - 1)) with t = a - 1: log1p(t + sqrt(2t + t^2))."""
    t = call("sub", a, literal(1, d))
    small = call("log1p", call("add", t, call("sqrt", call("add", call("mul", literal(2, d), t), call("mul", t, t)))))
    value = where(compare("gt", a, literal(2.0**28, d)), _log_of_twice(d, a), small)
    return where(compare("lt", a, literal(1, d)), literal(math.nan, d), value)


def _atanh(d: torch.dtype, a: Expr) -> Expr:
    """log1p(2m / (1 - m)) / 2 with m = |a|, which loses no digits near -1"""
    m = call("abs", a)
    ratio = call("div", call("mul", literal(2, d), m), call("sub", literal(1, d), m))
    return _odd(d, a, call("mul", literal(0.5, d), call("log1p", ratio)))


pointwise("asinh", 1, "float", _asinh)
pointwise("acosh", 1, "float", _acosh)
pointwise("atanh", 1, "float", _atanh)
for _name in ("floor", "ceil", "trunc", "round"):
    pointwise(_name, 1, "same", lambda d, a, fn=_name: call(fn, a) if d.is_floating_point else a, bools=False)


@op("frac", "self")
def _frac_rule(builder: GraphBuilder, self: Any) -> TensorMeta:
    if not self.dtype.is_floating_point:
        raise WouldRaise(f"frac: self must be floating, not {self.dtype}")
    return pointwise_meta(builder.env, self.dtype, (self,))


@lowering("frac")
def _frac_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    x = element(lx, node.args[0], math_type(out.dtype), out.shape)
    lx.map(out, lambda *i: cast(call("sub", x(i), call("trunc", x(i))), out.dtype))


# ------------------------------------------------------------------ comparison and classes of numbers
def _comparison(fn: str) -> Any:
    def body(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
        if dtype is BOOL and fn not in ("eq", "ne"):
            a, b = cast(a, torch.uint8), cast(b, torch.uint8)
        return compare(fn, a, b)
    return body


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    pointwise(_name, 2, "compare", _comparison(_name), autocast="promote")


def _class(fn: Any, of_int: bool) -> Any:
    return lambda d, a: fn(a) if d.is_floating_point else Literal(of_int, BOOL)


def _isnan(a: Expr) -> Expr:
    return call("isnan", a, dtype=BOOL)


def _isinf(a: Expr) -> Expr:
    return call("isinf", a, dtype=BOOL)


pointwise("isnan", 1, "compare", _class(_isnan, False))
pointwise("isinf", 1, "compare", _class(_isinf, False))
pointwise("isfinite", 1, "compare", _class(lambda a: call("not", call("or", _isnan(a), _isinf(a))), True))
pointwise("signbit", 1, "compare", lambda d, a: Literal(False, BOOL) if d in (BOOL, torch.uint8) else _signbit(d, a))


def _signbit(d: torch.dtype, a: Expr) -> Expr:
    below = compare("lt", a, literal(0, d))
    if not d.is_floating_point:
        return below
    negative_zero = compare("lt", call("div", literal(1, d), a), literal(0, d))
    return call("or", below, call("and", compare("eq", a, literal(0, d)), negative_zero))


# ------------------------------------------------------------------ logic and bits
pointwise("logical_and", 2, "logical", lambda d, a, b: call("and", a, b))
pointwise("logical_or", 2, "logical", lambda d, a, b: call("or", a, b))
pointwise("logical_xor", 2, "logical", lambda d, a, b: call("xor", a, b))
pointwise("logical_not", 1, "logical", lambda d, a: call("not", a))
pointwise("bitwise_and", 2, "int", lambda d, a, b: call("and", a, b))
pointwise("bitwise_or", 2, "int", lambda d, a, b: call("or", a, b))
pointwise("bitwise_xor", 2, "int", lambda d, a, b: call("xor", a, b))
pointwise("bitwise_not", 1, "int", lambda d, a: call("not", a))


def _shift(fn: str) -> Any:
    def body(dtype: torch.dtype, a: Expr, b: Expr) -> Expr:
        bits = torch.iinfo(dtype).bits
        signed = dtype is not torch.uint8
        outside = compare("ge", b, literal(bits, dtype))
        if signed:
            outside = call("or", outside, compare("lt", b, literal(0, dtype)))
        amount = where(outside, literal(bits - 1, dtype), b)
        shifted = call(fn, a, amount)
        if fn == "shr" and signed:
            return shifted
        return where(outside, literal(0, dtype), shifted)
    return body


pointwise("bitwise_left_shift", 2, "int", _shift("shl"), bools=False)
pointwise("bitwise_right_shift", 2, "int", _shift("shr"), bools=False)


# ------------------------------------------------------------------ selection
@op("where", "condition", "self", "other", autocast="promote")
def _where_rule(builder: GraphBuilder, condition: Any, self: Any, other: Any) -> TensorMeta:
    if condition.dtype not in (BOOL, torch.uint8):
        raise WouldRaise(f"where: condition must be of dtype bool, not {condition.dtype}; use condition != 0")
    return pointwise_meta(builder.env, _real(result_type(self, other), "where"), (condition, self, other))


def _real(dtype: torch.dtype, name: str) -> torch.dtype:
    if dtype.is_complex:
        raise Unsupported(f"{name}: complex operands have no rule")
    return dtype


@lowering("where")
def _where_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    cond = element(lx, node.args[0], BOOL, out.shape)
    a, b = (element(lx, x, out.dtype, out.shape) for x in node.args[1:])
    lx.map(out, lambda *i: where(cond(i), a(i), b(i)))


@op("masked_fill", "self", "mask", "value")
def _masked_fill_rule(builder: GraphBuilder, self: Any, mask: Any, value: Any) -> TensorMeta:
    """self where mask is false, value (a number or 0-d tensor) elsewhere; contiguous, of self's dtype."""
    if mask.dtype is not BOOL:
        raise WouldRaise(f"masked_fill: mask must be of dtype bool, not {mask.dtype}")
    if type(value) is Val and value.meta.shape:
        raise WouldRaise(f"masked_fill: value must be a number or a 0-d tensor, is of shape {value.meta.shape}")
    return new(self, broadcast_pair(builder.env, self.meta.shape, mask.meta.shape))


@lowering("masked_fill")
def _masked_fill_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    mask = element(lx, node.args[1], BOOL, out.shape)
    x, value = (element(lx, node.args[k], out.dtype, out.shape) for k in (0, 2))
    lx.map(out, lambda *i: where(mask(i), value(i), x(i)))


@op("clamp", "self", ("min", None), ("max", None))
def _clamp_rule(builder: GraphBuilder, self: Any, min: Any, max: Any) -> TensorMeta:
    if min is None and max is None:
        raise WouldRaise("clamp: at least one of min and max must be given")
    dtype = _real(result_type(self, min, max), "clamp")
    if dtype is BOOL:
        raise WouldRaise("clamp: bool tensors are not supported; convert self to an integer dtype")
    return pointwise_meta(builder.env, dtype, (self, min, max), False)


@lowering("clamp")
def _clamp_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    dtype = math_type(out.dtype)
    x, lo, hi = (None if a is None else element(lx, a, dtype, out.shape, out.dtype) for a in node.args)

    def body(*i: Expr) -> Expr:
        e = x(i)  # type: ignore[misc]
        if lo is not None:
            e = call("max", e, lo(i))
        return cast(e if hi is None else call("min", e, hi(i)), out.dtype)
    lx.map(out, body)


@op("nan_to_num", "self", ("nan", None), ("posinf", None), ("neginf", None))
def _nan_to_num_rule(builder: GraphBuilder, self: Any, nan: Any, posinf: Any, neginf: Any) -> TensorMeta:
    return pointwise_meta(builder.env, self.dtype, (self,))


@lowering("nan_to_num")
def _nan_to_num_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    x = element(lx, node.args[0], out.dtype, out.shape)
    if not out.dtype.is_floating_point:
        lx.map(out, lambda *i: x(i))
        return
    top = torch.finfo(out.dtype).max
    nan, pos, neg = (literal(d if a is None else a, out.dtype) for a, d in zip(node.args[1:], (0.0, top, -top)))
    inf = literal(math.inf, out.dtype)

    def body(*i: Expr) -> Expr:
        e = x(i)
        e2 = where(compare("eq", e, inf), pos, where(compare("eq", e, literal(-math.inf, out.dtype)), neg, e))
        return where(_isnan(e), nan, e2)
    lx.map(out, body)


# ------------------------------------------------------------------ three operands
def _addcmul(d: torch.dtype, a: Expr, b: Expr, c: Expr, value: Any) -> Expr:
    return call("add", a, call("mul", call("mul", literal(value, d), b), c))


def _addcdiv(d: torch.dtype, a: Expr, b: Expr, c: Expr, value: Any) -> Expr:
    return call("add", a, call("div", call("mul", literal(value, d), b), c))


def _lerp(d: torch.dtype, a: Expr, b: Expr, w: Expr) -> Expr:
    """The form that is exact at both ends: a + w(b-a) where |w| < 1/2, else b - (b-a)(1-w)."""
    gap = call("sub", b, a)
    near = compare("lt", call("abs", w), literal(0.5, d))
    return where(near, call("add", a, call("mul", w, gap)),
                 call("sub", b, call("mul", gap, call("sub", literal(1, d), w))))


pointwise("addcmul", 3, "same", _addcmul, params=(("value", 1),), names=("self", "tensor1", "tensor2"))
pointwise("addcdiv", 3, "float", _addcdiv, params=(("value", 1),), names=("self", "tensor1", "tensor2"))
pointwise("lerp", 3, "same", _lerp, names=("self", "end", "weight"))

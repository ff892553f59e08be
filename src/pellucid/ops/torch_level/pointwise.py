"""Elementwise arithmetic, comparisons and logic: torch functions, methods, operators and their in-place forms."""

from __future__ import annotations

import functools
import math
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Dim
from ..errors import Unsupported, WouldRaise
from ..promote import HALVES, number_dtype, result_type
from .args import cast, need_tensor, reject_out
from .declare import Expansion, expansion

_PLAIN = ("sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp exp2 expm1 log log2 log10 log1p "
          "sigmoid reciprocal erf floor ceil trunc frac abs neg sign square logical_not bitwise_not isnan isinf "
          "isfinite signbit")
_SPELLINGS = {"abs": "absolute op.abs Tensor.__abs__", "neg": "negative op.neg Tensor.__neg__",
              "asin": "arcsin", "acos": "arccos", "atan": "arctan", "trunc": "fix", "sigmoid": "special.expit",
              "exp2": "special.exp2", "expm1": "special.expm1", "log1p": "special.log1p", "erf": "special.erf",
              "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
              "bitwise_not": "op.invert op.inv Tensor.__invert__"}


def _unary(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, *, out: Any = None) -> Val:
        reject_out(out)
        x = need_tensor(input)
        if core == "neg" and x.meta.dtype is torch.bool:
            raise WouldRaise("negation of a bool tensor is not supported")
        if core == "bitwise_not" and x.meta.dtype.is_floating_point:
            raise WouldRaise("bitwise_not is not implemented for floats")
        return builder.emit(core, x)
    fn.__name__ = core
    names = [core, *_SPELLINGS.get(core, "").split()]
    inplace = [n + "_" for n in names if "." not in n and hasattr(torch.Tensor, n + "_")]
    expansion(*names, inplace=" ".join(inplace))(fn)


for _name in _PLAIN.split():
    _unary(_name)


@expansion("round", "special.round", inplace="round_")
def round_(b: GraphBuilder, input: Val, *, decimals: int | None = None, out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    if decimals is None:
        return b.emit("round", x)
    if not x.meta.dtype.is_floating_point:
        raise WouldRaise("round with decimals needs a floating tensor")
    if decimals == 0:
        return b.emit("round", x)
    scale = 10.0 ** abs(decimals)
    up, down = ("mul", "div") if decimals > 0 else ("div", "mul")
    return b.emit(down, b.emit("round", b.emit(up, x, scale)), scale)


@expansion("nan_to_num", inplace="nan_to_num_")
def nan_to_num(b: GraphBuilder, input: Val, nan: Any = None, posinf: Any = None, neginf: Any = None, *,
               out: Any = None) -> Val:
    reject_out(out)
    return b.emit("nan_to_num", need_tensor(input), nan, posinf, neginf)


@expansion("positive", "Tensor.__pos__", "op.pos")
def positive(b: GraphBuilder, input: Val) -> Val:
    if need_tensor(input).meta.dtype is torch.bool:
        raise WouldRaise("unary plus of a bool tensor is not supported")
    return input


@expansion("sgn", inplace="sgn_")
def sgn(b: GraphBuilder, input: Val, *, out: Any = None) -> Val:
    reject_out(out)
    if need_tensor(input).meta.dtype.is_complex:
        raise Unsupported("sgn of complex tensors")
    return b.emit("sign", input)


@expansion("logit", "special.logit", inplace="logit_")
def logit(b: GraphBuilder, input: Val, eps: float | None = None, *, out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    if not x.meta.dtype.is_floating_point:
        x = cast(b, x, torch.get_default_dtype())
    if eps is not None:
        x = b.emit("clamp", x, eps, 1 - eps)
    return b.emit("log", b.emit("div", x, b.emit("sub", 1, x)))


# ------------------------------------------------------------------ two operands
def operands(a: Any, c: Any) -> tuple[Any, Any]:
    """Two operands of which at least one is a tensor and the other a number or a tensor."""
    if type(a) is not Val and type(c) is not Val:
        raise WouldRaise("one operand must be a tensor")
    for x in (a, c):
        if type(x) is not Val and type(x) is not Dim and not isinstance(x, (int, float, bool, complex)):
            raise WouldRaise(f"unsupported operand type {type(x).__name__}")
    return a, c


def numbers_too(fn: Expansion) -> Expansion:
    """torch.add and its like also take two numbers: the first is a 0-d tensor then."""
    @functools.wraps(fn)
    def run(builder: GraphBuilder, input: Any, other: Any, **kwargs: Any) -> Val:
        if type(input) is not Val and type(other) is not Val and isinstance(input, (int, float, Dim)):
            input = builder.emit("full", (), input, number_dtype(input))
        return fn(builder, input, other, **kwargs)      # type: ignore[no-any-return]
    return run


def _factor(alpha: Any, *xs: Any) -> Any:
    if isinstance(alpha, float) and not result_type(*xs).is_floating_point:
        raise WouldRaise("for integral inputs, alpha must not be a float")
    if type(alpha) not in (int, float):
        raise Unsupported(f"alpha of type {type(alpha).__name__}", "pass a Python number")
    return alpha


@expansion("add", "op.add", "Tensor.__add__", "Tensor.__radd__",
           inplace="Tensor.add_ Tensor.__iadd__ op.iadd aten.add_")
@numbers_too
def add(b: GraphBuilder, input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    input, other = operands(input, other)
    return b.emit("add", input, other, _factor(alpha, input, other))


def _no_bools(*xs: Any) -> None:
    for x in xs:
        if x is True or x is False or (type(x) is Val and x.meta.dtype is torch.bool):
            raise WouldRaise("subtraction with a bool operand is not supported")


@expansion("sub", "subtract", "op.sub", "Tensor.__sub__",
           inplace="Tensor.sub_ Tensor.subtract_ Tensor.__isub__ op.isub aten.sub_")
@numbers_too
def sub(b: GraphBuilder, input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    input, other = operands(input, other)
    _no_bools(input, other)
    return b.emit("sub", input, other, _factor(alpha, input, other))


@expansion("torch.rsub", "Tensor.__rsub__", "aten.rsub")
def rsub(b: GraphBuilder, input: Any, other: Any, *, alpha: Any = 1) -> Val:
    input, other = operands(input, other)
    _no_bools(input, other)
    return b.emit("sub", other, input, _factor(alpha, input, other))


@expansion("mul", "multiply", "op.mul", "Tensor.__mul__", "Tensor.__rmul__",
           inplace="Tensor.mul_ Tensor.multiply_ Tensor.__imul__ op.imul aten.mul_")
@numbers_too
def mul(b: GraphBuilder, input: Any, other: Any, *, out: Any = None) -> Val:
    reject_out(out)
    return b.emit("mul", *operands(input, other))


@expansion("div", "divide", "op.truediv", "Tensor.__truediv__", "Tensor.__div__",
           inplace="Tensor.div_ Tensor.divide_ Tensor.__itruediv__ Tensor.__idiv__ op.itruediv aten.div_")
@numbers_too
def div(b: GraphBuilder, input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Val:
    reject_out(out)
    input, other = operands(input, other)
    if rounding_mode is None:
        return b.emit("div", input, other)
    if rounding_mode == "floor":
        return b.emit("floordiv", input, other)
    if rounding_mode == "trunc":
        return b.emit("truncdiv", input, other)
    raise WouldRaise(f"rounding_mode must be None, 'floor' or 'trunc', not {rounding_mode!r}")


@expansion("true_divide", inplace="Tensor.true_divide_")
@numbers_too
def true_divide(b: GraphBuilder, input: Any, other: Any, *, out: Any = None) -> Val:
    return div(b, input, other, out=out)


@expansion("Tensor.__rtruediv__", "Tensor.__rdiv__")
def rdiv(b: GraphBuilder, input: Any, other: Any) -> Val:
    return b.emit("div", *operands(other, input))


def _binary(core: str, *names: str, inplace: str = "", reflected: str = "") -> None:
    def fn(builder: GraphBuilder, input: Any, other: Any, *, out: Any = None) -> Val:
        reject_out(out)
        return builder.emit(core, *operands(input, other))

    def swapped(builder: GraphBuilder, input: Any, other: Any) -> Val:
        return builder.emit(core, *operands(other, input))
    fn.__name__ = swapped.__name__ = core
    expansion(*names, inplace=inplace)(numbers_too(fn) if core == "floordiv" else fn)
    if reflected:
        expansion(*reflected.split())(swapped)


_binary("floordiv", "floor_divide", "op.floordiv", "Tensor.__floordiv__",
        inplace="Tensor.floor_divide_ Tensor.__ifloordiv__ op.ifloordiv", reflected="Tensor.__rfloordiv__")
_binary("remainder", "remainder", "op.mod", "Tensor.__mod__",
        inplace="Tensor.remainder_ Tensor.__imod__ op.imod", reflected="Tensor.__rmod__")
_binary("fmod", "fmod", inplace="Tensor.fmod_")
_binary("atan2", "atan2", "arctan2", inplace="Tensor.atan2_ Tensor.arctan2_")
_binary("maximum", "maximum")
_binary("minimum", "minimum")
_binary("fmax", "fmax")
_binary("fmin", "fmin")
_COMPARE = {"eq": "", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
for _name, _word in _COMPARE.items():
    _long = [_word] if _word else []
    _binary(_name, _name, f"op.{_name}", f"Tensor.__{_name}__", *_long,
            inplace=" ".join([f"Tensor.{_name}_"] + [f"Tensor.{n}_" for n in _long]))
for _name in ("logical_and", "logical_or", "logical_xor"):
    _binary(_name, _name, inplace=f"Tensor.{_name}_")


def _bits(core: str, symbol: str) -> None:
    def fn(builder: GraphBuilder, input: Any, other: Any, *, out: Any = None) -> Val:
        reject_out(out)
        input, other = operands(input, other)
        if result_type(input, other).is_floating_point:
            raise WouldRaise(f"{core} is not implemented for floats")
        return builder.emit(core, input, other)
    fn.__name__ = core
    inplace = [f"Tensor.{core}_", f"Tensor.__i{symbol}__", f"op.i{symbol}"]
    expansion(core, f"op.{symbol}" + ("_" if symbol in ("and", "or") else ""), f"Tensor.__{symbol}__",
              f"Tensor.__r{symbol}__", inplace=" ".join(inplace))(fn)


_bits("bitwise_and", "and")
_bits("bitwise_or", "or")
_bits("bitwise_xor", "xor")
_binary("bitwise_left_shift", "bitwise_left_shift", "op.lshift", "Tensor.__lshift__",
        inplace="Tensor.bitwise_left_shift_ Tensor.__ilshift__ op.ilshift", reflected="Tensor.__rlshift__")
_binary("bitwise_right_shift", "bitwise_right_shift", "op.rshift", "Tensor.__rshift__",
        inplace="Tensor.bitwise_right_shift_ Tensor.__irshift__ op.irshift", reflected="Tensor.__rrshift__")


@expansion("pow", "op.pow", "Tensor.__pow__",
           inplace="Tensor.pow_ Tensor.__ipow__ op.ipow")
def pow(b: GraphBuilder, input: Any, exponent: Any, *, out: Any = None) -> Val:
    reject_out(out)
    input, exponent = operands(input, exponent)
    if isinstance(exponent, int) and exponent < 0 and not result_type(input, exponent).is_floating_point:
        raise WouldRaise("integers to negative integer powers are not allowed")
    return b.emit("pow", input, exponent)


@expansion("Tensor.__rpow__")
def rpow(b: GraphBuilder, input: Any, other: Any) -> Val:
    return pow(b, other, input)


@expansion("isclose")
def isclose(b: GraphBuilder, input: Val, other: Val, rtol: float = 1e-5, atol: float = 1e-8,
            equal_nan: bool = False) -> Val:
    x, y = need_tensor(input), need_tensor(other, "other")
    if x.meta.dtype is not y.meta.dtype:
        raise WouldRaise("isclose needs tensors of one dtype")
    if not x.meta.dtype.is_floating_point:
        raise Unsupported("isclose of integer tensors", "compare with ==")
    close = b.emit("eq", x, y)
    if equal_nan:
        close = b.emit("logical_or", close, b.emit("logical_and", b.emit("isnan", x), b.emit("isnan", y)))
    allowed = b.emit("add", b.emit("abs", b.emit("mul", y, rtol)), atol)
    actual = b.emit("abs", b.emit("sub", x, y))
    within = b.emit("logical_and", b.emit("isfinite", actual), b.emit("le", actual, allowed))
    return b.emit("logical_or", close, within)


# ------------------------------------------------------------------ three operands
@expansion("torch.where", "aten.where")
def where(b: GraphBuilder, condition: Val, input: Any = None, other: Any = None, self: Any = None,
          out: Any = None) -> Val:
    reject_out(out)
    if self is not None:
        input = self
    need_tensor(condition, "condition")
    if input is None and other is None:
        raise Unsupported("where(condition) has a data-dependent shape", "use the three-argument form, or masks")
    if condition.meta.dtype not in (torch.bool, torch.uint8):
        raise WouldRaise("where expected condition to be a boolean tensor")
    return b.emit("where", cast(b, condition, torch.bool), input, other)


@expansion("Tensor.where")
def where_method(b: GraphBuilder, self: Any, condition: Val, other: Any) -> Val:
    return where(b, condition, self, other)


@expansion("masked_fill", inplace="Tensor.masked_fill_")
def masked_fill(b: GraphBuilder, input: Val, mask: Val, value: Any) -> Val:
    x = need_tensor(input)
    if need_tensor(mask, "mask").meta.dtype is not torch.bool:
        raise WouldRaise("masked_fill only supports boolean masks")
    if type(value) is Val:
        if value.meta.shape:
            raise WouldRaise("masked_fill only supports a 0-dimensional value tensor")
    elif isinstance(value, complex) and not x.meta.dtype.is_complex:
        raise WouldRaise("a complex value cannot fill a real tensor")
    return b.emit("masked_fill", x, mask, value)


@expansion("clamp", "clip", inplace="clamp_ clip_")
def clamp(b: GraphBuilder, input: Val, min: Any = None, max: Any = None, *, out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    if min is None and max is None:
        raise WouldRaise("clamp: at least one of min and max must be given")
    return b.emit("clamp", x, min, max)


@expansion("clamp_min", inplace="clamp_min_")
def clamp_min(b: GraphBuilder, input: Val, min: Any, *, out: Any = None) -> Val:
    return clamp(b, input, min, None, out=out)


@expansion("clamp_max", inplace="clamp_max_")
def clamp_max(b: GraphBuilder, input: Val, max: Any, *, out: Any = None) -> Val:
    return clamp(b, input, None, max, out=out)


@expansion("lerp", inplace="Tensor.lerp_")
def lerp(b: GraphBuilder, input: Val, end: Val, weight: Any, *, out: Any = None) -> Val:
    reject_out(out)
    if need_tensor(input).meta.dtype is not need_tensor(end, "end").meta.dtype:
        raise WouldRaise("lerp needs tensors of one dtype")
    return b.emit("lerp", input, end, weight)


@expansion("addcmul", inplace="Tensor.addcmul_")
def addcmul(b: GraphBuilder, input: Val, tensor1: Val, tensor2: Val, *, value: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    x, u, v = need_tensor(input), need_tensor(tensor1, "tensor1"), need_tensor(tensor2, "tensor2")
    if type(value) is Val:
        return b.emit("add", x, b.emit("mul", b.emit("mul", value, u), v), 1)
    return b.emit("addcmul", x, u, v, value)


@expansion("addcdiv", inplace="Tensor.addcdiv_")
def addcdiv(b: GraphBuilder, input: Val, tensor1: Val, tensor2: Val, *, value: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    if not result_type(tensor1, tensor2).is_floating_point:
        raise WouldRaise("addcdiv: integer division is not supported")
    x, u, v = need_tensor(input), need_tensor(tensor1, "tensor1"), need_tensor(tensor2, "tensor2")
    if type(value) is Val:
        return b.emit("add", x, b.emit("div", b.emit("mul", value, u), v), 1)
    return b.emit("addcdiv", x, u, v, value)


def _widened(b: GraphBuilder, *xs: Any) -> tuple[list[Any], torch.dtype]:
    """The operands with half-precision tensors in float32, and the dtype that the result must have."""
    dtype = result_type(*xs)
    return [cast(b, x, torch.float32) if type(x) is Val and dtype in HALVES else x for x in xs], dtype


@expansion("hypot", inplace="Tensor.hypot_")
def hypot(b: GraphBuilder, input: Val, other: Val, *, out: Any = None) -> Val:
    """Scaled so that squares neither overflow nor vanish: m * sqrt(1 + (n/m)^2), with m the larger magnitude."""
    reject_out(out)
    (x, y), dtype = _widened(b, need_tensor(input), need_tensor(other, "other"))
    if not dtype.is_floating_point:
        raise Unsupported(f"hypot of {dtype}", "convert the operands to a floating dtype")
    x, y = b.emit("abs", x), b.emit("abs", y)
    infinite = b.emit("logical_or", b.emit("isinf", x), b.emit("isinf", y))
    m, n = b.emit("maximum", x, y), b.emit("minimum", x, y)
    ratio = b.emit("where", b.emit("eq", m, 0), 0.0, b.emit("div", n, m))
    y = b.emit("mul", m, b.emit("sqrt", b.emit("add", b.emit("pow", ratio, 2), 1)))
    return cast(b, b.emit("where", infinite, math.inf, y), dtype)


@expansion("torch.isin", "aten.isin")
def isin(b: GraphBuilder, elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False,
         out: Any = None) -> Val:
    reject_out(out)
    if torch.bool in (getattr(elements, "dtype", None), getattr(test_elements, "dtype", None)):
        raise Unsupported("isin of bool tensors", "convert the operands to an integer dtype")
    if type(elements) is not Val:
        elements = b.emit("full", (), elements, result_type(elements))
    if type(test_elements) is not Val:
        found = b.emit("eq", elements, test_elements)
    else:
        from .views import flatten
        flat = flatten(b, test_elements)
        many = b.emit("eq", b.emit("unsqueeze", elements, elements.ndim), flat)
        found = b.emit("any", many, (elements.ndim,), False)
    return b.emit("logical_not", found) if invert else found

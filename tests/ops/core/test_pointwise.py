"""Pointwise operators against eager: dtypes, layouts, numbers as operands, special values."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from pellucid.graph.build import GraphBuilder
from pellucid.ops.errors import WouldRaise
from pellucid.runtime.errors import IndexFailed
from pellucid.runtime.reference import run_program

from .harness import add_input, build, check, lower, symbol_values
from .samples import FLOATS, INTS, layouts, values

BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "minimum": torch.minimum,
          "maximum": torch.maximum, "fmin": torch.fmin, "fmax": torch.fmax, "floordiv": torch.floor_divide,
          "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "remainder": torch.remainder,
          "fmod": torch.fmod, "atan2": torch.atan2}
COMPARE = {n: getattr(torch, n) for n in ("eq", "ne", "lt", "le", "gt", "ge")}
LOGIC = {n: getattr(torch, n) for n in ("logical_and", "logical_or", "logical_xor")}
BITS = {n: getattr(torch, n) for n in ("bitwise_and", "bitwise_or", "bitwise_xor")}
UNARY = {n: getattr(torch, n) for n in (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh", "sigmoid", "erf", "asinh", "acosh", "atanh", "neg", "abs", "sign",
    "floor", "ceil", "trunc", "round", "frac", "square", "isnan", "isinf", "isfinite", "signbit", "logical_not")}
ACTIVATIONS = {"relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "gelu": F.gelu, "silu": F.silu, "mish": F.mish,
               "softplus": F.softplus, "elu": F.elu, "leaky_relu": F.leaky_relu, "hardswish": F.hardswish,
               "hardsigmoid": F.hardsigmoid, "log_sigmoid": F.logsigmoid, "softshrink": F.softshrink,
               "hardshrink": F.hardshrink}
SAMPLES = list(layouts())
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30, 3e38, math.inf, -math.inf, math.nan, 88.5, -104.0])


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("name", BINARY | COMPARE | LOGIC)
@pytest.mark.parametrize("sample", SAMPLES)
def test_layouts(name: str, sample: str) -> None:
    fn = (BINARY | COMPARE | LOGIC)[name]
    x = layouts()[sample]
    others = [x, x.clone(), x.contiguous(), values()]
    if x.ndim == 3:
        others += [values(4), values(x.shape[1], 1)] if x.shape[2] == 4 else []
        others += [values(x.shape[2], x.shape[1], x.shape[0]).transpose(0, 2)]
    for y in others:
        check(name, (x, y), fn)
        check(name, (y, x), fn)


@pytest.mark.parametrize("name", BINARY | COMPARE | LOGIC)
@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,))
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    fn = (BINARY | COMPARE | LOGIC)[name]
    x, y = values(5, 3, dtype=dtype), values(5, 3, dtype=dtype)
    if name in ("floordiv", "truncdiv", "remainder", "fmod"):
        y = torch.where(y == 0, torch.ones((), dtype=dtype), y)
    for a, b in ((x, y), (x, y.float()), (x, y[0, 0]), (y.double()[0, 0], x), (x, y.to(torch.int32) | 1)):
        try:
            fn(a, b)
        except RuntimeError:
            with pytest.raises(WouldRaise):
                build(name, (a, b))
            continue
        check(name, (a, b), fn)


@pytest.mark.parametrize("name", ("add", "sub", "mul", "div", "floordiv", "remainder", "fmod", "eq", "lt", "maximum"))
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_numbers(name: str, dtype: torch.dtype) -> None:
    fn = (BINARY | COMPARE)[name] if name != "maximum" else lambda a, b: torch.clamp(a, min=b)
    op = "clamp" if name == "maximum" else name
    for number in (3, 0.1234567, 2.5, True):
        if isinstance(number, bool) and name in ("sub", "maximum"):
            continue
        for x in (values(64, dtype=dtype), values(4, 3, dtype=dtype).t(), values(dtype=dtype)):
            check(op, (x, number), fn)


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,))
def test_unary(name: str, dtype: torch.dtype) -> None:
    fn = UNARY[name]
    samples = [values(5, 3, dtype=dtype), values(dtype=dtype)]
    if dtype.is_floating_point:
        samples.append(SPECIAL[SPECIAL == SPECIAL].to(dtype) if name == "signbit" else SPECIAL.to(dtype))
    for x in samples:
        try:
            fn(x)
        except RuntimeError:
            with pytest.raises(WouldRaise):
                build(name, (x,))
            continue
        if name in ("floor", "ceil", "trunc", "round", "frac", "square") and dtype is torch.bool:
            continue
        check(name, (x,), fn, ulps=8 if name in ("asinh", "acosh", "atanh") else 2)


@pytest.mark.parametrize("name", ["exp", "neg", "relu", "isnan"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_unary_layouts(name: str, sample: str) -> None:
    check(name, (layouts()[sample],), (UNARY | ACTIVATIONS)[name])


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_activations(name: str, dtype: torch.dtype) -> None:
    fn = ACTIVATIONS[name]
    check(name, (values(300, dtype=dtype) * 3,), fn, ulps=4, sums=True)
    check(name, (values(4, 3, dtype=dtype).t(),), fn, ulps=4, sums=True)
    special = torch.tensor([0.0, -0.0, math.inf, math.nan, 1.0], dtype=dtype)
    if name == "gelu":
        special[2] = 1      # eager's is NaN at infinity where it is oneDNN's (AVX-512), else infinity
    check(name, (special,), fn, ulps=4, sums=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gelu_at_infinity(dtype: torch.dtype) -> None:
    x = torch.tensor([math.inf] * 40, dtype=dtype)
    b, vals = build("gelu", (x,), False)
    (got,) = run_program(lower(b, vals), [x], symbol_values(b, [x]))
    assert torch.equal(got, x)


def test_gelu_tanh() -> None:
    check("gelu", (values(300) * 3, "tanh"), lambda x, a: F.gelu(x, approximate=a), ulps=4, sums=True)


@pytest.mark.parametrize("dtype", INTS + (torch.bool,))
def test_bits(dtype: torch.dtype) -> None:
    x, y = values(5, 3, dtype=dtype), values(5, 3, dtype=dtype)
    for name, fn in BITS.items():
        check(name, (x, y), fn)
        check(name, (x, 1), fn)
    check("bitwise_not", (x,), torch.bitwise_not)
    if dtype is not torch.bool:
        for shift in (y.abs() % 7, y.abs() % 7 + 60):
            check("bitwise_left_shift", (x, shift), torch.bitwise_left_shift)
            check("bitwise_right_shift", (x, shift), torch.bitwise_right_shift)


def test_bits_refuse_floats() -> None:
    with pytest.raises(WouldRaise, match="bitwise_and.*integer"):
        build("bitwise_and", (values(3), 1))


@pytest.mark.parametrize("exponent", (0, 1, 2, 3, 5, 0.5, -0.5, -1, -2, 2.5, -3))
@pytest.mark.parametrize("dtype", FLOATS + (torch.int64, torch.uint8))
def test_pow(exponent: float, dtype: torch.dtype) -> None:
    x = values(4, 3, dtype=dtype).abs()
    if not dtype.is_floating_point and exponent < 0 and isinstance(exponent, int):
        with pytest.raises(WouldRaise, match="negative"):
            build("pow", (x, exponent))
        return
    check("pow", (x, exponent), torch.pow, ulps=3)
    check("pow", (x.t(), exponent), torch.pow, ulps=3)
    if exponent > 0:
        check("pow", (exponent, x), torch.pow, ulps=3)
    check("pow", (x, torch.full((3,), abs(exponent), dtype=torch.float32)), torch.pow, ulps=3)


def test_where_and_clamp() -> None:
    for sample in SAMPLES:
        x = layouts()[sample]
        check("where", (x > 0, x, 0.0), torch.where)
        check("where", (x > 0, 1, x), torch.where)
        check("where", ((x > 0).contiguous(), x, x * 2), torch.where)
        for mask in (x > 0, (x > 0).contiguous(), values(4) > 0) if x.shape[-1:] == (4,) else (x > 0,):
            check("masked_fill", (x, mask, -1), lambda x, m, v: x.masked_fill(m, v))
        check("masked_fill", (x, x > 0, torch.tensor(2)), lambda x, m, v: x.masked_fill(m, v))
        check("clamp", (x, -0.5, 0.5), torch.clamp)
        check("clamp", (x, None, 0.5), torch.clamp)
        check("clamp", (x, -x.abs(), x.abs()), torch.clamp)
    nan = torch.tensor([math.nan, 1.0, -5.0])
    check("clamp", (nan, 0.0, 2.0), torch.clamp)
    check("clamp", (values(5, dtype=torch.int64), 0.5, None), torch.clamp)
    check("where", (values(3) > 0, values(3, dtype=torch.int64), 0.5), torch.where)


def test_alpha_and_three_operands() -> None:
    x, y, z = values(4, 3), values(3), values(4, 1)
    check("add", (x, y, 2), lambda a, b, alpha: torch.add(a, b, alpha=alpha), sums=True)
    check("sub", (x, y, 0.3), lambda a, b, alpha: torch.sub(a, b, alpha=alpha), sums=True)
    check("addcmul", (x, y, z, 0.5), lambda a, b, c, v: torch.addcmul(a, b, c, value=v), sums=True)
    check("addcdiv", (x, y, z, 0.5), lambda a, b, c, v: torch.addcdiv(a, b, c, value=v), ulps=4, sums=True)
    for w in (0.3, 0.7, 1.0):
        check("lerp", (x, y.expand(4, 3), w), torch.lerp, sums=True)
    check("nan_to_num", (SPECIAL,), torch.nan_to_num)
    check("nan_to_num", (SPECIAL, 1.0, 2.0, 3.0), torch.nan_to_num)
    check("prelu_scale", (x, y), lambda a, w: torch.where(a > 0, a, w * a))
    check("threshold", (x, 0.1, 20.0), F.threshold)
    check("elu", (x, 0.7), F.elu, sums=True)
    check("softplus", (x, 2.0, 1.0), F.softplus, ulps=4, sums=True)


def test_integer_arithmetic_wraps() -> None:
    top = torch.tensor([2**63 - 1, -(2**63), 5])
    check("add", (top, 1), torch.add)
    check("mul", (top, 3), torch.mul)
    check("add", (torch.tensor([250, 6], dtype=torch.uint8), 10), torch.add)
    check("neg", (torch.tensor([250, 6], dtype=torch.uint8),), torch.neg)


def test_division_by_integer_zero_raises_at_run_time() -> None:
    from pellucid.runtime.reference import run_program

    x, zero = torch.tensor([4, 5]), torch.tensor([2, 0])
    b, vals = build("floordiv", (x, zero))
    with pytest.raises(IndexFailed):
        run_program(lower(b, vals), (x, zero))


def test_symbolic_number() -> None:
    from pellucid.graph.types import SymbolDef
    from pellucid.runtime.reference import run_program

    x = values(6)
    b = GraphBuilder()
    v = add_input(b, x)
    n = b.env.symbol(6)
    b.symbols.append(SymbolDef(b.env.symbols[-1], 0, 0))
    out = b.emit("mul", v, n * 2 + 1)
    assert out.meta.dtype is torch.float32
    assert torch.equal(run_program(lower(b, (out,)), (x,), {b.env.symbols[-1]: 6})[0], x * 13)


@pytest.mark.parametrize("sample", SAMPLES)
def test_copies(sample: str) -> None:
    x = layouts()[sample]
    check("clone", (x,), torch.clone)
    check("clone", (x, torch.contiguous_format), lambda a, f: a.clone(memory_format=f))
    for dtype in FLOATS + INTS + (torch.bool,):
        check("to_dtype", (x.abs(), dtype), lambda a, d: a.to(d, copy=True))
    y = values(2, 3, 4, 5)
    check("clone", (y, torch.channels_last), lambda a, f: a.clone(memory_format=f))

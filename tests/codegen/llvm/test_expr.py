"""Scalar functions against eager: integers of every width, floats, halves, comparisons, bits, shifts, casts."""

from __future__ import annotations

import math

import pytest
import torch

from pellucid.ir.build import call, cast
from pellucid.ir.types import Call

from .harness import lit, map_kernel

INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def ints(dtype: torch.dtype, n: int = 61) -> torch.Tensor:
    info = torch.iinfo(dtype)
    g = torch.Generator().manual_seed(3)
    x = torch.randint(max(info.min, -1000), min(info.max, 1000), (n,), generator=g, dtype=torch.int64)
    x[:6] = torch.tensor([info.min, info.max, 0, 1, max(info.min, -1), info.max - 1])
    return x.to(dtype)


def floats(dtype: torch.dtype) -> torch.Tensor:
    g = torch.Generator().manual_seed(4)
    x = torch.cat([torch.tensor([0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, 1.5, 2.5, -0.5]),
                   torch.randn(50, generator=g) * 10])
    return x.to(dtype)


def run(fn, *xs: torch.Tensor, out: torch.dtype | None = None) -> torch.Tensor:  # noqa: ANN001
    """fn over one axis: in lanes with a tail, and point by point; both must agree."""
    shape = torch.broadcast_shapes(*[x.shape for x in xs])
    results = []
    for mode in ("vector", "serial"):
        o = torch.zeros(shape, dtype=out or xs[0].dtype)
        b, body = map_kernel(fn, [x.expand(shape) for x in xs], o, [mode])
        assert b.run(body) == 0
        results.append(o)
    a, c = results
    assert torch.equal(torch.nan_to_num(a.double(), 7), torch.nan_to_num(c.double(), 7))
    return a


def same(got: torch.Tensor, want: torch.Tensor) -> None:
    assert got.dtype == want.dtype
    if want.dtype.is_floating_point:
        assert torch.equal(got.isnan(), want.isnan())
        got, want = got.nan_to_num(7), want.nan_to_num(7)
        assert torch.equal(torch.signbit(got), torch.signbit(want))
    assert torch.equal(got, want)


def pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a, b = torch.meshgrid(x, x, indexing="ij")
    return a.reshape(-1).contiguous(), b.reshape(-1).contiguous()


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("fn", ["add", "sub", "mul", "min", "max", "and", "or", "xor"])
def test_int_binary_wraps(fn: str, dtype: torch.dtype) -> None:
    a, b = pairs(ints(dtype, 19))
    eager = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "min": torch.minimum, "max": torch.maximum,
             "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}[fn]
    same(run(lambda p, q: call(fn, p, q), a, b), eager(a, b))


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("fn", ["floordiv", "truncdiv", "mod", "fmod"])
@pytest.mark.parametrize("divisor", [None, 7, -7, 1, -1, 4])
def test_int_division(fn: str, dtype: torch.dtype, divisor: int | None) -> None:
    a, b = pairs(ints(dtype, 19))
    info = torch.iinfo(dtype)
    if divisor is not None:
        if divisor < info.min:
            pytest.skip("negative divisor of an unsigned dtype")
        b = torch.full_like(b, divisor)
    keep = (b != 0) & ~((a == info.min) & (b == -1))
    a, b = a[keep], b[keep]
    eager = {"floordiv": lambda p, q: torch.div(p, q, rounding_mode="floor"),
             "truncdiv": lambda p, q: torch.div(p, q, rounding_mode="trunc"), "mod": torch.remainder,
             "fmod": torch.fmod}[fn]
    if divisor is None:
        got = run(lambda p, q: call(fn, p, q), a, b)
    else:
        got = run(lambda p: call(fn, p, lit(divisor, dtype)), a)
    same(got, eager(a, b))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_division_that_would_trap(dtype: torch.dtype) -> None:
    """A zero divisor sets the status, and does not kill the process; INT_MIN / -1 wraps."""
    info = torch.iinfo(dtype)
    a = torch.tensor([info.min, 5, 7], dtype=dtype)
    out = torch.zeros_like(a)
    b, body = map_kernel(lambda p, q: call("floordiv", p, q), [a, torch.tensor([-1, 2, -2], dtype=dtype)], out)
    assert b.run(body) == 0
    assert out.tolist() == [info.min, 2, -4]
    b, body = map_kernel(lambda p, q: call("mod", p, q), [a, torch.tensor([3, 0, 2], dtype=dtype)], out)
    assert b.run(body) == 5


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("fn", ["shl", "shr"])
def test_shifts_by_any_count(fn: str, dtype: torch.dtype) -> None:
    a = ints(dtype)
    width = torch.iinfo(dtype).bits
    counts = [0, 1, 3, width - 1, width, width + 5] + ([-1] if dtype is not torch.uint8 else [])
    for c in counts:
        b = torch.full_like(a, c)
        eager = torch.bitwise_left_shift if fn == "shl" else torch.bitwise_right_shift
        same(run(lambda p, q: call(fn, p, q), a, b), eager(a, b))


@pytest.mark.parametrize("dtype", INTS)
def test_int_unary(dtype: torch.dtype) -> None:
    a = ints(dtype)
    same(run(lambda p: call("neg", p), a), -a)
    same(run(lambda p: call("abs", p), a), a.abs())
    same(run(lambda p: call("sign", p), a), a.sign())
    same(run(lambda p: call("not", p), a), ~a)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_int_pow(dtype: torch.dtype) -> None:
    a = ints(dtype)
    for k in (0, 1, 2, 3, 7):
        same(run(lambda p, k=k: call("pow", p, lit(k, dtype)), a), a ** k)
    e = torch.arange(61).remainder(9).to(dtype)
    same(run(lambda p, q: call("pow", p, q), a, e), a ** e)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fn", ["add", "sub", "mul", "div", "min", "max", "floordiv", "mod", "fmod"])
def test_float_binary(fn: str, dtype: torch.dtype) -> None:
    a, b = pairs(floats(dtype)[:24])
    eager = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "min": torch.minimum,
             "max": torch.maximum, "floordiv": lambda p, q: torch.div(p, q, rounding_mode="floor"),
             "mod": torch.remainder, "fmod": torch.fmod}[fn]
    got, want = run(lambda p, q: call(fn, p, q), a, b), eager(a, b)
    if fn in ("min", "max"):
        # which zero is the smaller is not specified
        got, want = got + 0.0, want + 0.0
    if fn in ("mod", "fmod", "floordiv"):
        # eager's own vector and scalar paths differ in zeros' signs and at infinities
        ok = a.isfinite() & b.isfinite() & (b != 0)
        got, want = got[ok] + 0.0, want[ok] + 0.0
        got, want = torch.where(got == 0, 0.0, got).to(dtype), torch.where(want == 0, 0.0, want).to(dtype)
        if dtype in (torch.float16, torch.bfloat16):
            torch.testing.assert_close(got, want)
            return
    same(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fn", ["neg", "abs", "floor", "ceil", "trunc", "round", "sqrt", "reciprocal", "rsqrt", "sign"])
def test_float_unary(fn: str, dtype: torch.dtype) -> None:
    a = floats(dtype)
    got, want = run(lambda p: call(fn, p), a), getattr(torch, fn)(a)
    if fn in ("sqrt", "rsqrt"):
        # eager's square root is not rounded correctly on every CPU, its half rsqrt rounds twice
        root = torch.tensor([math.sqrt(v) if v >= 0 else math.nan for v in a.double().tolist()], dtype=torch.float64)
        root[a == 0] = a.double()[a == 0]
        want = root.to(a.dtype)
        if fn == "rsqrt":
            wide = torch.promote_types(dtype, torch.float32)
            want = (1 / root.to(wide)).to(dtype)
    if fn == "sign":
        got, want = got + 0.0, want + 0.0
        got, want = got[~a.isnan()], want[~a.isnan()]
    same(got, want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize("fn", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(fn: str, dtype: torch.dtype) -> None:
    x = floats(dtype) if dtype.is_floating_point else (torch.tensor([True, False]) if dtype is torch.bool else
                                                       ints(dtype))
    a, b = pairs(x[:20])
    same(run(lambda p, q: call(fn, p, q, dtype=torch.bool), a, b, out=torch.bool), getattr(torch, fn)(a, b))


@pytest.mark.parametrize("dtype", FLOATS)
def test_classification(dtype: torch.dtype) -> None:
    a = floats(dtype)
    same(run(lambda p: call("isnan", p, dtype=torch.bool), a, out=torch.bool), a.isnan())
    same(run(lambda p: call("isinf", p, dtype=torch.bool), a, out=torch.bool), a.isinf())


def test_bools() -> None:
    a, b = pairs(torch.tensor([True, False, True]))
    for fn, eager in (("and", torch.logical_and), ("or", torch.logical_or), ("xor", torch.logical_xor)):
        same(run(lambda p, q, fn=fn: call(fn, p, q), a, b), eager(a, b))
    same(run(lambda p: call("not", p), a), ~a)
    x, y = torch.randn(9), torch.randn(9)
    same(run(lambda c, p, q: call("where", c, p, q, dtype=torch.float32), a, x, y, out=torch.float32),
         torch.where(a, x, y))


@pytest.mark.parametrize("source", [*INTS, *FLOATS, torch.bool])
@pytest.mark.parametrize("to", [*INTS, *FLOATS, torch.bool])
def test_casts(source: torch.dtype, to: torch.dtype) -> None:
    if source.is_floating_point:
        x = floats(source)
        if not to.is_floating_point and to is not torch.bool:
            # conversions of values that the integer type cannot hold are undefined in C++
            x = x[x.isfinite()]
            x = x.abs() if to is torch.uint8 else x
    else:
        x = torch.tensor([True, False, True] * 11) if source is torch.bool else ints(source)
    same(run(lambda p: cast(p, to), x, out=to), x.to(to))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_rounding_of_every_kind(dtype: torch.dtype) -> None:
    """Ties to even, denormals, overflow to infinity, NaN."""
    g = torch.Generator().manual_seed(5)
    bits = torch.randint(-2**31, 2**31, (20000,), generator=g, dtype=torch.int64).to(torch.int32)
    x = torch.cat([bits.view(torch.float32),
                   (torch.arange(-70000, 70000, 7) / 64.0), torch.arange(0, 5000) * 2.0**-26,
                   1 + torch.arange(0, 4096) * 2.0**-13])
    same(run(lambda p: cast(p, dtype), x, out=dtype), x.to(dtype))
    h = torch.arange(-2**15, 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
    same(run(lambda p: cast(p, torch.float32), h, out=torch.float32), h.float())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_fma_has_one_rounding_and_mul_add_two(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    a, b, c = (torch.randn(333, dtype=dtype) for _ in range(3))
    c = -(a * b) + c * 1e-9
    same(run(lambda p, q, r: call("add", call("mul", p, q), r), a, b, c), a * b + c)
    got = run(lambda p, q, r: call("fma", p, q, r), a, b, c)
    if dtype is torch.float32:
        same(got, (a.double() * b.double() + c.double()).float())
    else:
        assert not torch.equal(got, a * b + c)


def test_unknown_function_is_named() -> None:
    with pytest.raises(ValueError, match="'frobnicate'"):
        run(lambda p: Call("frobnicate", (p,), torch.float32), torch.randn(3))


def test_complex_is_refused_with_the_remedy() -> None:
    x = torch.zeros(3, dtype=torch.complex64)
    with pytest.raises(ValueError, match="complex64.*Extern"):
        run(lambda p: p, x)

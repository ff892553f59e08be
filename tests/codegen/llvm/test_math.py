"""Elementary functions of float32 against float64: largest error in ulp over a dense sample, and special values."""

from __future__ import annotations

import math

import pytest
import torch

from pellucid.ir.build import call

from .harness import map_kernel

BOUNDS = {"exp": 1.0, "exp2": 1.0, "expm1": 1.5, "sigmoid": 2.1, "tanh": 1.5, "erf": 1.5, "log": 1.0, "log2": 1.5,
          "log10": 1.5, "log1p": 1.5, "sin": 0.6, "cos": 0.6, "tan": 0.6, "sqrt": 0.5, "rsqrt": 1.5, "reciprocal": 0.5}
LIBRARY = {"asin": 1.0, "acos": 1.0, "atan": 1.0, "sinh": 1.0, "cosh": 1.0}
SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-38, -1e-38, 1e-40, 3.4e38, -3.4e38,
           88.7, 88.73, 89.0, -87.3, -87.4, -103.9, -104.1, 104.0, 127.9, 128.0, -149.0, -150.0, 1e30, -1e30, 2.0**30,
           2.0**31, 1e10, 1.0000001, 0.99999994, 0.5, 2.0, 10.0]


def reference(name: str, x: torch.Tensor) -> torch.Tensor:
    d = x.double()
    return {"rsqrt": lambda v: 1 / torch.sqrt(v), "reciprocal": lambda v: 1 / v}.get(name, getattr(torch, name))(d)


def run(name: str, x: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    b, body = map_kernel(lambda *a: call(name, *a), [x, *more], out)
    assert b.run(body) == 0
    return out


def ulps(got: torch.Tensor, want: torch.Tensor) -> torch.Tensor:
    """|got - want| in units in the last place of float32 at want; special values must agree exactly."""
    rounded = want.float()
    special = ~rounded.isfinite()
    assert torch.equal(got[special].nan_to_num(nan=7), rounded[special].nan_to_num(nan=7))
    exponent = torch.frexp(want.abs()).exponent.clamp(min=-125) - 24
    unit = torch.ldexp(torch.ones_like(want), exponent)
    err = (got.double() - want).abs() / unit
    # where the exact value is beyond the largest float, or within half an ulp of it, rounding decides
    return torch.where(special | (got.isinf() & (want.abs() > 3.4028234e38)), torch.zeros_like(err), err)


def sample() -> torch.Tensor:
    """About 400,000 floats: every exponent and sign with 700 random mantissas, a dense grid, special values."""
    g = torch.Generator().manual_seed(0)
    bits = torch.arange(0, 255).repeat_interleave(700) << 23
    bits = bits + torch.randint(0, 1 << 23, bits.shape, generator=g)
    positive = bits.to(torch.int32).view(torch.float32)
    return torch.cat([positive, -positive, torch.linspace(-20, 20, 40_001), torch.linspace(0.3, 3, 20_001),
                      torch.linspace(-100, 100, 20_001), torch.tensor(SPECIAL)])


@pytest.mark.parametrize("name", [*BOUNDS, *LIBRARY])
def test_error_in_ulp(name: str) -> None:
    x = sample()
    if name in ("sin", "cos", "tan"):
        # the float64 reference itself is exact enough for these
        x = x[(x.abs() < 1e15) | ~x.isfinite()]
    if name in ("sinh", "cosh"):
        # Sleef's overflow a little early, as eager's do
        x = x[(x.abs() < 88) | ~x.isfinite()]
    worst = ulps(run(name, x), reference(name, x))
    k = int(worst.argmax())
    bound = {**BOUNDS, **LIBRARY}[name] + 0.001
    assert worst[k] <= bound, f"{name}({x[k].item()!r}): {worst[k]:.3f} ulp"


@pytest.mark.parametrize("name", ["exp", "expm1", "tanh", "erf", "sin", "tan", "log1p", "sigmoid"])
def test_signed_zero_and_scalar_form(name: str) -> None:
    """One element at a time (no lanes) gives the same bits as in lanes; zeros keep their sign where eager's do."""
    x = torch.tensor(SPECIAL)
    whole = run(name, x)
    one = torch.empty_like(x)
    for k in range(len(x)):
        b, body = map_kernel(lambda a: call(name, a), [x[k:k + 1]], one[k:k + 1], ["serial"])
        assert b.run(body) == 0
    assert torch.equal(whole.view(torch.int32)[~whole.isnan()], one.view(torch.int32)[~one.isnan()])
    assert torch.equal(whole.isnan(), one.isnan())
    eager = getattr(torch, name)(x)
    assert torch.equal(torch.signbit(whole[:2]), torch.signbit(eager[:2]))


def test_pow_in_ulp() -> None:
    g = torch.Generator().manual_seed(1)
    x = torch.exp(torch.randn(200_000, generator=g) * 4)
    y = torch.randn(200_000, generator=g) * 8
    assert ulps(run("pow", x, y), torch.pow(x.double(), y.double())).max() <= 1.001


def test_pow_special_cases() -> None:
    v = torch.tensor([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, 1e30, -1e30,
                      1e-45, 16777216.0, 16777215.0, -1.5, 2.5])
    x, y = (t.reshape(-1).contiguous() for t in torch.meshgrid(v, v, indexing="ij"))
    got, want = run("pow", x, y), torch.pow(x.double(), y.double())
    assert ulps(got, want).max() <= 1.001
    zero = want == 0
    assert torch.equal(torch.signbit(got[zero]), torch.signbit(want[zero]))


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "cos", "expm1", "log1p", "sigmoid", "atan",
                                  "sqrt"])
@pytest.mark.parametrize("n", [1, 3, 4, 9, 35])
def test_double(name: str, n: int) -> None:
    torch.manual_seed(0)
    x = torch.rand(2, n, dtype=torch.float64) * 3 + 0.1
    torch.testing.assert_close(run(name, x), getattr(torch, name)(x), rtol=4e-16 * 4, atol=0)


@pytest.mark.parametrize("name", ["pow", "atan2", "fmod"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_two_operands(name: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = torch.rand(3, 37, dtype=dtype) * 5, torch.randn(3, 37, dtype=dtype)
    torch.testing.assert_close(run(name, x, y), getattr(torch, name)(x, y), rtol=4 * torch.finfo(dtype).eps, atol=0)

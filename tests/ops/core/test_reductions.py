"""Reductions and prefix sums against eager."""

from __future__ import annotations

import math

import pytest
import torch

from pellucid.ops.errors import WouldRaise

from .harness import build, check
from .samples import FLOATS, INTS, layouts, values

SAMPLES = list(layouts())
ALL = FLOATS + INTS + (torch.bool,)
DIMS = {3: [None, (0,), (1,), (-1,), (0, 2), (1, 2)], 1: [None, (0,)], 0: [None, ()]}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("keepdim", [False, True])
def test_layouts(sample: str, keepdim: bool) -> None:
    x = layouts()[sample]
    for dims in DIMS[x.ndim]:
        _check_all(x, dims, keepdim)
    if x.numel():
        check("argmax", (x, None, False), lambda x, d, k: torch.argmax(x))


def _check_all(x: torch.Tensor, dims: tuple[int, ...] | None, keepdim: bool) -> None:
    d = dims or tuple(range(x.ndim))
    check("sum", (x, dims, keepdim), lambda x, _, k: torch.sum(x, d, k), sums=True)
    check("mean", (x, dims, keepdim), lambda x, _, k: torch.mean(x, d, k), sums=True)
    check("any", (x, dims, keepdim), lambda x, _, k: torch.any(x, d, k) if d else torch.any(x))
    check("all", (x, dims, keepdim), lambda x, _, k: torch.all(x, d, k) if d else torch.all(x))
    for p in (0, 1, 2, 3, math.inf, -math.inf):
        if x.numel() or (0 <= p < math.inf):
            check("norm", (x, p, dims, keepdim), lambda x, p, _, k: torch.linalg.vector_norm(x, p, d, k), sums=True)
    if x.numel():
        check("logsumexp", (x, d, keepdim), torch.logsumexp, sums=True)
        check("amax", (x, dims, keepdim), lambda x, _, k: torch.amax(x, d, k))
        check("amin", (x, dims, keepdim), lambda x, _, k: torch.amin(x, d, k))
        if x.numel() // x.sum(d).numel() > 1:
            for name in ("var", "std", "var_mean", "std_mean"):
                for c in (0, 1):
                    check(name, (x, dims, c, keepdim),
                          lambda x, _, c, k, f=getattr(torch, name): f(x, d, correction=c, keepdim=k), sums=True)
    if len(d) == 1 or not x.ndim:
        _check_one(x, d[0] if d else 0, keepdim)


def _check_one(x: torch.Tensor, dim: int, keepdim: bool) -> None:
    dims = (dim,) if x.ndim else ()
    check("prod", (x, dims, keepdim), lambda x, _, k: torch.prod(x, dim, k), sums=True)
    check("cumsum", (x, dim), torch.cumsum, sums=True)
    check("cumprod", (x, dim), torch.cumprod, sums=True)
    if x.numel():
        for name in ("argmax", "argmin"):
            check(name, (x, dim, keepdim), getattr(torch, name))
        check("max_dim", (x, dim, keepdim), torch.max)
        check("min_dim", (x, dim, keepdim), torch.min)
        check("aminmax", (x, dims, keepdim), lambda x, _, k: torch.aminmax(x, dim=dim if x.ndim else None, keepdim=k))


@pytest.mark.parametrize("dtype", ALL)
def test_dtypes(dtype: torch.dtype) -> None:
    x = values(5, 7, dtype=dtype)
    check("sum", (x,), torch.sum, sums=True)
    check("sum", (x, (1,)), torch.sum, sums=True)
    check("prod", (x[:, :3], (1,)), lambda x, d: torch.prod(x, d[0]), sums=True)
    check("any", (x, (1,)), torch.any)
    check("all", (x, (1,)), torch.all)
    check("amax", (x, (1,)), torch.amax)
    check("max_dim", (x, 1), torch.max)
    check("min_dim", (x, 0), torch.min)
    check("argmax", (x, 1), lambda x, d: torch.argmax(x.to(torch.uint8) if dtype is torch.bool else x, d))
    check("cumsum", (x, 0), torch.cumsum, sums=True)
    check("sum", (x, (0,), False, torch.float64), lambda x, d, k, t: torch.sum(x, d, k, dtype=t), sums=True)
    if not dtype.is_floating_point:
        check("sum", (x, (0,), False, torch.int32), lambda x, d, k, t: torch.sum(x, d, k, dtype=t))
    if dtype.is_floating_point:
        check("mean", (x, (1,)), torch.mean, sums=True)
        check("var", (x, (1,)), torch.var, sums=True)
    else:
        with pytest.raises(WouldRaise, match="mean"):
            build("mean", (x, (1,)))
        check("mean", (x, (1,), False, torch.float32), lambda x, d, k, t: torch.mean(x, d, k, dtype=t), sums=True)


def test_nan_and_infinity() -> None:
    x = torch.tensor([[1.0, math.nan, 2.0], [math.inf, -math.inf, 0.0], [-math.inf, -math.inf, -math.inf]])
    for name in ("amax", "amin", "sum", "logsumexp"):
        check(name, (x, (1,)), getattr(torch, name))
    for name in ("argmax", "argmin"):
        check(name, (x, 1), getattr(torch, name))
    check("max_dim", (x, 1), torch.max)


def test_accumulates_half_precision_in_float32() -> None:
    x = torch.ones(4096, dtype=torch.bfloat16)
    check("sum", (x,), torch.sum)
    check("mean", (x,), torch.mean)


def test_extremes_of_nothing_are_refused() -> None:
    for name in ("amax", "argmax"):
        with pytest.raises(WouldRaise, match=name):
            build(name, (torch.ones(2, 0), (1,) if name == "amax" else 1))


def test_repeated_dims_are_refused() -> None:
    with pytest.raises(WouldRaise, match="twice"):
        build("sum", (torch.ones(2, 3), (0, -2)))
    with pytest.raises(WouldRaise, match="out of range"):
        build("sum", (torch.ones(2, 3), (2,)))

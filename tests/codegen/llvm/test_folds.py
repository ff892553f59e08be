"""Reductions against eager and float64: combiners, axes, tails, accuracy, first occurrence, NaN."""

from __future__ import annotations

import pytest
import torch

from pellucid.ir.types import For

from .harness import fold_kernel

EAGER = {"sum": torch.sum, "prod": torch.prod, "min": torch.amin, "max": torch.amax, "argmin": torch.argmin,
         "argmax": torch.argmax, "any": torch.any, "all": torch.all}


@pytest.mark.parametrize("n", [1, 5, 31, 32, 33, 64, 200, 1023])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("combiner", ["sum", "max", "min", "argmax", "argmin", "prod"])
@pytest.mark.parametrize("vector", [True, False])
def test_float_folds(combiner: str, dim: int, n: int, vector: bool) -> None:
    torch.manual_seed(n)
    x = torch.randn(7, n) if dim == 1 else torch.randn(n, 7)
    if combiner == "prod":
        x = 1 + x * 0.05
    acc = torch.int64 if combiner.startswith("arg") else torch.float32
    out = torch.zeros(7, dtype=acc)
    b, body = fold_kernel(combiner, x, [dim], out, acc, vector)
    assert b.run(body) == 0
    want = EAGER[combiner](x.double(), dim)
    if combiner in ("sum", "prod"):
        size = x.double().abs().sum(dim) if combiner == "sum" else want.abs()
        assert ((out.double() - want).abs() <= 3e-7 * size).all()
    else:
        assert torch.equal(out, want.to(acc))


@pytest.mark.parametrize("combiner", ["min", "max", "argmin", "argmax"])
def test_nan_is_extreme_and_first(combiner: str) -> None:
    x = torch.randn(6, 90)
    x[0, 40] = float("nan")
    x[1, 89] = float("nan")
    x[2, 0] = float("nan")
    x[3, 7] = x[3, 70] = float("nan")
    x[4, 11] = x[4, 80] = 100.0
    x[4, 12] = x[4, 81] = -100.0
    x[5] = float("-inf") if combiner.endswith("max") else float("inf")
    acc = torch.int64 if combiner.startswith("arg") else torch.float32
    out = torch.zeros(6, dtype=acc)
    b, body = fold_kernel(combiner, x, [1], out, acc)
    assert b.run(body) == 0
    assert torch.equal(out.nan_to_num(7), EAGER[combiner](x, 1).nan_to_num(7))


@pytest.mark.parametrize("n,rows", [(10, 400), (100, 400), (1000, 400), (4096, 100), (300_000, 4)])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize("normal", [True, False])
def test_sums_are_as_accurate_as_eager(n: int, rows: int, dim: int, vector: bool, normal: bool) -> None:
    """Mean error over many sums, against the mean error of eager's."""
    torch.manual_seed(0)
    shape = (rows, n) if dim == 1 else (n, rows)
    x = torch.randn(shape) if normal else torch.rand(shape)
    out = torch.zeros(rows)
    b, body = fold_kernel("sum", x, [dim], out, torch.float32, vector)
    assert b.run(body) == 0
    want = x.double().sum(dim)
    eager = (x.sum(dim).double() - want).abs().mean()
    ours = (out.double() - want).abs().mean()
    assert ours <= 1.5 * eager


@pytest.mark.parametrize("dim,modes", [(0, ["vector"]), (0, ["parallel"])])
def test_column_sums_in_lanes(dim: int, modes: list[str]) -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 45)
    out = torch.zeros(45)
    b, body = fold_kernel("sum", x, [0], out, torch.float32, vector=False)
    (loop,) = body
    assert b.run((For(loop.axis, loop.body, modes[0]),)) == 0
    assert ((out.double() - x.double().sum(0)).abs() <= 1e-7 * x.double().abs().sum(0)).all()


@pytest.mark.parametrize("dims", [(0, 2), (1, 2), (0, 1, 2), (1, 0)])
@pytest.mark.parametrize("combiner", ["sum", "max", "argmax"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64])
def test_several_axes(dims: tuple[int, ...], combiner: str, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = (torch.randn(5, 6, 19) * 50).to(dtype)
    acc = torch.int64 if combiner == "argmax" or dtype is torch.int32 and combiner == "sum" else dtype
    kept = [x.shape[k] for k in range(3) if k not in dims]
    out = torch.zeros(kept, dtype=acc)
    b, body = fold_kernel(combiner, x, list(dims), out, acc)
    assert b.run(body) == 0
    order = [k for k in range(3) if k not in dims] + list(dims)
    flat = x.permute(order).reshape(*kept, -1)
    want = {"sum": flat.sum, "max": flat.amax, "argmax": flat.argmax}[combiner](-1)
    if combiner == "sum" and dtype.is_floating_point:
        exact = flat.double().sum(-1)
        assert ((out.double() - exact).abs() <= 2e-7 * flat.double().abs().sum(-1)).all()
    else:
        assert torch.equal(out, want.to(acc))


@pytest.mark.parametrize("combiner", ["any", "all"])
@pytest.mark.parametrize("n", [1, 30, 64, 65])
def test_bool_folds(combiner: str, n: int) -> None:
    x = torch.zeros(4, n, dtype=torch.bool) if combiner == "any" else torch.ones(4, n, dtype=torch.bool)
    x[1, n - 1] = combiner == "any"
    x[2, 0] = combiner == "any"
    out = torch.zeros(4, dtype=torch.bool)
    b, body = fold_kernel(combiner, x, [1], out, torch.bool)
    assert b.run(body) == 0
    assert torch.equal(out, EAGER[combiner](x, 1))


@pytest.mark.parametrize("combiner,neutral", [("sum", 0.0), ("prod", 1.0), ("max", float("-inf"))])
def test_empty_fold_is_neutral(combiner: str, neutral: float) -> None:
    out = torch.full((3,), 9.0)
    b, body = fold_kernel(combiner, torch.zeros(3, 0), [1], out, torch.float32)
    assert b.run(body) == 0
    assert torch.equal(out, torch.full((3,), neutral))

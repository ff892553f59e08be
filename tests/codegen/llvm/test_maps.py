"""Elementwise kernels against eager: dtypes, layouts, tails, empty and symbolic sizes, splits of the range."""

from __future__ import annotations

import pytest
import torch

from pellucid.ir.build import call, cast
from pellucid.ir.types import Write
from pellucid.shapes.dim import Dim, Sym

from .harness import Builder, at, lit, map_kernel, nest, put

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
          torch.int32, torch.int64, torch.bool]


def sample(shape, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    if dtype.is_floating_point:
        return (torch.randn(shape, generator=g) * 3).to(dtype)
    if dtype is torch.bool:
        return torch.rand(shape, generator=g) < 0.5
    return torch.randint(-100, 100, shape, generator=g).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 3, 7, 8, 9, 16, 31, 33, 64, 100, 257])
def test_copy_and_add_every_tail(dtype: torch.dtype, n: int) -> None:
    x, y = sample((3, n), dtype), sample((3, n), dtype, 1)
    out = torch.full((3, n), 1, dtype=dtype)
    b, body = map_kernel(lambda p, q: call("add", p, q), [x, y], out)
    assert b.run(body) == 0
    assert torch.equal(out, x + y)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_outside_is_written(dtype: torch.dtype) -> None:
    whole = sample((4, 50), dtype)
    before = whole.clone()
    x = sample((4, 21), dtype, 1)
    b, body = map_kernel(lambda p: p, [x], whole[:, 3:24])
    assert b.run(body) == 0
    assert torch.equal(whole[:, 3:24], x)
    assert torch.equal(whole[:, :3], before[:, :3]) and torch.equal(whole[:, 24:], before[:, 24:])


@pytest.mark.parametrize("to", DTYPES)
@pytest.mark.parametrize("wide", [torch.float32, torch.float64, torch.int64, torch.int32, torch.int16])
def test_narrowing_writes_nothing_outside(to: torch.dtype, wide: torch.dtype) -> None:
    for n in (1, 2, 5, 9, 16, 17, 33, 65):
        whole = sample((4, 80), to)
        before = whole.clone()
        x = sample((4, n), wide, 1).abs()
        b, body = map_kernel(lambda p: cast(call("add", p, p), to), [x], whole[:, 3:3 + n])
        assert b.run(body) == 0
        assert torch.equal(whole[:, 3:3 + n], (x + x).to(to)), n
        assert torch.equal(whole[:, :3], before[:, :3]) and torch.equal(whole[:, 3 + n:], before[:, 3 + n:]), n


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int8, torch.int64])
def test_strided_reads_and_writes(dtype: torch.dtype) -> None:
    x = sample((13, 37), dtype).t()
    y = sample((37, 26), dtype, 1)[:, ::2]
    out = torch.zeros((13, 74), dtype=dtype).t()[::2]
    b, body = map_kernel(lambda p, q: call("sub", p, q), [x, y], out)
    assert b.run(body) == 0
    assert torch.equal(out, x - y)


def test_broadcast_operands() -> None:
    x, row, col = torch.randn(9, 33), torch.randn(33), torch.randn(9, 1)
    out = torch.empty(9, 33)
    b, body = map_kernel(lambda p, q, r: call("add", call("mul", p, q), r),
                         [x, row.expand(9, 33), col.expand(9, 33)], out)
    assert b.run(body) == 0
    assert torch.equal(out, x * row + col)


@pytest.mark.parametrize("modes", [("parallel", "parallel", "parallel"), ("parallel", "parallel", "vector"),
                                   ("parallel", "serial", "vector"), ("serial", "vector", "serial"),
                                   ("vector", "serial", "serial"), ("serial", "serial", "serial")])
def test_loop_modes_and_splits(modes: tuple[str, ...]) -> None:
    x = torch.randn(5, 6, 29)
    out = torch.zeros(5, 6, 29)
    b, body = map_kernel(lambda p: call("mul", p, lit(2.0, torch.float32)), [x], out, modes)
    extent = b.extent(b.kernel(body))
    splits = [s for s in (1, 7, 30, 31, 333, 869) if s < extent]
    assert b.run(body, splits) == 0
    assert torch.equal(out, x * 2)


@pytest.mark.parametrize("n", [0, 1, 5, 64, 67])
def test_symbolic_sizes(n: int) -> None:
    s = Dim.of(Sym("s0"))
    x, out = torch.randn(3, n), torch.zeros(n, 3)
    b = Builder()
    b.symbol(s, n)
    v = b.tensor(x, (3, s), (s, 1))
    o = b.tensor(out, (s, 3), (3, 1))
    i, j = b.axis(3), b.axis(s)
    assert b.run(nest([i, j], ["parallel", "vector"], [put(o, [j, i], at(v, i, j))])) == 0
    assert torch.equal(out, x.t())


def test_size_expressions_from_symbols() -> None:
    s = Dim.of(Sym("s0"))
    n = 12
    x, out = torch.randn(2 * n + 3), torch.zeros(2 * n + 3)
    b = Builder()
    b.symbol(s, n)
    size = 2 * s + 3
    v, o = b.tensor(x, (size,), (1,)), b.tensor(out, (size,), (1,))
    i = b.axis(size)
    assert b.run(nest([i], ["vector"], [put(o, [i], at(v, i))])) == 0
    assert torch.equal(out, x)


def test_unknown_symbol_is_named() -> None:
    b = Builder()
    s = Dim.of(Sym("s9"))
    v = b.tensor(torch.randn(4), (s,), (1,))
    i = b.axis(s)
    with pytest.raises(ValueError, match="s9.*symbols"):
        b.run(nest([i], ["vector"], [put(v, [i], at(v, i))]))


def test_uniform_value_and_half_conversion() -> None:
    out = torch.zeros(3, 21, dtype=torch.bfloat16)
    b = Builder()
    o = b.tensor(out)
    i, j = b.axis(3), b.axis(21)
    e = cast(call("add", cast(lit(1.0, torch.float32), torch.float32), lit(0.3, torch.float32)), torch.bfloat16)
    assert b.run(nest([i, j], ["parallel", "vector"], [Write(o, at(o, i, j).index, e)])) == 0
    assert torch.equal(out, torch.full((3, 21), 1.3).to(torch.bfloat16))

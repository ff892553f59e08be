"""Access patterns against eager: masks, gathers, index checks, scatters, reshaped axes, scratch rows, prefix loops."""

from __future__ import annotations

import pytest
import torch

from pellucid.ir.build import call, cast, size_expr
from pellucid.ir.types import Accumulator, Fold, For, Index, Let, Literal, Load, Running
from pellucid.shapes.dim import Dim, Sym

from .harness import Builder, at, lit, nest, put

DATA = [torch.float32, torch.float64, torch.int64, torch.int8, torch.bfloat16, torch.bool]


def data(shape, dtype: torch.dtype) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(0, 2, shape).bool() if dtype is torch.bool else (torch.randn(shape) * 20).to(dtype)


def zero(dtype: torch.dtype) -> Literal:
    return Literal(False if dtype is torch.bool else 0, dtype)


@pytest.mark.parametrize("mode", ["vector", "serial", "parallel"])
@pytest.mark.parametrize("dtype", DATA)
def test_concatenation_by_masked_loads(dtype: torch.dtype, mode: str) -> None:
    x, y = data((3, 13), dtype), data((3, 29), dtype)
    out = torch.zeros(3, 42, dtype=dtype)
    b = Builder()
    xv, yv, o = b.tensor(x), b.tensor(y), b.tensor(out)
    i, j = b.axis(3), b.axis(42)
    first = call("lt", Index(j), lit(13), dtype=torch.bool)
    e = call("where", first, Load(xv, (Index(i), Index(j)), first, zero(dtype)),
             Load(yv, (Index(i), call("sub", Index(j), lit(13))), call("not", first), zero(dtype)), dtype=dtype)
    assert b.run(nest([i, j], ["parallel", mode], [put(o, [i, j], e)])) == 0
    assert torch.equal(out, torch.cat([x, y], 1))


@pytest.mark.parametrize("dtype", DATA)
def test_padding_masks_by_row_and_column(dtype: torch.dtype) -> None:
    x = data((4, 21), dtype)
    out = torch.zeros(8, 30, dtype=dtype)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(8), b.axis(30)
    r, c = call("sub", Index(i), lit(2)), call("sub", Index(j), lit(5))

    def inside(e, n):  # noqa: ANN001, ANN202
        return call("and", call("ge", e, lit(0), dtype=torch.bool), call("lt", e, lit(n), dtype=torch.bool))

    other = Literal(True if dtype is torch.bool else 3, dtype)
    e = Load(xv, (r, c), call("and", inside(r, 4), inside(c, 21)), other)
    assert b.run(nest([i, j], ["parallel", "vector"], [put(o, [i, j], e)])) == 0
    want = torch.full((8, 30), other.value, dtype=dtype)
    want[2:6, 5:26] = x
    assert torch.equal(out, want)


def test_mask_that_varies_over_lanes_of_a_uniform_element() -> None:
    x, out = torch.randn(5), torch.zeros(5, 19)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(5), b.axis(19)
    m = call("eq", call("mod", Index(j), lit(3)), lit(1), dtype=torch.bool)
    e = Load(xv, (Index(i),), m, lit(-1.0, torch.float32))
    assert b.run(nest([i, j], ["parallel", "vector"], [put(o, [i, j], e)])) == 0
    want = torch.where(torch.arange(19) % 3 == 1, x[:, None], -1.0)
    assert torch.equal(out, want)


def test_masked_load_of_an_empty_view_reads_nothing() -> None:
    x, out = torch.zeros(0), torch.ones(40)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    j = b.axis(40)
    e = Load(xv, (Index(j),), call("lt", Index(j), lit(0), dtype=torch.bool), lit(2.0, torch.float32))
    for mode in ("vector", "serial"):
        assert b.run(nest([j], [mode], [put(o, [j], e)])) == 0
        assert torch.equal(out, torch.full((40,), 2.0))


@pytest.mark.parametrize("dtype", DATA)
@pytest.mark.parametrize("index_dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize("inner", ["vector", "serial"])
def test_embedding_rows_and_columns(dtype: torch.dtype, index_dtype: torch.dtype, inner: str) -> None:
    table = data((50, 35), dtype)
    ids = torch.tensor([0, 49, -1, 7, -50, 21], dtype=index_dtype)
    out = torch.zeros(6, 35, dtype=dtype)
    b = Builder()
    t, d, o = b.tensor(table), b.tensor(ids), b.tensor(out)
    i, j = b.axis(6), b.axis(35)
    e = call("check_index", cast(at(d, i), torch.int64), lit(50))
    assert b.run(nest([i, j], ["parallel", inner], [put(o, [i, j], at(t, e, j))])) == 0
    assert torch.equal(out, table[ids.long()])
    # a gather along the vector axis
    cols = torch.randint(-35, 35, (50, 35))
    out = torch.zeros(50, 35, dtype=dtype)
    b = Builder()
    t, d, o = b.tensor(table), b.tensor(cols), b.tensor(out)
    i, j = b.axis(50), b.axis(35)
    e = call("check_index", at(d, i, j), lit(35))
    assert b.run(nest([i, j], ["parallel", inner], [put(o, [i, j], at(t, i, e))])) == 0
    assert torch.equal(out, table.gather(1, cols % 35))


@pytest.mark.parametrize("bad", [0, 1, 17, 33])
@pytest.mark.parametrize("mode", ["vector", "serial"])
@pytest.mark.parametrize("value", [10, -11, 2**40])
def test_bad_index_sets_status_and_reads_element_zero(bad: int, mode: str, value: int) -> None:
    ids = torch.arange(34) % 10
    ids[bad] = value
    x, out = torch.randn(10), torch.zeros(34)
    b = Builder()
    xv, d, o = b.tensor(x), b.tensor(ids), b.tensor(out)
    j = b.axis(34)
    body = nest([j], [mode], [put(o, [j], at(xv, call("check_index", at(d, j), lit(10))))])
    assert b.run(body) == 1 + 4
    ids[bad] = 0
    assert torch.equal(out, x[ids])


def test_tail_lanes_do_not_report_bad_indices() -> None:
    ids = torch.full((64,), 99)
    ids[:5] = 1
    x, out = torch.randn(10), torch.zeros(5)
    b = Builder()
    xv, d, o = b.tensor(x), b.tensor(ids[:5]), b.tensor(out)
    j = b.axis(5)
    assert b.run(nest([j], ["vector"], [put(o, [j], at(xv, call("check_index", at(d, j), lit(10))))])) == 0


@pytest.mark.parametrize("combine", [None, "sum", "max", "min", "prod"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16])
def test_scatter_in_order(combine: str | None, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    idx = torch.randint(0, 9, (40,))
    src = torch.randint(-3, 4, (40, 21)).to(dtype)
    out = torch.ones(9, 21, dtype=dtype)
    want = out.clone()
    b = Builder()
    d, s, o = b.tensor(idx), b.tensor(src), b.tensor(out)
    i, j = b.axis(40), b.axis(21)
    e = call("check_index", at(d, i), lit(9))
    assert b.run(nest([i, j], ["serial", "vector"], [put(o, [e, j], at(s, i, j), combine)])) == 0
    for k in range(40):
        r = want[idx[k]]
        want[idx[k]] = {None: lambda r, v: v, "sum": torch.add, "max": torch.maximum, "min": torch.minimum,
                        "prod": torch.mul}[combine](r, src[k])
    assert torch.equal(out, want)


@pytest.mark.parametrize("n", [8, 16, 37])
def test_colliding_lanes_combine_one_after_another(n: int) -> None:
    idx = torch.arange(n) % 3
    src, out = torch.arange(n).float(), torch.zeros(3)
    b = Builder()
    d, s, o = b.tensor(idx), b.tensor(src), b.tensor(out)
    j = b.axis(n)
    assert b.run(nest([j], ["vector"], [put(o, [at(d, j)], at(s, j), "sum")])) == 0
    assert torch.equal(out, torch.zeros(3).index_add(0, idx, src))


@pytest.mark.parametrize("heads,width", [(4, 16), (3, 8), (2, 24), (5, 7)])
@pytest.mark.parametrize("mode", ["vector", "parallel", "serial"])
def test_reshaped_axis_by_division(heads: int, width: int, mode: str) -> None:
    """out[s, h*width + d] = x[h, s, d]: uniform division where no vector crosses a head, lanes where it does."""
    x, out = torch.randn(heads, 6, width), torch.zeros(6, heads * width)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    s, c = b.axis(6), b.axis(heads * width)
    h, d = call("floordiv", Index(c), lit(width)), call("mod", Index(c), lit(width))
    body = nest([s, c], ["parallel", mode], [put(o, [s, c], at(xv, h, s, d))])
    assert b.run(body, [5] if mode == "parallel" else []) == 0
    assert torch.equal(out, x.permute(1, 0, 2).reshape(6, -1))


@pytest.mark.parametrize("n", [1, 9, 64, 20_000])
def test_softmax_with_a_scratch_row(n: int) -> None:
    x, out = torch.randn(5, n), torch.zeros(5, n)
    b = Builder()
    s = b.symbol(Dim.of(Sym("n")), n)
    xv, o, row = b.tensor(x, (5, s), (s, 1)), b.tensor(out, (5, s), (s, 1)), b.row(torch.float32, (s,))
    i, j, k, m = b.axis(5), b.axis(s), b.axis(s), b.axis(s)
    top, total, e = b.var(torch.float32), b.var(torch.float32), b.var(torch.float32)
    body = [Fold((j,), (), (Accumulator(top, "max", at(xv, i, j)),)),
            Fold((k,), (Let(e, call("exp", call("sub", at(xv, i, k), top))), put(row, [k], e)),
                 (Accumulator(total, "sum", e),)),
            For(m, (put(o, [i, m], call("div", at(row, m), total)),), "vector")]
    assert b.run(nest([i], ["parallel"], body), [2]) == 0
    torch.testing.assert_close(out, torch.softmax(x, 1), rtol=2e-6, atol=1e-9)


@pytest.mark.parametrize("combiner", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float64])
def test_prefix_loops(combiner: str, dim: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(11, 19).mul(2).to(dtype)
    out = torch.zeros(11, 19, dtype=dtype)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(11), b.axis(19)
    v = b.var(dtype)
    scan, other = (i, j) if dim == 0 else (j, i)
    run = Running(scan, v, combiner, at(xv, i, j), (put(o, [i, j], v),))
    for mode in ("vector", "parallel", "serial"):
        out.zero_()
        assert b.run(nest([other], [mode], [run])) == 0
        want = {"sum": lambda t: t.cumsum(dim), "prod": lambda t: t.cumprod(dim),
                "max": lambda t: t.cummax(dim).values, "min": lambda t: t.cummin(dim).values}[combiner](x)
        torch.testing.assert_close(out, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 40), (2, 64, 64), (1, 5, 100), (2, 33, 0)])
@pytest.mark.parametrize("symbolic", [False, True])
def test_transposes_in_tiles(shape: tuple[int, int, int], symbolic: bool) -> None:
    x = torch.randn(shape)
    y = torch.randn(shape[0], shape[2], shape[1])
    out = torch.zeros(shape[0], shape[2], shape[1])
    b = Builder()
    n, m = shape[1:]
    if symbolic:
        n, m = b.symbol(Dim.of(Sym("n")), n), b.symbol(Dim.of(Sym("m")), m)
    k, i, j = b.axis(shape[0]), b.axis(m), b.axis(n)
    xv = b.tensor(x, (shape[0], n, m), (n * m, m, 1))
    yv, o = (b.tensor(t, (shape[0], m, n), (n * m, n, 1)) for t in (y, out))
    e = call("add", at(xv, k, j, i), at(yv, k, i, j))
    extent = shape[0] * shape[2]
    assert b.run(nest([k, i, j], ["parallel", "parallel", "vector"], [put(o, [k, i, j], e)]),
                 [s for s in (1, 23, 100) if s < extent]) == 0
    assert torch.equal(out, x.transpose(1, 2) + y)


def test_reads_after_writes_in_one_kernel_see_them() -> None:
    x, y, out = torch.randn(33), torch.zeros(33), torch.zeros(33)
    b = Builder()
    xv, yv, o = b.tensor(x), b.tensor(y), b.tensor(out)
    i, j = b.axis(33), b.axis(33)
    v = at(yv, j)
    body = (For(i, (put(yv, [i], call("mul", at(xv, i), lit(2.0, torch.float32))),), "vector"),
            For(j, (put(o, [j], call("add", v, v)), put(yv, [j], lit(1.0, torch.float32)),
                    put(o, [j], call("add", at(o, j), at(yv, j)))), "vector"))
    assert b.run(body) == 0
    assert torch.equal(out, x * 4 + 1)


def test_recurrence_in_a_serial_loop() -> None:
    x = torch.ones(20)
    b = Builder()
    xv = b.tensor(x)
    i = b.axis(18)
    one, two = call("add", Index(i), lit(1)), call("add", Index(i), lit(2))
    assert b.run(nest([i], ["serial"], [put(xv, [two], call("add", at(xv, i), at(xv, one)))])) == 0
    assert x[19] == 6765.0


def test_size_values_and_index_values() -> None:
    n = Dim.of(Sym("n"))
    out = torch.zeros(3, 23)
    b = Builder()
    b.symbol(n, 23)
    o = b.tensor(out, (3, n), (n, 1))
    i, j = b.axis(3), b.axis(n)
    e = cast(call("add", call("mul", Index(i), size_expr(n)), Index(j)), torch.float32)
    assert b.run(nest([i, j], ["parallel", "vector"], [put(o, [i, j], e)])) == 0
    assert torch.equal(out, torch.arange(69).reshape(3, 23).float())


def test_nested_folds() -> None:
    """A fold whose body holds another: sum over i of (max over j of x[i, j])."""
    x, out = torch.randn(4, 6, 37), torch.zeros(4)
    b = Builder()
    xv, o = b.tensor(x), b.tensor(out)
    k, i, j = b.axis(4), b.axis(6), b.axis(37)
    top, total = b.var(torch.float32), b.var(torch.float32)
    inner = Fold((j,), (), (Accumulator(top, "max", at(xv, k, i, j)),))
    body = [Fold((i,), (inner,), (Accumulator(total, "sum", top),)), put(o, [k], total)]
    assert b.run(nest([k], ["parallel"], body)) == 0
    torch.testing.assert_close(out, x.amax(2).sum(1))


def test_several_accumulators_and_halves() -> None:
    x = torch.randn(3, 75).to(torch.bfloat16)
    s_out, m_out, a_out = torch.zeros(3, dtype=torch.bfloat16), torch.zeros(3), torch.zeros(3, dtype=torch.int64)
    b = Builder()
    xv, so, mo, ao = (b.tensor(t) for t in (x, s_out, m_out, a_out))
    i, j = b.axis(3), b.axis(75)
    s, m, a = b.var(torch.float32), b.var(torch.float32), b.var(torch.int64)
    e = cast(at(xv, i, j), torch.float32)
    body = [Fold((j,), (), (Accumulator(s, "sum", e), Accumulator(m, "max", e), Accumulator(a, "argmax", e))),
            put(so, [i], cast(s, torch.bfloat16)), put(mo, [i], m), put(ao, [i], a)]
    assert b.run(nest([i], ["parallel"], body)) == 0
    assert torch.equal(s_out, x.float().sum(1).to(torch.bfloat16))
    assert torch.equal(m_out, x.float().amax(1)) and torch.equal(a_out, x.float().argmax(1))

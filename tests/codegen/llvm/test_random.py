"""Random kernels (expression trees, layouts, loop modes, sizes, splits) against the reference evaluator, bit by bit."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pellucid.ir.build import call, cast
from pellucid.ir.types import Accumulator, Expr, Fold, For, Index, Let, Stmt
from pellucid.runtime.evaluate import Memory, flat_of
from pellucid.runtime.reference import run_kernel
from pellucid.shapes.dim import Dim, Sym

from .harness import Builder, at, lit, nest, put

F32, I64, BOOL = torch.float32, torch.int64, torch.bool
FLOAT2 = ["add", "sub", "mul", "div", "min", "max"]
FLOAT1 = ["neg", "abs", "floor", "ceil", "trunc", "round", "reciprocal"]
INT2 = ["add", "sub", "mul", "min", "max", "and", "or", "xor"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]


@st.composite
def expressions(draw: st.DrawFn, leaves: dict[torch.dtype, list[Expr]], dtype: torch.dtype, depth: int) -> Expr:
    """A tree whose operations have one right answer, bit by bit. Subtrees are shared now and then."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(leaves[dtype]))

    def sub(d: torch.dtype) -> Expr:
        return draw(expressions(leaves, d, depth - 1))

    kind = draw(st.integers(0, 4))
    if dtype is BOOL:
        if kind == 0:
            return call("not", sub(BOOL))
        if kind == 1:
            return call(draw(st.sampled_from(["and", "or", "xor"])), sub(BOOL), sub(BOOL))
        d = draw(st.sampled_from([F32, I64]))
        return call(draw(st.sampled_from(COMPARE)), sub(d), sub(d), dtype=BOOL)
    if kind == 0:
        e: Expr = call("where", sub(BOOL), sub(dtype), sub(dtype), dtype=dtype)
    elif kind == 1 and dtype is F32:
        e = cast(call("mod", sub(I64), lit(101)), F32)
    elif kind == 1:
        divisor = lit(draw(st.sampled_from([1, 2, 3, 8, 16, -5])))
        e = call(draw(st.sampled_from(["floordiv", "mod"])), sub(I64), divisor)
    elif kind == 2 and dtype is F32:
        e = call(draw(st.sampled_from(FLOAT1)), sub(F32))
    else:
        e = call(draw(st.sampled_from(FLOAT2 if dtype is F32 else INT2)), sub(dtype), sub(dtype))
    leaves[dtype].append(e)
    return e


@st.composite
def layouts(draw: st.DrawFn, rows: int, columns: int, dtype: torch.dtype, seed: int) -> torch.Tensor:
    """A (rows, columns) tensor: contiguous, transposed, with steps, an offset, or broadcast."""
    g = torch.Generator().manual_seed(seed)

    def new(*shape: int) -> torch.Tensor:
        x = torch.randn(shape, generator=g) * 8
        return (x > 0) if dtype is BOOL else x.to(dtype)

    kind = draw(st.sampled_from(["plain", "transposed", "stepped", "offset", "row", "column"]))
    return {"plain": lambda: new(rows, columns), "transposed": lambda: new(columns, rows).t(),
            "stepped": lambda: new(rows, 2 * columns)[:, ::2], "offset": lambda: new(rows + 1, columns + 3)[1:, 3:],
            "row": lambda: new(columns).expand(rows, columns),
            "column": lambda: new(rows, 1).expand(rows, columns)}[kind]()


def check(b: Builder, body: tuple[Stmt, ...], out: torch.Tensor, split: int) -> None:
    kernel = b.kernel(body)
    extent = b.extent(kernel)
    start = out.clone()
    assert b.run(body, [split] if 0 < split < extent else []) == 0
    got = out.clone()
    out.copy_(start)
    memory = Memory({x.id: flat_of(t) for x, t in zip(b.buffers, b.tensors)},
                    {d.terms[0][0][0]: v for d, v in zip(b.symbols, b.values)})  # type: ignore[misc]
    run_kernel(kernel, memory)
    assert torch.equal(got.isnan(), out.isnan())
    assert torch.equal(torch.nan_to_num(got, 7), torch.nan_to_num(out, 7))


SIZES = st.sampled_from([1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 40, 65])
RULES = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


@RULES
@given(data=st.data(), rows=st.integers(1, 5), columns=SIZES, symbolic=st.booleans())
def test_maps(data: st.DataObject, rows: int, columns: int, symbolic: bool) -> None:
    b = Builder()
    n = b.symbol(Dim.of(Sym("n")), columns) if symbolic else columns
    i, j = b.axis(rows), b.axis(n)
    leaves: dict[torch.dtype, list[Expr]] = {F32: [lit(1.5, F32)], I64: [lit(3), Index(i), Index(j)], BOOL: []}
    for k, d in enumerate((F32, F32, I64, BOOL)):
        t = data.draw(layouts(rows, columns, d, k))
        leaves[d].append(at(b.tensor(t, (rows, n), t.stride()), i, j))
    out = torch.zeros(rows, columns)
    o = b.tensor(out, (rows, n), out.stride())
    value = data.draw(expressions(leaves, F32, 5))
    modes = data.draw(st.sampled_from([("parallel", "vector"), ("parallel", "parallel"), ("serial", "vector"),
                                       ("vector", "serial"), ("parallel", "serial")]))
    check(b, nest([i, j], modes, [put(o, [i, j], value)]), out, data.draw(st.integers(0, rows * columns)))


@RULES
@given(data=st.data(), rows=st.integers(1, 5), columns=SIZES, symbolic=st.booleans())
def test_rows_with_folds(data: st.DataObject, rows: int, columns: int, symbolic: bool) -> None:
    """Two folds and a loop over a row, with a scratch row between; combiners whose order does not matter."""
    b = Builder()
    n = b.symbol(Dim.of(Sym("n")), columns) if symbolic else columns
    i, j, k, m = b.axis(rows), b.axis(n), b.axis(n), b.axis(n)
    x = data.draw(layouts(rows, columns, F32, 0))
    y = data.draw(layouts(rows, columns, I64, 1))
    xv, yv = b.tensor(x, (rows, n), x.stride()), b.tensor(y, (rows, n), y.stride())
    row = b.row(F32, (n,))
    out = torch.zeros(rows, columns)
    o = b.tensor(out, (rows, n), out.stride())
    first, count, where, e = b.var(F32), b.var(I64), b.var(I64), b.var(F32)
    leaves: dict[torch.dtype, list[Expr]] = {F32: [at(xv, i, j), lit(0.5, F32)], I64: [at(yv, i, j), Index(j)],
                                             BOOL: [lit(True, BOOL)]}
    value = data.draw(expressions(leaves, F32, 3))
    number = data.draw(expressions(leaves, I64, 3))
    later: dict[torch.dtype, list[Expr]] = {F32: [at(xv, i, k), first], I64: [at(yv, i, k), count],
                                            BOOL: [lit(False, BOOL)]}
    kept = data.draw(expressions(later, F32, 3))
    vector = data.draw(st.booleans())
    body: list[Stmt] = [
        Fold((j,), (), (Accumulator(first, data.draw(st.sampled_from(["max", "min"])), value),
                        Accumulator(count, data.draw(st.sampled_from(["sum", "max", "min", "prod"])), number)), vector),
        Fold((k,), (Let(e, kept), put(row, [k], e)),
             (Accumulator(where, data.draw(st.sampled_from(["argmax", "argmin"])), e),), vector),
        For(m, (put(o, [i, m], call("add", at(row, m), cast(call("mod", call("add", where, count), lit(64)), F32))),),
            data.draw(st.sampled_from(["vector", "serial"])))]
    mode = data.draw(st.sampled_from(["parallel", "serial", "vector"]))
    if mode == "vector" and symbolic:
        mode = "parallel"
    if mode == "vector":
        # a scratch row belongs to one row at a time
        total = call("add", first, cast(call("mod", count, lit(64)), F32))
        body = [body[0], For(m, (put(o, [i, m], total),), "serial")]
    check(b, nest([i], [mode], body), out, data.draw(st.integers(0, rows)))

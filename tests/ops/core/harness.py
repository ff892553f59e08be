"""Runs one core operator both ways: eagerly on real tensors, and by its rule, lowering and the reference runner."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

import pellucid.ops.core  # noqa: F401
from pellucid.graph.build import GraphBuilder, Val
from pellucid.graph.types import SymbolDef, TensorMeta
from pellucid.ir.build import Lowering
from pellucid.ir.types import Program
from pellucid.runtime.reference import run_program
from pellucid.shapes.dim import evaluate
from pellucid.shapes.env import holds

EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def meta_of(t: torch.Tensor) -> TensorMeta:
    return TensorMeta(t.dtype, tuple(t.shape), tuple(t.stride()))


def add_input(b: GraphBuilder, t: torch.Tensor, dynamic: bool = False) -> Val:
    """`t` as a graph input; `dynamic` makes a symbol of each size above 1 (if t is dense)."""
    meta = meta_of(t)
    if dynamic and t.numel() == 1 + sum((n - 1) * k for n, k in zip(t.shape, t.stride())):
        shape = []
        for d, s in enumerate(t.shape):
            if s > 1:
                dim = b.env.symbol(s)
                b.symbols.append(SymbolDef(b.env.symbols[-1], len(b.inputs), d))
                shape.append(dim)
            else:
                shape.append(s)
        order = sorted(range(t.ndim), key=lambda d: (t.stride(d), -d))
        strides: list[Any] = list(t.stride())
        step: Any = 1
        for d in order:
            if t.stride(d) and t.shape[d] > 1:
                strides[d] = step
                step = step * shape[d]
        meta = dataclasses.replace(meta, shape=tuple(shape), strides=tuple(strides))
    return b.input(meta, f"input {len(b.inputs)}")


def replace_tensors(args: Any, fn: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(args, torch.Tensor):
        return fn(args)
    if isinstance(args, (tuple, list)):
        return tuple(replace_tensors(a, fn) for a in args)
    return args


def tensors_in(args: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    replace_tensors(args, found.append)
    return found


def build(op: str, args: Sequence[Any], dynamic: bool = False) -> tuple[GraphBuilder, tuple[Val, ...]]:
    b = GraphBuilder()
    vals = b.emit(op, *replace_tensors(tuple(args), lambda t: add_input(b, t, dynamic)))
    return b, vals if isinstance(vals, tuple) else (vals,)


def lower(b: GraphBuilder, outputs: tuple[Val, ...]) -> Program:
    graph = b.finish(outputs)
    lx = Lowering(graph)
    for node in graph.nodes:
        lx.node(node)
    return lx.program()


def symbol_values(b: GraphBuilder, inputs: Sequence[torch.Tensor]) -> dict[Any, int]:
    return {s.sym: inputs[s.input].shape[s.dim] for s in b.symbols}


def as_tuple(x: Any) -> tuple[torch.Tensor, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def check_meta(op: str, args: Sequence[Any], expected: Any, dynamic: bool = False, strides: bool = True) -> None:
    b, vals = build(op, args, dynamic)
    values = symbol_values(b, tensors_in(args))
    outs = as_tuple(expected)
    assert len(outs) == len(vals), f"{op}: {len(vals)} outputs, eager has {len(outs)}"
    base = tensors_in(args)[0].storage_offset() if tensors_in(args) else 0
    view = vals[0].root is not vals[0]
    for v, e in zip(vals, outs):
        m = v.meta
        got = (m.dtype, tuple(evaluate(s, values) for s in m.shape))
        assert got == (e.dtype, tuple(e.shape)), f"{op}: {got}, eager has {(e.dtype, tuple(e.shape))}"
        if strides:
            have = tuple(evaluate(s, values) for s in m.strides)
            assert have == e.stride(), f"{op}: strides {have}, eager has {e.stride()} for shape {tuple(e.shape)}"
        if view:
            assert evaluate(m.offset, values) == e.storage_offset() - base, f"{op}: offset {m.offset}"
    for g in b.env.guards:
        assert holds(g.op, evaluate(g.lhs, values), evaluate(g.rhs, values)), f"{op}: guard {g} does not hold"


def check_values(op: str, args: Sequence[Any], expected: Any, exact: Any = None, dynamic: bool = False,
                 ulps: float = 2.0, sums: bool = False) -> None:
    """Values against eager's; where `exact` (the float64 result) is given, the error may be at most 2x eager's plus
    `ulps` units in the last place of the result, or of the largest result for operators that add (`sums`)."""
    inputs = tensors_in(args)
    b, vals = build(op, args, dynamic)
    got = run_program(lower(b, vals), inputs, symbol_values(b, inputs))
    exacts = [None] * len(got) if exact is None else as_tuple(exact)
    for g, e, x in zip(got, as_tuple(expected), exacts):
        assert g.shape == e.shape and g.dtype == e.dtype
        if not e.dtype.is_floating_point:
            assert torch.equal(g, e), f"{op}: {g} is not {e}"
            continue
        ref = e.double() if x is None else x.double()
        special = ~torch.isfinite(ref) | ~torch.isfinite(e.double())
        assert torch.equal(torch.isnan(g[special]), torch.isnan(e[special])), f"{op}: nan differs from eager's"
        keep = special & ~torch.isnan(e)
        assert torch.equal(g[keep], e[keep]), f"{op}: infinities differ from eager's"
        ok = ~special
        if not bool(ok.any()):
            continue
        if x is None:  # eager's own float64 rounding errors are not known
            ulps = max(ulps, 16.0) if sums else ulps
        scale = ref[ok].abs().clamp_min(torch.finfo(e.dtype).tiny)
        limit = 2 * (e.double()[ok] - ref[ok]).abs() + ulps * EPS[e.dtype] * scale
        if sums:
            scale = scale.max()
            limit = 2 * (e.double()[ok] - ref[ok]).abs().max() + ulps * EPS[e.dtype] * scale
        error = (g.double()[ok] - ref[ok]).abs()
        worst = (error / limit).max()
        assert worst <= 1, f"{op}: error {error.max():.3g} is {worst:.3g} times what is allowed"


def check(op: str, args: Sequence[Any], eager: Callable[..., Any], *, dynamic: bool = True, strides: bool = True,
          values: bool = True, ulps: float = 2.0, sums: bool = False, real: Callable[..., Any] | None = None) -> None:
    """`op` on `args` against eager(*args), with constant sizes and (if `dynamic`) with symbolic ones."""
    with torch.no_grad():
        expected = eager(*args)
        exact = None
        if any(o.dtype.is_floating_point and o.dtype is not torch.float64 for o in as_tuple(expected)):
            wide = replace_tensors(tuple(args), lambda t: t.double() if t.is_floating_point() else t)
            exact = (real or eager)(*wide)
        for dyn in (False, True)[:1 + dynamic]:
            check_meta(op, args, expected, dyn, strides)
            if values:
                check_values(op, args, expected, exact, dyn, ulps, sums)

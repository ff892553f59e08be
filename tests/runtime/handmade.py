"""Segments made by hand, for tests of the runtime without capture."""

from __future__ import annotations

import operator

import torch

from pellucid.capture.types import FromGraph, Return, Segment
from pellucid.graph.build import GraphBuilder
from pellucid.graph.types import SymbolDef, TensorMeta
from pellucid.guards.evaluate import describe_tensor
from pellucid.guards.types import Guard, Source, TensorGuard
from pellucid.shapes.env import ShapeEnv

X = Source("arg", None, "x")


def tensor_guard(t: torch.Tensor, free: tuple[int, ...] = ()) -> TensorGuard:
    g = describe_tensor(t)
    shape = tuple(None if i in free else d for i, d in enumerate(g.shape))
    return TensorGuard(g.tensor_type, g.dtype, g.device, shape, None if free else g.strides, g.requires_grad,
                       g.dispatch_keys, contiguous=bool(free))


def double_plus_one(x: torch.Tensor, dynamic=lambda source, dim: False, source: Source = X) -> Segment:
    """x * 2 + 1, with the sizes symbolic that `dynamic` names."""
    b = GraphBuilder(ShapeEnv())
    free = tuple(i for i in range(x.ndim) if dynamic(source, i))
    shape = tuple(b.env.symbol(d) if i in free else d for i, d in enumerate(x.shape))
    strides, step = [], 1
    for d in reversed(shape):
        strides.insert(0, step)
        step = step * d
    meta = TensorMeta(x.dtype, shape, tuple(strides))
    v = b.input(meta, source)
    for i in free:
        (sym,) = shape[i].terms[0][0]
        b.symbols.append(SymbolDef(sym, 0, i))
    twice = b._val(meta)
    b.record("function", operator.mul, (v, 2), {}, twice, ())
    out = b._val(meta)
    b.record("method", "add", (twice, 1), {}, out, ())
    graph = b.finish((out,))
    return Segment(graph, (Guard("tensor", source, tensor_guard(x, free)),), (), Return(FromGraph(0)), instructions=5)

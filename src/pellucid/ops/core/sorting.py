"""sort and topk, as calls of the extern table: (values, indices)."""

from __future__ import annotations

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering
from ...shapes.dim import Size
from ...shapes.env import ShapeEnv
from ..errors import WouldRaise
from ..meta import concrete_int, new, wrap_dim
from ..registry import lowering, op
from ..strides import preserved
from .exprs import INT


@op("sort", "self", ("dim", -1), ("descending", False), ("stable", False))
def sort(builder: GraphBuilder, self: Val, dim: int, descending: bool, stable: bool) -> tuple[TensorMeta, TensorMeta]:
    m = self.meta
    wrap_dim(dim, len(m.shape))
    strides = preserved(builder.env, m.shape, m.strides)
    return new(m, m.shape, strides=strides), new(m, m.shape, INT, strides)


@lowering("sort")
def sort_lower(lx: Lowering, node: Node) -> None:
    ref, dim, descending, stable = node.args
    x = lx.view(ref)
    lx.extern("sort", [x], [lx.out(node, 0), lx.out(node, 1)], dim=wrap_dim(dim, len(x.shape)),
              descending=bool(descending), stable=bool(stable))


@op("topk", "self", "k", ("dim", -1), ("largest", True), ("sorted", True))
def topk(builder: GraphBuilder, self: Val, k: Size, dim: int, largest: bool,
         sorted: bool) -> tuple[TensorMeta, TensorMeta]:
    m = self.meta
    d = wrap_dim(dim, len(m.shape))
    if builder.env.decide("<", k, 0) or builder.env.decide(">", k, m.shape[d] if m.shape else 1):
        raise WouldRaise(f"topk: k={k} must be between 0 and the size of dimension {d} of {m.shape}")
    shape = m.shape[:d] + (k,) + m.shape[d + 1:] if m.shape else ()
    return new(m, shape), new(m, shape, INT)


@lowering("topk")
def topk_lower(lx: Lowering, node: Node) -> None:
    ref, k, dim, largest, sorted_ = node.args
    x = lx.view(ref)
    lx.extern("topk", [x], [lx.out(node, 0), lx.out(node, 1)], dim=wrap_dim(dim, len(x.shape)),
              k=k if type(k) is int else concrete_int(ShapeEnv(), k), largest=bool(largest), sorted=bool(sorted_))

"""Reads and writes at positions that tensors name: embedding, gather, index, index_select, scatter and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, Ref, TensorMeta
from ...ir.build import Lowering, cast
from ...ir.types import Expr, Load, View
from ...shapes.dim import Size
from ...shapes.env import ShapeEnv
from ..errors import Unsupported, WouldRaise
from ..meta import broadcast, broadcasts_to, new, wrap_dim
from ..promote import math_type
from ..registry import lowering, op
from ..strides import Shape, contiguous, elementwise, preserved
from ..strides import view as view_strides
from .copies import copy
from .exprs import at, checked, element, literal, mul

INDEX_TYPES = (torch.int64, torch.int32)


def _need_index(name: str, index: Val, types: Sequence[torch.dtype] = INDEX_TYPES) -> None:
    if index.dtype not in types:
        raise WouldRaise(f"{name}: index must be of an integer dtype (int64 or int32), not {index.dtype}")


# ------------------------------------------------------------------ whole rows
@op("embedding", "weight", "indices", can_raise=True)
def embedding(builder: GraphBuilder, weight: Val, indices: Val) -> TensorMeta:
    """weight[indices]: (V, D) and any shape S give (*S, D). Negative indices are errors."""
    if weight.ndim != 2:
        raise WouldRaise(f"embedding: weight must have 2 dimensions, has {weight.ndim}")
    _need_index("embedding", indices)
    return new(weight, indices.shape + (weight.shape[1],))


@lowering("embedding")
def embedding_lower(lx: Lowering, node: Node) -> None:
    w, k, out = lx.view(node.args[0]), lx.view(node.args[1]), lx.out(node)
    lx.map(out, lambda *i: Load(w, (checked(Load(k, i[:-1]), w.shape[0], wrap=False), i[-1])))


@op("index_select", "self", "dim", "index", can_raise=True)
def index_select(builder: GraphBuilder, self: Val, dim: int, index: Val) -> TensorMeta:
    _need_index("index_select", index)
    if index.ndim > 1:
        raise WouldRaise(f"index_select: index must have at most 1 dimension, has {index.ndim}")
    d = wrap_dim(dim, self.ndim)
    if not self.ndim:
        return new(self, ())
    n = index.shape[0] if index.ndim else 1
    return new(self, self.shape[:d] + (n,) + self.shape[d + 1:])


@lowering("index_select")
def index_select_lower(lx: Lowering, node: Node) -> None:
    ref, dim, index = node.args
    x, k, out = lx.view(ref), lx.view(index), lx.out(node)
    if not x.shape:
        copy(lx, out, x)
        return
    d = wrap_dim(dim, len(x.shape))

    def body(*i: Expr) -> Expr:
        j = checked(Load(k, (i[d],) if k.shape else ()), x.shape[d], wrap=False)
        return Load(x, i[:d] + (j,) + i[d + 1:])
    lx.map(out, body)


# ------------------------------------------------------------------ one position an element
def _need_gather(builder: GraphBuilder, name: str, self: Val, dim: int, index: Val, inside: Sequence[Val]) -> int:
    _need_index(name, index)
    if max(self.ndim, 1) != max(index.ndim, 1):
        raise WouldRaise(f"{name}: index must have as many dimensions as self, {self.ndim}, has {index.ndim}")
    d = wrap_dim(dim, self.ndim)
    for k, s in enumerate(index.shape):
        for t in inside:
            if not t.ndim or (t is self and k == d) or s == t.shape[k]:
                continue
            if builder.env.decide(">", s, t.shape[k]):
                raise WouldRaise(f"{name}: size {s} of index in dimension {k} exceeds {t.shape[k]}")
    return d


@op("gather", "self", "dim", "index", can_raise=True)
def gather(builder: GraphBuilder, self: Val, dim: int, index: Val) -> TensorMeta:
    """out[..., i, ...] = self[..., index[..., i, ...], ...] along `dim`; of index's shape."""
    if not builder.env.decide("==", _count(index), 0):
        _need_gather(builder, "gather", self, dim, index, (self,))
    return new(self, index.shape)


def _count(v: Val) -> Size:
    n: Size = 1
    for s in v.shape:
        n = n * s
    return n


@lowering("gather")
def gather_lower(lx: Lowering, node: Node) -> None:
    ref, dim, index = node.args
    x, k, out = lx.view(ref), lx.view(index), lx.out(node)
    d = wrap_dim(dim, len(x.shape))

    def body(*i: Expr) -> Expr:
        j = checked(Load(k, i), x.shape[d] if x.shape else 1, wrap=False)
        return Load(x, i[:d] + (j,) + i[d + 1:] if x.shape else ())
    lx.map(out, body)


def _scatter_lower(lx: Lowering, node: Node, combine: str | None, value: Any) -> None:
    """Copy self, then for each element of index write (or combine) `value` there."""
    ref, dim, index = node.args[:3]
    x, k, out = lx.view(ref), lx.view(index), lx.out(node)
    copy(lx, out, x)
    if type(value) is Ref:
        v = lx.view(value)
        get: Callable[[Sequence[Expr]], Expr] = lambda i: cast(Load(v, tuple(i) if v.shape else ()), out.dtype)  # noqa: E731
    else:
        get = element(lx, value, out.dtype, k.shape)
    d = wrap_dim(dim, len(x.shape))

    def body(*i: Expr) -> tuple[Sequence[Expr], Expr]:
        j = checked(Load(k, i), x.shape[d] if x.shape else 1, wrap=False)
        return (i[:d] + (j,) + i[d + 1:] if x.shape else ()), get(i)
    lx.scatter(out, k.shape, body, combine)


REDUCE = {None: None, "sum": "sum", "add": "sum", "prod": "prod", "multiply": "prod", "max": "max", "amax": "max",
          "min": "min", "amin": "min"}
"""torch's names of reductions -> combiners of the loop IR."""


@op("scatter", "self", "dim", "index", "src", ("reduce", None), can_raise=True)
def scatter(builder: GraphBuilder, self: Val, dim: int, index: Val, src: Any, reduce: str | None) -> TensorMeta:
    """self with self[index] along `dim` replaced by src (a tensor at least as large as index, or a number), or combined
    with it: reduce is sum, prod, amax or amin."""
    if type(src) is Val and src.dtype is not self.dtype:
        raise WouldRaise(f"scatter: src must be of self's dtype {self.dtype}, not {src.dtype}")
    if reduce not in REDUCE:
        raise Unsupported(f"scatter with reduce={reduce!r}", "use sum, prod, amax or amin")
    _need_gather(builder, "scatter", self, dim, index, (self, src) if type(src) is Val else (self,))
    return new(self, self.shape)


@lowering("scatter")
def scatter_lower(lx: Lowering, node: Node) -> None:
    _scatter_lower(lx, node, REDUCE[node.args[4]], node.args[3])


@op("scatter_add", "self", "dim", "index", "src", can_raise=True)
def scatter_add(builder: GraphBuilder, self: Val, dim: int, index: Val, src: Val) -> TensorMeta:
    return scatter(builder, self, dim, index, src, "sum")


@lowering("scatter_add")
def scatter_add_lower(lx: Lowering, node: Node) -> None:
    _scatter_lower(lx, node, "sum", node.args[3])


@op("index_add", "self", "dim", "index", "source", ("alpha", 1), can_raise=True)
def index_add(builder: GraphBuilder, self: Val, dim: int, index: Val, source: Val, alpha: Any) -> TensorMeta:
    """self[..., index[i], ...] += alpha * source[..., i, ...] along `dim`."""
    _index_rows("index_add", builder, self, dim, index, source)
    return new(self, self.shape)


@op("index_copy", "self", "dim", "index", "source", can_raise=True)
def index_copy(builder: GraphBuilder, self: Val, dim: int, index: Val, source: Val) -> TensorMeta:
    _index_rows("index_copy", builder, self, dim, index, source)
    return new(self, self.shape)


def _index_rows(name: str, builder: GraphBuilder, self: Val, dim: int, index: Val, source: Val) -> None:
    _need_index(name, index)
    d = wrap_dim(dim, self.ndim)
    if not self.ndim or index.ndim != 1:
        raise Unsupported(f"{name} of 0-d tensors, or with an index that is not one-dimensional")
    want = self.shape[:d] + (index.shape[0],) + self.shape[d + 1:]
    if source.dtype is not self.dtype or source.ndim != self.ndim or not all(
            [builder.env.same(a, b) for a, b in zip(source.shape, want)]):
        raise WouldRaise(f"{name}: source must be of dtype {self.dtype} and shape {want}, "
                         f"is {source.dtype}, {source.shape}")


def _rows_lower(lx: Lowering, node: Node, combine: str | None, alpha: Any) -> None:
    ref, dim, index, source = node.args[:4]
    x, k, out, v = lx.view(ref), lx.view(index), lx.out(node), lx.view(source)
    d = wrap_dim(dim, len(x.shape))
    copy(lx, out, x)
    acc = math_type(out.dtype)

    def body(*i: Expr) -> tuple[Sequence[Expr], Expr]:
        e: Expr = Load(v, i)
        if alpha != 1:
            e = cast(mul(cast(e, acc), literal(alpha, acc)), out.dtype)
        return i[:d] + (checked(Load(k, (i[d],)), x.shape[d], wrap=False),) + i[d + 1:], e
    lx.scatter(out, v.shape, body, combine)


@lowering("index_add")
def index_add_lower(lx: Lowering, node: Node) -> None:
    _rows_lower(lx, node, "sum", node.args[4])


@lowering("index_copy")
def index_copy_lower(lx: Lowering, node: Node) -> None:
    _rows_lower(lx, node, None, 1)


# ------------------------------------------------------------------ x[tensors]
def _placement(indices: Sequence[Any], ndim: int) -> tuple[list[int], list[int], int]:
    """(indexed dimensions, the others, where the index's dimensions go): in their place if adjacent, else first."""
    which = [d for d, k in enumerate(indices) if k is not None]
    rest = [d for d in range(ndim) if d not in which]
    adjacent = which == list(range(which[0], which[-1] + 1))
    return which, rest, which[0] if adjacent else 0


def _need_indices(name: str, builder: GraphBuilder, self: Val, indices: Sequence[Any]) -> Shape:
    which = [k for k in indices if k is not None]
    if not which or len(indices) > self.ndim:
        raise WouldRaise(f"{name}: between 1 and {self.ndim} index tensors are needed, got {len(which)}")
    for k in which:
        if k.dtype in (torch.bool, torch.uint8):
            raise Unsupported(f"{name} with a boolean mask has a shape that depends on data", "use torch.where")
        _need_index(name, k, (torch.int64, torch.int32, torch.int16, torch.int8))
    return broadcast(builder.env, [k.shape for k in which])


@op("index", "self", "indices", can_raise=True)
def index(builder: GraphBuilder, self: Val, indices: tuple[Any, ...]) -> TensorMeta:
    """self[indices]: one integer tensor or None a dimension; negative positions count from the end."""
    env, m = builder.env, self.meta
    spread = _need_indices("index", builder, self, indices)
    which, rest, place = _placement(indices, self.ndim)
    shape = tuple([m.shape[d] for d in rest[:place]]) + spread + tuple([m.shape[d] for d in rest[place:]])
    steps = [m.strides[d] for d in rest]
    strides = (*steps[:place], *(0,) * len(spread), *steps[place:])
    after = (1,) * (len(rest) - place)
    operands = [(shape, strides)]
    for d in which:
        k = indices[d].meta
        s = (1,) * place + _expanded(env, k, spread)[0] + after
        t = _reshaped(env, k, spread, place, len(after), s)
        operands.append((s, t))
    return new(self, shape, strides=elementwise(env, shape, operands))


def _expanded(env: Any, k: TensorMeta, spread: Shape) -> tuple[Shape, Shape]:
    """An index tensor broadcast to the common shape of all, as (shape, strides)."""
    if k.shape == spread:
        return k.shape, k.strides
    lead = len(spread) - len(k.shape)
    own = [0 if s == 1 and o != 1 else t for s, o, t in zip(k.shape, spread[lead:], k.strides)]
    return spread, (0,) * lead + tuple(own)


def _reshaped(env: Any, k: TensorMeta, spread: Shape, before: int, after: int, shape: Shape) -> Shape:
    s, t = _expanded(env, k, spread)
    strides = view_strides(env, s, t, shape)
    return contiguous(shape) if strides is None else strides


def _indexer(lx: Lowering, x: View, indices: Sequence[Any]) -> tuple[Callable[[Sequence[Expr], int], list[Expr]], int]:
    """A function from an index of the result (with the number of spread dimensions) to one of x, and their place."""
    which, rest, place = _placement(indices, len(x.shape))
    views = {d: lx.view(indices[d]) for d in which}

    def position(i: Sequence[Expr], spread: int) -> list[Expr]:
        inner = i[place:place + spread]
        outer = iter((*i[:place], *i[place + spread:]))
        return [checked(at(views[d], inner), x.shape[d], wrap=True) if d in views else next(outer)
                for d in range(len(x.shape))]
    return position, place


@lowering("index")
def index_lower(lx: Lowering, node: Node) -> None:
    ref, indices = node.args
    x, out = lx.view(ref), lx.out(node)
    position, _ = _indexer(lx, x, indices)
    spread = len(out.shape) - sum(d >= len(indices) or indices[d] is None for d in range(len(x.shape)))
    lx.map(out, lambda *i: Load(x, tuple(position(i, spread))))


@op("index_put", "self", "indices", "values", ("accumulate", False), can_raise=True)
def index_put(builder: GraphBuilder, self: Val, indices: tuple[Any, ...], values: Val, accumulate: bool) -> TensorMeta:
    """self with self[indices] = values (or +=); values broadcast to the indexed part's shape."""
    m = self.meta
    spread = _need_indices("index_put", builder, self, indices)
    if values.dtype is not m.dtype:
        raise WouldRaise(f"index_put: values must be of self's dtype {m.dtype}, not {values.dtype}")
    shape = _part_shape(m.shape, indices, spread)
    if not broadcasts_to(builder.env, values.shape, shape):
        raise WouldRaise(f"index_put: values of shape {values.shape} do not broadcast to {shape}")
    return new(m, m.shape, strides=preserved(builder.env, m.shape, m.strides))


def _part_shape(shape: Shape, indices: Sequence[Any], spread: Shape) -> Shape:
    _, rest, place = _placement(indices, len(shape))
    return tuple([shape[d] for d in rest[:place]]) + spread + tuple([shape[d] for d in rest[place:]])


@lowering("index_put")
def index_put_lower(lx: Lowering, node: Node) -> None:
    ref, indices, values, accumulate = node.args
    x, out, v = lx.view(ref), lx.out(node), lx.view(values)
    copy(lx, out, x)
    spread = broadcast(ShapeEnv(), [lx.meta(k).shape for k in indices if k is not None])
    shape = _part_shape(x.shape, indices, spread)
    position, _ = _indexer(lx, out, indices)
    lx.scatter(out, shape, lambda *i: (position(i, len(spread)), at(v, i, shape)), "sum" if accumulate else None)

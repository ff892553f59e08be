"""Reading and writing by index tensors: gather, scatter, index_select, index_add, take_along_dim, embedding ..."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ..errors import Unsupported, WouldRaise
from ..strides import contiguous, preserved
from .args import broadcast_shapes, cast, need_tensor, numel, reject_out, same_shape, wrap_dim
from .declare import expansion, mutating
from .inplace import store
from .opaque import opaque
from .views import diagonal, select, slice_, to_shape


def _index(x: Any, name: str = "index") -> Val:
    if need_tensor(x, name).meta.dtype not in (torch.int64, torch.int32):
        raise WouldRaise(f"{name} must be an int64 or int32 tensor, not {x.meta.dtype}")
    return x


@expansion("gather")
def gather(b: GraphBuilder, input: Val, dim: int, index: Val, *, sparse_grad: bool = False, out: Any = None) -> Val:
    reject_out(out)
    x, i = need_tensor(input), _index(index)
    d = wrap_dim(dim, x.ndim)
    if max(x.ndim, 1) != max(i.ndim, 1):
        raise WouldRaise("index tensor must have the same number of dimensions as input tensor")
    for k, (have, want) in enumerate(zip(x.meta.shape, i.meta.shape)):
        if k != d and have != want and b.env.decide(">", want, have):
            raise WouldRaise(f"gather: size of index exceeds that of input in dimension {k}")
    return b.emit("gather", x, d, i)


@expansion("take_along_dim")
def take_along_dim(b: GraphBuilder, input: Val, indices: Val, dim: Any = None, *, out: Any = None) -> Val:
    reject_out(out)
    x, i = need_tensor(input), _index(indices, "indices")
    if dim is None:
        return b.emit("gather", to_shape(b, x, (numel(x),)), 0, to_shape(b, i, (numel(i),)))
    d = wrap_dim(dim, x.ndim)
    lead = broadcast_shapes(b, *[v.meta.shape[:d] + (1,) + v.meta.shape[d + 1:] for v in (x, i)])
    x = b.emit("expand", x, lead[:d] + (x.meta.shape[d],) + lead[d + 1:])
    i = b.emit("expand", i, lead[:d] + (i.meta.shape[d],) + lead[d + 1:])
    i = b.emit("where", b.emit("lt", i, 0), b.emit("add", i, x.meta.shape[d]), i)
    return b.emit("gather", x, d, i)


@expansion("take")
def take(b: GraphBuilder, input: Val, index: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, i = need_tensor(input), _index(index)
    flat = to_shape(b, x, (numel(x),))
    return b.emit("index", flat, (i,))


@expansion("index_select")
def index_select(b: GraphBuilder, input: Val, dim: int, index: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, i = need_tensor(input), _index(index)
    if i.ndim > 1:
        raise WouldRaise("index_select(): Index is supposed to be a vector")
    return b.emit("index_select", x, wrap_dim(dim, x.ndim), i)


@expansion("masked_select", "nonzero", "argwhere", "unique", "torch.unique_consecutive", "Tensor.unique_consecutive",
           "torch.bincount", "Tensor.bincount")
def data_dependent(b: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
    raise Unsupported("the shape of the result depends on tensor data", "use masks with torch.where")


@expansion("Tensor.item", "Tensor.tolist", "Tensor.numpy", "Tensor.__bool__", "Tensor.__int__", "Tensor.__float__",
           "Tensor.__index__", "Tensor.__complex__", "Tensor.__contains__", "Tensor.__array__")
def reads_value(b: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
    raise Unsupported("Python reads the value of a tensor", "keep the computation in tensors, e.g. with torch.where")


# ------------------------------------------------------------------ scatter
_REDUCE = {"add": "sum", "multiply": "prod", "sum": "sum", "prod": "prod", "amax": "amax", "amin": "amin"}


def _scatter_check(b: GraphBuilder, x: Val, d: int, i: Val, src: Val | None) -> None:
    if max(x.ndim, 1) != max(i.ndim, 1) or (src is not None and max(src.ndim, 1) != max(i.ndim, 1)):
        raise WouldRaise("index tensor must have the same number of dimensions as self and src")
    for k, n in enumerate(i.meta.shape):
        if k != d and n != x.meta.shape[k] and b.env.decide(">", n, x.meta.shape[k]):
            raise WouldRaise(f"scatter: size of index exceeds that of self in dimension {k}")
        if src is not None and n != src.meta.shape[k] and b.env.decide(">", n, src.meta.shape[k]):
            raise WouldRaise(f"scatter: size of index exceeds that of src in dimension {k}")


def _scatter(b: GraphBuilder, x: Val, dim: int, index: Val, src: Any, reduce: str | None) -> Val:
    i = _index(need_tensor(index, "index"))
    d = wrap_dim(dim, need_tensor(x).ndim)
    _scatter_check(b, x, d, i, src if type(src) is Val else None)
    if type(src) is Val and src.meta.dtype is not x.meta.dtype:
        raise WouldRaise("scatter(): Expected self.dtype to be equal to src.dtype")
    if reduce is not None and reduce not in _REDUCE:
        raise Unsupported(f"scatter with reduce={reduce!r}", "use add, multiply, amax or amin")
    return b.emit("scatter", x, d, i, src, None if reduce is None else _REDUCE[reduce])


@expansion("scatter", inplace="Tensor.scatter_")
def scatter(b: GraphBuilder, input: Val, dim: int, index: Val, src: Any = None, *, value: Any = None,
            reduce: str | None = None, out: Any = None) -> Val:
    reject_out(out)
    return _scatter(b, input, dim, index, value if src is None else src, reduce)


@expansion("scatter_add", inplace="Tensor.scatter_add_")
def scatter_add(b: GraphBuilder, input: Val, dim: int, index: Val, src: Val, *, out: Any = None) -> Val:
    reject_out(out)
    return _scatter(b, input, dim, index, need_tensor(src, "src"), "add")


@expansion("scatter_reduce", inplace="Tensor.scatter_reduce_")
def scatter_reduce(b: GraphBuilder, input: Val, dim: int, index: Val, src: Val, reduce: str, *,
                   include_self: bool = True, out: Any = None) -> Val:
    reject_out(out)
    if not include_self or reduce == "mean":
        args = (input, dim, index, src, reduce)
        return opaque(b, torch.ops.aten.scatter_reduce.two, args, {"include_self": include_self})
    return _scatter(b, input, dim, index, need_tensor(src, "src"), reduce)


def _spread(b: GraphBuilder, x: Val, d: int, index: Val, shape: Any) -> Val:
    """A vector of indices along d as an index tensor of `shape` for scatter."""
    n = index.meta.shape[0] if index.ndim else 1
    i = b.emit("view", _index(index), tuple(n if k == d else 1 for k in range(len(shape))))
    return b.emit("expand", i, shape)


@expansion("index_add", inplace="Tensor.index_add_")
def index_add(b: GraphBuilder, input: Val, dim: int, index: Val, source: Val, *, alpha: Any = 1,
              out: Any = None) -> Val:
    reject_out(out)
    x, src = need_tensor(input), need_tensor(source, "source")
    if src.meta.dtype is not x.meta.dtype or index.ndim > 1:
        raise WouldRaise("index_add_(): self and source must have the same scalar type, and index must be a vector")
    return b.emit("index_add", x, wrap_dim(dim, x.ndim), _index(index), src, alpha)


@expansion("index_copy", inplace="Tensor.index_copy_")
def index_copy(b: GraphBuilder, input: Val, dim: int, index: Val, source: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, src = need_tensor(input), need_tensor(source, "source")
    if src.meta.dtype is not x.meta.dtype or index.ndim > 1:
        raise WouldRaise("index_copy_(): self and source must have the same dtype, and index must be a vector")
    return b.emit("index_copy", x, wrap_dim(dim, x.ndim), _index(index), src)


@expansion("index_fill", inplace="Tensor.index_fill_")
def index_fill(b: GraphBuilder, input: Val, dim: int, index: Val, value: Any) -> Val:
    x = need_tensor(input)
    if x.meta.strides != contiguous(x.meta.shape):
        raise Unsupported("index_fill of a tensor that is not contiguous", "make it contiguous")
    d = wrap_dim(dim, x.ndim)
    shape = x.meta.shape[:d] + (index.meta.shape[0] if index.ndim else 1,) + x.meta.shape[d + 1:]
    if type(value) is Val:
        value = b.emit("expand", cast(b, value, x.meta.dtype), shape)
    return b.emit("scatter", x, d, _spread(b, x, d, index, shape), value)


@expansion("select_scatter")
def select_scatter(b: GraphBuilder, input: Val, src: Val, dim: int, index: Any) -> Val:
    return _written(b, input, lambda y: select(b, y, dim, index), src)


@expansion("slice_scatter")
def slice_scatter(b: GraphBuilder, input: Val, src: Val, dim: int = 0, start: Any = None, end: Any = None,
                  step: Any = 1) -> Val:
    return _written(b, input, lambda y: slice_(b, y, dim, start, end, step), src)


@expansion("diagonal_scatter")
def diagonal_scatter(b: GraphBuilder, input: Val, src: Val, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Val:
    return _written(b, input, lambda y: diagonal(b, y, offset, dim1, dim2), src)


def _written(b: GraphBuilder, x: Val, part: Any, src: Val) -> Val:
    """A copy of x in which the part has been replaced by src."""
    m = need_tensor(x).meta
    if preserved(b.env, m.shape, m.strides) != m.strides:
        raise Unsupported("a copy that keeps the gaps between elements", "make the tensor contiguous")
    copy = b.emit("clone", x, torch.preserve_format)
    target = part(copy)
    if not same_shape(b, target.meta.shape, need_tensor(src, "src").meta.shape):
        raise WouldRaise("expected src to have the size of the slice of self")
    b.write(target, cast(b, src, copy.meta.dtype))
    return b.fresh(copy)


@mutating("Tensor.masked_scatter_")
def masked_scatter_(b: GraphBuilder, input: Val, mask: Val, source: Val) -> Val:
    return store(b, input, masked_scatter(b, input, mask, source))


@expansion("masked_scatter")
def masked_scatter(b: GraphBuilder, input: Val, mask: Val, source: Val) -> Val:
    """Where mask is true, the elements of source in order: element number (count of true so far) - 1 of flat source."""
    x, m, src = need_tensor(input), need_tensor(mask, "mask"), need_tensor(source, "source")
    if m.meta.dtype is not torch.bool or x.meta.dtype is not src.meta.dtype:
        raise WouldRaise("masked_scatter needs a bool mask and a source of the input's dtype")
    shape = broadcast_shapes(b, x.meta.shape, m.meta.shape)
    m = b.emit("clone", b.emit("expand", m, shape), torch.contiguous_format)
    flat = b.emit("view", m, (numel(m),))
    last = b.emit("sub", b.emit("cumsum", flat, 0, torch.int64), 1)
    at = b.emit("where", flat, last, 0)
    values = b.emit("index", to_shape(b, src, (numel(src),)), (at,))
    return b.emit("where", m, b.emit("view", values, shape), x)


# ------------------------------------------------------------------ tables
@expansion("F.embedding")
def embedding(b: GraphBuilder, input: Val, weight: Val, padding_idx: Any = None, max_norm: Any = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Val:
    i, w = need_tensor(input), need_tensor(weight, "weight")
    if max_norm is not None:
        raise Unsupported("embedding with max_norm renormalises the weight in place", "renormalise outside")
    if w.ndim != 2:
        raise WouldRaise("'weight' must be 2-D")
    return b.emit("embedding", w, _index(i, "input"))


@expansion("torch.embedding", "aten.embedding")
def aten_embedding(b: GraphBuilder, weight: Val, indices: Val, padding_idx: int = -1, scale_grad_by_freq: bool = False,
                   sparse: bool = False) -> Val:
    return embedding(b, indices, weight)


# ------------------------------------------------------------------ bags
@expansion("F.embedding_bag")
def embedding_bag(b: GraphBuilder, input: Val, weight: Val, offsets: Val | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Val | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Val:
    """Rows of weight (N, D) reduced by bag: input (B, L), or (L) with offsets (B), gives (B, D), by one call."""
    i, w = need_tensor(input), need_tensor(weight, "weight")
    if max_norm is not None:
        raise Unsupported("embedding_bag with max_norm, which writes its weight", "renormalise the weight before")
    if w.ndim != 2 or i.ndim not in (1, 2) or (i.ndim == 2) is not (offsets is None):
        raise WouldRaise("embedding_bag: input, weight and offsets do not fit")
    bags = i.meta.shape[0] if offsets is None else offsets.meta.shape[0] - int(include_last_offset)
    shape = (bags, w.meta.shape[1])
    args = (i, w, offsets, None, norm_type, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset,
            padding_idx)
    meta = TensorMeta(w.meta.dtype, shape, contiguous(shape))
    return b.emit("opaque", "functional:embedding_bag", args, (), (meta,))[0]  # type: ignore[no-any-return]

"""x[...] and x[...] = v in full: ints, slices, None, Ellipsis, integer tensors, with eager's placement of results."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Dim, Size
from ..errors import Unsupported, WouldRaise
from .args import broadcast_shapes, cast, expand_to, need_tensor
from .declare import expansion, mutating
from .inplace import check_overlap, store
from .views import slice_of, to_shape, wrap_index

_INTS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _constant(b: GraphBuilder, data: Any) -> Val:
    from .creation import tensor
    return tensor(b, data)


def _key_parts(b: GraphBuilder, x: Val, key: Any) -> list[Any]:
    """The key as a list with one part for each indexed dimension (None parts add one): no Ellipsis, no nested lists."""
    if isinstance(key, list):
        treat_as_tuple = len(key) < 32 and any(
            k is None or k is Ellipsis or isinstance(k, (slice, tuple, list)) or type(k) is Val for k in key)
        if treat_as_tuple and not all(type(k) is not Val and isinstance(k, (list, tuple)) for k in key):
            raise Unsupported("a list that mixes slices or tensors as an index", "index with a tuple")
        parts = [_constant(b, key)]
    elif isinstance(key, tuple):
        parts = [_constant(b, k) if isinstance(k, (list, tuple)) else k for k in key]
    else:
        parts = [key]
    used = 0
    for k in parts:
        if type(k) is Val:
            used += k.ndim if k.meta.dtype in (torch.bool, torch.uint8) else 1
        elif k is not None and k is not Ellipsis and not isinstance(k, bool):
            used += 1
    if used > x.ndim:
        raise WouldRaise(f"too many indices for tensor of dimension {x.ndim}")
    dots = [i for i, k in enumerate(parts) if k is Ellipsis]
    whole = [slice(None)] * (x.ndim - used)
    if not dots:
        return parts + whole
    at = dots[0]
    return parts[:at] + whole + [k for k in parts[at + 1:] if k is not Ellipsis]


def _is_whole(k: slice) -> bool:
    return k.start is None and k.stop is None and k.step is None


def _views(b: GraphBuilder, x: Val, key: Any) -> tuple[Val, list[Val | None]]:
    """Apply the view parts of a key; returns the view and one entry a dimension of it: an index tensor or None.

    Eager reads the value of a 0-d index tensor and selects by it before it indexes by the others. That is the same as
    indexing by all of them, unless the others do not stand together with it.
    """
    indices: list[Val | None] = []
    dim = 0
    for k in _key_parts(b, x, key):
        if isinstance(k, slice):
            if not _is_whole(k):
                x = slice_of(b, x, dim, k.start, k.stop, k.step)
        elif k is None:
            x = b.emit("unsqueeze", x, dim)
        elif isinstance(k, bool):
            raise Unsupported("a Python bool as an index", "use slices or torch.where")
        elif type(k) is Val:
            if k.meta.dtype in (torch.bool, torch.uint8):
                raise Unsupported("indexing with a boolean mask has a data-dependent shape",
                                  "use torch.where, masked_fill or multiplication by the mask")
            if k.meta.dtype not in (torch.int64, torch.int32):
                if k.meta.dtype in _INTS and not k.ndim:
                    raise Unsupported(f"a 0-d index of {k.meta.dtype}", "index with an int64 tensor")
                raise WouldRaise("tensors used as indices must be long, int, byte or bool tensors")
            indices += [None] * (dim - len(indices)) + [k]
        else:
            x = b.emit("select", x, dim, wrap_index(b, _integer(k), x.meta.shape[dim]))
            continue
        dim += 1
    places = [i for i, k in enumerate(indices) if k is not None]
    if len({indices[i].ndim == 0 for i in places}) > 1 and places[-1] - places[0] + 1 != len(places):  # type: ignore[union-attr]
        raise Unsupported("an index of 0-d and other tensors with slices between them", "index in two steps")
    return x, indices


def _integer(k: Any) -> Size:
    if type(k) is int or type(k) is Dim:
        return k
    if hasattr(k, "__index__"):
        return k.__index__()
    raise WouldRaise("only integers, slices, ellipsis, None and long or byte tensors are valid indices")


@expansion("Tensor.__getitem__", "op.getitem")
def getitem(b: GraphBuilder, input: Val, key: Any) -> Val:
    """Views for ints, slices, None and Ellipsis; a copy through the core operator `index` once a tensor takes part."""
    x = need_tensor(input)
    y, indices = _views(b, x, key)
    if indices:
        if all(i is None or not i.ndim for i in indices):
            raise Unsupported("a 0-d tensor as an index makes a view that depends on its value",
                              "index with a Python integer, or with a 1-d tensor")
        return take(b, y, indices)
    return b.emit("alias", y) if y is x else y


def take(b: GraphBuilder, x: Val, indices: list[Val | None]) -> Val:
    if len(indices) > x.ndim:
        raise WouldRaise("too many indices")
    broadcast_shapes(b, *[i.meta.shape for i in indices if i is not None])
    return b.emit("index", x, tuple(indices))


@expansion("aten.index")
def index(b: GraphBuilder, input: Val, indices: Any) -> Val:
    for i in indices:
        if i is not None and need_tensor(i, "indices").meta.dtype in (torch.bool, torch.uint8):
            raise Unsupported("indexing with a boolean mask has a data-dependent shape", "use torch.where")
    return take(b, need_tensor(input), list(indices))


# ------------------------------------------------------------------ writing
@mutating("Tensor.__setitem__", "op.setitem")
def setitem(b: GraphBuilder, input: Val, key: Any, value: Any) -> None:
    """x[key] = value: a write through the view that the key names; with index tensors a scatter into it.

    A boolean mask takes a value that is a number or has one element, as a masked fill.
    """
    x = need_tensor(input)
    mask = key[0] if isinstance(key, tuple) and len(key) == 1 else key
    if type(mask) is Val and mask.meta.dtype is torch.bool:
        _fill_mask(b, x, mask, value)
        return
    y, indices = _views(b, x, key)
    if not indices:
        _assign(b, y, value)
        return
    if type(value) is Val:
        check_overlap(b, x, value)
        if value.meta.dtype is not y.meta.dtype:
            raise WouldRaise("index put requires the source and destination dtypes to match")
    elif not isinstance(value, (int, float, bool)) and type(value) is not Dim:
        raise WouldRaise(f"can't assign a {type(value).__name__} to a tensor")
    else:
        value = b.emit("full", (), value, y.meta.dtype)
    store(b, y, put(b, y, indices, value, False))


def _masked(b: GraphBuilder, x: Val, mask: Val, value: Val) -> Val:
    """x where the mask, of x's leading dimensions, is false; elsewhere the 0-d value."""
    shape = mask.meta.shape
    if mask.ndim > x.ndim or not all(b.env.same(s, t) for s, t in zip(shape, x.meta.shape)):
        raise WouldRaise("the shape of the mask does not match the shape of the indexed tensor")
    return b.emit("where", to_shape(b, mask, shape + (1,) * (x.ndim - mask.ndim)), value, x)


def _fill_mask(b: GraphBuilder, x: Val, mask: Val, value: Any) -> None:
    if type(value) is Val:
        if any(not b.env.same(s, 1) for s in value.meta.shape):
            raise Unsupported("assigning a tensor through a boolean mask has a data-dependent shape",
                              "use torch.where(mask, value, x)")
        value = cast(b, to_shape(b, value, ()), x.meta.dtype)
    else:
        value = b.emit("full", (), value, x.meta.dtype)
    store(b, x, _masked(b, x, mask, value))


def _assign(b: GraphBuilder, target: Val, value: Any) -> None:
    m = target.meta
    if type(value) is not Val:
        if not isinstance(value, (int, float, bool, complex)) and type(value) is not Dim:
            raise WouldRaise(f"can't assign a {type(value).__name__} to a tensor")
        store(b, target, b.emit("full", m.shape, value, m.dtype), check=False)
        return
    extra = value.ndim - target.ndim
    if extra > 0:
        if not all(b.env.same(s, 1) for s in value.meta.shape[:extra]):
            raise WouldRaise("shape mismatch: the value has more dimensions than the indexed part")
        value = to_shape(b, value, value.meta.shape[extra:])
    check_overlap(b, target, value)
    shape = broadcast_shapes(b, m.shape, value.meta.shape)
    store(b, target, expand_to(b, cast(b, value, m.dtype), shape), value)


def put(b: GraphBuilder, x: Val, indices: list[Val | None], values: Val, accumulate: bool) -> Val:
    if len(indices) > x.ndim:
        raise WouldRaise("too many indices")
    return b.emit("index_put", x, tuple(indices), values, accumulate)


@expansion("index_put", inplace="Tensor.index_put_ torch.index_put_")
def index_put(b: GraphBuilder, input: Val, indices: Any, values: Val, accumulate: bool = False) -> Val:
    x = need_tensor(input)
    if need_tensor(values, "values").meta.dtype is not x.meta.dtype:
        raise WouldRaise("index put requires the source and destination dtypes to match")
    parts: list[Val | None] = list(indices)
    masks = [i for i in parts if i is not None and i.meta.dtype in (torch.bool, torch.uint8)]
    if len(parts) == 1 and masks and masks[0].meta.dtype is torch.bool and not accumulate \
            and all(b.env.same(s, 1) for s in values.meta.shape):
        return _masked(b, x, masks[0], b.emit("view", values, ()))
    if masks:
        raise Unsupported("index_put with a boolean mask has a data-dependent shape", "use torch.where")
    return put(b, x, parts, values, accumulate)

"""Views and changes of shape: reshape, view, permute, expand, squeeze, slices ... Each keeps eager's aliasing."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Size, product
from .. import strides
from ..errors import Unsupported, WouldRaise
from .args import broadcast_shapes, infer_size, int_arg, need_tensor, numel, size_arg, sizes_arg, wrap_dim, wrap_dims
from .declare import expansion


def view_strides(b: GraphBuilder, x: Val, shape: tuple[Size, ...]) -> tuple[Size, ...] | None:
    """The strides of x seen as `shape` (of as many elements) without a copy, or None where no strides do it."""
    return strides.view(b.env, x.meta.shape, x.meta.strides, shape)


def _shape_or_dtype(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> tuple[Any, ...]:
    if args:
        return args
    if name in kwargs:
        return (kwargs[name],)
    raise WouldRaise(f"missing argument {name!r}")


@expansion("Tensor.view", "aten.view", "aten._unsafe_view")
def view(b: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    args = _shape_or_dtype(args, kwargs, "dtype" if "dtype" in kwargs else "size")
    if isinstance(args[0], torch.dtype):
        if args[0] is x.meta.dtype:
            return b.emit("alias", x)
        return b.emit("view_dtype", x, args[0])
    shape = infer_size(b, sizes_arg(args), x.meta.shape)
    if view_strides(b, x, shape) is None:
        raise WouldRaise("view size is not compatible with input tensor's size and stride")
    return b.emit("view", x, shape)


@expansion("reshape")
def reshape(b: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    shape = infer_size(b, sizes_arg(_shape_or_dtype(args, kwargs, "shape")), x.meta.shape)
    return to_shape(b, x, shape)


def to_shape(b: GraphBuilder, x: Val, shape: tuple[Size, ...]) -> Val:
    """x as `shape` (complete): a view where strides allow it, else a view of a contiguous copy."""
    if view_strides(b, x, shape) is None:
        x = b.emit("clone", x, torch.contiguous_format)
    return b.emit("view", x, shape)


@expansion("Tensor.reshape_as")
def reshape_as(b: GraphBuilder, input: Val, other: Val) -> Val:
    return reshape(b, input, need_tensor(other, "other").meta.shape)


@expansion("Tensor.view_as")
def view_as(b: GraphBuilder, input: Val, other: Val) -> Val:
    return view(b, input, need_tensor(other, "other").meta.shape)


@expansion("flatten")
def flatten(b: GraphBuilder, input: Val, start_dim: int = 0, end_dim: int = -1) -> Val:
    x = need_tensor(input)
    if not x.ndim:
        return to_shape(b, x, (1,))
    first, last = wrap_dim(start_dim, x.ndim, "start_dim"), wrap_dim(end_dim, x.ndim, "end_dim")
    if first > last:
        raise WouldRaise("flatten() has start_dim after end_dim")
    if first == last:
        return x
    s = x.meta.shape
    return to_shape(b, x, s[:first] + (product(s[first:last + 1]),) + s[last + 1:])


@expansion("ravel")
def ravel(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if not strides.is_contiguous(b.env, x.meta.shape, x.meta.strides):
        x = b.emit("clone", x, torch.contiguous_format)
    return b.emit("view", x, (numel(x),))


@expansion("unflatten")
def unflatten(b: GraphBuilder, input: Val, dim: int, sizes: Any) -> Val:
    x = need_tensor(input)
    d = wrap_dim(dim, x.ndim)
    s = x.meta.shape
    parts = infer_size(b, sizes_arg((sizes,)), (s[d],))
    return view(b, x, s[:d] + parts + s[d + 1:])


# ------------------------------------------------------------------ order of dimensions
@expansion("permute")
def permute(b: GraphBuilder, input: Val, *dims: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    dims = sizes_arg(dims or (kwargs["dims"],), "dims")
    order = tuple(wrap_dim(d, x.ndim) for d in dims)
    if sorted(order) != list(range(x.ndim)):
        raise WouldRaise(f"permute: dims {dims} are no permutation of {x.ndim} dimensions")
    return b.emit("permute", x, order)


@expansion("transpose", "swapaxes", "swapdims")
def transpose(b: GraphBuilder, input: Val, dim0: Any = None, dim1: Any = None, **kwargs: Any) -> Val:
    x = need_tensor(input)
    dim0 = kwargs.get("axis0", dim0)
    dim1 = kwargs.get("axis1", dim1)
    i, j = wrap_dim(dim0, x.ndim, "dim0"), wrap_dim(dim1, x.ndim, "dim1")
    order = list(range(x.ndim))
    if order:
        order[i], order[j] = order[j], order[i]
    return b.emit("permute", x, tuple(order))


@expansion("t")
def t(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if x.ndim > 2:
        raise WouldRaise("t() expects a tensor with <= 2 dimensions")
    return b.emit("permute", x, tuple(range(x.ndim - 1, -1, -1)))


@expansion("Tensor.T")
def reversed_dims(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if x.ndim not in (0, 2):
        raise Unsupported(".T of a tensor that is not a matrix", "use .mT or permute")
    return b.emit("permute", x, tuple(range(x.ndim - 1, -1, -1)))


def _conjugated(x: Val, name: str) -> None:
    if x.dtype.is_complex:
        raise Unsupported(f"{name} of a complex tensor is a conjugated view",
                          "use .resolve_conj() outside the compiled part")


@expansion("Tensor.H")
def conjugate_transpose(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    _conjugated(x, ".H")
    if x.ndim not in (0, 2):
        raise WouldRaise("tensor.H is only supported on matrices (2-D tensors)")
    return b.emit("permute", x, tuple(range(x.ndim - 1, -1, -1)))


@expansion("Tensor.mH", "torch.adjoint", "Tensor.adjoint")
def adjoint(b: GraphBuilder, input: Val) -> Val:
    _conjugated(need_tensor(input), "adjoint()")
    return matrix_transpose(b, input)


@expansion("Tensor.mT")
def matrix_transpose(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if x.ndim < 2:
        raise WouldRaise(".mT needs at least 2 dimensions")
    return transpose(b, x, -2, -1)


@expansion("movedim", "moveaxis")
def movedim(b: GraphBuilder, input: Val, source: Any, destination: Any) -> Val:
    x = need_tensor(input)
    src = [source] if not isinstance(source, (tuple, list)) else source
    dst = [destination] if not isinstance(destination, (tuple, list)) else destination
    if len(src) != len(dst):
        raise WouldRaise("movedim: source and destination must be of one length")
    s, d = [wrap_dim(i, x.ndim) for i in src], [wrap_dim(i, x.ndim) for i in dst]
    if len(set(s)) != len(s) or len(set(d)) != len(d):
        raise WouldRaise("movedim: repeated dim")
    order: list[int | None] = [None] * x.ndim
    for i, j in zip(s, d):
        order[j] = i
    rest = iter(i for i in range(x.ndim) if i not in s)
    return b.emit("permute", x, tuple(next(rest) if o is None else o for o in order))


# ------------------------------------------------------------------ dimensions of size 1, expansion
@expansion("unsqueeze")
def unsqueeze(b: GraphBuilder, input: Val, dim: int) -> Val:
    x = need_tensor(input)
    return b.emit("unsqueeze", x, wrap_dim(dim, x.ndim + 1))


@expansion("squeeze")
def squeeze(b: GraphBuilder, input: Val, dim: Any = None) -> Val:
    x = need_tensor(input)
    dims = wrap_dims(dim, x.ndim, empty_is_all=False)
    return b.emit("squeeze", x, tuple(d for d in dims if b.env.same(x.meta.shape[d], 1)))


@expansion("Tensor.expand", "aten.expand")
def expand(b: GraphBuilder, input: Val, *size: Any, implicit: bool = False, **kwargs: Any) -> Val:
    x = need_tensor(input)
    want = list(sizes_arg(size or (kwargs["size"],)))
    extra = len(want) - x.ndim
    if extra < 0:
        raise WouldRaise("expand: fewer sizes than dimensions")
    for i, s in enumerate(want):
        have: Size | None = x.meta.shape[i - extra] if i >= extra else None
        if type(s) is int and s == -1:
            if have is None:
                raise WouldRaise("expand: -1 is not allowed in a leading, new dimension")
            want[i] = have
        elif have is not None and have != s and not b.env.same(have, 1):
            if not b.env.same(have, s):
                raise WouldRaise(f"expand: size {s} must match the existing size {have} in dimension {i}")
            want[i] = have
    return b.emit("expand", x, tuple(want))


@expansion("Tensor.expand_as", "torch.broadcast_to", "Tensor.broadcast_to")
def expand_as(b: GraphBuilder, input: Val, other: Any = None, **kwargs: Any) -> Val:
    other = kwargs.get("size", other)
    return expand(b, input, other.meta.shape if type(other) is Val else other)


@expansion("torch.broadcast_tensors")
def broadcast_tensors(b: GraphBuilder, *tensors: Any) -> tuple[Val, ...]:
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    shape = broadcast_shapes(b, *[need_tensor(x).meta.shape for x in tensors])
    return tuple(b.emit("expand", x, shape) for x in tensors)


# ------------------------------------------------------------------ parts
@expansion("select", "aten.select")
def select(b: GraphBuilder, input: Val, dim: int, index: Any) -> Val:
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("select() cannot be applied to a 0-dim tensor")
    d = wrap_dim(dim, x.ndim)
    return b.emit("select", x, d, wrap_index(b, size_arg(index, "index"), x.meta.shape[d]))


def wrap_index(b: GraphBuilder, index: Size, size: Size) -> Size:
    """A possibly negative index as 0..size-1; WouldRaise when it is out of range."""
    if b.env.decide("<", index, 0):
        index = index + size
        if b.env.decide("<", index, 0):
            raise WouldRaise(f"index {index} is out of range for size {size}")
    elif not b.env.decide("<", index, size):
        raise WouldRaise(f"index {index} is out of range for size {size}")
    return index


def clamp_bounds(b: GraphBuilder, start: Any, end: Any, size: Size) -> tuple[Size, Size]:
    """slice's start and end as 0 <= start <= end <= size."""
    lo: Size = 0 if start is None else size_arg(start, "start")
    hi: Size = size if end is None else size_arg(end, "end")
    if b.env.decide("<", lo, 0):
        lo = lo + size
        lo = 0 if b.env.decide("<", lo, 0) else lo
    elif not (type(lo) is int and lo == 0) and b.env.decide(">", lo, size):
        lo = size
    if hi is not size and hi != size:
        if b.env.decide("<", hi, 0):
            hi = hi + size
            hi = 0 if b.env.decide("<", hi, 0) else hi
        elif b.env.decide(">=", hi, size):
            hi = size
    if lo is not hi and lo != hi and not (type(lo) is int and lo == 0) and b.env.decide("<", hi, lo):
        hi = lo
    return lo, hi


def slice_of(b: GraphBuilder, x: Val, dim: int, start: Any, end: Any, step: Any = 1) -> Val:
    n = int_arg(b, 1 if step is None else step, "step")
    if n <= 0:
        raise WouldRaise("step must be greater than zero")
    lo, hi = clamp_bounds(b, start, end, x.meta.shape[dim])
    return b.emit("slice", x, dim, lo, hi, n)


@expansion("aten.slice")
def slice_(b: GraphBuilder, input: Val, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1) -> Val:
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("slice() cannot be applied to a 0-dim tensor")
    return slice_of(b, x, wrap_dim(dim, x.ndim), start, end, step)


@expansion("narrow")
def narrow(b: GraphBuilder, input: Val, dim: int, start: Any, length: Any) -> Val:
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("narrow() cannot be applied to a 0-dim tensor")
    d = wrap_dim(dim, x.ndim)
    size, lo, n = x.meta.shape[d], size_arg(start, "start"), size_arg(length, "length")
    if b.env.decide("<", n, 0):
        raise WouldRaise("narrow(): length must be non-negative")
    if b.env.decide("<", lo, 0):
        lo = lo + size
    if b.env.decide("<", lo, 0) or b.env.decide(">", lo + n, size):
        raise WouldRaise("narrow(): start and length exceed the dimension")
    return b.emit("slice", x, d, lo, lo + n, 1)


@expansion("diagonal", "linalg.diagonal")
def diagonal(b: GraphBuilder, input: Val, offset: int = 0, dim1: int = 0, dim2: int = 1, **kwargs: Any) -> Val:
    x = need_tensor(input)
    i, j = wrap_dim(dim1, x.ndim, "dim1"), wrap_dim(dim2, x.ndim, "dim2")
    if i == j:
        raise WouldRaise("diagonal dimensions cannot be identical")
    return b.emit("diagonal", x, int_arg(b, offset, "offset"), i, j)


@expansion("Tensor.unfold")
def unfold(b: GraphBuilder, input: Val, dimension: int, size: Any, step: Any) -> Val:
    x = need_tensor(input)
    n, k = size_arg(size), size_arg(step, "step")
    if not x.ndim:
        wrap_dim(dimension, 0)
        if n not in (0, 1) or b.env.decide("<=", k, 0):
            raise WouldRaise(f"unfold of a 0-d tensor into windows of {n}")
        return b.emit("as_strided", x, (n,), (1,), x.meta.offset)
    return b.emit("unfold", x, wrap_dim(dimension, x.ndim), n, k)


@expansion("as_strided")
def as_strided(b: GraphBuilder, input: Val, size: Any, stride: Any, storage_offset: Any = None) -> Val:
    x = need_tensor(input)
    shape, steps = sizes_arg((size,)), sizes_arg((stride,), "stride")
    if len(shape) != len(steps):
        raise WouldRaise("as_strided: size and stride must be of one length")
    if storage_offset is None:
        return b.emit("as_strided", x, shape, steps, x.meta.offset)
    if any(g.value == b._original(x.root.id) for g in b.inputs):
        raise Unsupported("as_strided with an explicit offset into a tensor from outside", "slice the tensor instead")
    return b.emit("as_strided", x, shape, steps, size_arg(storage_offset, "storage_offset"))


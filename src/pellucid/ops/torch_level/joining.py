"""Joining, splitting and rearranging: cat, stack, chunk, split, repeat, roll, flip, pad, tril, meshgrid ..."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Size, size_min
from ..errors import Unsupported, WouldRaise
from ..strides import contiguous, like_channels_last
from .args import int_arg, need_tensor, numel, reject_out, size_arg, sizes_arg, wrap_dim, wrap_dims
from .creation import constant
from .declare import expansion
from .views import to_shape


def _tensors(tensors: Any) -> tuple[Val, ...]:
    if not isinstance(tensors, (tuple, list)) or not tensors:
        raise WouldRaise("a non-empty list of tensors is needed")
    return tuple([need_tensor(t, "tensors") for t in tensors])


@expansion("torch.cat", "torch.concat", "torch.concatenate", "aten.cat")
def cat(b: GraphBuilder, tensors: Any, dim: int = 0, *, axis: int | None = None, out: Any = None) -> Val:
    reject_out(out)
    ts = _tensors(tensors)
    if any(not t.ndim for t in ts):
        raise WouldRaise("zero-dimensional tensor cannot be concatenated")
    ndim = max([t.ndim for t in ts])
    return b.emit("cat", ts, wrap_dim(dim if axis is None else axis, ndim))


@expansion("torch.stack", "aten.stack")
def stack(b: GraphBuilder, tensors: Any, dim: int = 0, *, out: Any = None) -> Val:
    reject_out(out)
    ts = _tensors(tensors)
    return b.emit("stack", ts, wrap_dim(dim, ts[0].ndim + 1))


def _joined(name: str, least: int, dim: int) -> None:
    def fn(builder: GraphBuilder, tensors: Any, *, out: Any = None) -> Val:
        reject_out(out)
        ts = tuple(at_least(builder, t, least) for t in _tensors(tensors))
        return builder.emit("cat", ts, 0 if name == "hstack" and ts[0].ndim == 1 else dim)
    expansion(*[f"torch.{n}" for n in name.split()])(fn)


def at_least(b: GraphBuilder, x: Val, n: int) -> Val:
    """torch.atleast_nd: new dimensions of size 1 where numpy puts them."""
    if x.ndim >= n:
        return x
    if n == 3 and x.ndim in (1, 2):
        if x.ndim == 1:
            x = b.emit("unsqueeze", x, 0)
        return b.emit("unsqueeze", x, 2)
    return b.emit("view", x, (1,) * (n - x.ndim) + x.meta.shape) if x.ndim == 0 else b.emit("unsqueeze", x, 0)


for _name, _least, _dim in (("hstack", 1, 1), ("vstack row_stack" if hasattr(torch, "row_stack") else "vstack", 2, 0),
                            ("dstack", 3, 2)):
    _joined(_name, _least, _dim)


def _at_least(n: int) -> None:
    def fn(builder: GraphBuilder, *tensors: Any) -> Any:
        if len(tensors) == 1 and type(tensors[0]) is Val:
            return at_least(builder, tensors[0], n)
        many = tensors[0] if len(tensors) == 1 else tensors
        return tuple(at_least(builder, need_tensor(t), n) for t in many)
    expansion(f"torch.atleast_{n}d")(fn)


for _n in (1, 2, 3):
    _at_least(_n)


# ------------------------------------------------------------------ splitting
def pieces(b: GraphBuilder, x: Val, lengths: list[Size], dim: int) -> tuple[Val, ...]:
    return b.emit("split", x, tuple(lengths), dim)


@expansion("split", "Tensor.split_with_sizes", "torch.split_with_sizes", "aten.split_with_sizes", "unsafe_split",
           "unsafe_split_with_sizes")
def split(b: GraphBuilder, tensor: Val, split_size_or_sections: Any = None, dim: int = 0,
          **kwargs: Any) -> tuple[Val, ...]:
    x = need_tensor(tensor, "tensor")
    given = kwargs.get("split_size", kwargs.get("split_sizes", split_size_or_sections))
    if not x.ndim:
        raise WouldRaise("split expects at least a 1-dimensional tensor")
    d = wrap_dim(dim, x.ndim)
    total = x.meta.shape[d]
    if isinstance(given, (tuple, list)):
        lengths = list(sizes_arg((given,)))
        if not b.env.same(sum(lengths), total):
            raise WouldRaise(f"split sizes {lengths} do not sum to {total}")
        return pieces(b, x, lengths, d)
    step = size_arg(given, "split_size")
    if b.env.same(total, step):
        return pieces(b, x, [total], d)
    if b.env.decide("<=", step, 0):
        raise WouldRaise("split_size must be positive")
    count = max(1, b.env.concrete((total + step - 1) // step))
    return pieces(b, x, [step] * (count - 1) + [total - step * (count - 1)], d)


@expansion("chunk", "unsafe_chunk")
def chunk(b: GraphBuilder, input: Val, chunks: int, dim: int = 0) -> tuple[Val, ...]:
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("chunk expects at least a 1-dimensional tensor")
    n = int_arg(b, chunks, "chunks")
    if n <= 0:
        raise WouldRaise("chunk expects chunks to be greater than 0")
    d = wrap_dim(dim, x.ndim)
    total = x.meta.shape[d]
    step = (total + n - 1) // n
    if type(total) is int and total == 0:
        return pieces(b, x, [0] * n, d)
    if type(step) is not int:  # symbolic: fix only how many chunks there are
        count = b.env.concrete((total + step - 1) // step)
        return pieces(b, x, [step] * (count - 1) + [total - step * (count - 1)], d)
    return split(b, x, step, d)


@expansion("tensor_split")
def tensor_split(b: GraphBuilder, input: Val, indices_or_sections: Any = None, dim: int = 0,
                 **kwargs: Any) -> tuple[Val, ...]:
    x = need_tensor(input)
    given = kwargs.get("sections", kwargs.get("indices", indices_or_sections))
    d = wrap_dim(dim, x.ndim)
    total = x.meta.shape[d]
    if isinstance(given, (tuple, list)):
        marks: list[Size] = [size_min(i, total) for i in sizes_arg((given,))]
    else:
        n = int_arg(b, given, "sections")
        short, more = total // n, total % n
        marks = [short * i + size_min(i, more) for i in range(1, n)]
    marks = [0, *marks, total]
    return tuple(b.emit("slice", x, d, lo, hi, 1) for lo, hi in zip(marks, marks[1:]))


def _named_split(name: str, least: int, dim: int) -> None:
    def fn(builder: GraphBuilder, input: Val, indices_or_sections: Any = None, **kwargs: Any) -> tuple[Val, ...]:
        x = need_tensor(input)
        if x.ndim < least:
            raise WouldRaise(f"{name} requires a tensor with at least {least} dimensions")
        given = kwargs.get("sections", kwargs.get("indices", indices_or_sections))
        d = 0 if name == "hsplit" and x.ndim == 1 else dim
        if isinstance(given, int) and not builder.env.same(x.meta.shape[d] % given, 0):
            raise WouldRaise(f"{name}: the dimension is not divisible by the number of sections")
        return tensor_split(builder, x, given, d)
    fn.__name__ = name
    expansion(name)(fn)


_named_split("hsplit", 1, 1)
_named_split("vsplit", 2, 0)
_named_split("dsplit", 3, 2)


@expansion("unbind")
def unbind(b: GraphBuilder, input: Val, dim: int = 0) -> tuple[Val, ...]:
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("dimension specified as 0 but tensor has no dimensions")
    d = wrap_dim(dim, x.ndim)
    return tuple(b.emit("select", x, d, i) for i in range(b.env.concrete(x.meta.shape[d])))


@expansion("Tensor.__iter__")
def iterate(b: GraphBuilder, input: Val) -> tuple[Val, ...]:
    if not need_tensor(input).ndim:
        raise WouldRaise("iteration over a 0-d tensor")
    return unbind(b, input, 0)


# ------------------------------------------------------------------ repetition and rearrangement
@expansion("Tensor.repeat", "aten.repeat")
def repeat(b: GraphBuilder, input: Val, *repeats: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    counts = sizes_arg(repeats or (kwargs["repeats"],), "repeats")
    if len(counts) < x.ndim:
        raise WouldRaise("number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return b.emit("repeat", x, counts)


@expansion("tile")
def tile(b: GraphBuilder, input: Val, *dims: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    counts = sizes_arg(dims or (kwargs["dims"],), "dims")
    return repeat(b, x, (1,) * (x.ndim - len(counts)) + counts)


@expansion("repeat_interleave")
def repeat_interleave(b: GraphBuilder, input: Val, repeats: Any = None, dim: Any = None, *,
                      output_size: Any = None) -> Val:
    """Each element `repeats` times, for an integer `repeats` (a tensor would make the shape depend on data)."""
    x = need_tensor(input)
    if type(repeats) is Val or repeats is None:
        raise Unsupported("repeat_interleave with a tensor of repeats has a data-dependent shape", "pass an integer")
    n = size_arg(repeats, "repeats")
    if dim is None:
        x, d = to_shape(b, x, (numel(x),)), 0
    else:
        d = wrap_dim(dim, x.ndim)
    s = x.meta.shape
    wide = b.emit("expand", b.emit("unsqueeze", x, d + 1), s[:d + 1] + (n,) + s[d + 1:])
    copy = b.emit("clone", wide, torch.contiguous_format)
    return b.emit("view", copy, s[:d] + (s[d] * n,) + s[d + 1:])


@expansion("flip")
def flip(b: GraphBuilder, input: Val, *dims: Any, **kwargs: Any) -> Val:
    x = need_tensor(input)
    return b.emit("flip", x, wrap_dims(sizes_arg(dims or (kwargs["dims"],), "dims"), x.ndim, empty_is_all=False))


@expansion("fliplr")
def fliplr(b: GraphBuilder, input: Val) -> Val:
    return flip(b, input, 1)


@expansion("flipud")
def flipud(b: GraphBuilder, input: Val) -> Val:
    return flip(b, input, 0)


@expansion("roll")
def roll(b: GraphBuilder, input: Val, shifts: Any, dims: Any = None) -> Val:
    x = need_tensor(input)
    s = sizes_arg((shifts,) if isinstance(shifts, (tuple, list)) else (shifts,), "shifts")
    if dims is None or dims == ():
        if len(s) != 1:
            raise WouldRaise("roll: shifts and dimensions must align")
        return b.emit("view", b.emit("roll", to_shape(b, x, (numel(x),)), s, (0,)), x.meta.shape)
    d = tuple(wrap_dim(i, x.ndim) for i in (dims if isinstance(dims, (tuple, list)) else (dims,)))
    if len(d) != len(s):
        raise WouldRaise("roll: shifts and dimensions must align")
    return b.emit("roll", x, s, d)


@expansion("rot90")
def rot90(b: GraphBuilder, input: Val, k: int = 1, dims: Any = (0, 1)) -> Val:
    x = need_tensor(input)
    i, j = (wrap_dim(d, x.ndim) for d in dims)
    order = list(range(x.ndim))
    order[i], order[j] = j, i
    n = k % 4
    if n == 1:
        return b.emit("permute", b.emit("flip", x, (j,)), tuple(order))
    if n == 2:
        return b.emit("flip", x, (i, j))
    if n == 3:
        return b.emit("flip", b.emit("permute", x, tuple(order)), (j,))
    return b.emit("clone", x, torch.contiguous_format)


@expansion("F.pad", "aten.constant_pad_nd", "torch.constant_pad_nd")
def pad(b: GraphBuilder, input: Val, pad: Any, mode: Any = "constant", value: Any = None) -> Val:
    x = need_tensor(input)
    if isinstance(mode, (int, float)):  # constant_pad_nd(input, pad, value)
        mode, value = "constant", mode
    amounts = sizes_arg((pad,), "pad")
    if len(amounts) % 2 or len(amounts) > 2 * x.ndim:
        raise WouldRaise("padding length must be even and at most twice the number of dimensions")
    if mode == "constant":
        return b.emit("pad", x, amounts, "constant", 0 if value is None else value)
    if value not in (None, 0):
        raise WouldRaise(f"padding mode {mode!r} doesn't take in value argument")
    if mode not in ("reflect", "replicate", "circular"):
        raise WouldRaise(f"unrecognised padding mode {mode}")
    if any(b.env.decide("<", a, 0) for a in amounts):
        raise Unsupported(f"padding mode {mode!r} with negative amounts", "slice the tensor first")
    n = len(amounts) // 2
    if x.ndim not in (n + 1, n + 2):
        raise WouldRaise(f"padding of {n} dimensions is not supported for a tensor of {x.ndim}")
    return b.emit("pad", x, amounts, mode, 0)


def _triangle(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, diagonal: Any = 0, *, out: Any = None) -> Val:
        reject_out(out)
        return builder.emit(core, need_tensor(input), size_arg(diagonal, "diagonal"))
    fn.__name__ = core
    expansion(core, inplace=f"{core}_" if hasattr(torch.Tensor, f"{core}_") else "")(fn)


_triangle("tril")
_triangle("triu")


def _vector(b: GraphBuilder, n: Size) -> Val:
    return b.emit("arange", 0, n, 1, torch.int64)


def _triangle_indices(name: str) -> None:
    def fn(builder: GraphBuilder, row: int, col: int, offset: int = 0, *, dtype: Any = torch.long,
           **options: Any) -> Val:
        rows, cols, o = (int_arg(builder, v, n) for v, n in ((row, "row"), (col, "col"), (offset, "offset")))
        made = getattr(torch, name)(rows, cols, o, dtype=dtype)
        return builder.emit("clone", constant(builder, made), torch.preserve_format)
    expansion(f"torch.{name}")(fn)


_triangle_indices("tril_indices")
_triangle_indices("triu_indices")


@expansion("torch.meshgrid")
def meshgrid(b: GraphBuilder, *tensors: Any, indexing: str | None = None) -> tuple[Val, ...]:
    many = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    ts = [need_tensor(t) for t in many]
    if any(t.ndim > 1 for t in ts):
        raise WouldRaise("torch.meshgrid: expected scalar or 1D tensors")
    swap = indexing == "xy" and len(ts) >= 2
    if indexing not in (None, "ij", "xy"):
        raise WouldRaise(f"torch.meshgrid: indexing must be one of 'xy' or 'ij', not {indexing!r}")
    if swap:
        ts[0], ts[1] = ts[1], ts[0]
    shape = tuple(t.meta.shape[0] if t.ndim else 1 for t in ts)
    grids = [b.emit("expand", b.emit("view", t, tuple(shape[i] if j == i else 1 for j in range(len(ts)))), shape)
             for i, t in enumerate(ts)]
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


@expansion("torch.cartesian_prod")
def cartesian_prod(b: GraphBuilder, *tensors: Any) -> Val:
    if len(tensors) == 1:
        return need_tensor(tensors[0])
    grids = meshgrid(b, *tensors, indexing="ij")
    return b.emit("stack", tuple(to_shape(b, g, (numel(g),)) for g in grids), 1)


@expansion("diag")
def diag(b: GraphBuilder, input: Val, diagonal: int = 0, *, out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    o = int_arg(b, diagonal, "diagonal")
    if x.ndim == 2:
        return b.emit("clone", b.emit("diagonal", x, o, 0, 1), torch.contiguous_format)
    if x.ndim != 1:
        raise WouldRaise("diag() supports only 1-D and 2-D tensors")
    return diag_embed(b, x, o)


@expansion("diag_embed")
def diag_embed(b: GraphBuilder, input: Val, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Val:
    x = need_tensor(input)
    o = int_arg(b, offset, "offset")
    i, j = wrap_dim(dim1, x.ndim + 1, "dim1"), wrap_dim(dim2, x.ndim + 1, "dim2")
    if i == j:
        raise WouldRaise("diagonal dimensions cannot be identical")
    if i > j:
        i, j, o = j, i, -o
    n = x.meta.shape[-1]
    wide = b.emit("pad", x, (o, 0) if o > 0 else (0, -o), "constant", 0)
    side = n + abs(o)
    rows, cols = b.emit("unsqueeze", _vector(b, side), 1), _vector(b, side)
    at = b.emit("unsqueeze", wide, x.ndim - 1)
    made = b.emit("where", b.emit("eq", b.emit("add", rows, o), cols), at, b.emit("full", (), 0, x.meta.dtype))
    if (i, j) == (x.ndim - 1, x.ndim):
        return made
    rest = iter(range(x.ndim - 1))
    order = tuple(x.ndim - 1 if d == i else x.ndim if d == j else next(rest) for d in range(x.ndim + 1))
    return b.emit("clone", b.emit("permute", made, order), torch.contiguous_format)


@expansion("F.one_hot")
def one_hot(b: GraphBuilder, tensor: Val, num_classes: Any = -1) -> Val:
    x = need_tensor(tensor, "tensor")
    n = size_arg(num_classes, "num_classes")
    if type(n) is int and n == -1:
        raise Unsupported("one_hot without num_classes has a data-dependent shape", "pass num_classes")
    return b.emit("one_hot", x, n)


@expansion("F.pixel_shuffle", "torch.pixel_shuffle")
def pixel_shuffle(b: GraphBuilder, input: Val, upscale_factor: int) -> Val:
    x = need_tensor(input)
    r = int_arg(b, upscale_factor, "upscale_factor")
    if x.ndim < 3:
        raise WouldRaise("pixel_shuffle expects at least 3 dimensions")
    lead, (c, h, w) = x.meta.shape[:-3], x.meta.shape[-3:]
    if not b.env.same(c % (r * r), 0):
        raise WouldRaise("pixel_shuffle: channels must be divisible by the square of upscale_factor")
    n = len(lead)
    y = to_shape(b, x, lead + (c // (r * r), r, r, h, w))
    y = b.emit("permute", y, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return _in_format_of(b, x, _copied(b, y, lead + (c // (r * r), h * r, w * r)))


@expansion("F.pixel_unshuffle", "torch.pixel_unshuffle")
def pixel_unshuffle(b: GraphBuilder, input: Val, downscale_factor: int) -> Val:
    x = need_tensor(input)
    r = int_arg(b, downscale_factor, "downscale_factor")
    if x.ndim < 3:
        raise WouldRaise("pixel_unshuffle expects at least 3 dimensions")
    lead, (c, h, w) = x.meta.shape[:-3], x.meta.shape[-3:]
    if not b.env.same(h % r, 0) or not b.env.same(w % r, 0):
        raise WouldRaise("pixel_unshuffle: height and width must be divisible by downscale_factor")
    n = len(lead)
    y = to_shape(b, x, lead + (c, h // r, r, w // r, r))
    y = b.emit("permute", y, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return _in_format_of(b, x, _copied(b, y, lead + (c * r * r, h // r, w // r)))


@expansion("F.channel_shuffle", "torch.channel_shuffle")
def channel_shuffle(b: GraphBuilder, input: Val, groups: int) -> Val:
    x = need_tensor(input)
    s = x.meta.shape
    y = to_shape(b, x, (s[0], groups, s[1] // groups) + s[2:])
    return _in_format_of(b, x, _copied(b, b.emit("permute", y, (0, 2, 1, *range(3, y.ndim))), s))


def _in_format_of(b: GraphBuilder, x: Val, y: Val) -> Val:
    """y as channels_last where x suggests that format."""
    m = x.meta
    usual = m.strides == contiguous(m.shape) or x.ndim != 4 or not like_channels_last(b.env, m.shape, m.strides)
    return y if usual else b.emit("clone", y, torch.channels_last)


def _copied(b: GraphBuilder, x: Val, shape: tuple[Size, ...]) -> Val:
    return b.emit("view", b.emit("clone", x, torch.contiguous_format), shape)


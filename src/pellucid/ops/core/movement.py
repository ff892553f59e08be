"""Data movement with fixed positions: cat, stack, pad, repeat, flip, roll, one_hot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, size_expr
from ...ir.types import Expr, Load
from ...shapes.dim import Size
from ..errors import Unsupported, WouldRaise
from ..meta import new, wrap_dim
from ..promote import result_type
from ..registry import lowering, op
from ..strides import channels_last, contiguous, like_channels_last, preserved, suggested
from .copies import copy
from .exprs import ZERO, both, checked, compare, literal, mod, offset, where, window


# ------------------------------------------------------------------ joining
def _parts(tensors: Sequence[Any]) -> list[int]:
    """Which tensors take part in a cat: eager skips 1-d tensors without elements."""
    return [k for k, t in enumerate(tensors) if t.shape != (0,)]


@op("cat", "tensors", ("dim", 0), autocast="promote")
def cat(builder: GraphBuilder, tensors: tuple[Val, ...], dim: int) -> TensorMeta:
    env = builder.env
    if not tensors:
        raise WouldRaise("cat: tensors must not be empty")
    dtype = tensors[0].dtype
    if any([t.dtype is not dtype for t in tensors]):
        dtype = result_type(*tensors)
    kept = [tensors[k] for k in _parts(tensors)]
    if not kept:
        return new(tensors[0], (0,), dtype)
    first = kept[0].meta
    if not first.shape:
        raise WouldRaise("cat: 0-d tensors cannot be concatenated; use stack")
    d = wrap_dim(dim, len(first.shape))
    total: Size = 0
    for t in kept:
        s = t.meta.shape
        if len(s) != len(first.shape) or not all([i == d or a == b or env.same(a, b)
                                                 for i, (a, b) in enumerate(zip(s, first.shape))]):
            raise WouldRaise(f"cat: shapes {first.shape} and {s} differ outside dimension {d}")
        total = total + s[d]
    shape = first.shape[:d] + (total,) + first.shape[d + 1:]
    strides = contiguous(shape)
    if len(shape) in (4, 5) and all([like_channels_last(env, t.meta.shape, t.meta.strides) for t in kept]):
        strides = channels_last(shape)
    return new(first, shape, dtype, strides)


@lowering("cat")
def cat_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    views = [lx.view(t) for t in node.args[0]]
    at_: Size = 0
    for k in _parts(views):
        v = views[k]
        d = wrap_dim(node.args[1], len(v.shape))
        if v.shape[d] != 0:
            copy(lx, window(out, d, at_, v.shape[d]), v)
        at_ = at_ + v.shape[d]


@op("stack", "tensors", ("dim", 0), autocast="promote")
def stack(builder: GraphBuilder, tensors: tuple[Val, ...], dim: int) -> TensorMeta:
    if not tensors:
        raise WouldRaise("stack: tensors must not be empty")
    s = tensors[0].meta.shape
    for t in tensors:
        if len(t.shape) != len(s) or not all([builder.env.same(a, b) for a, b in zip(t.shape, s)]):
            raise WouldRaise(f"stack: shapes {s} and {t.shape} differ")
    d = wrap_dim(dim, len(s) + 1)
    return new(tensors[0], s[:d] + (len(tensors),) + s[d:], result_type(*tensors))


@lowering("stack")
def stack_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    d = wrap_dim(node.args[1], len(out.shape))
    for k, t in enumerate(node.args[0]):
        w = window(out, d, k, 1)
        flat = type(w)(w.buffer, w.dtype, w.shape[:d] + w.shape[d + 1:], w.strides[:d] + w.strides[d + 1:], w.offset)
        copy(lx, flat, lx.view(t))


# ------------------------------------------------------------------ padding
@op("pad", "self", "padding", ("mode", "constant"), ("value", 0))
def pad(builder: GraphBuilder, self: Val, padding: tuple[Size, ...], mode: str, value: Any) -> TensorMeta:
    """padding: (before, after) pairs from the last dimension on; negative ones crop (constant mode).
    mode: constant, reflect, replicate, circular."""
    m, env = self.meta, builder.env
    n = len(m.shape)
    if len(padding) % 2 or len(padding) > 2 * n:
        raise WouldRaise(f"pad: padding={tuple(padding)} must hold pairs for at most {n} dimensions")
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise Unsupported(f"pad with mode {mode!r}")
    shape = list(m.shape)
    for k in range(len(padding) // 2):
        d = n - 1 - k
        before, after = padding[2 * k], padding[2 * k + 1]
        shape[d] = shape[d] + before + after
        if env.decide("<", shape[d], 0):
            raise WouldRaise(f"pad: padding={tuple(padding)} makes dimension {d} negative")
        limit = {"reflect": m.shape[d] - 1, "circular": m.shape[d]}.get(mode)
        if limit is not None and (env.decide(">", before, limit) or env.decide(">", after, limit)):
            raise WouldRaise(f"pad: padding={tuple(padding)} is too large for size {m.shape[d]} with mode {mode!r}")
        if mode != "constant" and env.decide("==", m.shape[d], 0):
            raise WouldRaise(f"pad: mode {mode!r} needs elements in dimension {d}")
    if mode == "constant" and all([type(p) is int and p <= 0 for p in padding]):
        strides = preserved(env, tuple(shape), m.strides)  # eager clones the part that is left
    elif mode == "circular":
        strides = contiguous(tuple(shape))
    else:
        strides = suggested(env, m.shape, m.strides, tuple(shape))
    return new(m, shape, strides=strides)


@lowering("pad")
def pad_lower(lx: Lowering, node: Node) -> None:
    ref, padding, mode, value = node.args
    out, x = lx.out(node), lx.view(ref)
    n = len(x.shape)
    fill = literal(value, out.dtype)

    def body(*i: Expr) -> Expr:
        index, mask = list(i), None
        for k in range(len(padding) // 2):
            d, before, after = n - 1 - k, padding[2 * k], padding[2 * k + 1]
            if before == 0 and after == 0:
                continue
            j = offset(i[d], -before)
            size = size_expr(x.shape[d])
            if mode == "constant":
                if not (type(before) is int and before <= 0):
                    mask = both(mask, compare("ge", j, ZERO))
                if not (type(after) is int and after <= 0):
                    mask = both(mask, compare("lt", j, size))
            elif mode == "reflect":
                j = call("abs", j)
                last = offset(size, -1)
                j = call("sub", last, call("abs", call("sub", last, j)))
            elif mode == "replicate":
                j = call("min", call("max", j, ZERO), offset(size, -1))
            else:
                j = mod(j, x.shape[d])
            index[d] = j
        return Load(x, tuple(index), mask, None if mask is None else fill)  # type: ignore[arg-type]
    lx.map(out, body)


# ------------------------------------------------------------------ repetition and order
@op("repeat", "self", "repeats")
def repeat(builder: GraphBuilder, self: Val, repeats: tuple[Size, ...]) -> TensorMeta:
    m = self.meta
    lead = len(repeats) - len(m.shape)
    if lead < 0:
        raise WouldRaise(f"repeat: repeats={tuple(repeats)} must have at least {len(m.shape)} numbers")
    return new(m, [s * r for s, r in zip((1,) * lead + m.shape, repeats)])


@lowering("repeat")
def repeat_lower(lx: Lowering, node: Node) -> None:
    out, x = lx.out(node), lx.view(node.args[0])
    lead = len(out.shape) - len(x.shape)
    lx.map(out, lambda *i: Load(x, tuple([j if s == o else mod(j, s)
                                         for j, s, o in zip(i[lead:], x.shape, out.shape[lead:])])))


@op("flip", "self", "dims")
def flip(builder: GraphBuilder, self: Val, dims: tuple[int, ...]) -> TensorMeta:
    m = self.meta
    for d in dims:
        wrap_dim(d, len(m.shape))
    return new(m, m.shape, strides=preserved(builder.env, m.shape, m.strides))


@lowering("flip")
def flip_lower(lx: Lowering, node: Node) -> None:
    out, x = lx.out(node), lx.view(node.args[0])
    dims = [wrap_dim(d, len(x.shape)) for d in node.args[1]] if x.shape else []
    lx.map(out, lambda *i: Load(x, tuple([call("sub", size_expr(s - 1), j) if d in dims else j
                                         for d, (j, s) in enumerate(zip(i, x.shape))])))


@op("roll", "self", "shifts", "dims")
def roll(builder: GraphBuilder, self: Val, shifts: tuple[Size, ...], dims: tuple[int, ...]) -> TensorMeta:
    """Elements move by shifts[k] along dims[k], round the end."""
    m = self.meta
    if len(shifts) != len(dims) or not dims:
        raise WouldRaise(f"roll: shifts={tuple(shifts)} and dims={tuple(dims)} must be of one length")
    for d in dims:
        wrap_dim(d, len(m.shape))
    return new(m, m.shape, strides=suggested(builder.env, m.shape, m.strides))


@lowering("roll")
def roll_lower(lx: Lowering, node: Node) -> None:
    ref, shifts, dims = node.args
    out, x = lx.out(node), lx.view(ref)
    by: dict[int, Size] = {}
    for s, d in zip(shifts, dims):
        d = wrap_dim(d, len(x.shape))
        by[d] = by.get(d, 0) + s
    lx.map(out, lambda *i: Load(x, tuple([mod(offset(j, -by[d]), x.shape[d]) if d in by else j
                                         for d, j in enumerate(i)])))


@op("one_hot", "self", "num_classes", can_raise=True)
def one_hot(builder: GraphBuilder, self: Val, num_classes: Size) -> TensorMeta:
    if self.dtype is not torch.int64:
        raise WouldRaise(f"one_hot: self must be of dtype int64, not {self.dtype}")
    return new(self, self.shape + (num_classes,))


@lowering("one_hot")
def one_hot_lower(lx: Lowering, node: Node) -> None:
    out, x = lx.out(node), lx.view(node.args[0])
    one, zero = literal(1, out.dtype), literal(0, out.dtype)

    def body(*i: Expr) -> Expr:
        k = checked(Load(x, i[:-1]), node.args[1], wrap=False)
        return where(compare("eq", k, i[-1]), one, zero)
    lx.map(out, body)

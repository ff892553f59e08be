"""Small helpers of shape rules: dimension numbers, broadcasting, and metas made from other metas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ..graph.types import TensorMeta
from ..shapes.dim import Dim, Size
from ..shapes.env import ShapeEnv
from .errors import WouldRaise
from .strides import Shape, contiguous, has_zero


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension number in 0..ndim-1 from one in -ndim..ndim-1 (0-d tensors count as having one dimension)."""
    n = ndim if ndim else 1
    if -n <= dim < n:
        return dim + n if dim < 0 else dim
    raise WouldRaise(f"dim={dim} is out of range for a tensor of {ndim} dimensions; use {-n}..{n - 1}")


def wrap_dims(dims: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Dimension numbers in ascending order; None or () stands for all."""
    if type(dims) is int:
        return (wrap_dim(dims, ndim),) if ndim else ()
    if dims is None or len(dims) == 0:  # type: ignore[arg-type]
        return tuple(range(ndim))
    out = sorted(wrap_dim(d, ndim) for d in dims)  # type: ignore[union-attr]
    if len(set(out)) != len(out):
        raise WouldRaise(f"dim={tuple(dims)} names a dimension twice")  # type: ignore[arg-type]
    return tuple(out) if ndim else ()


def broadcast_pair(env: ShapeEnv, a: Shape, b: Shape) -> Shape:
    if a == b:
        return a
    if len(a) < len(b):
        a, b = b, a
    lead = len(a) - len(b)
    out = list(a)
    for i, y in enumerate(b):
        x = a[lead + i]
        if type(x) is int and type(y) is int:
            if x == y or y == 1:
                continue
            if x != 1:
                raise WouldRaise(f"shapes {a} and {b} do not broadcast: sizes {x} and {y} differ and neither is 1")
            out[lead + i] = y
        elif x == y or (type(y) is int and y == 1):
            continue
        elif type(x) is int and x == 1:
            out[lead + i] = y
        elif env.decide("==", y, 1):
            continue
        elif env.decide("==", x, 1):
            out[lead + i] = y
        elif env.same(x, y):
            out[lead + i] = x if type(x) is int else y
        else:
            raise WouldRaise(f"shapes {a} and {b} do not broadcast: sizes {x} and {y} differ and neither is 1")
    return tuple(out)


def broadcast(env: ShapeEnv, shapes: Iterable[Shape]) -> Shape:
    """The common shape of operands by torch's broadcasting; asks `env` only where sizes are symbolic and differ."""
    out: Shape = ()
    for s in shapes:
        if s != out:
            out = broadcast_pair(env, out, s)
    return out


def broadcasts_to(env: ShapeEnv, shape: Shape, target: Shape) -> bool:
    """Whether a tensor of `shape` can be expanded to `target`."""
    lead = len(target) - len(shape)
    return lead >= 0 and all([s == t or s == 1 or env.same(s, t) or env.decide("==", s, 1)
                              for s, t in zip(shape, target[lead:])])


def new(like: Any, shape: Sequence[Size], dtype: torch.dtype | None = None, strides: Shape | None = None) -> TensorMeta:
    """The meta of a new tensor on `like`'s device; contiguous and of `like`'s dtype unless told."""
    shape = tuple(shape)
    m = like.meta if hasattr(like, "meta") else like
    return TensorMeta(m.dtype if dtype is None else dtype, shape, contiguous(shape) if strides is None else strides, 0,
                      m.device)


def view_of(v: Any, shape: Shape, strides: Shape, offset: Size | None = None) -> TensorMeta:
    """The meta of a view of `v`; `offset` counts from the root's data."""
    m = v.meta
    return TensorMeta(m.dtype, shape, strides, m.offset if offset is None else offset, m.device)


def numel(shape: Shape) -> Size:
    n: Size = 1
    for s in shape:
        n = n * s
    return n


def reduced_shape(shape: Shape, dims: Sequence[int], keepdim: bool) -> Shape:
    if keepdim:
        return tuple([1 if i in dims else s for i, s in enumerate(shape)])
    return tuple([s for i, s in enumerate(shape) if i not in dims])


def infer_shape(env: ShapeEnv, old: Shape, shape: Sequence[Size]) -> Shape:
    """`shape` with one -1 replaced by what makes the element counts of `old` and `shape` equal."""
    hole = -1
    rest = list(old)
    known: Size = 1
    for i, s in enumerate(shape):
        if s in rest:  # sizes on both sides cancel: most reshapes are then a matter of plain integers
            rest.remove(s)
        elif type(s) is int and s < 0:
            if s != -1:
                raise WouldRaise(f"shape={tuple(shape)}: size {s} is negative")
            if hole >= 0:
                raise WouldRaise(f"shape={tuple(shape)}: only one size can be -1")
            hole = i
        else:
            known = known * s
    total = numel(tuple(rest))
    if hole < 0:
        if not env.same(total, known) and not (has_zero(env, old) and has_zero(env, tuple(shape))):
            raise WouldRaise(f"shape={tuple(shape)} is invalid for {numel(old)} elements (from {old})")
        return tuple(shape)
    if env.decide("==", known, 0) or has_zero(env, tuple(shape[:hole]) + tuple(shape[hole + 1:])):
        raise WouldRaise(f"shape={tuple(shape)}: -1 is ambiguous beside a zero size")
    if not env.decide("==", total % known, 0):
        raise WouldRaise(f"shape={tuple(shape)} is invalid for {numel(old)} elements (from {old})")
    return tuple(shape[:hole]) + (total // known,) + tuple(shape[hole + 1:])


def concrete_int(env: ShapeEnv, x: Any) -> int:
    """An integer argument that a rule needs as a plain number (a stride, a kernel size)."""
    return env.concrete(x) if type(x) is Dim else int(x)

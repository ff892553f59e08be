"""Views: each gives eager's shape, strides and offset in the root's storage, and costs nothing at run time."""

from __future__ import annotations

from typing import Any

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ...shapes.dim import Size, size_max, size_min
from ..errors import Unsupported, WouldRaise
from ..meta import concrete_int, infer_shape, view_of, wrap_dim
from ..registry import op
from ..strides import view as view_strides


@op("alias", "self", view=True)
def alias(builder: GraphBuilder, self: Val) -> TensorMeta:
    return self.meta


@op("as_strided", "self", "size", "stride", ("storage_offset", None), view=True)
def as_strided(builder: GraphBuilder, self: Val, size: tuple[Size, ...], stride: tuple[Size, ...],
               storage_offset: Any) -> TensorMeta:
    """`storage_offset` counts from the root's first element; None keeps self's."""
    if len(size) != len(stride):
        raise WouldRaise(f"as_strided: size={size} and stride={stride} must be of one length")
    return view_of(self, tuple(size), tuple(stride), storage_offset)


@op("view", "self", "shape", view=True)
def view(builder: GraphBuilder, self: Val, shape: tuple[Size, ...]) -> TensorMeta:
    """self seen as `shape` (one size may be -1). Raises WouldRaise where only a copy can have that shape."""
    m, env = self.meta, builder.env
    shape = infer_shape(env, m.shape, shape)
    strides = view_strides(env, m.shape, m.strides, shape)
    if strides is None:
        raise WouldRaise(f"view: shape {m.shape} with strides {m.strides} cannot be seen as {shape}; use reshape")
    return view_of(self, shape, strides)


@op("view_dtype", "self", "dtype", view=True)
def view_dtype(builder: GraphBuilder, self: Val, dtype: Any) -> TensorMeta:
    """The same bits as another dtype of equal width."""
    m = self.meta
    if dtype.itemsize != m.dtype.itemsize:
        raise Unsupported(f"view({dtype}) of a {m.dtype} tensor changes its shape", "convert with .to(dtype)")
    return TensorMeta(dtype, m.shape, m.strides, m.offset, m.device)


@op("permute", "self", "dims", view=True)
def permute(builder: GraphBuilder, self: Val, dims: tuple[int, ...]) -> TensorMeta:
    m = self.meta
    n = len(m.shape)
    order = [d + n if d < 0 else d for d in dims]
    if sorted(order) != list(range(n)):
        raise WouldRaise(f"permute: dims={tuple(dims)} is no permutation of the {n} dimensions")
    return view_of(self, tuple([m.shape[d] for d in order]), tuple([m.strides[d] for d in order]))


@op("transpose", "self", "dim0", "dim1", view=True)
def transpose(builder: GraphBuilder, self: Val, dim0: int, dim1: int) -> TensorMeta:
    m = self.meta
    a, b = wrap_dim(dim0, len(m.shape)), wrap_dim(dim1, len(m.shape))
    if not m.shape:
        return m
    shape, strides = list(m.shape), list(m.strides)
    shape[a], shape[b] = shape[b], shape[a]
    strides[a], strides[b] = strides[b], strides[a]
    return view_of(self, tuple(shape), tuple(strides))


@op("expand", "self", "shape", view=True)
def expand(builder: GraphBuilder, self: Val, shape: tuple[Size, ...]) -> TensorMeta:
    """Broadcast to `shape`; -1 keeps a size. Broadcast dimensions get stride 0, new leading ones too, as in eager."""
    m, env = self.meta, builder.env
    lead = len(shape) - len(m.shape)
    if lead < 0:
        raise WouldRaise(f"expand: shape={tuple(shape)} has fewer dimensions than self ({len(m.shape)})")
    if not m.shape and -1 not in shape:
        return view_of(self, tuple(shape), (0,) * len(shape))
    sizes: list[Size] = list(shape)
    strides: list[Size] = [0] * len(shape)
    step: Size = 0
    for i in range(len(shape) - 1, -1, -1):
        want = shape[i]
        if i < lead:
            if type(want) is int and want < 0:
                raise WouldRaise(f"expand: size {want} in the new leading dimension {i} is not allowed")
            strides[i] = step if _one(env, want) else 0
        else:
            have, stride = m.shape[i - lead], m.strides[i - lead]
            if type(want) is int and want == -1 or want == have:
                sizes[i], strides[i] = have, stride
            elif _one(env, have):
                strides[i] = 0
            elif env.same(have, want):
                strides[i] = stride
            else:
                raise WouldRaise(f"expand: size {want} does not match self's size {have} in dimension {i}")
        if i:
            step = sizes[i] * strides[i]
    return view_of(self, tuple(sizes), tuple(strides))


def _one(env: Any, s: Size) -> bool:
    return s == 1 if type(s) is int else env.decide("==", s, 1)


@op("unsqueeze", "self", "dim", view=True)
def unsqueeze(builder: GraphBuilder, self: Val, dim: int) -> TensorMeta:
    m = self.meta
    d = wrap_dim(dim, len(m.shape) + 1)
    step: Size = m.shape[d] * m.strides[d] if d < len(m.shape) else 1
    return view_of(self, m.shape[:d] + (1,) + m.shape[d:], m.strides[:d] + (step,) + m.strides[d:])


@op("squeeze", "self", ("dims", None), view=True)
def squeeze(builder: GraphBuilder, self: Val, dims: Any) -> TensorMeta:
    """Without those of `dims` (an int, a tuple, or None for all) that have size 1."""
    m, env = self.meta, builder.env
    n = len(m.shape)
    at = range(n) if dims is None else [wrap_dim(d, n) for d in ((dims,) if type(dims) is int else dims)]
    drop = [d for d in at if n and _one(env, m.shape[d])]
    keep = [d for d in range(n) if d not in drop]
    return view_of(self, tuple([m.shape[d] for d in keep]), tuple([m.strides[d] for d in keep]))


def clamp_index(env: Any, i: Any, n: Size, default: Size) -> Size:
    """A slice bound as 0..n: negative ones count from the end."""
    if i is None:
        return default
    if i == n:
        return n
    if env.decide("<", i, 0):
        i = i + n
        return 0 if env.decide("<", i, 0) else i
    return n if env.decide(">", i, n) else i


@op("slice", "self", "dim", ("start", None), ("end", None), ("step", 1), view=True)
def slice_(builder: GraphBuilder, self: Val, dim: int, start: Any, end: Any, step: Any) -> TensorMeta:
    m, env = self.meta, builder.env
    d = wrap_dim(dim, len(m.shape))
    if not m.shape:
        raise WouldRaise("slice: a 0-d tensor has no dimension to slice")
    k = concrete_int(env, step)
    if k <= 0:
        raise WouldRaise(f"slice: step={k} must be positive")
    n = m.shape[d]
    lo = clamp_index(env, start, n, 0)
    hi = clamp_index(env, end, n, n)
    if lo != 0 and hi != lo and env.decide("<", hi, lo):
        hi = lo
    length = hi - lo if k == 1 else (hi - lo + (k - 1)) // k
    return view_of(self, m.shape[:d] + (length,) + m.shape[d + 1:],
                   m.strides if k == 1 else m.strides[:d] + (m.strides[d] * k,) + m.strides[d + 1:],
                   m.offset + lo * m.strides[d])


@op("select", "self", "dim", "index", view=True)
def select(builder: GraphBuilder, self: Val, dim: int, index: Size) -> TensorMeta:
    m, env = self.meta, builder.env
    if not m.shape:
        raise WouldRaise("select: a 0-d tensor has no dimension to select from")
    d = wrap_dim(dim, len(m.shape))
    n = m.shape[d]
    i = index + n if env.decide("<", index, 0) else index
    if env.decide("<", i, 0) or env.decide(">=", i, n):
        raise WouldRaise(f"select: index={index} is out of range for dimension {d} of size {n}")
    return view_of(self, m.shape[:d] + m.shape[d + 1:], m.strides[:d] + m.strides[d + 1:], m.offset + i * m.strides[d])


@op("split", "self", "sizes", ("dim", 0), view=True)
def split(builder: GraphBuilder, self: Val, sizes: tuple[Size, ...], dim: int) -> tuple[TensorMeta, ...]:
    """Pieces of the given sizes along `dim`; they must add up to its size."""
    m = self.meta
    d = wrap_dim(dim, len(m.shape))
    out = []
    at: Size = 0
    for s in sizes:
        out.append(view_of(self, m.shape[:d] + (s,) + m.shape[d + 1:], m.strides, m.offset + at * m.strides[d]))
        at = at + s
    if not builder.env.same(at, m.shape[d]):
        raise WouldRaise(f"split: sizes={tuple(sizes)} add up to {at}, dimension {d} has size {m.shape[d]}")
    return tuple(out)


@op("unfold", "self", "dim", "size", "step", view=True)
def unfold(builder: GraphBuilder, self: Val, dim: int, size: Size, step: Size) -> TensorMeta:
    """Windows of `size` every `step` along `dim`, in a new last dimension."""
    m, env = self.meta, builder.env
    if not m.shape:
        raise Unsupported("unfold of a 0-d tensor")
    d = wrap_dim(dim, len(m.shape))
    if env.decide(">", size, m.shape[d]) or env.decide("<=", step, 0):
        raise WouldRaise(f"unfold: size={size} must be at most {m.shape[d]} and step={step} positive")
    windows = (m.shape[d] - size) // step + 1
    return view_of(self, m.shape[:d] + (windows,) + m.shape[d + 1:] + (size,),
                   m.strides[:d] + (m.strides[d] * step,) + m.strides[d + 1:] + (m.strides[d],))


@op("diagonal", "self", ("offset", 0), ("dim1", 0), ("dim2", 1), view=True)
def diagonal(builder: GraphBuilder, self: Val, offset: int, dim1: int, dim2: int) -> TensorMeta:
    m, env = self.meta, builder.env
    n = len(m.shape)
    a, b = wrap_dim(dim1, n), wrap_dim(dim2, n)
    if a == b or n < 2:
        raise WouldRaise(f"diagonal: dim1={dim1} and dim2={dim2} must be different dimensions of self")
    rows, cols = m.shape[a], m.shape[b]
    length = size_max(size_min(rows, cols - offset) if offset >= 0 else size_min(rows + offset, cols), 0)
    start = m.offset
    if not env.decide("==", length, 0):
        start = start + (offset * m.strides[b] if offset >= 0 else -offset * m.strides[a])
    keep = [d for d in range(n) if d not in (a, b)]
    return view_of(self, tuple([m.shape[d] for d in keep]) + (length,),
                   tuple([m.strides[d] for d in keep]) + (m.strides[a] + m.strides[b],), start)

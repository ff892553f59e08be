"""Pooling over windows of 1 to 3 spatial dimensions, as Reduce loops whose loads are masked at the borders.

Spatial sizes come in tuples, one number a dimension; self is (N, C, *spatial) or (C, *spatial).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, cast, size_expr
from ...ir.types import Expr, Literal, Load, View
from ...shapes.dim import Size
from ...shapes.env import ShapeEnv
from ..errors import WouldRaise
from ..meta import concrete_int, new
from ..promote import math_type
from ..registry import lowering, op
from ..strides import Shape, channels_last, contiguous, like_channels_last
from .exprs import INT, ZERO, add, both, compare, floordiv, literal, mul, offset, scaled, sub, where
from .exprs import size_expr as size


# ------------------------------------------------------------------ shapes
def _window_count(env: ShapeEnv, n: Size, k: Size, s: int, p: int, d: int, ceil_mode: bool) -> Size:
    """Number of windows; with ceil_mode one that only partly fits counts, unless it starts beyond the last point."""
    span = n + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return span // s + 1
    count = (span + s - 1) // s + 1
    return count - 1 if env.decide(">=", (count - 1) * s, n + p) else count


def _pooled(builder: GraphBuilder, name: str, self: Val, kernel: Sequence[Size], stride: Sequence[Size],
            padding: Sequence[Size], dilation: Sequence[Size], ceil_mode: bool) -> Shape:
    env, r = builder.env, len(kernel)
    if self.ndim not in (r + 1, r + 2):
        raise WouldRaise(f"{name}: self must have {r + 1} or {r + 2} dimensions, has {self.ndim}")
    shape = list(self.shape)
    for j in range(r):
        d = self.ndim - r + j
        k = kernel[j]
        s, p, l = (concrete_int(env, v[j]) for v in (stride, padding, dilation))
        if env.decide("<", k, 1) or s < 1 or l < 1 or p < 0 or env.decide(">", 2 * p, k):
            raise WouldRaise(f"{name}: kernel={k}, stride={s}, dilation={l} must be positive and padding={p} at most "
                             "half the kernel")
        shape[d] = _window_count(env, shape[d], k, s, p, l, ceil_mode)
        if env.decide("<", shape[d], 1):
            raise WouldRaise(f"{name}: the windows of {k} do not fit dimension {d} of size {self.shape[d]}")
    return tuple(shape)


def _layout(env: ShapeEnv, self: Val, shape: Shape, ranks: Sequence[int], r: int) -> Shape:
    """channels_last where eager keeps it: for the spatial ranks `ranks`, batched; rank 1 as a row of rank 2."""
    m = self.meta
    if r not in ranks or self.ndim != r + 2:
        return contiguous(shape)
    if r == 1:
        s, t = m.shape, m.strides
        row = (s[0], s[1], 1, s[2]), (t[0], t[1], s[2] * t[2], t[2])
        if like_channels_last(env, *row):
            full = channels_last((shape[0], shape[1], 1, shape[2]))
            return full[:2] + full[3:]
        return contiguous(shape)
    return channels_last(shape) if like_channels_last(env, m.shape, m.strides) else contiguous(shape)


def _ints(*vs: Sequence[Size]) -> list[tuple[int, ...]]:
    env = ShapeEnv()
    return [tuple([concrete_int(env, e) for e in v]) for v in vs]


# ------------------------------------------------------------------ max pooling
@op("max_pool", "self", "kernel", "stride", "padding", "dilation", ("ceil_mode", False))
def max_pool(builder: GraphBuilder, self: Val, kernel: Any, stride: Any, padding: Any, dilation: Any,
             ceil_mode: bool) -> tuple[TensorMeta, TensorMeta]:
    """(values, indices); indices are flat positions in the spatial dimensions of self."""
    shape = _pooled(builder, "max_pool", self, kernel, stride, padding, dilation, ceil_mode)
    m = new(self, shape, strides=_layout(builder.env, self, shape, (2, 3), len(kernel)))
    return m, TensorMeta(INT, m.shape, m.strides, 0, m.device)


def _lowest(dtype: torch.dtype) -> Literal:
    return Literal(-math.inf if dtype.is_floating_point else torch.iinfo(dtype).min, dtype)


def _points(x: View, r: int, i: Sequence[Expr], w: Sequence[Expr], stride: Sequence[int], padding: Sequence[int],
            dilation: Sequence[int]) -> tuple[list[Expr], Expr | None]:
    """(spatial index into x of point w of window i, whether it lies inside; None: always)."""
    index: list[Expr] = []
    mask: Expr | None = None
    lead = len(x.shape) - r
    for j in range(r):
        e = add(mul(i[lead + j], Literal(stride[j], INT)), mul(w[j], Literal(dilation[j], INT)))
        e = offset(e, -padding[j])
        if padding[j]:
            mask = both(mask, compare("ge", e, ZERO))
        index.append(e)
    return index, mask


def _inside(x: View, r: int, index: Sequence[Expr], mask: Expr | None, upper: bool) -> Expr | None:
    for j in range(r):
        if upper:
            mask = both(mask, compare("lt", index[j], size_expr(x.shape[len(x.shape) - r + j])))
    return mask


@lowering("max_pool")
def max_pool_lower(lx: Lowering, node: Node) -> None:
    ref, kernel, stride, padding, dilation, ceil_mode = node.args
    x, out = lx.view(ref), lx.out(node)
    r, lead = len(kernel), len(x.shape) - len(kernel)
    stride, padding, dilation = _ints(stride, padding, dilation)
    upper = ceil_mode or any(padding)
    low = _lowest(x.dtype)

    def element(i: Sequence[Expr], w: Sequence[Expr]) -> tuple[Load, list[Expr], Expr | None]:
        index, mask = _points(x, r, i, w, stride, padding, dilation)
        mask = _inside(x, r, index, mask, upper)
        return Load(x, (*i[:lead], *index), mask, None if mask is None else low), index, mask
    lx.reduce(out, kernel, "max", lambda i, w: element(i, w)[0], x.dtype)
    spatial = x.shape[lead:]
    total: Size = 1
    for n in spatial:
        total = total * n

    def position(i: Sequence[Expr], w: Sequence[Expr]) -> Expr:
        value, index, mask = element(i, w)
        flat: Expr = ZERO
        for e, n in zip(index, spatial):
            flat = add(scaled(flat, n), e) if flat is not ZERO else e
        hit = compare("eq", value, Load(out, tuple(i)))
        if x.dtype.is_floating_point:
            hit = call("or", hit, call("isnan", value, dtype=torch.bool))
        found = both(hit, mask)
        return where(found, flat, size(total))  # type: ignore[arg-type]
    lx.reduce(lx.out(node, 1), kernel, "min", position, INT)


# ------------------------------------------------------------------ average pooling
@op("avg_pool", "self", "kernel", "stride", "padding", ("ceil_mode", False), ("count_include_pad", True),
    ("divisor_override", None))
def avg_pool(builder: GraphBuilder, self: Val, kernel: Any, stride: Any, padding: Any, ceil_mode: bool,
             count_include_pad: bool, divisor_override: Any) -> TensorMeta:
    if not self.dtype.is_floating_point:
        raise WouldRaise(f"avg_pool: self must be floating, not {self.dtype}")
    shape = _pooled(builder, "avg_pool", self, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return new(self, shape, strides=_layout(builder.env, self, shape, (1, 2), len(kernel)))


@lowering("avg_pool")
def avg_pool_lower(lx: Lowering, node: Node) -> None:
    ref, kernel, stride, padding, ceil_mode, include, divisor = node.args
    x, out = lx.view(ref), lx.out(node)
    r, lead = len(kernel), len(x.shape) - len(kernel)
    stride, padding = _ints(stride, padding)
    acc = math_type(x.dtype)
    border = ceil_mode or any(padding)
    zero = literal(0, x.dtype)
    total = lx.temporary(acc, out.shape)

    def point(i: Sequence[Expr], w: Sequence[Expr]) -> Expr:
        index, mask = _points(x, r, i, w, stride, padding, (1,) * r)
        mask = _inside(x, r, index, mask, border)
        return cast(Load(x, (*i[:lead], *index), mask, None if mask is None else zero), acc)  # type: ignore[arg-type]
    lx.reduce(total, kernel, "sum", point, acc)
    whole: Size = 1
    for k in kernel:
        whole = whole * k

    def count(i: Sequence[Expr]) -> Expr:
        if divisor is not None:
            return literal(divisor, acc)
        if not border or (include and not ceil_mode):
            return literal(whole, acc)
        n: Expr | None = None
        for j in range(r):
            start = offset(mul(i[lead + j], Literal(stride[j], INT)), -padding[j])
            length = x.shape[lead + j]
            end = call("min", offset(start, kernel[j]), size_expr(length + padding[j]))
            if not include:
                start, end = call("max", start, ZERO), call("min", end, size_expr(length))
            part = sub(end, start)
            n = part if n is None else mul(n, part)
        return cast(n, acc)  # type: ignore[arg-type]
    lx.map(out, lambda *i: cast(call("div", Load(total, i), count(i)), out.dtype))


# ------------------------------------------------------------------ adaptive pooling
def _adaptive(builder: GraphBuilder, name: str, self: Val, output_size: Sequence[Any]) -> Shape:
    r = len(output_size)
    if self.ndim not in (r + 1, r + 2):
        raise WouldRaise(f"{name}: self must have {r + 1} or {r + 2} dimensions, has {self.ndim}")
    lead = self.ndim - r
    sizes = tuple([n if o is None else o for n, o in zip(self.shape[lead:], output_size)])
    for n, o in zip(self.shape[lead:], sizes):
        if builder.env.decide("<", o, 1) or builder.env.decide("<", n, 1):
            raise WouldRaise(f"{name}: output_size={tuple(output_size)} and the sizes {self.shape} must be positive")
        if o != n and o != 1:
            builder.env.decide("==", n % o, 0)
    return self.shape[:lead] + sizes


@op("adaptive_avg_pool", "self", "output_size")
def adaptive_avg_pool(builder: GraphBuilder, self: Val, output_size: Any) -> TensorMeta:
    """Means over output_size windows that cover each spatial dimension; None keeps a dimension's size."""
    shape = _adaptive(builder, "adaptive_avg_pool", self, output_size)
    return new(self, shape, strides=_layout(builder.env, self, shape, (1, 2), len(output_size)))


@op("adaptive_max_pool", "self", "output_size")
def adaptive_max_pool(builder: GraphBuilder, self: Val, output_size: Any) -> TensorMeta:
    shape = _adaptive(builder, "adaptive_max_pool", self, output_size)
    return new(self, shape, strides=_layout(builder.env, self, shape, (2,), len(output_size)))


def _adaptive_lower(lx: Lowering, node: Node, combiner: str) -> None:
    x, out = lx.view(node.args[0]), lx.out(node)
    r = len(node.args[1])
    lead = len(x.shape) - r
    acc = math_type(x.dtype) if combiner == "sum" else x.dtype
    neutral = literal(0, x.dtype) if combiner == "sum" else _lowest(x.dtype)
    ns, os = x.shape[lead:], out.shape[lead:]
    even = [o == 1 or o == n or (type(n) is int and type(o) is int and n % o == 0) for n, o in zip(ns, os)]
    widest = tuple([n // o if e else (n + o - 1) // o + 1 for n, o, e in zip(ns, os, even)])

    def bounds(i: Sequence[Expr], j: int) -> tuple[Expr, Expr]:
        n, o = size_expr(ns[j]), os[j]
        k = i[lead + j]
        return floordiv(mul(k, n), o), floordiv(offset(mul(offset(k, 1), n), o - 1), o)

    def point(i: Sequence[Expr], w: Sequence[Expr]) -> Expr:
        index: list[Expr] = []
        mask: Expr | None = None
        for j in range(r):
            if even[j]:
                index.append(w[j] if os[j] == 1 else add(scaled(i[lead + j], widest[j]), w[j]))
                continue
            start, end = bounds(i, j)
            e = add(start, w[j])
            mask = both(mask, compare("lt", e, end))
            index.append(e)
        return cast(Load(x, (*i[:lead], *index), mask, None if mask is None else neutral), acc)  # type: ignore[arg-type]
    if combiner == "max":
        lx.reduce(out, widest, "max", point, acc)
        return
    total = lx.temporary(acc, out.shape)
    lx.reduce(total, widest, "sum", point, acc)

    def count(i: Sequence[Expr]) -> Expr:
        n: Expr = Literal(1, INT)
        for j in range(r):
            start, end = bounds(i, j)
            n = mul(n, size_expr(widest[j]) if even[j] else sub(end, start))
        return cast(n, acc)
    lx.map(out, lambda *i: cast(call("div", Load(total, i), count(i)), out.dtype))


@lowering("adaptive_avg_pool")
def adaptive_avg_pool_lower(lx: Lowering, node: Node) -> None:
    _adaptive_lower(lx, node, "sum")


@lowering("adaptive_max_pool")
def adaptive_max_pool_lower(lx: Lowering, node: Node) -> None:
    _adaptive_lower(lx, node, "max")

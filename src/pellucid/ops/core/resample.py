"""Resizing of the spatial dimensions: nearest neighbour and (bi-, tri-)linear, as gathers at computed positions.

Positions follow ATen's UpSample: computed in float32 (float64 for float64 tensors) from the ratio of sizes, or from the
scale factor where one was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, cast, size_expr
from ...ir.types import Expr, Load
from ...shapes.dim import Size
from ..errors import WouldRaise
from ..meta import new
from ..promote import math_type
from ..registry import lowering, op
from ..strides import Shape, contiguous, suggested
from .exprs import INT, ZERO, compare, floordiv, literal, offset, where


def _resized(builder: GraphBuilder, name: str, self: Val, size: Sequence[Size]) -> TensorMeta:
    m, r = self.meta, len(size)
    if len(m.shape) != r + 2:
        raise WouldRaise(f"{name}: self must have {r + 2} dimensions for {r} sizes, has {len(m.shape)}")
    for s in (*size, *m.shape[2:]):
        if builder.env.decide("<", s, 1):
            raise WouldRaise(f"{name}: size={tuple(size)} and the sizes of self, {m.shape}, must be positive")
    shape: Shape = m.shape[:2] + tuple(size)
    strides = suggested(builder.env, m.shape, m.strides, shape) if r > 1 else contiguous(shape)
    return new(m, shape, strides=strides)


def _ratio(n: Size, o: Size, scale: Any, work: torch.dtype) -> Expr:
    """Source points a target point: 1/scale where a scale factor was given, else n/o."""
    if scale is not None and scale > 0:
        return literal(1.0 / scale, work)
    if type(n) is int and type(o) is int:
        return call("div", literal(n, work), literal(o, work))
    return call("div", cast(size_expr(n), work), cast(size_expr(o), work))


# ------------------------------------------------------------------ nearest
@op("upsample_nearest", "self", "size", ("scales", None), ("exact", False))
def upsample_nearest(builder: GraphBuilder, self: Val, size: tuple[Size, ...], scales: Any, exact: bool) -> TensorMeta:
    """scales: one scale factor (or None) a spatial dimension; exact: mode "nearest-exact"."""
    return _resized(builder, "upsample_nearest", self, size)


@lowering("upsample_nearest")
def upsample_nearest_lower(lx: Lowering, node: Node) -> None:
    ref, size, scales, exact = node.args
    x, out = lx.view(ref), lx.out(node)
    f = torch.float32

    def position(i: Expr, n: Size, o: Size, scale: Any) -> Expr:
        if n == o:
            return i
        if not exact and type(n) is int and type(o) is int and o % n == 0 and scale in (None, o // n):
            return floordiv(i, o // n)
        at = cast(i, f)
        at = call("mul", call("add", at, literal(0.5, f)) if exact else at, _ratio(n, o, scale, f))
        return call("min", cast(call("floor", at), INT), offset(size_expr(n), -1))
    lx.map(out, lambda *i: Load(x, i[:2] + tuple([
        position(e, n, o, None if scales is None else scales[d])
        for d, (e, n, o) in enumerate(zip(i[2:], x.shape[2:], out.shape[2:]))])))


# ------------------------------------------------------------------ linear
@op("upsample_linear", "self", "size", ("align_corners", False), ("scales", None))
def upsample_linear(builder: GraphBuilder, self: Val, size: tuple[Size, ...], align_corners: bool,
                    scales: Any) -> TensorMeta:
    """Linear interpolation along each spatial dimension (1 to 3)."""
    if not self.dtype.is_floating_point:
        raise WouldRaise(f"upsample_linear: self must be floating, not {self.dtype}")
    return _resized(builder, "upsample_linear", self, size)


@lowering("upsample_linear")
def upsample_linear_lower(lx: Lowering, node: Node) -> None:
    ref, _, corners, scales = node.args
    x, out = lx.view(ref), lx.out(node)
    work = math_type(x.dtype)
    zero, half, one = literal(0, work), literal(0.5, work), literal(1, work)

    def neighbours(i: Expr, n: Size, o: Size, scale: Any) -> tuple[Expr, Expr, Expr] | None:
        """(lower position, upper position, weight of the upper one)"""
        if n == o:
            return None
        if corners:
            ratio = zero if o == 1 else call("div", cast(size_expr(n - 1), work), cast(size_expr(o - 1), work))
            at = call("mul", cast(i, work), ratio)
        else:
            at = call("sub", call("mul", call("add", cast(i, work), half), _ratio(n, o, scale, work)), half)
            at = call("max", at, zero)
        last = offset(size_expr(n), -1)
        low = call("min", cast(at, INT), last)
        high = call("add", low, where(compare("lt", low, last), literal(1, INT), ZERO))
        weight = call("min", call("max", call("sub", at, cast(low, work)), zero), one)
        return low, high, weight

    def value(index: tuple[Expr, ...], parts: Sequence[tuple[Expr, Any]]) -> Expr:
        if not parts:
            return cast(Load(x, index), work)
        (own, pair), rest = parts[0], parts[1:]
        if pair is None:
            return value((*index, own), rest)
        low, high, w = pair
        below, above = value((*index, low), rest), value((*index, high), rest)
        return call("add", call("mul", call("sub", one, w), below), call("mul", w, above))

    def body(*i: Expr) -> Expr:
        parts = [(e, neighbours(e, n, o, None if scales is None else scales[d]))
                 for d, (e, n, o) in enumerate(zip(i[2:], x.shape[2:], out.shape[2:]))]
        return cast(value(i[:2], parts), out.dtype)
    lx.map(out, body)

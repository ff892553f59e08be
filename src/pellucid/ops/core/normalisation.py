"""Softmax and the normalisations, each a few Reduce and Map loops in float32 (float64 for float64 operands).

The scheduler makes one kernel of the loops of one operator. Variances are two-pass: the mean first, then the squared
distances from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, Ref, TensorMeta
from ...ir.build import Lowering, call, cast
from ...ir.types import Expr, Load, View
from ...shapes.dim import Size
from ..errors import WouldRaise
from ..meta import new, numel, wrap_dim
from ..promote import math_type
from ..registry import lowering, op
from ..strides import contiguous, suggested
from .exprs import add as plus
from .exprs import literal, merge, scaled
from .reductions import fold_temporary, moments, source


# ------------------------------------------------------------------ softmax
def _softmax(name: str, log: bool) -> None:
    @op(name, "self", "dim", ("dtype", None), autocast="float32")
    def rule(builder: GraphBuilder, self: Val, dim: int, dtype: Any) -> TensorMeta:
        """Along `dim`; contiguous. With `dtype`, self is converted to it first."""
        dtype = self.dtype if dtype is None else dtype
        if not dtype.is_floating_point:
            raise WouldRaise(f"{name}: dtype {dtype} is not floating; convert self or pass dtype=")
        wrap_dim(dim, self.ndim)
        m = self.meta
        return TensorMeta(dtype, m.shape, contiguous(m.shape), 0, m.device)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dim, _ = node.args
        out = lx.out(node)
        acc = math_type(out.dtype)
        x = source(lx, ref, acc)
        if not out.shape:
            e = call("sub", x(()), x(()))
            lx.map(out, lambda: cast(e if log else call("exp", e), out.dtype))
            return
        n, d = len(out.shape), wrap_dim(dim, len(out.shape))
        top = fold_temporary(lx, x, out.shape, (d,), "max", acc)

        def centred(index: Sequence[Expr]) -> Expr:
            return call("sub", x(index), Load(top, tuple(index[:d]) + tuple(index[d + 1:])))
        total = lx.temporary(acc, top.shape)
        lx.reduce(total, (out.shape[d],), "sum", lambda o, r: call("exp", centred(merge(o, r, (d,), n))), acc)

        def body(*i: Expr) -> Expr:
            s = Load(total, i[:d] + i[d + 1:])
            e = call("sub", centred(i), call("log", s)) if log else call("div", call("exp", centred(i)), s)
            return cast(e, out.dtype)
        lx.map(out, body)


_softmax("softmax", False)
_softmax("log_softmax", True)


# ------------------------------------------------------------------ helpers
def _optional(lx: Lowering, ref: Any, acc: torch.dtype) -> Callable[[Sequence[Expr]], Expr] | None:
    return None if ref is None else source(lx, ref, acc)


def _scale_shift(e: Expr, weight: Expr | None, bias: Expr | None) -> Expr:
    if weight is not None and bias is not None:
        return call("fma", e, weight, bias)
    if weight is not None:
        return call("mul", e, weight)
    return e if bias is None else call("add", e, bias)


def _inverse_std(lx: Lowering, spread: View, n: Size, eps: float, acc: torch.dtype) -> View:
    """1 / sqrt(spread / n + eps) as a temporary."""
    out = lx.temporary(acc, spread.shape)
    count, e = literal(n, acc), literal(eps, acc)
    lx.map(out, lambda *i: call("rsqrt", call("add", call("div", Load(spread, tuple(i)), count), e)))
    return out


def _give(lx: Lowering, out: View, value: View, drop: int = 0) -> None:
    """A statistic into its output, which may have `drop` trailing dimensions of size 1 more."""
    lx.map(out, lambda *i: cast(Load(value, i[:len(i) - drop] if drop else i), out.dtype))


def _check_normalized(name: str, self: Val, normalized_shape: Sequence[Size], weight: Any, bias: Any, env: Any) -> int:
    k = len(normalized_shape)
    n = self.ndim
    if not k or k > n or not all([env.same(a, b) for a, b in zip(self.shape[n - k:], normalized_shape)]):
        raise WouldRaise(f"{name}: normalized_shape={tuple(normalized_shape)} must be the last sizes of {self.shape}")
    for what, w in (("weight", weight), ("bias", bias)):
        if w is None:
            continue
        if len(w.shape) != k or not all([env.same(a, b) for a, b in zip(w.shape, normalized_shape)]):
            raise WouldRaise(f"{name}: {what} must be of shape {tuple(normalized_shape)}, not {w.shape}")
    return n - k


# ------------------------------------------------------------------ layer and root-mean-square normalisation
def _layer_norm(lx: Lowering, node: Node, statistics: bool) -> None:
    ref, normalized_shape, weight, bias, eps = node.args
    out = lx.out(node)
    shape = out.shape
    lead = len(shape) - len(normalized_shape)
    dims = tuple(range(lead, len(shape)))
    acc = math_type(lx.meta(ref).dtype)
    x, w, b = source(lx, ref, acc), _optional(lx, weight, acc), _optional(lx, bias, acc)
    mean, spread = moments(lx, x, shape, dims, acc)
    rstd = _inverse_std(lx, spread, numel(shape[lead:]), eps, acc)

    def body(*i: Expr) -> Expr:
        o, k = i[:lead], i[lead:]
        e = call("mul", call("sub", x(i), Load(mean, o)), Load(rstd, o))
        return cast(_scale_shift(e, w(k) if w else None, b(k) if b else None), out.dtype)
    lx.map(out, body)
    if statistics:
        _give(lx, lx.out(node, 1), mean, len(dims))
        _give(lx, lx.out(node, 2), rstd, len(dims))


@op("layer_norm", "self", "normalized_shape", ("weight", None), ("bias", None), ("eps", 1e-5), autocast="float32")
def layer_norm(builder: GraphBuilder, self: Val, normalized_shape: tuple[Size, ...], weight: Any, bias: Any,
               eps: float) -> TensorMeta:
    _check_normalized("layer_norm", self, normalized_shape, weight, bias, builder.env)
    m = self.meta
    if not m.dtype.is_floating_point:
        raise WouldRaise(f"layer_norm: self must be floating, not {m.dtype}")
    return TensorMeta(m.dtype, m.shape, contiguous(m.shape), 0, m.device)


@lowering("layer_norm")
def layer_norm_lower(lx: Lowering, node: Node) -> None:
    _layer_norm(lx, node, False)


@op("native_layer_norm", "self", "normalized_shape", ("weight", None), ("bias", None), ("eps", 1e-5),
    autocast="float32")
def native_layer_norm(builder: GraphBuilder, self: Val, normalized_shape: tuple[Size, ...], weight: Any, bias: Any,
                      eps: float) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    """(out, mean, rstd); the statistics have size 1 in the normalized dimensions."""
    lead = _check_normalized("native_layer_norm", self, normalized_shape, weight, bias, builder.env)
    mixed = weight is not None and weight.dtype is torch.float32
    dtype = torch.float32 if mixed else self.dtype
    stat = new(self, self.shape[:lead] + (1,) * (self.ndim - lead), dtype)
    return new(self, self.shape), stat, stat


@lowering("native_layer_norm")
def native_layer_norm_lower(lx: Lowering, node: Node) -> None:
    _layer_norm(lx, node, True)


@op("rms_norm", "self", "normalized_shape", ("weight", None), ("eps", None), autocast="float32")
def rms_norm(builder: GraphBuilder, self: Val, normalized_shape: tuple[Size, ...], weight: Any, eps: Any) -> TensorMeta:
    """self / sqrt(mean(self^2) + eps) * weight over the last dimensions; eps None: the dtype's epsilon."""
    _check_normalized("rms_norm", self, normalized_shape, weight, None, builder.env)
    m = self.meta
    return new(m, m.shape, strides=suggested(builder.env, m.shape, m.strides))


@lowering("rms_norm")
def rms_norm_lower(lx: Lowering, node: Node) -> None:
    ref, normalized_shape, weight, eps = node.args
    out = lx.out(node)
    shape, dtype = out.shape, lx.meta(ref).dtype
    lead = len(shape) - len(normalized_shape)
    acc = math_type(dtype)
    x, w = source(lx, ref, acc), _optional(lx, weight, acc)
    total = fold_temporary(lx, lambda i: call("mul", x(i), x(i)), shape, tuple(range(lead, len(shape))), "sum", acc)
    rstd = _inverse_std(lx, total, numel(shape[lead:]), torch.finfo(acc).eps if eps is None else eps, acc)

    def body(*i: Expr) -> Expr:
        e = call("mul", x(i), Load(rstd, i[:lead]))
        return cast(call("mul", e, w(i[lead:])) if w else e, out.dtype)
    lx.map(out, body)


# ------------------------------------------------------------------ group normalisation
def _group_norm(lx: Lowering, node: Node, statistics: bool) -> None:
    ref, groups, weight, bias, eps = node.args
    out = lx.out(node)
    shape = out.shape
    acc = math_type(out.dtype)
    x, w, b = source(lx, ref, acc), _optional(lx, weight, acc), _optional(lx, bias, acc)
    per = shape[1] // groups
    split = (shape[0], groups, per) + shape[2:]
    dims = tuple(range(2, len(split)))

    def grouped(i: Sequence[Expr]) -> Expr:
        return x((i[0], plus(scaled(i[1], per), i[2])) + tuple(i[3:]))
    mean, spread = moments(lx, grouped, split, dims, acc)
    rstd = _inverse_std(lx, spread, numel(split[2:]), eps, acc)

    def body(*i: Expr) -> Expr:
        o = (i[0], i[1] if per == 1 else call("floordiv", i[1], literal(per, torch.int64)))
        e = call("mul", call("sub", x(i), Load(mean, o)), Load(rstd, o))
        return cast(_scale_shift(e, w((i[1],)) if w else None, b((i[1],)) if b else None), out.dtype)
    lx.map(out, body)
    if statistics:
        _give(lx, lx.out(node, 1), mean)
        _give(lx, lx.out(node, 2), rstd)


def _group_meta(builder: GraphBuilder, name: str, self: Val, groups: int) -> TensorMeta:
    if self.ndim < 2 or not builder.env.decide("==", self.shape[1] % groups, 0):
        raise WouldRaise(f"{name}: the second size of self, {self.shape}, must be divisible by num_groups={groups}")
    m = self.meta
    return new(m, m.shape, strides=suggested(builder.env, m.shape, m.strides))


@op("group_norm", "self", "num_groups", ("weight", None), ("bias", None), ("eps", 1e-5), autocast="float32")
def group_norm(builder: GraphBuilder, self: Val, num_groups: int, weight: Any, bias: Any, eps: float) -> TensorMeta:
    return _group_meta(builder, "group_norm", self, num_groups)


@lowering("group_norm")
def group_norm_lower(lx: Lowering, node: Node) -> None:
    _group_norm(lx, node, False)


@op("native_group_norm", "self", "num_groups", ("weight", None), ("bias", None), ("eps", 1e-5), autocast="float32")
def native_group_norm(builder: GraphBuilder, self: Val, num_groups: int, weight: Any, bias: Any,
                      eps: float) -> tuple[TensorMeta, TensorMeta, TensorMeta]:
    """(out, mean, rstd); the statistics are of shape (batch, groups)."""
    mixed = weight is not None and weight.dtype is torch.float32
    stat = new(self, (self.shape[0], num_groups), torch.float32 if mixed else self.dtype)
    return _group_meta(builder, "native_group_norm", self, num_groups), stat, stat


@lowering("native_group_norm")
def native_group_norm_lower(lx: Lowering, node: Node) -> None:
    _group_norm(lx, node, True)


# ------------------------------------------------------------------ batch normalisation in inference
@op("batch_norm", "self", "weight", "bias", "mean", "var", ("eps", 1e-5))
def batch_norm(builder: GraphBuilder, self: Val, weight: Any, bias: Any, mean: Val, var: Val, eps: float) -> TensorMeta:
    """(self - mean) / sqrt(var + eps) * weight + bias, the statistics by channel (dimension 1)."""
    if self.ndim < 2:
        raise WouldRaise(f"batch_norm: self must have at least 2 dimensions, has {self.ndim}")
    for what, t in (("weight", weight), ("bias", bias), ("running_mean", mean), ("running_var", var)):
        if t is not None and not builder.env.same(t.shape[0], self.shape[1]):
            raise WouldRaise(f"batch_norm: {what} must have {self.shape[1]} elements, has {t.shape[0]}")
    m = self.meta
    return new(m, m.shape, strides=suggested(builder.env, m.shape, m.strides))


@lowering("batch_norm")
def batch_norm_lower(lx: Lowering, node: Node) -> None:
    ref, weight, bias, mean, var, eps = node.args
    out = lx.out(node)
    acc = math_type(out.dtype)
    x, mu, v = source(lx, ref, acc), source(lx, mean, acc), source(lx, var, acc)
    w, b = _optional(lx, weight, acc), _optional(lx, bias, acc)
    c: Ref = mean
    channels = lx.meta(c).shape
    scale, shift = lx.temporary(acc, channels), lx.temporary(acc, channels)

    def factor(*i: Expr) -> Expr:
        r = call("rsqrt", call("add", v(i), literal(eps, acc)))
        return call("mul", r, w(i)) if w else r

    def constant(*i: Expr) -> Expr:
        e = call("mul", mu(i), Load(scale, tuple(i)))
        return call("sub", b(i), e) if b else call("neg", e)
    lx.map(scale, factor)
    lx.map(shift, constant)
    lx.map(out, lambda *i: cast(call("fma", x(i), Load(scale, (i[1],)), Load(shift, (i[1],))), out.dtype))

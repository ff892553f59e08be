"""Reductions over dimensions, each by a Reduce loop: sums, extremes, truth, positions, spread, norms; and prefix sums.

Sums of float16 and bfloat16 are accumulated in float32, integers and bools in int64. A result that is computed from the
accumulated value (mean, std ...) is a Map over a temporary, which the scheduler fuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, Ref, TensorMeta
from ...ir.build import Lowering, call, cast
from ...ir.types import Expr, Load, View
from ...shapes.dim import Size, size_max
from ..errors import Unsupported, WouldRaise
from ..meta import new, numel, reduced_shape, wrap_dim, wrap_dims
from ..promote import math_type
from ..registry import lowering, op
from .exprs import compare, literal, merge, where, without

INT = torch.int64


def all_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    return wrap_dims(dims, ndim)


def reduced(v: Any, dims: Sequence[int], keepdim: bool, dtype: torch.dtype) -> TensorMeta:
    return new(v, reduced_shape(v.meta.shape, dims, keepdim), dtype)


def sum_type(dtype: torch.dtype) -> torch.dtype:
    """What sums and products of integers come in: int64."""
    return dtype if dtype.is_floating_point or dtype.is_complex else INT


def source(lx: Lowering, ref: Ref, dtype: torch.dtype, through: torch.dtype | None = None) -> Callable[..., Expr]:
    """Element of the operand at a whole index, cast to `through` (if given) and then to `dtype`."""
    v = lx.view(ref)
    if through is None or through == v.dtype:
        return lambda i: cast(Load(v, tuple(i)), dtype)
    return lambda i: cast(cast(Load(v, tuple(i)), through), dtype)


def target(out: View, dims: Sequence[int], keepdim: bool) -> View:
    """The output without the size-1 dimensions that keepdim left."""
    return without(out, dims) if keepdim else out


def fold(lx: Lowering, out: View, get: Callable[..., Expr], shape: Sequence[Size], dims: Sequence[int], combiner: str,
         acc: torch.dtype) -> None:
    """out[outer] = combiner over dimensions `dims` of `shape` of get(whole index)."""
    n = len(shape)
    lx.reduce(out, [shape[d] for d in dims], combiner, lambda o, r: get(merge(o, r, dims, n)), acc)


def fold_temporary(lx: Lowering, get: Callable[..., Expr], shape: Sequence[Size], dims: Sequence[int], combiner: str,
                   acc: torch.dtype) -> View:
    t = lx.temporary(acc, [s for d, s in enumerate(shape) if d not in dims])
    fold(lx, t, get, shape, dims, combiner, acc)
    return t


def finish(lx: Lowering, out: View, get: Callable[..., Expr], shape: Sequence[Size], dims: Sequence[int], combiner: str,
           acc: torch.dtype, last: Callable[[Expr], Expr] | None = None) -> None:
    """Reduce, then apply `last` and convert to out's dtype: one loop where nothing is to do after the reduction."""
    if last is None and out.dtype == acc:
        fold(lx, out, get, shape, dims, combiner, acc)
        return
    t = fold_temporary(lx, get, shape, dims, combiner, acc)
    lx.map(out, lambda *i: cast(Load(t, tuple(i)) if last is None else last(Load(t, tuple(i))), out.dtype))


def count_of(shape: Sequence[Size], dims: Sequence[int]) -> Size:
    return numel(tuple([shape[d] for d in dims]))


def nonempty(builder: GraphBuilder, name: str, v: Val, dims: Sequence[int]) -> None:
    for d in dims:
        if builder.env.decide("==", v.meta.shape[d], 0):
            raise WouldRaise(f"{name}: dimension {d} has no elements, and {name} of nothing is not defined")


# ------------------------------------------------------------------ sums
def _sum_like(name: str, combiner: str, autocast: str | None) -> None:
    @op(name, "self", ("dims", None), ("keepdim", False), ("dtype", None), autocast=autocast)
    def rule(builder: GraphBuilder, self: Val, dims: Any, keepdim: bool, dtype: Any) -> TensorMeta:
        dtype = sum_type(self.dtype) if dtype is None else dtype
        if dtype.is_complex:
            raise Unsupported(f"{name} of complex tensors")
        return reduced(self, all_dims(dims, self.ndim), keepdim, dtype)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dims, keepdim, _ = node.args
        out, shape = lx.out(node), lx.meta(ref).shape
        dims = all_dims(dims, len(shape))
        acc = math_type(out.dtype)
        if out.dtype is torch.bool:
            finish(lx, target(out, dims, keepdim), source(lx, ref, torch.bool), shape, dims,
                   {"sum": "any", "prod": "all"}[combiner], torch.bool)
            return
        get = source(lx, ref, acc, out.dtype if out.dtype.is_floating_point else None)
        finish(lx, target(out, dims, keepdim), get, shape, dims, combiner, acc)


_sum_like("sum", "sum", "float32")
_sum_like("prod", "prod", "float32")


@op("mean", "self", ("dims", None), ("keepdim", False), ("dtype", None))
def mean(builder: GraphBuilder, self: Val, dims: Any, keepdim: bool, dtype: Any) -> TensorMeta:
    dtype = self.dtype if dtype is None else dtype
    if not dtype.is_floating_point:
        raise WouldRaise(f"mean: dtype {dtype} is not floating; convert self or pass dtype=")
    return reduced(self, all_dims(dims, self.ndim), keepdim, dtype)


@lowering("mean")
def mean_lower(lx: Lowering, node: Node) -> None:
    ref, dims, keepdim, _ = node.args
    out, shape = lx.out(node), lx.meta(ref).shape
    dims = all_dims(dims, len(shape))
    acc = math_type(out.dtype)
    n = literal(count_of(shape, dims), acc)
    finish(lx, target(out, dims, keepdim), source(lx, ref, acc, out.dtype), shape, dims, "sum", acc,
           lambda s: call("div", s, n))


# ------------------------------------------------------------------ extremes, truth, positions
def _simple(name: str, combiner: str, result: Callable[[torch.dtype], torch.dtype], empty_ok: bool) -> None:
    @op(name, "self", ("dims", None), ("keepdim", False))
    def rule(builder: GraphBuilder, self: Val, dims: Any, keepdim: bool) -> TensorMeta:
        dims = all_dims(dims, self.ndim)
        if not empty_ok:
            nonempty(builder, name, self, dims)
        return reduced(self, dims, keepdim, result(self.dtype))

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dims, keepdim = node.args
        out, meta = lx.out(node), lx.meta(ref)
        dims = all_dims(dims, len(meta.shape))
        to = torch.bool if combiner in ("any", "all") else meta.dtype
        kind = {"min": "all", "max": "any"}.get(combiner, combiner) if to is torch.bool else combiner
        finish(lx, target(out, dims, keepdim), source(lx, ref, to), meta.shape, dims, kind, to)


def _truth_type(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype is torch.uint8 else torch.bool


_simple("amax", "max", lambda d: d, False)
_simple("amin", "min", lambda d: d, False)
_simple("any", "any", _truth_type, True)
_simple("all", "all", _truth_type, True)


def _position(name: str) -> None:
    @op(name, "self", ("dim", None), ("keepdim", False))
    def rule(builder: GraphBuilder, self: Val, dim: Any, keepdim: bool) -> TensorMeta:
        dims = all_dims(dim, self.ndim)
        nonempty(builder, name, self, dims)
        return reduced(self, dims, keepdim, INT)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dim, keepdim = node.args
        out, meta = lx.out(node), lx.meta(ref)
        dims = all_dims(dim, len(meta.shape))
        positions(lx, target(out, dims, keepdim), ref, dims, name)


def positions(lx: Lowering, out: View, ref: Ref, dims: Sequence[int], combiner: str) -> None:
    meta = lx.meta(ref)
    dtype = torch.uint8 if meta.dtype is torch.bool else meta.dtype
    fold(lx, out, source(lx, ref, dtype), meta.shape, dims, combiner, dtype)


_position("argmax")
_position("argmin")


def _extreme_along(name: str, combiner: str) -> None:
    @op(name, "self", "dim", ("keepdim", False))
    def rule(builder: GraphBuilder, self: Val, dim: int, keepdim: bool) -> tuple[TensorMeta, TensorMeta]:
        """(values, indices) of the first extreme along `dim`."""
        dims = all_dims(dim, self.ndim)
        nonempty(builder, name, self, dims)
        return reduced(self, dims, keepdim, self.dtype), reduced(self, dims, keepdim, INT)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dim, keepdim = node.args
        values, indices, meta = lx.out(node, 0), lx.out(node, 1), lx.meta(ref)
        dims = all_dims(dim, len(meta.shape))
        kind = {"min": "all", "max": "any"}[combiner] if meta.dtype is torch.bool else combiner
        fold(lx, target(values, dims, keepdim), source(lx, ref, meta.dtype), meta.shape, dims, kind, meta.dtype)
        positions(lx, target(indices, dims, keepdim), ref, dims, "arg" + combiner)


_extreme_along("max_dim", "max")
_extreme_along("min_dim", "min")


@op("aminmax", "self", ("dims", None), ("keepdim", False))
def aminmax(builder: GraphBuilder, self: Val, dims: Any, keepdim: bool) -> tuple[TensorMeta, TensorMeta]:
    dims = all_dims(dims, self.ndim)
    nonempty(builder, "aminmax", self, dims)
    m = reduced(self, dims, keepdim, self.dtype)
    return m, m


@lowering("aminmax")
def aminmax_lower(lx: Lowering, node: Node) -> None:
    ref, dims, keepdim = node.args
    meta = lx.meta(ref)
    dims = all_dims(dims, len(meta.shape))
    kinds = ("all", "any") if meta.dtype is torch.bool else ("min", "max")
    for k in (0, 1):
        out = target(lx.out(node, k), dims, keepdim)
        fold(lx, out, source(lx, ref, meta.dtype), meta.shape, dims, kinds[k], meta.dtype)


# ------------------------------------------------------------------ spread
def moments(lx: Lowering, get: Callable[..., Expr], shape: Sequence[Size], dims: Sequence[int],
            acc: torch.dtype) -> tuple[View, View]:
    """(mean, sum of squared distances from it) in two passes, as temporaries over the other dimensions."""
    n = literal(count_of(shape, dims), acc)
    total = fold_temporary(lx, get, shape, dims, "sum", acc)
    mean = lx.temporary(acc, total.shape)
    lx.map(mean, lambda *i: call("div", Load(total, tuple(i)), n))

    def square(o: tuple[Expr, ...], r: tuple[Expr, ...]) -> Expr:
        d = call("sub", get(merge(o, r, dims, len(shape))), Load(mean, tuple(o)))
        return call("mul", d, d)
    spread = lx.temporary(acc, total.shape)
    lx.reduce(spread, [shape[d] for d in dims], "sum", square, acc)
    return mean, spread


def _degrees(shape: Sequence[Size], dims: Sequence[int], correction: Any, acc: torch.dtype) -> Expr:
    n = count_of(shape, dims)
    if type(correction) is float and not correction.is_integer():
        return call("max", call("sub", literal(n, acc), literal(correction, acc)), literal(0, acc))
    return literal(size_max(n - int(correction), 0), acc)


def _spread(name: str, root: bool, with_mean: bool) -> None:
    @op(name, "self", ("dims", None), ("correction", 1), ("keepdim", False))
    def rule(builder: GraphBuilder, self: Val, dims: Any, correction: Any, keepdim: bool) -> Any:
        if not self.dtype.is_floating_point:
            raise WouldRaise(f"{name}: dtype {self.dtype} is not floating; convert self first")
        m = reduced(self, all_dims(dims, self.ndim), keepdim, self.dtype)
        return (m, m) if with_mean else m

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dims, correction, keepdim = node.args
        out, shape = lx.out(node), lx.meta(ref).shape
        dims = all_dims(dims, len(shape))
        acc = torch.float64  # as eager: the spread of equal values is exactly 0
        mean, spread = moments(lx, source(lx, ref, acc), shape, dims, acc)
        n = _degrees(shape, dims, correction, acc)

        def value(*i: Expr) -> Expr:
            v = call("div", Load(spread, tuple(i)), n)
            return cast(call("sqrt", v) if root else v, out.dtype)
        lx.map(target(out, dims, keepdim), value)
        if with_mean:
            lx.map(target(lx.out(node, 1), dims, keepdim), lambda *i: cast(Load(mean, tuple(i)), out.dtype))


_spread("var", False, False)
_spread("std", True, False)
_spread("var_mean", False, True)
_spread("std_mean", True, True)


# ------------------------------------------------------------------ norms
@op("norm", "self", ("p", 2), ("dims", None), ("keepdim", False), ("dtype", None), autocast="float32")
def norm(builder: GraphBuilder, self: Val, p: float, dims: Any, keepdim: bool, dtype: Any) -> TensorMeta:
    """The vector norm (sum |x|^p)^(1/p); p may be 0 (count of nonzeros), inf or -inf."""
    dtype = self.dtype if dtype is None else dtype
    if not dtype.is_floating_point:
        raise WouldRaise(f"norm: dtype {dtype} is not floating; convert self first")
    dims = all_dims(dims, self.ndim)
    if p in (math.inf, -math.inf) or p < 0:
        nonempty(builder, "norm", self, dims)
    return reduced(self, dims, keepdim, dtype)


@lowering("norm")
def norm_lower(lx: Lowering, node: Node) -> None:
    ref, p, dims, keepdim, _ = node.args
    out, shape = lx.out(node), lx.meta(ref).shape
    dims = all_dims(dims, len(shape))
    acc = math_type(out.dtype)
    x = source(lx, ref, acc)
    out = target(out, dims, keepdim)
    if p in (math.inf, -math.inf):
        finish(lx, out, lambda i: call("abs", x(i)), shape, dims, "max" if p > 0 else "min", acc)
    elif p == 0:
        one, zero = literal(1, acc), literal(0, acc)
        finish(lx, out, lambda i: where(compare("ne", x(i), zero), one, zero), shape, dims, "sum", acc)
    elif p == 1:
        finish(lx, out, lambda i: call("abs", x(i)), shape, dims, "sum", acc)
    elif p == 2:
        finish(lx, out, lambda i: call("mul", x(i), x(i)), shape, dims, "sum", acc, lambda s: call("sqrt", s))
    else:
        power, inverse = literal(float(p), acc), literal(1.0 / p, acc)
        finish(lx, out, lambda i: call("pow", call("abs", x(i)), power), shape, dims, "sum", acc,
               lambda s: call("pow", s, inverse))


@op("logsumexp", "self", "dims", ("keepdim", False), autocast="float32")
def logsumexp(builder: GraphBuilder, self: Val, dims: Any, keepdim: bool) -> TensorMeta:
    dtype = self.dtype if self.dtype.is_floating_point else torch.get_default_dtype()
    dims = all_dims(dims, self.ndim)
    nonempty(builder, "logsumexp", self, dims)
    return reduced(self, dims, keepdim, dtype)


@lowering("logsumexp")
def logsumexp_lower(lx: Lowering, node: Node) -> None:
    ref, dims, keepdim = node.args
    out, shape = lx.out(node), lx.meta(ref).shape
    dims = all_dims(dims, len(shape))
    acc = math_type(out.dtype)
    x = source(lx, ref, acc)
    top = fold_temporary(lx, x, shape, dims, "max", acc)
    inf = literal(math.inf, acc)

    def shift(o: Sequence[Expr]) -> Expr:
        m = Load(top, tuple(o))
        return where(compare("eq", call("abs", m), inf), literal(0, acc), m)
    total = lx.temporary(acc, top.shape)
    lx.reduce(total, [shape[d] for d in dims], "sum",
              lambda o, r: call("exp", call("sub", x(merge(o, r, dims, len(shape))), shift(o))), acc)
    lx.map(target(out, dims, keepdim),
           lambda *i: cast(call("add", call("log", Load(total, tuple(i))), shift(i)), out.dtype))


# ------------------------------------------------------------------ prefixes
def _prefix(name: str, combiner: str) -> None:
    @op(name, "self", "dim", ("dtype", None), autocast="float32")
    def rule(builder: GraphBuilder, self: Val, dim: int, dtype: Any) -> TensorMeta:
        wrap_dim(dim, self.ndim)
        return new(self, self.shape, sum_type(self.dtype) if dtype is None else dtype)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        ref, dim, _ = node.args
        out = lx.out(node)
        acc = math_type(out.dtype)
        x = source(lx, ref, acc, out.dtype)
        if not out.shape:
            lx.map(out, lambda: cast(x(()), out.dtype))
            return
        d = wrap_dim(dim, len(out.shape))
        if acc == out.dtype:
            lx.scan(out, d, combiner, lambda *i: x(i))
            return
        t = lx.temporary(acc, out.shape)
        lx.scan(t, d, combiner, lambda *i: x(i))
        lx.map(out, lambda *i: cast(Load(t, tuple(i)), out.dtype))


_prefix("cumsum", "sum")
_prefix("cumprod", "prod")

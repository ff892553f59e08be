"""Matrix products as gemm calls: operands laid out as the call needs them, batches and biases as strided views.

gemm's operands are (a, b[, bias]) of shapes (M, K), (K, N), (M, N), or these with a leading batch dimension; a stride
of 0 broadcasts the bias or a batch. Products of integers are plain Reduce loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, Ref, TensorMeta
from ...ir.build import Lowering, call, cast
from ...ir.types import Expr, Load, View
from ...shapes.dim import Size
from ...shapes.env import prove
from ..errors import Unsupported, WouldRaise
from ..meta import broadcasts_to, new, numel
from ..promote import math_type
from ..registry import lowering, op
from ..strides import Shape
from .copies import copy
from .exprs import literal


# ------------------------------------------------------------------ layouts
def matrix(lx: Lowering, v: View) -> View:
    """`v` with a stride of 1 in one of its last two dimensions and rows that do not overlap; else a copy of it."""
    rows, cols = v.shape[-2:]
    r, c = v.strides[-2:]
    if rows == 1 and c != 1:
        r = 1 if cols != 1 else cols
    elif cols == 1 and r != 1:
        c = 1
    if rows == 1 and cols == 1:
        r, c = 1, 1
    if rows == 1 and c == 1:
        r = cols
    elif cols == 1 and r == 1:
        c = rows
    fits = (c == 1 and prove("<=", cols, r)) or (r == 1 and prove("<=", rows, c))
    if fits:
        return replace(v, strides=v.strides[:-2] + (r, c))
    t = lx.temporary(v.dtype, v.shape)
    copy(lx, t, v)
    return t


def flattened(lx: Lowering, v: View) -> View:
    """`v` with all dimensions but the last merged into one; a copy where its strides do not allow that."""
    if len(v.shape) == 2:
        return v
    rows = numel(v.shape[:-1])
    stride = merged_stride(v.shape[:-1], v.strides[:-1])
    if stride is None:
        t = lx.temporary(v.dtype, v.shape)
        copy(lx, t, v)
        v, stride = t, v.shape[-1]
    return View(v.buffer, v.dtype, (rows, v.shape[-1]), (stride, v.strides[-1]), v.offset)


def merged_stride(shape: Shape, strides: Shape) -> Size | None:
    """The stride of all these dimensions seen as one, or None. Sizes of 1 do not count."""
    stride: Size | None = None
    span: Size = 1
    for s, t in zip(reversed(shape), reversed(strides)):
        if s == 1:
            continue
        if stride is None:
            stride, span = t, t * s
        elif t != span:
            return None
        else:
            span = span * s
    return 1 if stride is None else stride


def gemm(lx: Lowering, out: View, a: View, b: View, bias: View | None = None, alpha: float = 1) -> None:
    """out = alpha * a @ b + bias, for 2 dimensions or 3; any strides, any dtype."""
    if 0 in out.shape:
        return
    if not out.dtype.is_floating_point or a.shape[-1] == 0:
        _reduce_product(lx, out, a, b, bias, alpha)
        return
    ins = [matrix(lx, a), matrix(lx, b)] + ([] if bias is None else [bias])
    lx.extern("gemm", ins, [out], alpha=alpha)


def _reduce_product(lx: Lowering, out: View, a: View, b: View, bias: View | None, alpha: float) -> None:
    dtype = out.dtype
    acc = math_type(dtype) if dtype.is_floating_point else torch.int64
    product = lx.temporary(acc, out.shape)

    def term(o: tuple[Expr, ...], r: tuple[Expr, ...]) -> Expr:
        x = Load(a, (*o[:-1], r[0]))
        y = Load(b, (*o[:-2], r[0], o[-1]))
        return call("mul", cast(x, acc), cast(y, acc))
    lx.reduce(product, (a.shape[-1],), "sum", term, acc)

    def last(*i: Expr) -> Expr:
        e: Expr = Load(product, tuple(i))
        e = e if alpha == 1 else call("mul", literal(alpha, acc), e)
        return cast(e if bias is None else call("add", e, cast(Load(bias, tuple(i)), acc)), dtype)
    lx.map(out, last)


def scaled_bias(lx: Lowering, v: View, shape: Sequence[Size], beta: float) -> View | None:
    """beta * v as a view of `shape`, broadcast by strides of 0; None where beta is 0."""
    if beta == 0:
        return None
    if beta != 1:
        t = lx.temporary(v.dtype, v.shape)
        acc = math_type(v.dtype)
        lx.map(t, lambda *i: cast(call("mul", literal(beta, acc), cast(Load(v, tuple(i)), acc)), v.dtype))
        v = t
    lead = len(shape) - len(v.shape)
    strides = (0,) * lead + tuple([0 if s == 1 and o != 1 else t for s, o, t in zip(v.shape, shape[lead:], v.strides)])
    return View(v.buffer, v.dtype, tuple(shape), strides, v.offset)


# ------------------------------------------------------------------ rules
def _same_dtype(name: str, *vals: Any) -> torch.dtype:
    dtype = vals[0].dtype
    for v in vals[1:]:
        if v is not None and v.dtype is not dtype:
            raise WouldRaise(f"{name}: operands must have one dtype, got {dtype} and {v.dtype}")
    if dtype.is_complex:
        raise Unsupported(f"{name} of complex tensors")
    if dtype is torch.bool:
        raise WouldRaise(f"{name} is not implemented for bool tensors")
    return dtype


def _inner(builder: GraphBuilder, name: str, a: Val, b: Val, rank: int) -> None:
    if a.ndim != rank or b.ndim != rank:
        raise WouldRaise(f"{name}: operands must have {rank} dimensions, got {a.ndim} and {b.ndim}")
    if not builder.env.same(a.shape[-1], b.shape[-2]):
        raise WouldRaise(f"{name}: inner sizes {a.shape[-1]} and {b.shape[-2]} differ (shapes {a.shape} and {b.shape})")
    if rank == 3 and not builder.env.same(a.shape[0], b.shape[0]):
        raise WouldRaise(f"{name}: batch sizes {a.shape[0]} and {b.shape[0]} differ")


@op("mm", "self", "other", autocast="lower")
def mm(builder: GraphBuilder, self: Val, other: Val) -> TensorMeta:
    _inner(builder, "mm", self, other, 2)
    return new(self, (self.shape[0], other.shape[1]), _same_dtype("mm", self, other))


@op("bmm", "self", "other", autocast="lower")
def bmm(builder: GraphBuilder, self: Val, other: Val) -> TensorMeta:
    _inner(builder, "bmm", self, other, 3)
    return new(self, (self.shape[0], self.shape[1], other.shape[2]), _same_dtype("bmm", self, other))


@lowering("mm")
@lowering("bmm")
def product_lower(lx: Lowering, node: Node) -> None:
    gemm(lx, lx.out(node), lx.view(node.args[0]), lx.view(node.args[1]))


def _fits(builder: GraphBuilder, name: str, bias: Val, shape: Shape) -> None:
    if not broadcasts_to(builder.env, bias.shape, shape):
        raise WouldRaise(f"{name}: shape {bias.shape} does not broadcast to {shape}")


@op("addmm", "self", "mat1", "mat2", ("beta", 1), ("alpha", 1), autocast="lower")
def addmm(builder: GraphBuilder, self: Val, mat1: Val, mat2: Val, beta: float, alpha: float) -> TensorMeta:
    """beta * self + alpha * mat1 @ mat2"""
    _inner(builder, "addmm", mat1, mat2, 2)
    shape = (mat1.shape[0], mat2.shape[1])
    _fits(builder, "addmm", self, shape)
    return new(mat1, shape, _same_dtype("addmm", mat1, mat2, self))


@op("baddbmm", "self", "batch1", "batch2", ("beta", 1), ("alpha", 1), autocast="lower")
def baddbmm(builder: GraphBuilder, self: Val, batch1: Val, batch2: Val, beta: float, alpha: float) -> TensorMeta:
    _inner(builder, "baddbmm", batch1, batch2, 3)
    shape = (batch1.shape[0], batch1.shape[1], batch2.shape[2])
    _fits(builder, "baddbmm", self, shape)
    return new(batch1, shape, _same_dtype("baddbmm", batch1, batch2, self))


@lowering("addmm")
@lowering("baddbmm")
def add_product_lower(lx: Lowering, node: Node) -> None:
    bias, a, b, beta, alpha = node.args
    out = lx.out(node)
    gemm(lx, out, lx.view(a), lx.view(b), scaled_bias(lx, lx.view(bias), out.shape, beta), alpha)


@op("linear", "input", "weight", ("bias", None), autocast="lower")
def linear(builder: GraphBuilder, input: Val, weight: Val, bias: Any) -> TensorMeta:
    """input (*, K) @ weight (N, K) transposed + bias (N); contiguous (*, N)."""
    shape, w = input.shape, weight.shape
    if len(w) != 2 or not shape:
        raise Unsupported(f"linear with a weight of {len(w)} dimensions", "use a matrix as weight")
    if not builder.env.same(shape[-1], w[1]):
        raise WouldRaise(f"linear: the last size of input, {shape[-1]}, must be weight's second, {w[1]}")
    if bias is not None:
        _fits(builder, "linear", bias, (w[0],))
    return new(input, shape[:-1] + (w[0],), _same_dtype("linear", input, weight, bias))


@lowering("linear")
def linear_lower(lx: Lowering, node: Node) -> None:
    x, weight, bias = node.args
    out, w = lx.out(node), lx.view(weight)
    a = flattened(lx, lx.view(x))
    rows, n = a.shape[0], w.shape[0]
    flat = View(out.buffer, out.dtype, (rows, n), (n, 1), 0)
    turned = replace(w, shape=(w.shape[1], n), strides=(w.strides[1], w.strides[0]))
    gemm(lx, flat, a, turned, None if bias is None else scaled_bias(lx, lx.view(bias), (rows, n), 1))


@op("mv", "self", "vec", autocast="lower")
def mv(builder: GraphBuilder, self: Val, vec: Val) -> TensorMeta:
    if self.ndim != 2 or vec.ndim != 1 or not builder.env.same(self.shape[1], vec.shape[0]):
        raise WouldRaise(f"mv: shapes {self.shape} and {vec.shape} do not match")
    return new(self, (self.shape[0],), _same_dtype("mv", self, vec))


@lowering("mv")
def mv_lower(lx: Lowering, node: Node) -> None:
    out, v = lx.out(node), lx.view(node.args[1])
    column = replace(v, shape=v.shape + (1,), strides=v.strides + (1,))
    gemm(lx, replace(out, shape=out.shape + (1,), strides=out.strides + (1,)), lx.view(node.args[0]), column)


@op("dot", "self", "other", autocast="lower")
def dot(builder: GraphBuilder, self: Val, other: Val) -> TensorMeta:
    if self.ndim != 1 or other.ndim != 1 or not builder.env.same(self.shape[0], other.shape[0]):
        raise WouldRaise(f"dot: shapes {self.shape} and {other.shape} must be equal, of one dimension")
    return new(self, (), _same_dtype("dot", self, other))


@lowering("dot")
def dot_lower(lx: Lowering, node: Node) -> None:
    a: Ref = node.args[0]
    x, y, out = lx.view(a), lx.view(node.args[1]), lx.out(node)
    row = replace(x, shape=(1,) + x.shape, strides=(1,) + x.strides)
    column = replace(y, shape=y.shape + (1,), strides=y.strides + (1,))
    _reduce_product(lx, replace(out, shape=(1, 1), strides=(1, 1)), row, column, None, 1)

"""Tensors made from nothing: full, arange, eye, and the triangles that depend on indices only."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, cast
from ...ir.types import Expr
from ...shapes.dim import Dim, Size
from ..errors import Unsupported, WouldRaise
from ..promote import math_type
from ..registry import lowering, op
from ..strides import contiguous
from .exprs import compare, element, literal, offset, where

CPU = torch.device("cpu")


@op("full", "shape", "value", "dtype")
def full(builder: GraphBuilder, shape: tuple[Size, ...], value: Any, dtype: torch.dtype) -> TensorMeta:
    shape = tuple(shape)
    if dtype.is_complex:
        raise Unsupported("a complex tensor is created", "keep real and imaginary parts apart")
    for s in shape:
        if type(s) is int and s < 0:
            raise WouldRaise(f"full: shape={shape} has a negative size")
    return TensorMeta(dtype, shape, contiguous(shape), 0, CPU)


@lowering("full")
def full_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    value = literal(node.args[1], out.dtype)
    lx.map(out, lambda *i: value)


@op("arange", "start", "end", ("step", 1), ("dtype", torch.int64))
def arange(builder: GraphBuilder, start: Any, end: Any, step: Any, dtype: torch.dtype) -> TensorMeta:
    """start + i*step for i below ceil((end-start)/step); numbers or sizes."""
    n: Size
    if any(type(x) is float for x in (start, end, step)):
        if any(type(x) is Dim for x in (start, end, step)):
            raise Unsupported("arange with both float and symbolic bounds", "use integer bounds")
        if step == 0 or (end - start) / step < 0:
            raise WouldRaise(f"arange: start={start}, end={end}, step={step} do not agree in direction")
        n = math.ceil((end - start) / step)
    else:
        env = builder.env
        if env.decide("==", step, 0):
            raise WouldRaise("arange: step must not be zero")
        up = env.decide(">", step, 0)
        if env.decide("<" if up else ">", end, start):
            raise WouldRaise(f"arange: start={start}, end={end}, step={step} do not agree in direction")
        span, width = (end - start, step) if up else (start - end, -step)
        n = span if width == 1 else (span + width - 1) // width
    return TensorMeta(dtype, (n,), (1,), 0, CPU)


@lowering("arange")
def arange_lower(lx: Lowering, node: Node) -> None:
    start, _, step, _ = node.args
    out = lx.out(node)
    dtype = math_type(out.dtype)
    floating = dtype.is_floating_point and float in (type(start), type(step))
    work = torch.float64 if floating else torch.int64

    def body(i: Expr) -> Expr:
        e = cast(i, work)
        if step != 1:
            e = call("mul", e, literal(step, work))
        return cast(e if start == 0 else call("add", e, literal(start, work)), out.dtype)
    lx.map(out, body)


@op("eye", "rows", "columns", "dtype")
def eye(builder: GraphBuilder, rows: Size, columns: Size, dtype: torch.dtype) -> TensorMeta:
    return TensorMeta(dtype, (rows, columns), contiguous((rows, columns)), 0, CPU)


@lowering("eye")
def eye_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    one, zero = literal(1, out.dtype), literal(0, out.dtype)
    lx.map(out, lambda i, j: where(compare("eq", i, j), one, zero))


def _triangle(name: str, fn: str) -> None:
    @op(name, "self", ("diagonal", 0))
    def rule(builder: GraphBuilder, self: Val, diagonal: Size) -> TensorMeta:
        m = self.meta
        if len(m.shape) < 2:
            raise WouldRaise(f"{name}: self must have at least 2 dimensions, has {len(m.shape)}")
        return TensorMeta(m.dtype, m.shape, contiguous(m.shape), 0, m.device)

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        out = lx.out(node)
        x, diagonal = element(lx, node.args[0], out.dtype, out.shape), node.args[1]
        zero = literal(0, out.dtype)
        lx.map(out, lambda *i: where(compare(fn, i[-1], offset(i[-2], diagonal)), x(i), zero))


_triangle("tril", "le")
_triangle("triu", "ge")

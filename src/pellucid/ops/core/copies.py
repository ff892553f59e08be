"""Operators that copy: change of dtype, clone into a memory format, and the functional in-place write."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, cast
from ...ir.opaque import Slot
from ...ir.types import View
from ...shapes.dim import Size
from ..errors import Unsupported, WouldRaise
from ..registry import lowering, op
from ..strides import channels_last, contiguous, preserved
from .exprs import at, element


@op("to_dtype", "self", "dtype")
def to_dtype(builder: GraphBuilder, self: Val, dtype: torch.dtype) -> TensorMeta:
    m = self.meta
    if m.dtype.is_complex and not dtype.is_complex:
        raise Unsupported(f"conversion of {m.dtype} to {dtype}", "take x.real")
    builder.complex = builder.complex or dtype.is_complex
    return TensorMeta(dtype, m.shape, preserved(builder.env, m.shape, m.strides), 0, m.device)


@op("clone", "self", ("memory_format", torch.preserve_format))
def clone(builder: GraphBuilder, self: Val, memory_format: torch.memory_format) -> TensorMeta:
    m = self.meta
    if memory_format is torch.preserve_format:
        strides = preserved(builder.env, m.shape, m.strides)
    elif memory_format is torch.contiguous_format:
        strides = contiguous(m.shape)
    else:
        if len(m.shape) != (4 if memory_format is torch.channels_last else 5):
            raise WouldRaise(f"clone: memory_format={memory_format} does not fit a tensor of {len(m.shape)} dimensions")
        strides = channels_last(m.shape)
    return TensorMeta(m.dtype, m.shape, strides, 0, m.device)


@lowering("to_dtype")
@lowering("clone")
def copy_lower(lx: Lowering, node: Node) -> None:
    out = lx.out(node)
    if out.dtype.is_complex:
        copy(lx, out, lx.view(node.args[0]))
        return
    x = element(lx, node.args[0], out.dtype, out.shape)
    lx.map(out, lambda *i: x(i))


def copy(lx: Lowering, out: View, source: View) -> None:
    """out[...] = source[...], of one shape. Loops have no complex numbers: torch copies these."""
    if out.dtype.is_complex:
        lx.extern("opaque", [source], [out], target="method:to", args=(Slot(0), out.dtype), kwargs=())
        return
    lx.map(out, lambda *i: cast(at(source, i, out.shape), out.dtype))


@op("assign", "self", "new", "shape", "strides", "offset")
def assign(builder: GraphBuilder, self: Val, new: Val, shape: Any, strides: Any, offset: Size) -> TensorMeta:
    """The contents of root `self` with the window (shape, strides, offset) replaced by `new`."""
    return self.meta


@lowering("assign")
def assign_lower(lx: Lowering, node: Node) -> None:
    self, new, shape, strides, offset = node.args
    out, root = lx.out(node), lx.view(self)
    whole = offset == root.offset and shape == root.shape and strides == root.strides
    if not whole:
        copy(lx, out, root)
    copy(lx, View(out.buffer, out.dtype, tuple(shape), tuple(strides), offset), lx.view(new))

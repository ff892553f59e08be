"""Views of complex tensors as real ones and back. A view of another dtype has no place in the IR: a copy stands for it,
as long as its memory is nobody else's, neither it nor what it shows is written later, and not both leave the graph."""

from __future__ import annotations

import torch

from ...graph.build import GraphBuilder, Val
from ..errors import Unsupported, WouldRaise
from ..strides import contiguous
from .args import need_tensor
from .declare import expansion
from .opaque import opaque

apart: set[object] = set()
"""Causes (operation and user line) of views that are left to torch: what they share was seen to leave the graph too."""


def _copied(b: GraphBuilder, x: Val, operator: object, keep: int) -> Val:
    """The copy, with the order of x's dimensions in memory; the last `keep` of them stay last."""
    if b.from_outside(x):
        raise Unsupported("a complex view of a tensor from outside", "keep real and imaginary parts apart")
    if b.env.cause in apart:
        raise Unsupported("a complex view which leaves the captured part together with the tensor that it shows",
                          "clone one of them")
    strides = [b.env.concrete(n) for n in x.meta.strides]
    shape = [b.env.concrete(n) for n in x.meta.shape]
    free = sorted(range(x.ndim - keep), key=lambda d: -strides[d] if shape[d] != 1 else -(1 << 60))
    order = (*free, *range(x.ndim - keep, x.ndim))
    plain: Val = b.emit("permute", x, order) if order != tuple(range(x.ndim)) else x
    dense = plain.meta.strides == contiguous(plain.meta.shape)
    if not dense:
        plain = b.emit("clone", plain, torch.contiguous_format)
    made: Val = opaque(b, operator, (plain,), {})
    base, copy = b.storage(x), b.storage(made)
    b.share(base, copy, b.env.cause)
    if not dense:
        b.share(copy, copy, b.env.cause)       # its strides are not the view's
    if order != tuple(range(x.ndim)):
        back = [order.index(d) for d in range(x.ndim - keep)]
        made = b.emit("permute", made, (*back, *range(x.ndim - keep, made.ndim)))
    return made


@expansion("torch.view_as_complex")
def view_as_complex(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    strides = [b.env.concrete(n) for n in x.meta.strides]
    if not strides or strides[-1] != 1 or any(n % 2 for n in strides[:-1]):
        raise WouldRaise("Tensor must have a last dimension with stride 1, and other strides divisible by 2")
    return _copied(b, x, torch.view_as_complex_copy, 1)


@expansion("torch.view_as_real")
def view_as_real(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if not x.meta.dtype.is_complex:
        raise WouldRaise("view_as_real is only supported for complex tensors")
    return _copied(b, x, torch.view_as_real_copy, 0)


@expansion("torch.real", "Tensor.real")
def real(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    return _part(b, x, 0) if x.meta.dtype.is_complex else x


@expansion("torch.imag", "Tensor.imag")
def imag(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    if not x.meta.dtype.is_complex:
        raise WouldRaise("imag is not implemented for tensors with non-complex dtypes.")
    return _part(b, x, 1)


def _part(b: GraphBuilder, x: Val, which: int) -> Val:
    parts = _copied(b, x, torch.view_as_real_copy, 0)
    taken: Val = b.emit("select", parts, parts.ndim - 1, which)
    return taken

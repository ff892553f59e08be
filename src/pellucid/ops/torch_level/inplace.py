"""Writing into a tensor: what eager checks before it writes, and the functional write that stands for it."""

from __future__ import annotations

import functools
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ..errors import Unsupported, WouldRaise
from .args import can_cast, cast, expand_to, need_tensor, same_shape
from .declare import Expansion, mutating


def store(b: GraphBuilder, target: Val, new: Val, *operands: Any, check: bool = True) -> Val:
    """target[...] = new, where `new` is an operation's result computed for target; returns what target is now.

    Raises WouldRaise where eager's TensorIterator does: another shape, a dtype of a higher category, a target whose
    elements share memory, or an operand that overlaps the target without being it. check=False for operations that
    eager lets write to overlapping memory and casts freely.
    """
    m = target.meta
    if not same_shape(b, m.shape, new.meta.shape):
        raise WouldRaise(f"output with shape {m.shape} doesn't match the broadcast shape {new.meta.shape}")
    if check:
        if not can_cast(new.meta.dtype, m.dtype):
            raise WouldRaise(f"result type {new.meta.dtype} can't be cast to the desired output type {m.dtype}")
        check_writable(b, target)
        for o in operands:
            if type(o) is Val:
                check_overlap(b, target, o)
    return b.write(target, expand_to(b, cast(b, new, m.dtype), m.shape))


def check_writable(b: GraphBuilder, target: Val) -> None:
    """Refuse a target in which two elements surely share one place: a stride of 0 along more than one element."""
    for s, st in zip(target.meta.shape, target.meta.strides):
        if type(st) is int and st == 0 and b.env.decide(">", s, 1):
            raise WouldRaise("more than one element of the written-to tensor refers to a single memory location")


def _span(m: TensorMeta) -> tuple[int, int] | None:
    """First and last place that a dense tensor of constant sizes occupies; None if it is not dense or not constant."""
    if not all(type(x) is int for x in (*m.shape, *m.strides, m.offset)):
        return None
    expected: Any = 1
    for st, s in sorted(zip(m.strides, m.shape)):  # type: ignore[type-var]
        if s == 1:
            continue
        if st != expected:
            return None
        expected *= s
    return (m.offset, m.offset + expected - 1) if expected else None  # type: ignore[return-value]


def check_overlap(b: GraphBuilder, target: Val, operand: Val) -> None:
    """Refuse an operand that shares memory with the target but is laid out otherwise, as eager does of dense ones."""
    if b.storage(target) != b.storage(operand):
        return
    m, o = target.meta, operand.meta
    if (m.shape, m.strides, m.offset) == (o.shape, o.strides, o.offset):
        return
    a, c = _span(m), _span(o)
    if a and c and a[0] <= c[1] and c[0] <= a[1]:
        raise WouldRaise("some elements of the input and of the written-to tensor refer to a single memory location")


def writing(fn: Expansion) -> Expansion:
    """The in-place form of an out-of-place expansion: its result is stored into its first argument.

    Of the augmented operators, `number += tensor` has nothing to write to and is the plain operator.
    """
    @functools.wraps(fn)
    def run(builder: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
        if type(input) is not Val and args and type(args[0]) is Val:
            return fn(builder, input, *args, **kwargs)
        need_tensor(input)
        return store(builder, input, fn(builder, input, *args, **kwargs), *args)
    return run


# ------------------------------------------------------------------ plain writes
@mutating("Tensor.fill_", "torch.fill_", "aten.fill_")
def fill_(b: GraphBuilder, input: Val, value: Any) -> Val:
    need_tensor(input)
    m = input.meta
    if type(value) is Val:
        if value.meta.shape:
            raise WouldRaise("fill_ only supports a 0-dimension value tensor")
        return store(b, input, expand_to(b, cast(b, value, m.dtype), m.shape), check=False)
    if isinstance(value, complex) and not m.dtype.is_complex:
        raise WouldRaise("a complex value cannot fill a real tensor")
    if m.dtype.is_complex:
        from .creation import new_full_of

        return store(b, input, new_full_of(b, m.shape, value, m.dtype), check=False)
    return store(b, input, b.emit("full", m.shape, value, m.dtype), check=False)


@mutating("Tensor.zero_", "torch.zero_", "aten.zero_")
def zero_(b: GraphBuilder, input: Val) -> Val:
    return fill_(b, input, 0)


@mutating("Tensor.copy_", "aten.copy_")
def copy_(b: GraphBuilder, input: Val, src: Any, non_blocking: bool = False) -> Val:
    need_tensor(input)
    if type(src) is not Val:
        raise WouldRaise("copy_() needs a tensor")
    if src.ndim > input.ndim:
        raise WouldRaise("copy_(): source has more dimensions than the target")
    check_writable(b, input)
    check_overlap(b, input, src)
    return store(b, input, b.emit("expand", cast(b, src, input.meta.dtype), input.meta.shape), check=False)


@mutating("Tensor.set_", "Tensor.resize_", "Tensor.resize_as_", "Tensor.t_", "Tensor.transpose_", "Tensor.squeeze_",
          "Tensor.unsqueeze_", "Tensor.swapaxes_", "Tensor.swapdims_", "Tensor.as_strided_")
def changes_layout(b: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
    raise Unsupported("an operation that changes a tensor's own shape or storage", "use its out-of-place form")


@mutating("Tensor.fill_diagonal_")
def fill_diagonal_(b: GraphBuilder, input: Val, fill_value: Any, wrap: bool = False) -> Val:
    need_tensor(input)
    if input.ndim < 2:
        raise WouldRaise("dimensions must be larger than 1")
    if input.ndim != 2 or wrap:
        raise Unsupported("fill_diagonal_ of more than two dimensions, or with wrap", "write the diagonal by index")
    rows, cols = input.meta.shape
    i = b.emit("unsqueeze", b.emit("arange", 0, rows, 1, torch.int64), 1)
    j = b.emit("arange", 0, cols, 1, torch.int64)
    return store(b, input, b.emit("where", b.emit("eq", i, j), b.emit("full", (), fill_value, input.meta.dtype), input))


@mutating("Tensor.requires_grad_")
def requires_grad_(b: GraphBuilder, input: Val, requires_grad: bool = True) -> Val:
    if requires_grad != input.meta.requires_grad:
        raise Unsupported("requires_grad_ that changes the flag", "set requires_grad before the compiled call")
    return input



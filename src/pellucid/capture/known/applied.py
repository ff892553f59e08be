"""autograd.Function.apply where gradients are recorded: its forward is followed for shapes, one call stands for it."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...graph.build import Val
from ...torchdoor.functions import CONTEXT, NO_SETUP, applier
from ..native_ops import CannotContinue
from ..polyfills import polyfill
from ..torch_calls import _NoOperand, operand
from ..values.base import Invoke, Value, give_up
from ..values.constant import NONE, Const
from ..values.sequence import SequenceVal, TupleVal
from ..values.tensor import TensorVal
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]

in_python: weakref.WeakSet[type] = weakref.WeakSet()
"""Functions whose forward cannot be followed to its end without a break or a visible write: each apply is a break."""


class Again(CannotContinue):
    """Something was assumed that does not hold: capture again, now that it is noted (a class in `in_python`, say)."""


def begin(cls: type) -> None:
    """Marks where a forward begins. Only its identity matters."""


def end(result: Any, args: tuple[Any, ...], outside: tuple[Any, ...], dirty: Any) -> Any:
    """Marks where a forward ends. Only its identity matters."""


def apply(cx: Capture, cls: Value, args: Args) -> Invoke | None:
    made = cls.obj          # type: ignore[attr-defined]
    if made in in_python:
        return None
    try:
        for a in args:
            operand(cx, a)
    except _NoOperand:
        return None
    needs = TupleVal([Const(type(a) is TensorVal and a.grad) for a in args])
    own_setup = Const(made.setup_context is not NO_SETUP)
    return Invoke(polyfill(cx, "apply_whole_function"), [
        cls, cx.fixed(CONTEXT), needs, own_setup, cx.fixed(torch.no_grad), TupleVal(args), cx.fixed(begin),
        cx.fixed(end)])


def again(why: str) -> Again:
    return Again(give_up(why), why)


def refuse(cx: Capture, why: str) -> None:
    in_python.add(cx.applying[-1][0])
    raise again(why)


@known(begin)
def _begin(cx: Capture, args: Args, kw: Kw) -> Any:
    b = cx.builder
    cx.applying.append((args[0].obj, len(b.calls), len(b.nodes), b.writes, b._count, cx.dirty))  # type: ignore[attr-defined]
    cx.dirty = {}
    return NONE


@known(end)
def _end(cx: Capture, args: Args, kw: Kw) -> Any:
    result, given, outside, dirty = args
    cls, calls, nodes, writes, count, before = cx.applying[-1]
    b = cx.builder
    if cx.dirty or b.writes != writes or dirty.truth(cx):
        refuse(cx, f"{cls.__qualname__}.forward writes to what exists outside of it")
    several = isinstance(result, SequenceVal)
    parts = result.load(cx) if several else [result]        # type: ignore[attr-defined]
    assert isinstance(given, SequenceVal) and isinstance(outside, SequenceVal)
    plain = outside.load(cx)
    outs: list[Value] = []
    for r in parts:
        if type(r) is not TensorVal or r.val is None or r.val.id < count or r.val.root.id < count:
            refuse(cx, f"{cls.__qualname__}.forward returns something else than new tensors")
        assert type(r) is TensorVal and type(r.val) is Val
        dtype = r.val.meta.dtype
        grad = (dtype.is_floating_point or dtype.is_complex) and not any(r is p for p in plain)
        outs.append(TensorVal(r.val, grad=grad))
    cx.applying.pop()
    cx.dirty = before
    operands = tuple([operand(cx, a) for a in given.load(cx)])
    cx.hidden.update(v for n in b.nodes[nodes:] for v in n.outs)
    values = tuple([r.val for r in outs])       # type: ignore[attr-defined]
    cx.hidden.difference_update(v.id for v in values)
    del b.calls[calls:]
    b.nodes[nodes:] = [replace(n, call=calls) for n in b.nodes[nodes:]]
    b.record("function", applier(cls), operands, {}, values if several else values[0], cx.stack(), (),
             (cx.grad, cx.autocast))
    cx.uses_grad = True
    return TupleVal(outs) if several else outs[0]

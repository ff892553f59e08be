"""Torch's functions that take functions, by name (their modules are loaded by those who use them); nn.Module.to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ...torchdoor import stateful
from ..polyfills import POLYFILLS, polyfill
from ..values.base import Broken, Invoke, NotConstant, Value
from ..values.mapping import DictVal
from ..values.sequence import TupleVal

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]
_CHECKPOINT_OPTIONS = {"use_reentrant", "preserve_rng_state", "determinism_check", "debug", "early_stop"}


_TO_SAME = POLYFILLS["module_to_same"].__code__


def _is_false(cx: Capture, v: Value | None) -> bool:
    try:
        return v is not None and v.constant(cx) is False
    except NotConstant:
        return False


def _said(name: str) -> Any:
    return lambda cx, me, args, kw: Invoke(polyfill(cx, name), args, kw)


def _checkpoint(cx: Capture, me: Value, args: Args, kw: Kw) -> Any:
    """Where no gradients are recorded nothing is kept for them: the function itself. Elsewhere it saves memory, which
    calling the function would not."""
    if cx.grad or "context_fn" in kw or not _is_false(cx, kw.get("use_reentrant")):
        return None             # the other way warns that nothing needs gradients
    return Invoke(polyfill(cx, "checkpoint_without_gradients"), args,
                  {k: v for k, v in kw.items() if k not in _CHECKPOINT_OPTIONS})


def _module_to(cx: Capture, me: Value, args: Args, kw: Kw) -> Any:
    if len(args) < 2 and not kw or cx.machine.frame.code.original is _TO_SAME:
        return None
    try:
        given = [a.constant(cx) for a in args[1:]] + [kw[k].constant(cx) for k in ("device", "dtype") if k in kw]
    except NotConstant:
        return None
    if kw.keys() - {"device", "dtype", "non_blocking"} or not all(
            isinstance(x, (torch.device, torch.dtype, str, bool, type(None))) for x in given):
        return None
    device = next((torch.device(x) for x in given if isinstance(x, (torch.device, str))), None)
    dtype = next((x for x in given if isinstance(x, torch.dtype)), None)
    cx_args = [args[0], cx.literal(device), cx.literal(dtype), me, TupleVal(args[1:]), DictVal(items=dict(kw))]
    return Invoke(polyfill(cx, "module_to_same"), cx_args)


def _region(cx: Capture, me: Value, args: Args, kw: Kw) -> Any:
    """A region marked by torch.compiler.nested_compile_region: in eager the function itself."""
    return Invoke(args[0], args[1:], kw)


def _gradients(cx: Capture, me: Value, args: Args, kw: Kw) -> Any:
    raise Broken("PB118", "gradients are taken inside the function", me, args, kw)


def _transform(cx: Capture, me: Value, args: Args, kw: Kw) -> Any:
    """A break inside the transform's own code would leave it active: its call runs in Python as a whole."""
    raise Broken("PB120", "a transform of torch.func runs its function in Python", me, args, kw)


RULES: dict[str, Callable[[Capture, Value, Args, Kw], Any]] = {
    "cond": _said("cond"), "while_loop": _said("while_loop"), "associative_scan": _said("associative_scan"),
    "checkpoint": _checkpoint, "module_to": _module_to,
    "region": _region, "gradients": _gradients, "transform": _transform,
}


def call_higher_order(cx: Capture, me: Value, fn: Any, args: Args, kw: Kw) -> Any:
    """The call of such a function; None for others and where it does not apply."""
    rule = RULES.get(stateful.HIGHER_ORDER.get((fn.__module__, fn.__qualname__), ""))
    return None if rule is None else rule(cx, me, args, kw)

"""Capture: run a call (or go on from rebuilt frames) symbolically, and hand on the Segment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..bytecode.decode import decode
from ..guards import globalkey
from ..guards.types import Source
from .executor import Machine
from .frames import Frame, Stop
from .segment import finish
from .state import Capture, CaptureOptions
from .symbolic import CaptureRaised, Symbolic
from .types import Segment
from .values.base import Broken, Invoke, Value
from .values.constant import Const
from .values.mapping import DictVal
from .values.sequence import TupleVal


def new_capture(options: CaptureOptions | None) -> tuple[Capture, Symbolic, Machine]:
    options = options or CaptureOptions()
    cx = Capture(options)
    domain = Symbolic(cx)
    cx.global_key = globalkey.current()
    cx.entry_grad = cx.grad
    return cx, domain, Machine(domain, options.budget)


def capture_call(fn: Any, bound: Mapping[str, Any], options: CaptureOptions | None = None) -> Segment:
    """Capture fn called with `bound`: parameter name -> example value, as fn's signature binds it (*args a tuple, **kwargs
    a dict). fn is a Python function, a bound method, or an nn.Module (its forward's parameters without self).

    Raises CaptureRaised if the program raises: run it eagerly.
    """
    cx, domain, machine = new_capture(options)
    root, args, kwargs = root_call(cx, fn, bound)
    top = _root_frame(domain, root, args, kwargs)
    if not isinstance(top, Frame):
        raise Broken("PB104", f"{fn!r} has no Python code to capture")
    return finish(cx, domain, machine, machine.run(top))


def root_call(cx: Capture, fn: Any, bound: Mapping[str, Any]) -> tuple[Value, list[Value], dict[str, Value]]:
    """The callee and the arguments as values from outside."""
    import inspect

    import torch

    root = cx.wrap(fn, Source("const", None, "self" if isinstance(fn, torch.nn.Module) else
                              getattr(fn, "__qualname__", type(fn).__name__), fn))
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    by_name = False
    for p in inspect.signature(target).parameters.values():
        name, kind = p.name, p.kind
        if name not in bound:
            by_name = True          # a default was used: what follows must be passed by name
            continue
        value, source = bound[name], Source("arg", None, name)
        if kind is p.VAR_POSITIONAL:
            cx.guard("len", source, len(value), "*args")
            args += [cx.wrap(x, Source("item", source, i)) for i, x in enumerate(value)]
        elif kind is p.VAR_KEYWORD:
            cx.guard("keys", source, tuple(value), "**kwargs")
            kwargs.update({k: cx.wrap(x, Source("item", source, k)) for k, x in value.items()})
        elif kind is p.KEYWORD_ONLY or (by_name and kind is not p.POSITIONAL_ONLY):
            kwargs[name] = cx.wrap(value, source)
        else:
            args.append(cx.wrap(value, source))
    return root, args, kwargs


def _root_frame(domain: Symbolic, root: Value, args: list[Value], kwargs: dict[str, Value]) -> Any:
    r = root.call(domain.cx, args, kwargs)
    if isinstance(r, Invoke):
        return domain.enter(None, r)  # type: ignore[arg-type]
    return r


__all__ = ["CaptureOptions", "CaptureRaised", "Const", "DictVal", "Stop", "TupleVal", "capture_call", "decode"]

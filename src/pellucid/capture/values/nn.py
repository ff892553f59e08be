"""nn.Module calls: without hooks, calling a module is calling its forward."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.modules.module as nn_module

from ...guards.types import Source
from ..classes import MISSING
from .base import Invoke, Result, Value
from .constant import Const
from .mapping import DictVal

if TYPE_CHECKING:
    from ..state import Capture
    from .instance import InstanceVal

_CALL = torch.nn.Module.__call__
_CALL_IMPL = torch.nn.Module._call_impl
_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
_GLOBAL_HOOKS = ("_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_hooks",
                 "_global_forward_pre_hooks")


def call_module(cx: Capture, m: InstanceVal, args: list[Value], kwargs: dict[str, Value]) -> Result:
    raw = m.special(cx, "__call__")
    if raw is not _CALL:
        if type(raw) is types.FunctionType:
            return Invoke(cx.fixed(raw), [m, *args], kwargs)
        if raw is MISSING:
            raise cx.raised(TypeError, f"{m.cls.__name__!r} object is not callable")
        return Invoke(cx.fixed(raw), [m, *args], kwargs)
    if m.info.find("_call_impl") is not _CALL_IMPL or not _no_hooks(cx, m):
        return Invoke(cx.fixed(_CALL_IMPL), [m, *args], kwargs)
    forward = m.info.find("forward")
    if type(forward) is types.FunctionType:
        own = m.dict.get(cx, "forward")
        if own is not None:
            return own.call(cx, args, kwargs)
        return cx.fixed(forward).call(cx, [m, *args], kwargs)
    bound = m.attr(cx, "forward")
    if isinstance(bound, Invoke):
        return Invoke(cx.fixed(_CALL_IMPL), [m, *args], kwargs)
    return bound.call(cx, args, kwargs)


def _no_hooks(cx: Capture, m: InstanceVal) -> bool:
    compiled = m.dict.get(cx, "_compiled_call_impl")
    if compiled is not None and not (type(compiled) is Const and compiled.constant(cx) is None):
        return False
    for name in _HOOKS:
        d = m.dict.get(cx, name)
        if not isinstance(d, DictVal):
            return False
        d.typed = True          # that it is empty says enough
        if d.truth(cx):
            return False
    for name in _GLOBAL_HOOKS:
        hooks = getattr(nn_module, name)
        if hooks:
            return False
        changed = cx.ids.get(id(hooks))
        if isinstance(changed, DictVal) and changed.truth(cx):       # added by the program
            return False
        cx.guard_once(("global hooks", name), "len",
                      Source("global", None, (nn_module.__name__, name), nn_module.__dict__), 0, "module call")
    return True


def is_module(v: Any) -> bool:
    return isinstance(v, _instance.InstanceVal) and v.info.is_module

# Modules that need this one: bound when all are loaded.
from . import instance as _instance  # noqa: E402

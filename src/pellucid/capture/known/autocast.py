"""Autocast's state: what torch.autocast reads and sets is followed, and set again where the graph runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...torchdoor import autocast, stateful
from ..values.base import Broken, Value
from ..values.builtin import PURE
from ..values.constant import FALSE, NONE, TRUE, Const
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]

PURE.update((autocast.available, autocast.PRIVATE_BACKEND))


def _state(cx: Capture) -> autocast.State:
    if cx.autocast is None:
        cx.autocast = autocast.read()
    return cx.autocast


def _device(cx: Capture, args: Args, kw: Kw) -> str:
    v = args[0] if args else kw.get("device_type")
    return "cuda" if v is None else torch.device(v.constant(cx)).type


@known(torch.is_autocast_enabled)
def _is_enabled(cx: Capture, args: Args, kw: Kw) -> Any:
    device = _device(cx, args, kw)
    return Const(_state(cx).enabled if device == "cpu" else torch.is_autocast_enabled(device))


@known(torch.get_autocast_dtype)
def _get_dtype(cx: Capture, args: Args, kw: Kw) -> Any:
    device = _device(cx, args, kw)
    return Const(_state(cx).dtype if device == "cpu" else torch.get_autocast_dtype(device))


@known(torch.is_autocast_cache_enabled)
def _cache_enabled(cx: Capture, args: Args, kw: Kw) -> Any:
    return TRUE if _state(cx).cache else FALSE


@known(*stateful.ANY_AUTOCAST)
def _any(cx: Capture, args: Args, kw: Kw) -> Any:
    return TRUE if _state(cx).enabled else FALSE


@known(torch.set_autocast_enabled)
def _set_enabled(cx: Capture, args: Args, kw: Kw) -> Any:
    device, on = _device(cx, args, kw) if len(args) > 1 else "cuda", bool(args[-1].truth(cx))
    if device == "cpu":
        cx.autocast = replace(_state(cx), enabled=on)
    elif on is not torch.is_autocast_enabled(device):
        raise Broken("PB112", f"autocast for {device} inside a program on the CPU")
    return NONE


@known(torch.set_autocast_dtype)
def _set_dtype(cx: Capture, args: Args, kw: Kw) -> Any:
    device, dtype = _device(cx, args, kw), args[1].constant(cx)
    if device == "cpu":
        cx.autocast = replace(_state(cx), dtype=dtype)
    elif dtype is not torch.get_autocast_dtype(device):
        raise Broken("PB112", f"autocast for {device} inside a program on the CPU")
    return NONE


@known(torch.set_autocast_cache_enabled)
def _set_cache(cx: Capture, args: Args, kw: Kw) -> Any:
    cx.autocast = replace(_state(cx), cache=bool(args[0].truth(cx)))
    return NONE


@known(torch.autocast_increment_nesting)
def _enter(cx: Capture, args: Args, kw: Kw) -> Any:
    now = _state(cx)
    cx.autocast = replace(now, depth=now.depth + 1)
    return Const(autocast.nesting() + now.depth + 1)


@known(torch.autocast_decrement_nesting)
def _leave(cx: Capture, args: Args, kw: Kw) -> Any:
    now = _state(cx)
    cx.autocast = replace(now, depth=now.depth - 1)
    return Const(autocast.nesting() + now.depth - 1)


@known(torch.clear_autocast_cache)
def _clear(cx: Capture, args: Args, kw: Kw) -> Any:
    now = _state(cx)
    cx.autocast = replace(now, epoch=now.epoch + 1)
    return NONE

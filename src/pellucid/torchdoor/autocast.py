"""Autocast on the CPU: the thread's state, moved as the program moves it, and what operators' operands are cast to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

available = torch._C._is_autocast_available
PRIVATE_BACKEND = torch._C._get_privateuse1_backend_name


@dataclass(frozen=True, slots=True)
class State:
    """enabled, dtype, cache: of the CPU's autocast. depth: contexts entered since the captured part began (below 0:
    left). epoch: how often the cache of cast weights was cleared."""

    enabled: bool
    dtype: torch.dtype
    cache: bool
    depth: int = 0
    epoch: int = 0


def read() -> State:
    """The thread's state now."""
    return State(torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled())


def same(a: State, b: State | None) -> bool:
    """Whether a part that began in state `b` (None: off) and ends in `a` leaves the thread as it was."""
    if b is None:
        return not a.enabled and a.depth == 0 and a.dtype is torch.get_autocast_dtype("cpu") \
            and a.cache is torch.is_autocast_cache_enabled()
    return (a.enabled, a.dtype, a.cache, a.depth) == (b.enabled, b.dtype, b.cache, b.depth)


def nesting() -> int:
    """How many autocast contexts are entered."""
    torch.autocast_increment_nesting()
    return int(torch.autocast_decrement_nesting())


def _set(state: State) -> None:
    torch.set_autocast_enabled("cpu", state.enabled)
    torch.set_autocast_dtype("cpu", state.dtype)
    torch.set_autocast_cache_enabled(state.cache)


class Ride:
    """Moves the thread's state along the states of a program; `go(None)` is back to where it began."""

    def __init__(self) -> None:
        self.start = self.now = read()

    def go(self, state: State | None) -> None:
        to = self.start if state is None else state
        depth = self.now.depth
        if to.epoch != self.now.epoch and state is not None:
            while depth > 0:
                depth = self._leave(depth)
        while depth < to.depth:
            torch.autocast_increment_nesting()
            depth += 1
        while depth > to.depth:
            depth = self._leave(depth)
        _set(to)
        self.now = replace(to, depth=depth)

    def _leave(self, depth: int) -> int:
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        return depth - 1


def begin() -> Ride:
    return Ride()


def go(ride: Ride, state: State | None) -> None:
    ride.go(state)


def leave_at(state: State) -> None:
    """Bring the thread from the state in which a captured part began to that in which it ends."""
    Ride().go(state)


def kept() -> Callable[[], None]:
    """Puts the thread's state back to what it is now."""
    state, depth = read(), nesting()

    def back() -> None:
        while nesting() > depth:
            if torch.autocast_decrement_nesting() == 0:
                torch.clear_autocast_cache()
        _set(state)
    return back


# ------------------------------------------------------------------ the policy
LOWER = frozenset((
    "conv1d", "conv2d", "conv3d", "bmm", "mm", "linalg_vecdot", "baddbmm", "addmm", "_addmm_activation", "addbmm",
    "linear", "_convolution", "matmul", "conv_tbc", "mkldnn_rnn_layer", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "prelu", "scaled_dot_product_attention", "_native_multi_head_attention"))
"""Run in the autocast dtype."""
PROMOTE = frozenset(("stack", "cat", "index_copy"))
"""Run in the widest dtype of their operands."""


@functools.cache
def names() -> frozenset[str]:
    """The aten operators for which autocast on the CPU has a kernel, without overloads."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return frozenset(n.removeprefix("aten::").partition(".")[0] for n in torch._C._dispatch_get_all_op_names()
                     if n.startswith("aten::") and not n.endswith("out") and has(n, "AutocastCPU"))


def policy(name: str) -> str | None:
    """"lower", "float32", "promote", or None for an operator of torch.ops.aten that autocast leaves alone."""
    if name not in names():
        return None
    return "lower" if name in LOWER else "promote" if name in PROMOTE else "float32"


def probe(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any], state: State) -> Any:
    """fn's results under autocast, without gradients; for operators that call others which autocast casts."""
    with torch.no_grad(), torch.autocast("cpu", dtype=state.dtype):
        return fn(*args, **kwargs)

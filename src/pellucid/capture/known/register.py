"""How a callable is entered in the table of what is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..values.base import Value
from ..values.builtin import KNOWN
from ..values.constant import FALSE, TRUE


def known(*targets: Any) -> Callable[[Any], Any]:
    """Register the decorated fn(cx, args, kwargs) -> value, Invoke or None (not known after all) for the targets."""
    def register(fn: Any) -> Any:
        for t in targets:
            if t is not None:
                KNOWN[t] = fn
        return fn
    return register


def boolean(b: bool) -> Value:
    return TRUE if b else FALSE

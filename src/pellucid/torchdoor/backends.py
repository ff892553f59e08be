"""torch.compile's backends by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def registered(name: str) -> Callable[..., Any]:
    """The backend that torch.compile(backend=name) would use. KeyError with the known names if there is none."""
    from torch._dynamo.backends.registry import list_backends, lookup_backend

    try:
        found: Callable[..., Any] = lookup_backend(name)
    except Exception as e:
        raise KeyError(f"unknown backend {name!r}; known: llvm, eager, {', '.join(sorted(list_backends()))}") from e
    return found

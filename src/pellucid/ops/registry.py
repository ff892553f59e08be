"""The tables of the catalogue: core operators by name, and torch callables and methods by identity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .types import REQUIRED, Op

OPS: dict[str, Op] = {}
"""Core operators. Filled by the files of ops/core."""

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""torch callable -> fn(builder, *args, **kwargs) that expands it into core nodes. Filled by ops/torch_level."""

METHODS: dict[str, Callable[..., Any]] = {}
"""Tensor method name -> fn(builder, self, *args, **kwargs)."""


def op(name: str, *params: str | tuple[str, Any], **flags: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated shape rule as core operator `name`; `params` are names or (name, default)."""
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        if name in OPS:
            raise ValueError(f"core operator {name!r} is registered twice")
        OPS[name] = Op(name, tuple(p if isinstance(p, tuple) else (p, REQUIRED) for p in params), rule, **flags)
        return rule
    return register


def lowering(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Attach the decorated lowering to core operator `name`."""
    def register(fn: Callable[..., None]) -> Callable[..., None]:
        o = OPS[name]
        OPS[name] = Op(o.name, o.params, o.rule, fn, o.view, o.can_raise, o.rng, o.runs_python, o.autocast)
        return fn
    return register


def torch_function(*targets: Any,
                   method: str | tuple[str, ...] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated expansion for torch callables and for tensor methods of the given names."""
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for t in targets:
            FUNCTIONS[t] = fn
        for m in (method,) if isinstance(method, str) else method:
            METHODS[m] = fn
        return fn
    return register

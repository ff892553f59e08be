"""One catalogue entry an operator: parameters, effects, shape rule, and how it is lowered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REQUIRED: Any = type("Required", (), {"__repr__": lambda s: "<required>"})()


@dataclass(frozen=True, slots=True)
class Op:
    """A core operator.

    name      unique in the catalogue; core-ATen's name where there is one
    params    (name, default) in order; REQUIRED where there is no default
    rule      rule(builder, *args) -> TensorMeta, or a tuple of them. Gives eager's shape, strides and dtype; asks
              questions about sizes through builder.env only. For a view the meta's strides and offset are relative to
              the root's storage.
    lower     lower(lx, node) -> None: appends loops or externs through `ir.build.Lowering`; None for views, which cost
              nothing
    view      outputs live in the first tensor operand's storage
    can_raise at run time (a bounds check, a library error); such nodes are never dropped as dead
    rng       draws from torch's generator
    runs_python   an opaque call that may run any Python: effects before it are committed
    autocast  "lower" (runs in the autocast dtype), "float32", "promote" or None
    """

    name: str
    params: tuple[tuple[str, Any], ...]
    rule: Callable[..., Any]
    lower: Callable[..., None] | None = None
    view: bool = False
    can_raise: bool = False
    rng: bool = False
    runs_python: bool = False
    autocast: str | None = None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All parameters in order, defaults filled in."""
        n = len(args)
        if n == len(self.params) and not kwargs:
            return args
        rest = []
        for name, default in self.params[n:]:
            value = kwargs.get(name, default)
            if value is REQUIRED:
                raise TypeError(f"core operator {self.name}: missing parameter {name!r}")
            rest.append(value)
        return args + tuple(rest)

"""What happened, as data: user positions, causes and the append-only event record's entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class UserFrame:
    """One frame of the user's program: file, line (1-based), function's qualified name, and columns if known."""

    file: str
    line: int
    function: str
    end_line: int | None = None
    col: int | None = None
    end_col: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


UserStack = tuple[UserFrame, ...]
"""Outermost frame first; the last one is where it happened."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a guard, break or decision exists: the operation that needed it and where the user wrote it."""

    operation: str
    stack: UserStack = ()

    @property
    def where(self) -> UserFrame | None:
        return self.stack[-1] if self.stack else None

    def __str__(self) -> str:
        return f"{self.operation} at {self.where}" if self.stack else self.operation


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened. `kind` is one of KINDS; ids link it to its callable, entry and continuation."""

    number: int
    seconds: float
    kind: str
    callable_id: int | None = None
    entry_id: int | None = None
    continuation_id: int | None = None
    cause: Cause | None = None
    message: str = ""
    data: Mapping[str, object] = field(default_factory=dict)


KINDS = (
    "capture", "graph_break", "guard", "entry_published", "recompile", "promote_dynamic",
    "eager_fallback", "internal_error", "ir", "schedule", "kernel", "plan", "cache_hit", "cache_miss", "limit_reached",
    "storm", "notice",
)
DETAIL = ("guard", "ir", "schedule", "kernel")
"""Kinds that are emitted only while somebody has subscribed to them: each puts a whole stage into words."""

"""What the runtime keeps: code shared between objects, its binding to one of them, and entries with counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..capture.types import Segment
from ..codegen.types import Unit
from ..guards.types import Guard
from ..schedule.types import Plan


@dataclass(frozen=True, slots=True)
class ObjRef:
    """A process-independent name of an object: module, qualified name, and a hash of its code where it has any."""

    module: str
    qualname: str
    code_hash: str | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """What several objects can share: the segment, its plan and machine code, and the guard specification."""

    segment: Segment
    plan: Plan | None
    unit: Unit | None
    backend: str
    key: str | None = None


@dataclass(slots=True)
class Binding:
    """Ties code to one root object: the objects named by sources, held so that addresses stay valid."""

    root: Any
    held: tuple[Any, ...] = ()
    dirty: bool = False


class PlanRunner(Protocol):
    """Runs a plan: called with the graph's inputs in order, returns the tuple of its outputs. Raises
    `runtime.errors.StepFailed` before any commit when a step fails."""

    def __call__(self, *inputs: Any) -> tuple[Any, ...]: ...


@dataclass(slots=True, eq=False)
class Entry:
    """One compiled version of a callable (or of a continuation).

    `check(*slots)` says whether it is valid for a call, `run(*slots)` does it: `slots` are the values of `params` in
    order. If `final`, run gives the call's value, else (next table, its slots).
    """

    number: int
    code: Code
    binding: Binding
    guards: tuple[Guard, ...]
    params: tuple[str, ...]
    check: Callable[..., bool]
    run: Callable[..., Any]
    final: bool
    source: str
    """Text of the generated segment function."""
    hits: int = 0
    compile_seconds: float = 0.0
    plans: dict[str, Any] = field(default_factory=dict)
    """"forward" and, once training is compiled, "backward"."""
    native: Any = None
    """What the native fast path keeps for this entry."""
    trial: Any = None
    """trial.Trial of an entry whose calls cross many breaks."""

    @property
    def segment(self) -> Segment:
        return self.code.segment


class NativeRunner(Protocol):
    """Makes plan runners: the native one, or the pure-Python reference."""

    name: str

    def make(self, plan: Plan, unit: Unit | None) -> PlanRunner: ...

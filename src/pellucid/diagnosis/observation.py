"""What was seen while calls were made, in the same words for pellucid and torch.compile: calls, compiles, breaks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Failed:
    """One guard that did not hold. kind: size, stride, rank, dtype, device, requires_grad, grad_mode, global, equal,
    type, len, keys, code, identity or other; `source` is the value in the user's program."""

    source: str
    kind: str
    expected: str
    actual: str
    text: str
    line: int = 0
    """Of the operation that needed it, in the region's file; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One version that was compiled. call: number of the call that needed it. region: `file:line in function` of the
    code that it stands for; failed: of the version that was nearest, the guards that did not hold (empty: first)."""

    call: int
    region: str
    code: str
    """The user's function that the region belongs to."""
    seconds: float
    failed: tuple[Failed, ...]
    first: bool


@dataclass(frozen=True, slots=True)
class Break:
    """One place where capture ends. crossed: how often, over all calls, None where the compiler does not count it."""

    file: str
    line: int
    function: str
    reason: str
    code: str
    remedy: str
    crossed: int | None
    calls: tuple[int, ...]
    """Calls in which it was found (by a compile)."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True)
class Made:
    """One call. outcome: hit, compile or eager; seconds include what was compiled."""

    number: int
    signature: str
    label: str
    seconds: float
    outcome: str
    compile_seconds: float
    why: str


@dataclass(frozen=True, slots=True)
class Observation:
    """The record of a sequence of calls by one system."""

    system: str
    name: str
    calls: tuple[Made, ...]
    compiles: tuple[Compiled, ...]
    breaks: tuple[Break, ...]
    eager: tuple[tuple[str, int], ...]
    """(reason, how often) of what ran in plain Python."""
    limits: tuple[str, ...]
    """What was said when a limit of compiled versions was reached."""
    notes: tuple[str, ...]
    """How the observation was made, where that matters for reading it."""

    @property
    def recompiles(self) -> tuple[Compiled, ...]:
        return tuple(c for c in self.compiles if not c.first)

    def json(self) -> dict[str, Any]:
        return asdict(self)

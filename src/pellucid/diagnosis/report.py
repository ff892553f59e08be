"""What an explanation is made of: frozen records of tables, entries, guards, breaks, kernels and missed calls."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GuardReport:
    """`condition` in words; `operation` and `where` say what needed it."""

    condition: str
    operation: str
    where: str


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step of a plan: a kernel with the torch calls fused in it, or an external call."""

    kind: str
    name: str
    fused: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class FixedReport:
    """A size (or integer) that one operation fixed to a constant, or bound: `equation` is what it demands."""

    name: str
    value: int | None
    equation: str
    operation: str
    where: str


@dataclass(frozen=True, slots=True)
class BreakReport:
    """One place where capture ended. `path` is the user's frames, outermost first; the last is the line."""

    code: str
    operation: str
    where: str
    path: tuple[str, ...]
    remedy: str
    hits: int


@dataclass(frozen=True, slots=True)
class EntryReport:
    number: int
    hits: int
    seconds: float
    backend: str
    torch_calls: int
    nodes: int
    symbols: tuple[str, ...]
    guards: tuple[GuardReport, ...]
    steps: tuple[StepReport, ...]
    arena_bytes: str
    effects: tuple[str, ...]
    breaks: BreakReport | None
    note: str
    fixed: tuple[FixedReport, ...] = ()
    """Symbolic sizes that the program fixed or bound."""


@dataclass(frozen=True, slots=True)
class MissReport:
    """One call that no entry fitted: for each entry the first guard that failed, and what was done."""

    failed: tuple[tuple[int, str], ...]
    outcome: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class TableReport:
    """The entries of the callable (`continuation` None) or of a point where it goes on after a break."""

    number: int
    continuation: str | None
    hits: int
    misses: int
    eager: int
    blocked: str | None
    entries: tuple[EntryReport, ...]
    missed: tuple[MissReport, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was captured, where it broke, what each guard is for: `text()` for people, `json()` for programs."""

    name: str
    tables: tuple[TableReport, ...]
    eager_calls: tuple[tuple[str, int], ...]
    """(reason, how often) of calls that ran in plain Python."""
    notes: tuple[tuple[str, int], ...] = ()
    """(reason, how often) of calls that were compiled, but not as asked for (inputs not padded)."""

    @property
    def entries(self) -> tuple[EntryReport, ...]:
        return tuple(e for t in self.tables for e in t.entries)

    @property
    def breaks(self) -> tuple[BreakReport, ...]:
        """Each place of a break once: what breaks there, with the hits of all entries that end there."""
        merged: dict[tuple[str, ...], list[BreakReport]] = {}
        for e in self.entries:
            if e.breaks is not None:
                merged.setdefault(e.breaks.path, []).append(e.breaks)
        return tuple(_one_place(found) for found in merged.values())

    def json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return {**asdict(self), "breaks": [asdict(b) for b in self.breaks]}

    def text(self) -> str:
        from .text import explanation_text
        return explanation_text(self)

    __str__ = text

    def _repr_html_(self) -> str:
        from .tables import explanation_html
        return explanation_html(self)


def _one_place(found: list[BreakReport]) -> BreakReport:
    """All breaks at one line of the user's program, reached by one path, as one."""
    def each(values: list[str]) -> str:
        return "; ".join(dict.fromkeys(values))
    first = found[0]
    return BreakReport(each([b.code for b in found]), each([b.operation for b in found]), first.where, first.path,
                       each([b.remedy for b in found]), max(b.hits for b in found))

"""Entries of one callable, or of one continuation: an immutable snapshot that readers use without a lock."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.types import Graph
from ..guards.evaluate import Outcome, holds_all, row
from ..guards.generate import check as make_check
from ..guards.generate import forget
from ..guards.sources import Scope
from ..guards.types import Guard, Source
from .continuation import Resume
from .dynamics import Dynamics
from .types import Entry

SLOW_CHECKS = 2
"""Checks of a new entry before its check is generated."""
ROWS = 256
"""Rows of the call matrix kept for a table; the newest."""


def lazy_check(guards: tuple[Guard, ...], graph: Graph, params: tuple[str, ...], label: str,
               scope_of: Callable[[Sequence[Any]], Scope], entry: list[Entry]) -> Callable[..., bool]:
    """A check that evaluates the guards one by one at first, and is generated when it is asked more often: the calls
    before the native path takes over need none. `entry` holds the entry once it exists."""
    asked = 0

    def first(*slots: Any) -> bool:
        nonlocal asked
        asked += 1
        if asked <= SLOW_CHECKS:
            return holds_all(guards, graph, scope_of(slots))
        made = entry[0].check = make_check(guards, graph, params, f"check of {label}")
        return made(*slots)
    return first


def outcomes(entry: Entry, scope: Scope) -> list[Outcome]:
    """All guards of an entry against a call."""
    return row(entry.guards, entry.segment.graph, scope)


@dataclass(frozen=True, slots=True)
class MissRow:
    """One call that missed: for each entry there was, all guards with expected and actual; what was then done."""

    seconds: float
    cells: tuple[tuple[int, tuple[Outcome, ...]], ...]
    """(entry number, outcomes)"""
    outcome: str
    """compiled, or the reason why the call went on without a new entry."""
    entry: int | None = None


@dataclass(slots=True, eq=False)
class Table:
    """`entries` is replaced by one assignment when an entry is published; nothing in it is ever changed in place.

    For the table of a callable `resume` is None and params are the function's; for a continuation they are its slots.
    """

    number: int
    params: tuple[str, ...]
    words: tuple[Any, ...] | None
    """Global state that all entries were made under; None where each entry guards it itself."""
    dynamics: Dynamics
    resume: Resume | None = None
    entries: tuple[Entry, ...] = ()
    misses: int = 0
    eager: int = 0
    """Calls that went on in plain Python here."""
    failures: int = 0
    blocked: str | None = None
    """Why nothing is compiled here any more."""
    limit_reported: bool = False
    promoted: bool = False
    """A version for all sizes was made when the limit was reached."""
    overlapping: tuple[tuple[Source, ...], ...] = ()
    """Inputs, some of them written, that shared memory in a call: such calls are not captured."""
    rows: collections.deque[MissRow] = field(default_factory=lambda: collections.deque(maxlen=ROWS))
    created: int = 0
    """Entries ever published."""

    @property
    def hits(self) -> int:
        return sum(e.hits for e in self.entries)

    def scope(self, slots: Sequence[Any]) -> Scope:
        if self.resume is None:
            return Scope(args=dict(zip(self.params, slots)))
        return Scope(slots=tuple(slots))

    def publish(self, entry: Entry) -> None:
        """Newest first: it is the one that covers most where sizes became symbolic."""
        self.created += 1
        self.entries = (entry, *self.entries)

    def clear(self) -> None:
        old, self.entries = self.entries, ()
        self.misses = self.eager = self.failures = 0
        self.blocked, self.limit_reported, self.promoted = None, False, False
        self.rows.clear()
        for e in old:
            forget(e.run)
            forget(e.check)

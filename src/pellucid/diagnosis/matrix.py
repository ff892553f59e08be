"""The call matrix: for each table its calls by entries, and for each call that missed every guard that failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..guards.explain import FailedGuard, failed_guards
from ..runtime.table import MissRow, Table


@dataclass(frozen=True, slots=True)
class RowReport:
    """One call that no entry fitted. failed: (entry, its guards, those that failed) for each entry there was."""

    seconds: float
    failed: tuple[tuple[int, int, tuple[FailedGuard, ...]], ...]
    outcome: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class TableMatrix:
    """hits: (entry, calls that it served). rows: the newest misses, oldest first."""

    number: int
    continuation: bool
    hits: tuple[tuple[int, int], ...]
    misses: int
    eager: int
    rows: tuple[RowReport, ...]


@dataclass(frozen=True, slots=True)
class CallMatrix:
    """`text()` for people."""

    name: str
    tables: tuple[TableMatrix, ...]
    eager: tuple[tuple[str, int], ...]
    """(reason, calls) that ran in plain Python."""

    def text(self) -> str:
        lines = [self.name]
        for t in self.tables:
            lines.append(f"table {t.number}{' (after a break)' if t.continuation else ''}: {t.misses} misses, "
                         f"{t.eager} in plain Python")
            lines += [f"  entry {n}: {hits} hits" for n, hits in t.hits]
            for row in t.rows:
                then = row.outcome + (f" as entry {row.entry}" if row.entry is not None else "")
                lines.append(f"  miss -> {then}")
                for number, guards, failed in row.failed:
                    lines.append(f"    entry {number}: {len(failed)} of {guards} guards failed")
                    lines += [f"      {c.text}" for c in failed]
        lines += [f"{n} x in plain Python: {why}" for why, n in self.eager]
        return "\n".join(lines)

    __str__ = text

    def _repr_html_(self) -> str:
        from .tables import matrix_html
        return matrix_html(self)


def matrix(fn: Any) -> CallMatrix:
    """The matrix of something that compile() returned."""
    from ..api import compiled_of

    compiled = compiled_of(fn)
    return CallMatrix(compiled.target.name, tuple(_table(t) for t in compiled.all_tables()),
                      tuple(compiled.reasons.items()))


def _table(t: Table) -> TableMatrix:
    graphs = {e.number: e.segment.graph for e in t.entries}
    return TableMatrix(t.number, t.resume is not None, tuple((e.number, e.hits) for e in t.entries), t.misses, t.eager,
                       tuple(_row(r, graphs) for r in t.rows))


def _row(r: MissRow, graphs: dict[int, Any]) -> RowReport:
    failed = tuple((number, len(outcomes), failed_guards(outcomes, graphs.get(number))) for number, outcomes in r.cells)
    return RowReport(r.seconds, failed, r.outcome, r.entry)

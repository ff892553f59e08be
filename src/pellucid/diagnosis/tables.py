"""Tables in HTML for notebooks: explain(), matrix() and diagnose()."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .diagnosis_report import Diagnosis
    from .matrix import CallMatrix
    from .report import Explanation


def table_html(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """One table; every cell escaped."""
    top = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{escape(str(c))}</td>" for c in r) + "</tr>" for r in rows)
    name = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{name}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def explanation_html(x: Explanation) -> str:
    """Entries, guards and breaks of an explanation."""
    entries = [(t.number, e.number, e.hits, f"{1e3 * e.seconds:.0f} ms", e.backend, len(e.guards), e.torch_calls)
               for t in x.tables for e in t.entries]
    guards = [(e.number, g.condition, g.operation, g.where) for t in x.tables for e in t.entries for g in e.guards]
    breaks = [(b.code, b.operation, b.where, b.hits, b.remedy) for b in x.breaks]
    return "".join((
        table_html(("table", "entry", "hits", "compiled in", "backend", "guards", "torch calls"), entries, x.name),
        table_html(("break", "operation", "at", "crossed", "what to change"), breaks, "breaks") if breaks else "",
        f'<details><summary>guards</summary>{table_html(("entry", "guard", "needed by", "at"), guards)}</details>'))


def matrix_html(m: CallMatrix) -> str:
    """Hits and misses of each table."""
    rows: list[tuple[object, ...]] = []
    for t in m.tables:
        rows += [(t.number, f"entry {n}", f"{hits} hits", "") for n, hits in t.hits]
        rows += [(t.number, "miss", r.outcome if r.entry is None else f"{r.outcome} as entry {r.entry}",
                  "; ".join(c.text for _, _, failed in r.failed for c in failed)) for r in t.rows]
    return table_html(("table", "what", "outcome", "guards that failed"), rows, m.name)


def diagnosis_html(d: Diagnosis) -> str:
    """Findings, the leading one first."""
    rows = [(i, f.story, f.title, f.where, "; ".join(e.seen for e in f.evidence), f.remedy)
            for i, f in enumerate(d.findings, 1)]
    return table_html(("", "story", "cause", "at", "evidence", "what to change"), rows, f"{d.name}: {d.story}") + \
        f"<p>When to stop: {escape(d.stop)}</p>"

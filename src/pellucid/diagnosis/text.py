"""An explanation as text: tables, entries, breaks with path and remedy, guards, steps, missed calls."""

from __future__ import annotations

from collections import Counter

from .report import BreakReport, EntryReport, Explanation, MissReport, TableReport

GUARDS_SHOWN = 12
STEPS_SHOWN = 40


def explanation_text(x: Explanation) -> str:
    """The whole explanation."""
    entries, breaks = x.entries, x.breaks
    head = (f"{x.name}: {_count(len(entries), 'compiled version')}, {_count(len(breaks), 'graph break')}, "
            f"{sum(t.hits for t in x.tables)} hits, {sum(t.misses for t in x.tables)} misses")
    parts = [head]
    if x.eager_calls:
        parts.append("calls in plain Python:")
        parts += [f"  {n} x  {why}" for why, n in x.eager_calls]
    if x.notes:
        parts.append("calls without padding:")
        parts += [f"  {n} x  {why}" for why, n in x.notes]
    for b in breaks:
        parts += _break(b)
    for t in x.tables:
        parts += _table(t)
    return "\n".join(parts)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's' if what[-1] != 'y' else 'ies'}"


def _break(b: BreakReport) -> list[str]:
    lines = [f"graph break {b.code}: {b.operation}", f"  at {b.where}"]
    if len(b.path) > 1:
        lines += ["  call path:", *(f"    {p}" for p in b.path)]
    return [*lines, f"  what to change: {b.remedy}", f"  crossed {b.hits} times"]


def _table(t: TableReport) -> list[str]:
    title = "calls" if t.continuation is None else f"going on after a break in {t.continuation}"
    lines = [f"table {t.number} ({title}): {t.hits} hits, {t.misses} misses, {t.eager} in plain Python"]
    if t.blocked:
        lines.append(f"  nothing more is compiled here: {t.blocked}")
    for e in t.entries:
        lines += [f"  {line}" for line in _entry(e)]
    if t.missed:
        lines.append("  calls that missed:")
        lines += [f"    {_missed(m)}" for m in t.missed]
    return lines


def _missed(m: MissReport) -> str:
    why = "; ".join(f"entry {n}: {text}" for n, text in m.failed) or "there was no entry yet"
    return f"{why} -> {m.outcome}" + (f" as entry {m.entry}" if m.entry is not None else "")


def _entry(e: EntryReport) -> list[str]:
    lines = [f"entry {e.number}: {e.hits} hits, compiled in {1e3 * e.seconds:.0f} ms by {e.backend}; "
             f"{e.torch_calls} torch calls, {e.nodes} core nodes, {len(e.guards)} guards, arena {e.arena_bytes} bytes"]
    if e.symbols:
        lines.append(f"  symbolic sizes: {', '.join(e.symbols)}")
    for x in e.fixed:
        what = f"{x.name} is fixed to {x.value}" if x.value is not None else f"{x.name} is bound"
        lines.append(f"  {what} by {x.equation}   ({x.operation}" + (f" at {x.where})" if x.where else ")"))
    if e.note:
        lines.append(f"  note: {e.note}")
    if e.effects:
        lines.append(f"  effects: {', '.join(e.effects)}")
    for g in e.guards[:GUARDS_SHOWN]:
        why = f"   ({g.operation} at {g.where})" if g.where else f"   ({g.operation})" if g.operation else ""
        lines.append(f"  guard {g.condition}{why}")
    if len(e.guards) > GUARDS_SHOWN:
        lines.append(f"  ... and {len(e.guards) - GUARDS_SHOWN} more guards (all in .json())")
    kinds = Counter(s.name if s.kind == "extern" else "kernel" for s in e.steps)
    if kinds:
        lines.append(f"  {len(e.steps)} steps: " + ", ".join(f"{n} {k}" for k, n in kinds.items()))
    for s in e.steps[:STEPS_SHOWN]:
        what = f"fused {' + '.join(s.fused)}" if s.kind == "kernel" else f"{' '.join(s.fused)}"
        lines.append(f"    {s.kind} {s.name}: {what}" + (f"   [{s.where}]" if s.where else ""))
    if len(e.steps) > STEPS_SHOWN:
        lines.append(f"    ... and {len(e.steps) - STEPS_SHOWN} more steps")
    return lines

"""The texts of all stages of a compiled function's entries, its guards and its memory plans, for the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..api import compiled_of
from ..graph.text import to_text as graph_text
from ..schedule.text import to_text as plan_text
from .explain import explanation


@dataclass(frozen=True, slots=True)
class EntryStages:
    """texts: (stage, its text). places: (buffer, offset, bytes, first step, last step), where sizes are constants."""

    number: int
    where: str
    texts: tuple[tuple[str, str], ...]
    arena: int
    places: tuple[tuple[str, int, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Stages:
    guards: tuple[tuple[int, str, str, str], ...]
    entries: tuple[EntryStages, ...]


def stages(fn: Any) -> Stages:
    """Of a function that pellucid.compile returned."""
    compiled = compiled_of(fn)
    told = explanation(compiled)
    guards = tuple((e.number, g.condition, g.operation, g.where) for t in told.tables for e in t.entries
                   for g in e.guards)
    entries = []
    for t in compiled.all_tables():
        for e in t.entries:
            texts = [("segment, in Python", e.source), ("graph", graph_text(e.segment.graph))]
            plan, unit = e.code.plan, e.code.unit
            places: tuple[tuple[str, int, int, int, int], ...] = ()
            arena = 0
            if plan is not None:
                texts.append(("plan", plan_text(plan)))
                if isinstance(plan.arena_bytes, int):
                    arena = plan.arena_bytes
                    places = tuple((f"buffer {p.buffer}", p.offset, p.nbytes, p.first, p.last) for p in plan.places
                                   if isinstance(p.offset, int) and isinstance(p.nbytes, int))
            if unit is not None:
                texts.append(("LLVM", unit.text))
            entries.append(EntryStages(e.number, "calls" if t.resume is None else "after a break", tuple(texts), arena,
                                       places))
    return Stages(guards, tuple(entries))

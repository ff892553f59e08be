"""The scheduler's working form of a program: loops with pooled expressions, axes of size 1 gone, and who reads what.

Also the question that all fusion asks: at which point of a producer's loop was the element made that a load reads?
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ..ir.types import Axis, Buffer, BufferId, Expr, Extern, Index, Load, Map, Program, Reduce, Scan, Scatter, View
from ..shapes.dim import Size, exact_quotient, hint
from ..shapes.env import prove
from .pool import Pool


class Work:
    """One loop. `kind` is map, reduce, scan, scatter or extern.

    axes     of the output's points (a scatter's: of its own points); red: of the reduction
    out      the output as a view with one dimension an axis (a scatter's: the view that `index` indexes)
    value    a pooled expression
    reads    buffers that it loads; writes: buffers that it writes
    """

    __slots__ = ("number", "origin", "kind", "out", "axes", "red", "value", "combiner", "acc", "index", "scan_axis",
                 "extern", "reads", "writes", "dead", "loads", "checked_by", "_order")

    def __init__(self, number: int, origin: int, kind: str):
        self.number, self.origin, self.kind = number, origin, kind
        self.out: View
        self.value: Expr
        self.axes: tuple[Axis, ...] = ()
        self.red: tuple[Axis, ...] = ()
        self.combiner: str | None = None
        self.acc: torch.dtype | None = None
        self.index: tuple[Expr, ...] = ()
        self.scan_axis: Axis | None = None
        self.extern: Extern
        self.reads: set[BufferId] = set()
        self.writes: tuple[BufferId, ...] = ()
        self.dead = False
        self.loads: list[Load] = []
        self.checked_by: list[Work] = []
        """Loops that took over this one's index checks by inlining it at every point."""
        self._order: list[tuple[Axis, Size]] | None = None

    @property
    def roots(self) -> tuple[Expr, ...]:
        return (*self.index, self.value)

    def scan_loads(self, pool: Pool) -> None:
        """Refresh `loads` and `reads` from the expressions."""
        self.loads = pool.loads_of(self.roots)
        self.reads = {ld.view.buffer for ld in self.loads}

    def inner_axis(self) -> Axis | None:
        """The axis that will most likely be the innermost loop."""
        if self.red:
            return self.red[-1]
        if self.kind == "scatter":
            return self.axes[-1] if self.axes else None
        order = self.ordered()
        return order[-1][0] if order else None

    def ordered(self) -> list[tuple[Axis, Size]]:
        """The output's axes with their strides, largest stride first."""
        if self._order is None:
            pairs = [(a, s) for a, s in zip(self.axes, self.out.strides) if not (type(s) is int and s == 0)]
            self._order = sorted(pairs, key=lambda p: -hint(p[1]))
        return self._order


class Works:
    """All loops of a program in working form, equal ones once, with tables of writers and readers by buffer."""

    def __init__(self, program: Program, keep: frozenset[BufferId] = frozenset()):
        """`keep`: buffers that are handed out, each of them a tensor of its own."""
        self.pool = Pool()
        self.next_var = 0
        self.next_buffer = 1 + max([b.id for b in program.buffers], default=0)
        self.next_axis = 0
        self.canonical: dict[tuple[str, int, Size], Axis] = {}
        self.buffers: dict[BufferId, Buffer] = {b.id: b for b in program.buffers}
        self.keep = keep
        self._written: dict[BufferId, int] = {}
        for lp in program.loops:
            for v in lp.outs if isinstance(lp, Extern) else (lp.out,):
                self._written[v.buffer] = self._written.get(v.buffer, 0) + 1
        self.checked: dict[Any, View] = {}
        """Where an index check that was moved to the front of the plan has left its result."""
        self._known: dict[tuple[Any, ...], Work] = {}
        self.works: list[Work] = []
        for k, (loop, origin) in enumerate(zip(program.loops, program.origins)):
            w = self._import(k, loop, origin)
            if not self._is_known(w):
                self.works.append(w)
        self.tables()

    def _is_known(self, w: Work) -> bool:
        """Whether an earlier loop computes just this: then its buffer stands for this one's from here on.

        Loops name their axes by position and size, so that equal values are the same expression.
        """
        if w.kind not in ("map", "reduce"):
            return False
        b = w.out.buffer
        if b in self.keep or self._written[b] > 1 or self.buffers[b].space != "arena" or not self.covers(w):
            return False
        if any(self._written.get(r, 0) > 1 for r in w.reads):
            return False
        o = w.out
        key = (w.kind, id(w.value), w.combiner, w.acc, o.dtype, o.strides, tuple([a.id for a in (*w.axes, *w.red)]))
        first = self._known.setdefault(key, w)
        if first is w:
            return False
        self.pool.alias[b] = first.out.buffer
        return True

    def tables(self) -> None:
        """Who writes and reads each buffer, over the loops that are not dead."""
        self.writers: dict[BufferId, list[Work]] = {}
        self.readers: dict[BufferId, list[Work]] = {}
        for w in self.works:
            if not w.dead:
                for b in w.writes:
                    self.writers.setdefault(b, []).append(w)
                for b in w.reads:
                    self.readers.setdefault(b, []).append(w)

    def new_var(self) -> int:
        self.next_var += 1
        return self.next_var - 1

    def new_buffer(self) -> BufferId:
        self.next_buffer += 1
        return self.next_buffer - 1

    def _canonical(self, kind: str, position: int, size: Size) -> Axis:
        found = self.canonical.get((kind, position, size))
        if found is None:
            found = self.canonical[kind, position, size] = self.axis(size, f"{kind}{position}")
        return found

    def axis(self, size: Size, name: str = "i") -> Axis:
        self.next_axis += 1
        return Axis(self.next_axis - 1, size, name)

    def _import(self, number: int, loop: Map | Reduce | Scan | Scatter | Extern, origin: int) -> Work:
        pool = self.pool
        if isinstance(loop, Extern):
            w = Work(number, origin, "extern")
            w.extern = loop
            if pool.alias and any(v.buffer in pool.alias for v in loop.ins):
                w.extern = replace(loop, ins=tuple([pool.aliased(v) for v in loop.ins]))
            w.reads = {v.buffer for v in w.extern.ins}
            w.writes = tuple({v.buffer: None for v in loop.outs})
            return w
        w = Work(number, origin, type(loop).__name__.lower())
        rename: dict[int, Expr] = {}
        memo: dict[int, Expr] = {}
        w.axes = self._own_axes("i", loop.axes, rename)
        if isinstance(loop, Reduce):
            w.red = self._own_axes("r", loop.reduce_axes, rename)
            w.combiner, w.acc = loop.combiner, loop.acc
        elif isinstance(loop, Scan):
            w.combiner = loop.combiner
            at = rename[loop.axis.id]
            w.scan_axis = at.axis if isinstance(at, Index) else None
        elif isinstance(loop, Scatter):
            w.combiner = loop.combine
        w.value = pool.intern(loop.value, memo, rename)
        if isinstance(loop, Scatter):
            w.out = loop.out
            w.index = tuple([pool.intern(i, memo, rename) for i in loop.index])
        else:
            o = loop.out
            kept = [k for k, a in enumerate(loop.axes) if rename[a.id] is not pool.zero]
            w.out = o if len(kept) == len(loop.axes) else View(
                o.buffer, o.dtype, tuple([o.shape[k] for k in kept]), tuple([o.strides[k] for k in kept]), o.offset)
        if w.kind == "reduce" and not w.red:
            self._to_map(w)
        elif w.kind == "scan" and w.scan_axis is None:
            w.kind = "map"
        w.writes = (loop.out.buffer,)
        w.scan_loads(pool)
        return w

    def _own_axes(self, kind: str, axes: tuple[Axis, ...], rename: dict[int, Expr]) -> tuple[Axis, ...]:
        """The axes under their names here; those of size 1 become the index 0."""
        own: list[Axis] = []
        for a in axes:
            if type(a.size) is int and a.size == 1:
                rename[a.id] = self.pool.zero
            else:
                own.append(self._canonical(kind, len(own), a.size))
                rename[a.id] = self.pool.index(own[-1])
        return tuple(own)

    def _to_map(self, w: Work) -> None:
        """A reduction of one element is a conversion."""
        w.kind = "map"
        if w.combiner in ("argmin", "argmax"):
            w.value = self.pool.literal(0, w.out.dtype)
        else:
            assert w.acc is not None
            kept = self.pool.call("cast", (w.value,), w.acc)
            w.value = self.pool.call("cast", (kept,), w.out.dtype)

    def covers(self, w: Work) -> bool:
        """Whether a map, reduce or scan writes the whole of its buffer."""
        b = self.buffers[w.out.buffer]
        if w.out.offset != 0 or w.out.dtype != b.dtype:
            return False
        kept = [(n, s) for n, s in zip(b.shape, b.strides) if not (type(n) is int and n == 1)]
        return kept == list(zip(w.out.shape, w.out.strides))


def producer_index(pool: Pool, load: Load, maker: Work) -> list[Expr] | None:
    """For each axis of `maker`, the value it had when it wrote the element that `load` reads; None if unknown.

    The load's view and the maker's output are windows of one buffer. Each dimension of the view, or each term of the
    load's affine address, is attributed to the maker's axis whose stride divides its own and whose range holds it.
    """
    view, out = load.view, maker.out
    if view.dtype != out.dtype:
        return None
    if view.strides == out.strides and view.shape == out.shape and view.offset == out.offset:
        return list(load.index)
    items: list[tuple[Expr, Size, Size]] = [(i, n, s) for i, n, s in zip(load.index, view.shape, view.strides)]
    return _attribute(pool, items, view.offset, maker)


def _attribute(pool: Pool, items: Sequence[tuple[Expr, Size, Size]], offset: Size, maker: Work) -> list[Expr] | None:
    order = maker.ordered()
    if len(order) != len(maker.axes):
        return None
    start = maker.out.offset
    offset = offset - start if start != 0 else offset
    low: dict[int, Size] = {}
    high: dict[int, Size] = {}
    parts: dict[int, Expr] = {}
    for a, s in order:
        share: Size = 0
        if type(offset) is int and type(s) is int:
            if offset >= s:
                share = offset // s
                offset -= share * s
        elif offset != 0:
            q = exact_quotient(offset, s)
            if q is not None:
                share, offset = q, 0
        low[a.id] = high[a.id] = share
        if share != 0:
            parts[a.id] = pool.size(share)
    if offset != 0:
        return None
    for e, n, stride in items:
        if (type(stride) is int and stride == 0) or (type(n) is int and n == 1):
            continue
        for a, s in order:  # noqa: B007
            k = exact_quotient(stride, s)
            if k is not None:
                break
        else:
            return None
        reach = k * (n - 1)
        if prove("<=", 0, k):
            high[a.id] = high[a.id] + reach
        else:
            low[a.id] = low[a.id] + reach
        term = e if type(k) is int and k == 1 else pool.call("mul", (e, pool.size(k)), torch.int64)
        old = parts.get(a.id)
        parts[a.id] = term if old is None else pool.call("add", (old, term), torch.int64)
    for a, _ in order:
        top = high[a.id]
        if not (type(top) is int and top == 0) and prove("<", top, a.size) is not True:
            return None
        if not (type(low[a.id]) is int and low[a.id] == 0) and prove("<=", 0, low[a.id]) is not True:
            return None
    return [parts.get(a.id, pool.zero) for a in maker.axes]


def plain_axes(index: Sequence[Expr]) -> list[Axis | None]:
    """For each index expression the axis it is, or None where it is anything else."""
    return [i.axis if isinstance(i, Index) else None for i in index]


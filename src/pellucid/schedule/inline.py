"""Producer-consumer inlining: a map's value computed where it is read, so that its buffer need not exist."""

from __future__ import annotations

import torch

from ..ir.types import Axis, BufferId, Expr, Index, Load
from ..shapes.dim import Size, exact_quotient, hint, product
from .cost import CHEAP, FREE, INNER
from .elide import read_through_copies, share_heads
from .pieces import Pieces, cut_consumer, pieces_of
from .pool import OnLoad, Pool, bits
from .work import Work, Works, producer_index

MOST_COST = 400
"""Expressions above this cost are not inlined any further: it bounds kernel size and recursion."""
MOST_LOADS = 24
MOST_HOISTED = 60
"""What is computed once a row may cost up to this."""
TWICE = 12
"""An expression up to this cost may be computed twice."""


def inline(works: Works, keep: set[BufferId]) -> None:
    """Inline maps into later loops in program order, then mark what nothing reads any more as dead.

    `keep`: buffers that must exist (outputs, commits). Buffers read by externs exist too.
    """
    for w in works.works:
        if w.kind == "extern":
            share_heads(works, w)
            read_through_copies(works, w)
    works.tables()
    makers, pieced = _makers(works, keep)
    done: list[Work] = []
    for w in works.works:
        if w.kind == "extern":
            read_through_copies(works, w)
            done.append(w)
            continue
        parts = [w] if not pieced or pieced.keys().isdisjoint(w.reads) or not _may_cut(works, w) else cut_consumer(
            works, w, pieced)
        for part in parts:
            if not makers.keys().isdisjoint(part.reads):
                _inline_into(works, part, makers)
        done.extend(parts)
        if len(parts) > 1:
            _cut_up(works, w, parts, makers, pieced)
    works.works = done
    for k, w in enumerate(done):
        w.number = k
    works.tables()
    prune(works, keep)


Makers = dict[BufferId, list[Work]]


def _makers(works: Works, keep: set[BufferId]) -> tuple[Makers, dict[BufferId, Pieces]]:
    """Maps whose value may be computed elsewhere: writers of a whole buffer (together, piece by piece) whose own
    operands never change."""
    makers: Makers = {}
    pieced: dict[BufferId, Pieces] = {}
    for b, ws in works.writers.items():
        if b in keep or works.buffers[b].space != "arena" or any(w.kind != "map" for w in ws):
            continue
        if any(len(works.writers.get(r, ())) > 1 and r not in pieced for w in ws for r in w.reads):
            continue
        outside = any(r.kind == "extern" for r in works.readers.get(b, ()))
        if len(ws) > 1:
            pieces = None if outside else pieces_of(works.buffers[b], ws)
            if pieces is None:
                continue
            pieced[b] = pieces
        elif not works.covers(ws[0]) or (outside and works.pool.info[id(ws[0].value)].loads):
            continue
        makers[b] = ws
    return makers, pieced


def _may_cut(works: Works, w: Work) -> bool:
    """Whether a map may become several: not if a reduction over its result would have to wait for all of them."""
    return w.kind == "map" and not any(r.kind not in ("map", "extern") for r in works.readers.get(w.out.buffer, ()))


def _cut_up(works: Works, w: Work, parts: list[Work], makers: Makers, pieced: dict[BufferId, Pieces]) -> None:
    """w was replaced by its parts: its buffer is written piece by piece now."""
    b = w.out.buffer
    works.writers[b] = [x for x in works.writers[b] if x is not w] + parts
    if makers.pop(b, None) is None:
        return
    pieces = pieces_of(works.buffers[b], works.writers[b])
    if pieces is not None:
        makers[b] = parts
        pieced[b] = pieces


def prune(works: Works, keep: set[BufferId]) -> None:
    """Mark loops dead whose buffers nothing needs. Loops that check an index, and externs, stay."""
    needed = keep | {b.id for b in works.buffers.values() if b.space == "input"}
    for w in reversed(works.works):
        if w.dead:
            continue
        if w.kind != "extern" and needed.isdisjoint(w.writes) and not _must_check(works, w):
            w.dead = True
        elif w.kind == "extern" and not w.extern.can_raise and w.extern.kind in PURE and needed.isdisjoint(w.writes):
            w.dead = True
        else:
            needed |= w.reads
            if w.kind == "scatter":
                needed.update(w.writes)
    works.tables()


def _must_check(works: Works, w: Work) -> bool:
    """Whether a loop checks indices that no living consumer checks in its stead."""
    return any(works.pool.info[id(r)].checks for r in w.roots) and not any(_checks(c) for c in w.checked_by)


def _checks(w: Work) -> bool:
    """Whether w runs, or a loop that runs has taken over its checks."""
    return not w.dead or any(_checks(c) for c in w.checked_by)


PURE = ("gemm", "convolution", "sdpa", "sort", "topk")


class _Inliner:
    """Inlining into one loop. `wanted`: axes to split before trying again, with the sizes of their inner parts."""

    def __init__(self, works: Works, w: Work, makers: Makers):
        self.works, self.pool, self.w, self.makers = works, works.pool, w, makers
        self.wanted: dict[Axis, Size] = {}
        self.tried: dict[int, Expr | None] = {}

    def on_load(self, load: Load) -> Expr | None:
        makers = self.makers.get(load.view.buffer)
        if makers is None:
            return None
        if id(load) not in self.tried:
            found = None
            for maker in makers:
                found = self._value_at(load, maker)
                if found is not None:
                    break
            self.tried[id(load)] = found
        return self.tried[id(load)]

    def _nested(self, maker: Work) -> OnLoad | None:
        """`on_load`, where the maker's own loads may be inlined here though they were not there."""
        return None if self.makers.keys().isdisjoint(maker.reads) else self.on_load

    def _value_at(self, load: Load, maker: Work) -> Expr | None:
        """The maker's value at the element that `load` reads, or None if it is better (or only possible) to load it."""
        pool = self.pool
        info = pool.info[id(maker.value)]
        index = producer_index(pool, load, maker)
        if index is None:
            if _worthwhile(self.works, self.w, load, maker, []):
                _ask_split(load, maker, self.w, self.wanted)
            return None
        if not _worthwhile(self.works, self.w, load, maker, index):
            return None
        if info.checks:
            if not _every_point(index, maker):
                return None
            maker.checked_by.append(self.w)
        rename = {a.id: e for a, e in zip(maker.axes, index)}
        mask = load.mask
        if mask is None:
            return pool.renamed(maker.value, rename, self._nested(maker))
        value = pool.renamed(maker.value, rename, lambda ld: _masked(pool, ld, mask))
        assert load.other is not None
        return pool.call("where", (mask, value, pool.literal(load.other.value, load.dtype)), load.dtype)


def _inline_into(works: Works, w: Work, makers: Makers) -> None:
    pool = works.pool
    inliner = _Inliner(works, w, makers)
    for _ in range(20):  # a value that was inlined may load what can be inlined again
        memo = {id(ld): new for ld in w.loads if (new := inliner.on_load(ld)) is not None}
        if memo:
            w.index = tuple([pool.replaced(i, memo) for i in w.index])
            w.value = pool.replaced(w.value, memo)
        for axis, inner in inliner.wanted.items():
            split(works, w, axis, inner)
        if not memo and not inliner.wanted:
            return
        w.scan_loads(pool)
        if inliner.wanted:
            inliner = _Inliner(works, w, makers)


def _masked(pool: Pool, load: Load, mask: Expr) -> Expr:
    """`load` done only where `mask` holds: elsewhere its address may not exist."""
    if load.mask is not None:
        return pool.load(load.view, load.index, pool.call("and", (load.mask, mask), torch.bool), load.other)
    zero = pool.literal(False if load.dtype == torch.bool else 0.0 if load.dtype.is_floating_point else 0, load.dtype)
    return pool.load(load.view, load.index, mask, zero)


def _every_point(index: list[Expr], maker: Work) -> bool:
    """Whether the consumer runs over all of the maker's points (so that each of its checks is made)."""
    seen = set()
    for e, a in zip(index, maker.axes):
        if not isinstance(e, Index) or e.axis.size != a.size or e.axis.id in seen:
            return False
        seen.add(e.axis.id)
    return True


def _worthwhile(works: Works, w: Work, load: Load, maker: Work, index: list[Expr]) -> bool:
    """Whether computing the value here costs less than keeping it in memory."""
    pool = works.pool
    info = pool.info[id(maker.value)]
    if not info.loads and info.cost <= CHEAP:
        return True
    own = pool.info[id(w.value)]
    if info.cost + own.cost > MOST_COST or info.loads + own.loads > MOST_LOADS:
        return False
    if load.mask is not None and info.checks:
        return False
    mine = pool.info[id(load)]
    space = w.axes + w.red
    inner = w.inner_axis()
    hoists = inner is not None and hint(inner.size) >= INNER
    if inner is not None and hoists and not mine.axes >> inner.id & 1 and info.cost <= MOST_HOISTED:
        return True  # once a row
    if len(works.readers.get(load.view.buffer, ())) > 1 and (info.cost > CHEAP or info.loads > 1):
        return False
    if info.cost <= FREE + 1 and info.loads <= 1:
        return True
    if w.kind == "scan" or (not mine.normal and load.mask is None):  # points may be computed often, or never
        return info.cost <= CHEAP
    repeated = hint(product([a.size for a in space if not mine.axes >> a.id & 1]))
    if repeated <= 1 or info.cost <= CHEAP or (repeated <= 2 and info.cost <= TWICE):
        return True
    if inner is None or not hoists or not index:
        return False
    moving = bits([a for a, e in zip(maker.axes, index) if pool.info[id(e)].axes >> inner.id & 1])
    return pool.cost_along(maker.value, moving) <= CHEAP


# ------------------------------------------------------------------ splitting an axis where dimensions were merged
def _ask_split(load: Load, maker: Work, w: Work, wanted: dict[Axis, Size]) -> None:
    """If a term runs over several of the maker's axes at once (a flattened view), ask for its axis to be split."""
    order = maker.ordered()
    if len(order) != len(maker.axes) or w.kind == "scan":
        return
    terms = [(i, n, s) for i, n, s in zip(load.index, load.view.shape, load.view.strides)]
    for e, n, stride in terms:
        if not isinstance(e, Index) or e.axis in wanted or e.axis.size != n:
            continue
        for a, s in reversed(order):
            k = exact_quotient(s, stride)
            if k is None:
                continue
            if k == 1 and a.size != n and exact_quotient(n, a.size) is not None and e.axis in (*w.axes, *w.red):
                wanted[e.axis] = a.size
            break


def split(works: Works, w: Work, axis: Axis, inner: Size) -> None:
    """Replace `axis` by two, the second of size `inner` (which divides the axis's size)."""
    pool = works.pool
    outer = exact_quotient(axis.size, inner)
    assert outer is not None
    a, b = works.axis(outer, axis.name + "o"), works.axis(inner, axis.name + "i")
    both = pool.call("add", (pool.call("mul", (pool.index(a), pool.size(inner)), pool.zero.dtype), pool.index(b)),
                     pool.zero.dtype)
    rename = {axis.id: both}
    w.value = pool.renamed(w.value, rename)
    w.index = tuple([pool.renamed(i, rename) for i in w.index])
    if axis in w.red:
        w.red = tuple([y for x in w.red for y in ((a, b) if x is axis or x == axis else (x,))])
        return
    if w.kind != "scatter":
        k = w.axes.index(axis)
        s = w.out.strides[k]
        o = w.out
        w.out = type(o)(o.buffer, o.dtype, o.shape[:k] + (outer, inner) + o.shape[k + 1:],
                        o.strides[:k] + (s * inner, s) + o.strides[k + 1:], o.offset)
        w._order = None
    w.axes = tuple([y for x in w.axes for y in ((a, b) if x == axis else (x,))])

"""Producer-consumer inlining: a map's value computed where it is read, so that its buffer need not exist."""

from __future__ import annotations

import torch

from ..ir.types import Axis, BufferId, Expr, Index, Load
from ..shapes.dim import Size, exact_quotient, hint, product
from .cost import CHEAP, FREE, INNER
from .pool import Pool
from .work import Work, Works, producer_index

MOST_COST = 400
"""Expressions above this cost are not inlined any further: it bounds kernel size and recursion."""
MOST_LOADS = 24


def inline(works: Works, keep: set[BufferId]) -> None:
    """Inline maps into later loops in program order, then mark what nothing reads any more as dead.

    `keep`: buffers that must exist (outputs, commits). Buffers read by externs exist too.
    """
    makers = _makers(works, keep)
    for w in works.works:
        if w.kind != "extern" and not makers.keys().isdisjoint(w.reads):
            _inline_into(works, w, makers)
    prune(works, keep)


def _makers(works: Works, keep: set[BufferId]) -> dict[BufferId, Work]:
    """Maps whose value may be computed elsewhere: sole writers of a whole buffer whose own operands never change."""
    makers = {}
    for b, ws in works.writers.items():
        w = ws[0]
        if len(ws) > 1 or w.kind != "map" or b in keep or works.buffers[b].space != "arena" or not works.covers(w):
            continue
        if any(len(works.writers.get(r, ())) > 1 for r in w.reads):
            continue
        if any(r.kind == "extern" for r in works.readers.get(b, ())) and works.pool.info[id(w.value)].loads:
            continue
        makers[b] = w
    return makers


def prune(works: Works, keep: set[BufferId]) -> None:
    """Mark loops dead whose buffers nothing needs. Loops that check an index, and externs, stay."""
    needed = set(keep)
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
    return any(works.pool.info[id(r)].checks for r in w.roots) and all(c.dead for c in w.checked_by)


PURE = ("gemm",)


def _inline_into(works: Works, w: Work, makers: dict[BufferId, Work]) -> None:
    pool = works.pool
    for _ in range(8):
        wanted: dict[Axis, Size] = {}

        def on_load(load: Load, wanted: dict[Axis, Size] = wanted) -> Expr | None:
            maker = makers.get(load.view.buffer)
            if maker is None:
                return None
            return _value_at(works, w, load, maker, wanted)

        memo: dict[int, Expr] = {}
        index = tuple([pool.intern(i, memo, None, on_load) for i in w.index])
        value = pool.intern(w.value, memo, None, on_load)
        w.index, w.value = index, value
        for axis, inner in wanted.items():
            split(works, w, axis, inner)
        if not wanted:
            break
    w.scan_loads(pool)


def _value_at(works: Works, w: Work, load: Load, maker: Work, wanted: dict[Axis, Size]) -> Expr | None:
    """The maker's value at the element that `load` reads, or None if it is better (or only possible) to load it."""
    pool = works.pool
    info = pool.info[id(maker.value)]
    if not _worthwhile(works, w, load, maker):
        return None
    index = producer_index(pool, load, maker)
    if index is None:
        _ask_split(load, maker, w, wanted)
        return None
    if info.checks:
        if not _every_point(index, maker):
            return None
        maker.checked_by.append(w)
    rename = {a.id: e for a, e in zip(maker.axes, index)}
    mask = load.mask
    if mask is None:
        return pool.intern(maker.value, {}, rename)
    value = pool.intern(maker.value, {}, rename, lambda ld: _masked(pool, ld, mask))
    return pool.call("where", (mask, value, load.other), load.dtype)


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
        if type(e) is not Index or e.axis.size != a.size or e.axis.id in seen:
            return False
        seen.add(e.axis.id)
    return True


def _worthwhile(works: Works, w: Work, load: Load, maker: Work) -> bool:
    pool = works.pool
    info = pool.info[id(maker.value)]
    if not info.loads and info.cost <= CHEAP:
        return True
    own = pool.info[id(w.value)]
    if info.cost + own.cost > MOST_COST or info.loads + own.loads > MOST_LOADS:
        return False
    if load.mask is not None and info.checks:
        return False
    several = len(works.readers.get(load.view.buffer, ())) > 1
    if several and (info.cost > CHEAP or info.loads > 1):
        return False
    if info.cost <= FREE + 1 and info.loads <= 1:
        return True
    if not pool.info[id(load)].normal and load.mask is None:  # a gather: points may be computed often, or never
        return info.cost <= CHEAP
    # computed more often than it was, unless the innermost axis does not matter to it (then it is hoisted)
    axes = pool.info[id(load)].axes
    space = w.axes + w.red
    repeated = [a for a in space if a.id not in axes]
    if not repeated or hint(product([a.size for a in repeated])) <= 1:
        return True
    inner = space[-1]
    return info.cost <= CHEAP or (inner.id not in axes and hint(inner.size) >= INNER)


# ------------------------------------------------------------------ splitting a consumer's axis where dimensions were merged
def _ask_split(load: Load, maker: Work, w: Work, wanted: dict[Axis, Size]) -> None:
    """If a term runs over several of the maker's axes at once (a flattened view), ask for its axis to be split."""
    order = maker.ordered()
    if len(order) != len(maker.axes) or w.kind == "scan":
        return
    terms = [(i, n, s) for i, n, s in zip(load.index, load.view.shape, load.view.strides)]
    for e, n, stride in terms:
        if type(e) is not Index or e.axis in wanted or e.axis.size != n:
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
    memo: dict[int, Expr] = {}
    rename = {axis.id: both}
    w.value = pool.intern(w.value, memo, rename)
    w.index = tuple([pool.intern(i, memo, rename) for i in w.index])
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

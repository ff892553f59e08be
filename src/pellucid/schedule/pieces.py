"""Buffers written piece by piece (a concatenation): who wrote which part, and consumers cut where the parts meet.

A map that reads such a buffer along its whole cut dimension is split into one map a piece; each then reads what one
loop wrote, and that loop's value can be inlined. Rotary embeddings become one kernel this way.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.types import Axis, Buffer, BufferId, Expr, Index, View
from ..shapes.dim import Size, exact_quotient, hint
from .pool import INT
from .work import Work, Works

MOST_PIECES = 4


@dataclass(frozen=True, slots=True)
class Pieces:
    """Windows of a buffer that cover it along one dimension, of stride `stride` and size `size`: start and extent."""

    stride: Size
    size: Size
    parts: tuple[tuple[Size, Size], ...]


def pieces_of(buffer: Buffer, makers: list[Work]) -> Pieces | None:
    """How maps that write windows of a buffer cut it, or None if they are anything else."""
    if len(makers) > MOST_PIECES or any(w.kind != "map" or w.out.dtype != buffer.dtype for w in makers):
        return None
    dims = [(n, s) for n, s in zip(buffer.shape, buffer.strides) if not (type(n) is int and n == 1)]
    if len({s for _, s in dims}) != len(dims):
        return None
    cut: tuple[Size, Size] | None = None
    for n, s in dims:
        if any(_extent(w, s) != n for w in makers):
            if cut is not None:
                return None
            cut = n, s
    if cut is None:
        return None
    size, stride = cut
    parts = []
    for w in makers:
        start = exact_quotient(w.out.offset, stride)
        if start is None or (len(w.out.shape) != len(dims) - (_extent(w, stride) == 1)):
            return None
        parts.append((start, _extent(w, stride)))
    parts.sort(key=lambda p: hint(p[0]))
    at: Size = 0
    for start, n in parts:
        if start != at:
            return None
        at = at + n
    return Pieces(stride, size, tuple(parts)) if at == size else None


def _extent(w: Work, stride: Size) -> Size:
    for n, s in zip(w.out.shape, w.out.strides):
        if s == stride:
            return n
    return 1


def cut_consumer(works: Works, w: Work, pieced: dict[BufferId, Pieces]) -> list[Work]:
    """w, or maps that do its work piece by piece, each reading one part of a pieced buffer."""
    if w.kind != "map":
        return [w]
    for ld in w.loads:
        p = pieced.get(ld.view.buffer)
        if p is None or ld.mask is not None:
            continue
        for i, s in zip(ld.index, ld.view.strides):
            if s == p.stride and isinstance(i, Index) and i.axis.size == p.size and i.axis in w.axes:
                parts = _cut(works, w, i.axis, p)
                return [x for part in parts for x in cut_consumer(works, part, pieced)]
    return [w]


def _cut(works: Works, w: Work, axis: Axis, p: Pieces) -> list[Work]:
    pool = works.pool
    k = w.axes.index(axis)
    o = w.out
    parts = []
    for start, size in p.parts:
        x = Work(w.number, w.origin, "map")
        inner = works.axis(size, axis.name)
        at: Expr = pool.index(inner)
        if start != 0:
            at = pool.call("add", (at, pool.size(start)), INT)
        if type(size) is int and size == 1:
            at = pool.size(start)
        x.value = pool.renamed(w.value, {axis.id: at})
        gone = type(size) is int and size == 1
        x.axes = w.axes[:k] + (() if gone else (inner,)) + w.axes[k + 1:]
        middle = () if gone else (size,)
        x.out = View(o.buffer, o.dtype, o.shape[:k] + middle + o.shape[k + 1:],
                     o.strides[:k] + (() if gone else (o.strides[k],)) + o.strides[k + 1:],
                     o.offset + start * o.strides[k])
        x.writes = w.writes
        x.scan_loads(pool)
        parts.append(x)
    return parts



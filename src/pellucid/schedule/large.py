"""Reductions of much data to few results, in two stages, so that threads can share the first."""

from __future__ import annotations

from ..ir.types import Axis, Buffer, View
from ..shapes.dim import Size, hint, product
from .cost import SPLIT
from .inline import split
from .work import Work, Works

FEW = 8
"""Fewer rows than this cannot keep threads busy."""
PARTS = (64, 48, 40, 32, 24, 16, 12, 8)
COMBINERS = ("sum", "prod", "min", "max", "any", "all")


def split_large_reductions(works: Works) -> None:
    """Replace each large reduction to few rows by one to `part` times as many, and one over the parts."""
    done: list[Work] = []
    for w in works.works:
        if w.kind == "reduce" and w.combiner in COMBINERS and hint(product([a.size for a in w.axes])) < FEW and hint(
                product([a.size for a in w.red])) >= 4 * SPLIT:
            done.append(_first_stage(works, w) or w)
            if done[-1] is not w:
                done.append(w)
        else:
            done.append(w)
    if len(done) > len(works.works):
        works.works = done
        for k, w in enumerate(done):
            w.number = k
        works.tables()


def _first_stage(works: Works, w: Work) -> Work | None:
    """Make w the second stage and return the first, or None if no axis can be cut evenly."""
    for axis in w.red:  # the outermost that can be cut: parts should be runs of memory
        part = next((p for p in PARTS if type(axis.size) is int and axis.size % p == 0 and axis.size > p), None)
        if part is not None:
            break
    else:
        return None
    assert isinstance(axis.size, int) and w.acc is not None
    first = Work(w.number, w.origin, "reduce")
    first.axes, first.red, first.value, first.combiner, first.acc = w.axes, w.red, w.value, w.combiner, w.acc
    split(works, first, axis, axis.size // part)
    outer = next(a for a in first.red if a not in w.red)
    first.axes = (*w.axes, outer)
    first.red = tuple([a for a in first.red if a is not outer])
    shape = tuple([a.size for a in first.axes])
    strides: list[Size] = []
    step: Size = 1
    for n in reversed(shape):
        strides.insert(0, step)
        step = step * n
    b = Buffer(works.new_buffer(), w.acc, shape, tuple(strides))
    works.buffers[b.id] = b
    first.out = View(b.id, b.dtype, shape, tuple(strides), 0)
    first.writes = (b.id,)
    first.scan_loads(works.pool)
    parts: Axis = works.axis(part, "p")
    w.red = (parts,)
    w.value = works.pool.load(first.out, tuple([works.pool.index(a) for a in (*w.axes, parts)]))
    w.scan_loads(works.pool)
    return first

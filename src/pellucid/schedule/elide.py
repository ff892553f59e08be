"""Copies beside external calls that need not be made: the call reads, or writes, where the copy would have.

A call that takes strided operands can read the source of a copy directly; and if all that happens to its result is to
be copied into another layout, it can write there. Each kind of call says which strides it can do with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..ir.types import BufferId, Index, Load, View
from ..shapes.dim import Size, hint, product
from ..shapes.env import prove
from .pool import walked
from .work import Work, Works, producer_index


def _row_major(v: View) -> bool:
    """The last dimension has unit stride (or one element)."""
    return not v.shape or v.strides[-1] == 1 or v.shape[-1] == 1


def _matrix(v: View) -> bool:
    """A matrix as BLAS takes it: one of the last two strides is 1, the other at least that dimension's size."""
    (m, n), (s, t) = v.shape[-2:], v.strides[-2:]
    if t == 1 or n == 1:
        return prove("<=", n, s) is True
    return (s == 1 or m == 1) and prove("<=", m, t) is True


def _any(v: View) -> bool:
    return True


HEAD_CALL = 3000
"""Elements of key copied in the time of one more call of attention."""
READS: dict[str, Callable[[View], bool]] = {"sdpa": _row_major, "gemm": _matrix}
WRITES: dict[str, Callable[[View], bool]] = {"sdpa": _any, "gemm": _matrix, "convolution": _any}


def read_through_copies(works: Works, w: Work) -> None:
    """Let an external call read the sources of copies."""
    fits = READS.get(w.extern.kind)
    if fits is None:
        return
    ins = list(w.extern.ins)
    for k, v in enumerate(ins):
        if w.extern.kind == "gemm" and k == 2:
            continue
        new = _source(works, v)
        while new is not None and fits(new):
            ins[k] = new
            new = _source(works, new)
    if any(a is not b for a, b in zip(ins, w.extern.ins)):
        w.extern = replace(w.extern, ins=tuple(ins))
        w.reads = {v.buffer for v in ins}


def share_heads(works: Works, w: Work) -> None:
    """Let attention read key and value with the heads they have, where both were repeated for it by a copy.

    Worth it where the copies are larger than what one call a head costs more.
    """
    if w.extern.kind != "sdpa":
        return
    k, v = w.extern.ins[1:3]
    heads = k.shape[1]
    maker = works.writers.get(k.buffer, [None])[0]
    if type(heads) is not int or maker is None or maker.kind != "map" or not isinstance(maker.value, Load):
        return
    walked = works.pool.info[id(maker.value)].axes
    for a in maker.axes:
        times = a.size
        if walked >> a.id & 1 or type(times) is not int or heads % times or times < 2:
            continue
        if hint(product(k.shape)) < HEAD_CALL * (heads // times - 1):
            return
        shared = [x for x in (_one_of_each(works, k, times), _one_of_each(works, v, times)) if x is not None]
        if len(shared) == 2 and all(map(_row_major, shared)):
            w.extern = replace(w.extern, ins=(w.extern.ins[0], *shared, *w.extern.ins[3:]))
            w.reads = {x.buffer for x in w.extern.ins}
            return


def _one_of_each(works: Works, v: View, times: int) -> View | None:
    """(B, H, S, E) whose heads repeat `times` times each, as a view of one of each in the source of the copy."""
    (b, h, n, e), (sb, sh, sn, se) = v.shape, v.strides
    parted = View(v.buffer, v.dtype, (b, h // times, times, n, e), (sb, sh * times, sh, sn, se), v.offset)
    source = _source(works, parted)
    if source is None or source.strides[2] != 0:
        return None
    strides = source.strides[:2] + source.strides[3:]
    return View(source.buffer, source.dtype, (b, h // times, n, e), strides, source.offset)


def _source(works: Works, v: View) -> View | None:
    """The view of a copy's source that holds what `v` holds, if v is a view of a copy."""
    makers = works.writers.get(v.buffer, ())
    if len(makers) != 1 or makers[0].kind != "map" or not works.covers(makers[0]):
        return None
    maker = makers[0]
    pool = works.pool
    source = maker.value
    if not isinstance(source, Load) or not pool.info[id(source)].normal or source.dtype != v.dtype:
        return None
    if len(works.writers.get(source.view.buffer, ())) > 1 or works.buffers[v.buffer].space != "arena":
        return None
    axes = [works._canonical("v", k, n) for k, n in enumerate(v.shape)]
    index = tuple([pool.zero if type(n) is int and n == 1 else pool.index(a) for n, a in zip(v.shape, axes)])
    at = producer_index(pool, Load(v, index), maker)
    if at is None:
        return None
    moved = pool.renamed(source, {a.id: e for a, e in zip(maker.axes, at)})
    if not isinstance(moved, Load) or not pool.info[id(moved)].normal:
        return None
    by_axis = {a.id: s for a, s in walked(moved)}
    strides = tuple([s if type(n) is int and n == 1 else by_axis.get(a.id, 0)
                     for n, s, a in zip(v.shape, v.strides, axes)])
    if any(prove("<=", 0, s) is not True for s in strides):
        return None
    return View(moved.view.buffer, v.dtype, v.shape, strides, moved.view.offset)


def write_through_copies(works: Works, keep: set[BufferId]) -> None:
    """Let external calls write where all that is done with their result is to copy it."""
    for w in works.works:
        if w.kind != "extern" or w.dead or w.extern.kind not in WRITES:
            continue
        for k, v in enumerate(w.extern.outs):
            b = v.buffer
            readers = works.readers.get(b, ())
            if b in keep or len(readers) != 1 or len(works.writers[b]) != 1 or works.buffers[b].space != "arena":
                continue
            target = _target(works, v, readers[0])
            if target is not None and WRITES[w.extern.kind](target):
                outs = list(w.extern.outs)
                outs[k] = target
                w.extern = replace(w.extern, outs=tuple(outs))
                w.writes = tuple({o.buffer: None for o in outs})
                readers[0].dead = True
                works.tables()


def _target(works: Works, v: View, copy: Work) -> View | None:
    """Where `copy` puts the elements of v, as a view of v's shape."""
    pool = works.pool
    if copy.kind != "map":
        return None
    source = copy.value
    if not isinstance(source, Load) or not pool.info[id(source)].normal:
        return None
    if source.dtype != v.dtype or len(works.writers[copy.out.buffer]) != 1 or not works.covers(copy):
        return None
    maker = Work(-1, -1, "map")
    kept = [k for k, n in enumerate(v.shape) if not (type(n) is int and n == 1)]
    maker.axes = tuple([works._canonical("v", k, v.shape[k]) for k in kept])
    shape, steps = tuple([v.shape[k] for k in kept]), tuple([v.strides[k] for k in kept])
    maker.out = View(v.buffer, v.dtype, shape, steps, v.offset)
    at = producer_index(pool, source, maker)
    if at is None:
        return None
    stride_of = dict(zip([a.id for a in copy.axes], copy.out.strides))
    strides: list[Size] = list(v.strides)
    used = set()
    for k, e in zip(kept, at):
        if not isinstance(e, Index) or e.axis.size != v.shape[k] or e.axis.id in used:
            return None
        used.add(e.axis.id)
        strides[k] = stride_of[e.axis.id]
    if len(used) != len(copy.axes):
        return None
    return View(copy.out.buffer, v.dtype, v.shape, tuple(strides), copy.out.offset)



"""Writes in place where nothing can tell: into the buffer that was to be copied first, or into a mutated input itself.

The graph is functional: a write makes a new buffer, by a copy of the old one and a write into a window of it. Where
nobody reads the old contents any more, both are one memory. An input that the caller passed may be written before the
end of the call only if no later step can raise (a call is a transaction); index checks are therefore made first.
"""

from __future__ import annotations

from dataclasses import replace

from ..graph.types import Graph, TensorMeta
from ..ir.types import Buffer, BufferId, Call, Expr, Load, View
from ..shapes.dim import Size
from .pool import Pool, walked
from .types import Commit
from .work import Work, Works


def write_in_place(works: Works, graph: Graph, keep: set[BufferId], commits: tuple[Commit, ...]) -> tuple[Commit, ...]:
    """Unify buffers where that is safe. Returns the commits that remain; `keep` loses those that went."""
    _reuse_copied(works, keep)
    remaining = []
    inputs = {b.index: b.id for b in works.buffers.values() if b.space == "input"}
    for c in commits:
        if _direct(works, graph, c, inputs[c.input]):
            keep.discard(c.buffer)
        else:
            remaining.append(c)
    return tuple(remaining)


# ------------------------------------------------------------------ intermediate buffers
def _reuse_copied(works: Works, keep: set[BufferId]) -> None:
    """A buffer that begins as a copy of an intermediate one takes its memory over, if the old one is read no more."""
    for b, writers in list(works.writers.items()):
        if len(writers) < 2:
            continue
        old = _copied(works, b, writers[0])
        if old is None or old in keep or works.buffers[old].space != "arena":
            continue
        if any(r is not writers[0] and r.number > writers[1].number for r in works.readers.get(old, ())):
            continue
        if any(x.kind == "extern" for x in works.writers.get(old, ())):
            continue
        writers[0].dead = True
        _rename(works, old, b)


def _copied(works: Works, b: BufferId, first: Work) -> BufferId | None:
    """The buffer that `first` copies whole into b, element for element, if that is all it does."""
    if first.kind != "map" or not works.covers(first):
        return None
    e = first.value
    if not isinstance(e, Load) or not works.pool.info[id(e)].normal or e.view.offset != 0:
        return None
    source, target = works.buffers[e.view.buffer], works.buffers[b]
    if (source.shape, source.strides, source.dtype) != (target.shape, target.strides, target.dtype):
        return None
    own = {a.id: s for a, s in zip(first.axes, first.out.strides)}
    theirs = {a.id: s for a, s in walked(e)}
    return source.id if own == theirs else None


def _rename(works: Works, old: BufferId, new: BufferId) -> None:
    """Everything that used `old` uses `new`."""
    pool = works.pool

    def moved(v: View) -> View:
        return View(new, v.dtype, v.shape, v.strides, v.offset) if v.buffer == old else v
    for w in works.works:
        if w.dead:
            continue
        if w.kind == "extern":
            if old in w.reads or old in w.writes:
                w.extern = replace(w.extern, ins=tuple([moved(v) for v in w.extern.ins]),
                                   outs=tuple([moved(v) for v in w.extern.outs]))
                w.reads = {v.buffer for v in w.extern.ins}
                w.writes = tuple({v.buffer: None for v in w.extern.outs})
            continue
        if old in w.reads:
            memo: dict[int, Expr] = {}
            for ld in sorted(w.loads, key=lambda x: pool.info[id(x)].cost):
                if ld.view.buffer == old:
                    index = tuple([pool.replaced(i, memo) for i in ld.index])
                    mask = None if ld.mask is None else pool.replaced(ld.mask, memo)
                    memo[id(ld)] = pool.load(moved(ld.view), index, mask, ld.other)
            w.value = pool.replaced(w.value, dict(memo))
            w.index = tuple([pool.replaced(i, dict(memo)) for i in w.index])
            w.scan_loads(pool)
        if old in w.writes:
            w.out = moved(w.out)
            w.writes = (new,)
    works.tables()


# ------------------------------------------------------------------ inputs
def _direct(works: Works, graph: Graph, c: Commit, x: BufferId) -> bool:
    """Let the loops that make the value of a mutated input write the input, if that is safe."""
    meta = graph.inputs[c.input].meta
    source, target = works.buffers[x], works.buffers[c.buffer]
    if not isinstance(meta, TensorMeta) or meta.requires_grad:
        return False
    if (source.shape, source.strides, source.dtype) != (target.shape, target.strides, target.dtype):
        return False
    if (c.shape, c.strides) != (target.shape, target.strides) or target.space != "arena":
        return False
    writers = works.writers.get(c.buffer, [])
    if not writers or any(w.kind not in ("map", "scatter") for w in writers):
        return False
    copy = writers[0] if len(writers) > 1 and _copied(works, c.buffer, writers[0]) == x else None
    real = [w for w in writers if w is not copy]
    if copy is None and (len(real) > 1 or not works.covers(real[0])):
        return False
    start = real[0].number
    for r in works.readers.get(x, ()):
        if r is not copy and r.number >= start and not (copy is None and r is real[0] and _same_points(works, r, x)):
            return False
    moved = [w for w in real if any(works.pool.info[id(r)].checks for r in w.roots)]
    fused = any(w.kind in SHARED for w in real)
    if any(w.kind != "scatter" for w in moved) or not _quiet(works, start, fused, moved):
        return False
    if moved and (fused or any(w.kind in SHARED and not w.dead and works.buffers[b].space == "input"
                               for w in works.works for b in w.writes)):
        return False  # the check moved to the front is a map itself
    for w in moved:
        _check_first(works, w)
    if copy is not None:
        copy.dead = True
    _rename(works, c.buffer, x)
    return True


def _same_points(works: Works, w: Work, x: BufferId) -> bool:
    """Whether a map reads x only at the element that it writes."""
    own = {a.id: s for a, s in zip(w.axes, w.out.strides)}
    for ld in w.loads:
        if ld.view.buffer == x:
            theirs = {a.id: s for a, s in walked(ld)}
            if not works.pool.info[id(ld)].normal or ld.view.offset != w.out.offset or theirs != own:
                return False
    return True


SHARED = ("map", "reduce")
"""Kinds of loops that may become one kernel, which goes on to its end after a failed check."""


def _quiet(works: Works, start: int, fused: bool, except_for: list[Work]) -> bool:
    """Whether nothing from loop `start` on can raise, apart from loops whose checks will be made earlier.

    With `fused`, an earlier loop that could end in the kernel of the direct write counts too.
    """
    for w in works.works:
        if w.dead or w in except_for or (w.number < start and not (fused and w.kind in SHARED)):
            continue
        if w.kind == "extern":
            if w.extern.can_raise or w.extern.kind == "opaque":
                return False
        elif any(works.pool.info[id(r)].checks for r in w.roots):
            return False
    # the checks themselves must depend on nothing that comes later than `start`
    return all(x.number < start for w in except_for for ld in w.loads for e in w.index
               if ld in works.pool.loads_of([e]) for x in works.writers.get(ld.view.buffer, ()))


def _check_first(works: Works, w: Work) -> None:
    """Move a scatter's index checks into maps of their own, done before anything else that does not feed them."""
    pool = works.pool
    memo: dict[int, Expr] = {}
    for root in w.index:
        for e in _checks_in(pool, root):
            if id(e) not in memo:
                memo[id(e)] = _stored(works, w, e)
    w.index = tuple([pool.replaced(i, dict(memo)) for i in w.index])
    w.value = pool.replaced(w.value, dict(memo))
    w.scan_loads(pool)
    works.tables()


def _checks_in(pool: Pool, root: Expr) -> list[Expr]:
    """The outermost check_index calls of an expression."""
    found: list[Expr] = []
    stack = [root]
    while stack:
        e = stack.pop()
        if not pool.info[id(e)].checks:
            continue
        if isinstance(e, Call) and e.fn == "check_index":
            found.append(e)
        elif isinstance(e, Call):
            stack.extend(e.args)
        elif isinstance(e, Load):
            stack.extend(e.index)
    return found


def _stored(works: Works, w: Work, e: Expr) -> Expr:
    """A load of the checked index, computed by a map that is put right after what it reads."""
    pool = works.pool
    key = ("checked", id(e))
    axes = tuple([a for a in w.axes if pool.info[id(e)].axes >> a.id & 1])
    view = works.checked.get(key)
    if view is None:
        m = Work(w.number, w.origin, "map")
        m.axes, m.value = axes, e
        shape = tuple([a.size for a in axes])
        strides: list[Size] = []
        step: Size = 1
        for n in reversed(shape):
            strides.insert(0, step)
            step = step * n
        b = Buffer(works.new_buffer(), e.dtype, shape, tuple(strides))
        works.buffers[b.id] = b
        view = works.checked[key] = m.out = View(b.id, b.dtype, shape, b.strides, 0)
        m.writes = (b.id,)
        m.scan_loads(pool)
        after = max([x.number for r in m.reads for x in works.writers.get(r, ())], default=-1)
        at = next((k for k, x in enumerate(works.works) if x.number > after), len(works.works))
        works.works.insert(at, m)
        for k, x in enumerate(works.works):
            x.number = k
    return pool.load(view, tuple([pool.index(a) for a in axes]))

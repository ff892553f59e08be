"""A fused group as one loop nest: rows around phases, each phase one inner loop that serves all that can share it.

Rows are the axes that all members have in common, in any order of execution. Within a row, a member that needs a whole
reduction (or another point of an intermediate) comes a phase later. Members of one phase with equal inner axes share a
loop, and with it their common subexpressions. What a later phase needs of an earlier one is recomputed if that is
cheap, else kept in a scratch row, or read back from its buffer where it has one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.affine import Affine, address
from ..ir.types import Axis, Buffer, BufferId, Expr, Index, Load, Var, View
from ..shapes.dim import Size
from .pool import INT, Pool, Store, bits
from .work import Work, Works, producer_index


@dataclass(slots=True)
class Group:
    """Loops that become one kernel. `rows` are its own axes; `aligned[work number]` maps a member's axis id to the row
    axis that it runs with. Not `fixed`: all members are maps over exactly `rows`."""

    position: int
    rows: tuple[Axis, ...]
    fixed: bool
    members: list[Work] = field(default_factory=list)
    aligned: dict[int, dict[int, Axis]] = field(default_factory=dict)


@dataclass(slots=True)
class Bucket:
    """One inner loop: its axes, what is written at each of its points, what is accumulated over them."""

    phase: int
    axes: tuple[Axis, ...]
    stores: list[Store] = field(default_factory=list)
    accumulators: list[tuple[Var, str, Expr]] = field(default_factory=list)
    ordered: bool = False
    """The order of points along the axes matters (argmin, argmax)."""


@dataclass(slots=True)
class Nest:
    rows: tuple[Axis, ...]
    buckets: list[Bucket]
    row_stores: list[tuple[int, Store]]
    """(phase, store): done once a row, before the loops of that phase."""
    scratch: list[Buffer]
    fixed: bool


class _Made:
    """What is known of a member already placed: its phase, its loop, its value in the nest's axes."""

    __slots__ = ("work", "phase", "bucket", "inner", "places", "value", "scratch")

    def __init__(self, work: Work, phase: int, bucket: Bucket | None, inner: tuple[Axis, ...],
                 places: tuple[Axis, ...], value: Expr):
        self.work, self.phase, self.bucket = work, phase, bucket
        self.inner, self.places, self.value = inner, places, value
        self.scratch: tuple[Buffer, Store] | None = None


class NestBuilder:
    def __init__(self, works: Works, group: Group, stored: set[BufferId]):
        self.works, self.pool, self.group, self.stored = works, works.pool, group, stored
        self.buckets: list[Bucket] = []
        self.row_stores: list[tuple[int, Store]] = []
        self.scratch: list[Buffer] = []
        self.made: dict[BufferId, _Made] = {}

    def build(self) -> Nest:
        for w in self.group.members:
            self._place(w)
        self.buckets.sort(key=lambda b: b.phase)
        return Nest(self.group.rows, self.buckets, self.row_stores, self.scratch, self.group.fixed)

    # ---------------------------------------------------------------- placing a member
    def _place(self, w: Work) -> None:
        aligned = self.group.aligned[w.number]
        inner = tuple([a for a in w.axes + w.red if a.id not in aligned])
        deps = [(ld, self.made[ld.view.buffer]) for ld in w.loads if ld.view.buffer in self.made]
        indices = {id(ld): producer_index(self.pool, ld, p.work) for ld, p in deps}
        phase, bucket, places = self._where(w, inner, deps, indices)
        rename: dict[int, Expr] = {k: self.pool.index(a) for k, a in aligned.items()}
        for a, place in zip(inner, places):
            rename[a.id] = self.pool.index(place)
        memo: dict[int, Expr] = {}
        for ld, p in self._inner_first(deps):
            found = self._read(ld, p, indices[id(ld)], memo, rename)
            if found is not None:
                memo[id(ld)] = found
        value = self.pool.replaced(w.value, memo, rename)
        if w.kind == "reduce":
            assert bucket is not None
            value = self._accumulate(w, bucket, value)
            phase_of_store = phase + 1
        else:
            phase_of_store = phase
        made = _Made(w, phase_of_store if w.kind == "reduce" else phase, bucket if w.kind == "map" else None,
                     inner if w.kind == "map" else (), places if w.kind == "map" else (), value)
        self.made[w.out.buffer] = made
        if w.out.buffer in self.stored:
            store = self._store(w.out, w.axes, rename, value)
            if made.bucket is not None:
                made.bucket.stores.append(store)
            else:
                self.row_stores.append((phase_of_store, store))

    def _inner_first(self, deps: list[tuple[Load, _Made]]) -> list[tuple[Load, _Made]]:
        """A load whose index loads what another member made comes after that one."""
        waiting = {id(ld): (ld, p) for ld, p in deps}
        out: list[tuple[Load, _Made]] = []

        def add(ld: Load, p: _Made) -> None:
            if waiting.pop(id(ld), None) is not None:
                if not self.pool.info[id(ld)].normal:
                    for x in self.pool.loads_of([*ld.index, *(() if ld.mask is None else (ld.mask,))]):
                        if id(x) in waiting:
                            add(*waiting[id(x)])
                out.append((ld, p))

        for ld, p in deps:
            add(ld, p)
        return out

    def _where(self, w: Work, inner: tuple[Axis, ...], deps: list[tuple[Load, _Made]],
               indices: dict[int, list[Expr] | None]) -> tuple[int, Bucket | None, tuple[Axis, ...]]:
        """The phase of a member, its bucket (None: once a row), and the bucket's axis for each of its inner axes."""
        phase = 0
        partners: list[tuple[_Made, dict[int, Axis]]] = []
        for ld, p in deps:
            if p.bucket is None:
                phase = max(phase, p.phase)
                continue
            match = _pointwise(p, indices[id(ld)], inner)
            if match is None:
                phase = max(phase, p.phase + 1)
            else:
                phase = max(phase, p.phase)
                partners.append((p, match))
        if not inner:
            return phase, None, ()
        sizes = [a.size for a in inner]
        same_phase = [(p, m) for p, m in partners if p.phase == phase]
        for p, match in same_phase:
            if any(q.bucket is not p.bucket or m != match for q, m in same_phase):
                phase += 1  # two producers that do not share a loop: read both back
                same_phase = []
                break
        if same_phase:
            p, match = same_phase[0]
            return phase, p.bucket, tuple([match[a.id] for a in inner])
        for b in self.buckets:
            if b.phase == phase and [a.size for a in b.axes] == sizes:
                return phase, b, b.axes
        bucket = Bucket(phase, self._shared_axes(sizes, inner, partners))
        self.buckets.append(bucket)
        return phase, bucket, bucket.axes

    def _shared_axes(self, sizes: list[Size], inner: tuple[Axis, ...],
                     partners: list[tuple[_Made, dict[int, Axis]]]) -> tuple[Axis, ...]:
        """Axes of a new loop: those of an earlier one of equal sizes, so that equal values are equal expressions."""
        if partners:
            match = partners[0][1]
            return tuple([match[a.id] for a in inner])
        for b in self.buckets:
            if [a.size for a in b.axes] == sizes:
                return b.axes
        return tuple([self.works.axis(a.size, a.name) for a in inner])

    # ---------------------------------------------------------------- reading what another member made
    def _read(self, ld: Load, p: _Made, index: list[Expr] | None, memo: dict[int, Expr],
              rename: dict[int, Expr]) -> Expr | None:
        """What stands for a load of a member's result; None: the load itself, of its buffer. `memo` has what stands for
        the loads inside its index and mask."""
        pool = self.pool
        assert index is not None
        if p.bucket is None:
            return self._under_mask(ld, p.value, memo, rename)
        by_axis = dict(zip([a.id for a in p.work.axes], index))
        own = [pool.replaced(by_axis[a.id], dict(memo), rename) for a in p.inner]
        if all(isinstance(e, Index) and e.axis.id == a.id for e, a in zip(own, p.places)):
            return self._under_mask(ld, p.value, memo, rename)  # at a later phase `cse` decides whether it is kept
        if p.work.out.buffer in self.stored:
            return None
        if p.scratch is None:
            p.scratch = scratch_row(self.works, p.places, p.value)
            self.scratch.append(p.scratch[0])
            p.bucket.stores.append(p.scratch[1])
        mask = None if ld.mask is None else pool.replaced(ld.mask, dict(memo), rename)
        return pool.load(p.scratch[1].view, tuple(own), mask, ld.other)

    def _under_mask(self, ld: Load, value: Expr, memo: dict[int, Expr], rename: dict[int, Expr]) -> Expr:
        if ld.mask is None:
            return value
        assert ld.other is not None
        other = self.pool.literal(ld.other.value, ld.other.dtype)
        return self.pool.call("where", (self.pool.replaced(ld.mask, dict(memo), rename), value, other), ld.dtype)

    # ---------------------------------------------------------------- results
    def _accumulate(self, w: Work, bucket: Bucket, value: Expr) -> Expr:
        pool = self.pool
        assert w.combiner is not None and w.acc is not None
        arg = w.combiner in ("argmin", "argmax")
        dtype = INT if arg else w.acc
        var = pool.var(self.works.new_var(), dtype, bits(self.group.rows))
        bucket.accumulators.append((var, w.combiner, value if arg else pool.call("cast", (value,), dtype)))
        bucket.ordered = bucket.ordered or arg
        return pool.call("cast", (var,), w.out.dtype)

    def _store(self, view: View, axes: tuple[Axis, ...], rename: dict[int, Expr], value: Expr) -> Store:
        form = address(view, tuple([rename.get(a.id) or self.pool.index(a) for a in axes]))
        return normal_store(self.pool, view, form, value)


def scratch_row(works: Works, axes: tuple[Axis, ...], value: Expr) -> tuple[Buffer, Store]:
    """A scratch row over the inner axes, and the store of `value` into it."""
    strides: list[Size] = []
    step: Size = 1
    for a in reversed(axes):
        strides.insert(0, step)
        step = step * a.size
    b = Buffer(works.new_buffer(), value.dtype, tuple([a.size for a in axes]), tuple(strides), "row")
    view = View(b.id, b.dtype, b.shape, b.strides, 0)
    return b, Store(view, tuple([works.pool.index(a) for a in axes]), value)


def normal_store(pool: Pool, view: View, form: Affine | None, value: Expr) -> Store:
    """A store at an affine address, its view having one dimension an axis in order of axis ids."""
    assert form is not None
    terms = sorted(form.terms, key=lambda t: t[0].id)
    v = View(view.buffer, view.dtype, tuple([a.size for a, _ in terms]), tuple([c for _, c in terms]), form.const)
    return Store(v, tuple([pool.index(a) for a, _ in terms]), value)


def _pointwise(p: _Made, index: list[Expr] | None, inner: tuple[Axis, ...]) -> dict[int, Axis] | None:
    """If a load reads the producer's element of its own inner point: its own axis ids -> the producer's bucket axes."""
    if index is None or len(p.inner) != len(inner):
        return None
    by_axis = dict(zip([a.id for a in p.work.axes], index))
    match: dict[int, Axis] = {}
    for a, place in zip(p.inner, p.places):
        e = by_axis[a.id]
        if not isinstance(e, Index) or e.axis not in inner or e.axis.size != a.size or e.axis.id in match:
            return None
        match[e.axis.id] = place
    return match

"""Choices of a loop nest before it is printed: the vector axis, the order of axes, which of them collapse into one."""

from __future__ import annotations

from ..ir.affine import Affine, address
from ..ir.types import Axis, Call, Expr, Index, Load, View
from ..shapes.dim import Size, exact_quotient, hint, product
from .cost import CHEAP, SCRATCH_BYTES
from .nest import Bucket, Nest, normal_store, scratch_row
from .pool import INT, Store, bits, walked
from .printer import Emitted, Printer
from .work import Works

SHORT = 8
"""Axes of fewer iterations are no use as vector axes."""


class Emitter:
    """Turns one nest into a kernel. All its choices are made on the pooled expressions, then printed as statements."""

    def __init__(self, works: Works, nest: Nest, origins: tuple[int, ...]):
        self.works, self.pool, self.nest, self.origins = works, works.pool, nest, origins

    def emit(self) -> Emitted:
        nest = self.nest
        lanes: Axis | None = None
        if nest.fixed or nest.buckets:
            lanes = self._lane_row()
        elif len(nest.rows) > 1:
            self._order_rows()
        if lanes is None:
            self._order_inner()
            if len(nest.buckets) > 1:
                keep_across_phases(self.works, nest)
        self._collapse()
        if not nest.buckets and len(nest.rows) > 1:
            self._extract_inner()
        if lanes is not None:
            lanes = self._block_lanes(nest.rows[-1])
        return Printer(self.works, self.origins, lanes).nest(nest)

    # ---------------------------------------------------------------- which axis is the vector axis
    def _stores(self) -> list[Store]:
        return [s for _, s in self.nest.row_stores] + [s for b in self.nest.buckets for s in b.stores]

    def _roots(self) -> list[Expr]:
        return ([e for s in self._stores() for e in (s.value, *s.index)]
                + [e for b in self.nest.buckets for _, _, e in b.accumulators])

    def _votes(self, roots: list[Expr], stores: list[Store]) -> dict[int, int]:
        """For each axis, the number of accesses that have unit stride along it, stores counted twice."""
        votes: dict[int, int] = {}
        for ld in self.pool.loads_of(roots):
            _vote(votes, ld.view, ld.index, 1)
        for s in stores:
            _vote(votes, s.view, s.index, 2)
        return votes

    def _lane_row(self) -> Axis | None:
        """The row axis to vectorise over, where the accesses of the inner loops run along it and not along theirs."""
        nest = self.nest
        if not nest.rows or not nest.buckets or nest.scratch:
            return None
        inside = 0
        by_row = {a.id: 0 for a in nest.rows}
        for b in nest.buckets:
            own = bits(b.axes)
            roots = [s.value for s in b.stores] + [e for _, _, e in b.accumulators]
            votes: dict[int, int] = {}
            for ld in self.pool.loads_of(roots):
                if own & self.pool.info[id(ld)].axes:  # others are hoisted
                    _vote(votes, ld.view, ld.index, 1)
            for s in b.stores:
                _vote(votes, s.view, s.index, 2)
            inside += max([votes.get(a.id, 0) for a in b.axes if hint(a.size) >= SHORT], default=0)
            for a in nest.rows:
                by_row[a.id] += votes.get(a.id, 0)
        short = all(hint(b.axes[-1].size) < SHORT for b in nest.buckets)
        for _, s in nest.row_stores:
            if short:
                own_votes: dict[int, int] = {}
                _vote(own_votes, s.view, s.index, 1)
                for a in nest.rows:
                    by_row[a.id] += own_votes.get(a.id, 0)
        best = max(nest.rows, key=lambda a: by_row[a.id])
        if by_row[best.id] <= inside or hint(best.size) < SHORT:
            return None
        nest.rows = tuple([a for a in nest.rows if a is not best]) + (best,)
        return best

    def _order_rows(self) -> None:
        """Put the axis with most unit strides last, the others by descending stride of the first store."""
        nest = self.nest
        stores = self._stores()
        votes = self._votes([s.value for s in stores], stores)
        strides = {i.axis.id: hint(s) for i, s in zip(stores[0].index, stores[0].view.strides) if isinstance(i, Index)}
        best = max(reversed(nest.rows), key=lambda a: (votes.get(a.id, 0), hint(a.size) > 1))
        rest = sorted([a for a in nest.rows if a is not best], key=lambda a: -strides.get(a.id, 0))
        nest.rows = (*rest, best)

    def _order_inner(self) -> None:
        """Put the inner axis with most unit strides last, alike in all loops over the same axes."""
        loops: dict[frozenset[int], list[Bucket]] = {}
        for b in self.nest.buckets:
            if len(b.axes) > 1:
                loops.setdefault(frozenset([a.id for a in b.axes]), []).append(b)
        for bs in loops.values():
            if any(b.ordered for b in bs):
                continue
            stores = [s for b in bs for s in b.stores]
            votes = self._votes([s.value for s in stores] + [e for b in bs for _, _, e in b.accumulators], stores)
            axes = bs[0].axes
            best = max(reversed(axes), key=lambda a: votes.get(a.id, 0) if hint(a.size) >= 4 else -1)
            for b in bs:
                b.axes = (*[a for a in axes if a is not best], best)

    # ---------------------------------------------------------------- collapsing adjacent axes
    def _collapse(self) -> None:
        """Merge neighbouring axes wherever every access walks them as one."""
        nest = self.nest
        lists = [nest.rows, *[b.axes for b in nest.buckets]]
        if all(len(x) < 2 for x in lists):
            return
        roots = self._roots()
        loads = self.pool.loads_of(roots)
        terms = [{a.id: s for a, s in walked(ld)} for ld in loads
                 if self.pool.info[id(ld)].normal]
        terms += [{a.id: c for a, c in walked(s)} for s in self._stores() if _is_normal(s)]
        blocked = self._named_axes(roots, loads)
        merged: dict[int, Axis] = {}
        gone: set[int] = set()
        lists = [self._merge(x, terms, blocked, merged, gone) for x in lists]
        if not merged:
            return
        nest.rows = lists[0]
        for b, axes in zip(nest.buckets, lists[1:]):
            b.axes = axes
        memo: dict[int, Expr] = {}
        for ld in loads:
            if self.pool.info[id(ld)].normal:
                memo[id(ld)] = self.pool.normal_load(ld.view.buffer, ld.dtype, _merged(ld, merged, gone))
        self._rewrite(memo, None, merged, gone)

    def _merge(self, axes: tuple[Axis, ...], terms: list[dict[int, Size]], blocked: set[int], merged: dict[int, Axis],
               gone: set[int]) -> tuple[Axis, ...]:
        if len(axes) < 2:
            return axes
        out = [axes[-1]]
        size = axes[-1].size
        last = axes[-1]
        for a in reversed(axes[:-1]):
            fits = a.id not in blocked and last.id not in blocked
            if fits:
                for t in terms:
                    ca, cb = t.get(a.id, 0), t.get(last.id, 0)
                    if ca != cb * size:
                        fits = False
                        break
            if fits:
                gone.add(a.id)
                size = size * a.size
                merged[last.id] = Axis(last.id, size, last.name)
                out[-1] = merged[last.id]
            else:
                out.append(a)
                last, size = a, a.size
        return tuple(reversed(out))

    def _named_axes(self, roots: list[Expr], loads: list[Load]) -> set[int]:
        """Axes that occur in any other way than as a dimension of a load or store in normal form."""
        named: set[int] = set()
        seen: set[int] = set()
        stack = [s.value for s in self._stores()]
        stack += [e for b in self.nest.buckets for _, _, e in b.accumulators]
        stack += [i for s in self._stores() if not _is_normal(s) for i in s.index]
        while stack:
            e = stack.pop()
            if id(e) in seen:
                continue
            seen.add(id(e))
            if isinstance(e, Index):
                named.add(e.axis.id)
            elif isinstance(e, Call):
                stack.extend(e.args)
            elif isinstance(e, Load) and not self.pool.info[id(e)].normal:
                stack.extend(e.index)
                if e.mask is not None:
                    stack.append(e.mask)
        return named

    def _rewrite(self, memo: dict[int, Expr], rename: dict[int, Expr] | None, merged: dict[int, Axis],
                 gone: set[int]) -> None:
        """Apply a rewriting to every value, and to the addresses of stores."""
        pool = self.pool
        for s in self._stores():
            s.value = pool.replaced(s.value, memo, rename)
            if not _is_normal(s):
                s.index = tuple([pool.replaced(i, memo, rename) for i in s.index])
            elif rename is None:
                new = normal_store(pool, s.view, _merged(s, merged, gone), s.value)
                s.view, s.index = new.view, new.index
            else:
                form = address(s.view, tuple([rename.get(a.id) or pool.index(a) for a, _ in walked(s)]))
                new = normal_store(pool, s.view, form, s.value)
                s.view, s.index = new.view, new.index
        for b in self.nest.buckets:
            b.accumulators = [(v, c, pool.replaced(e, memo, rename)) for v, c, e in b.accumulators]

    # ---------------------------------------------------------------- inner loops and blocks
    def _extract_inner(self) -> None:
        """A pointwise nest over several axes: the last one becomes the vector loop, the others rows."""
        nest = self.nest
        inner = nest.rows[-1]
        bucket = Bucket(0, (inner,), [s for _, s in nest.row_stores])
        nest.rows, nest.buckets, nest.row_stores = nest.rows[:-1], [bucket], []
        outer = hint(product([a.size for a in nest.rows]))
        if outer >= 16 or type(inner.size) is not int or inner.size < 4096:
            return
        for block in (2048, 1024, 512):
            if inner.size % block == 0:
                a, b = self._split(inner, block)
                nest.rows, bucket.axes = (*nest.rows, a), (b,)
                return

    def _split(self, axis: Axis, block: int) -> tuple[Axis, Axis]:
        outer = exact_quotient(axis.size, block)
        assert outer is not None
        a, b = self.works.axis(outer, axis.name), self.works.axis(block, axis.name)
        both = self.pool.call("add", (self.pool.call("mul", (self.pool.index(a), self.pool.size(block)), INT),
                                      self.pool.index(b)), INT)
        self._rewrite({}, {axis.id: both}, {}, set())
        return a, b

    def _block_lanes(self, lanes: Axis) -> Axis:
        """Cut a row axis that is the vector axis into blocks, so that threads can share it."""
        nest = self.nest
        if hint(product([a.size for a in nest.rows[:-1]])) >= 16 or type(lanes.size) is not int or lanes.size < 128:
            return lanes
        for block in (64, 32, 16):
            if lanes.size % block == 0 and lanes.size > block:
                a, b = self._split(lanes, block)
                nest.rows = (*nest.rows[:-1], a, b)
                return b
        return lanes


def _is_normal(s: Store) -> bool:
    return s.combine is None and all(isinstance(i, Index) for i in s.index)


def _vote(votes: dict[int, int], view: View, index: tuple[Expr, ...], weight: int) -> None:
    for i, s in zip(index, view.strides):
        if type(s) is int and s == 1 and isinstance(i, Index):
            votes[i.axis.id] = votes.get(i.axis.id, 0) + weight


def _merged(at: Load | Store, merged: dict[int, Axis], gone: set[int]) -> Affine:
    """The affine address of an access after its axes were merged: the outer axes of a merger drop out."""
    return Affine(tuple([(merged.get(a.id, a), s) for a, s in walked(at) if a.id not in gone]), at.view.offset)


def keep_across_phases(works: Works, nest: Nest) -> None:
    """Keep what an earlier loop of the row computed and a later one needs again, where computing it is dear.

    Loops over equal inner axes share them, so the same value is the same expression. It is read back from where it was
    stored, or from a scratch row.
    """
    pool = works.pool
    _read_back(works, nest)
    known: dict[int, tuple[Expr, Bucket]] = {}
    kept: dict[int, Expr] = {}
    rewritten: dict[int, dict[int, Expr]] = {}
    for b in nest.buckets:
        roots = [s.value for s in b.stores] + [e for _, _, e in b.accumulators]
        own = bits(b.axes)
        memo: dict[int, Expr] = rewritten.setdefault(id(b), {})
        seen: set[int] = set()
        mine: list[Expr] = []
        stack = list(roots)
        while stack:
            e = stack.pop()
            if not isinstance(e, Call) or id(e) in seen:
                continue
            seen.add(id(e))
            info = pool.info[id(e)]
            if not own & info.axes:
                continue
            earlier = known.get(id(e))
            if earlier is not None and earlier[1].phase < b.phase and not bits(earlier[1].axes) & ~own:
                replacement = _kept(works, nest, e, earlier[1], kept, rewritten)
                if replacement is not None:
                    memo[id(e)] = replacement
                    continue
            elif earlier is None:
                mine.append(e)
            stack.extend(e.args)
        known.update({id(e): (e, b) for e in mine})
        if memo:
            _replace(works, b, memo)


def _replace(works: Works, b: Bucket, memo: dict[int, Expr]) -> None:
    for s in b.stores:
        s.value = works.pool.replaced(s.value, memo)
    b.accumulators = [(v, c, works.pool.replaced(e, memo)) for v, c, e in b.accumulators]


def _read_back(works: Works, nest: Nest) -> None:
    """Later loops load what earlier ones have stored, rather than compute it again."""
    pool = works.pool
    stored: dict[int, Expr] = {}
    waiting: dict[int, Expr] = {}
    phase = 0
    rows = bits(nest.rows)
    for b in nest.buckets:
        own = bits(b.axes)
        if b.phase > phase:
            phase = b.phase
            stored.update(waiting)
        here = {k: e for k, e in stored.items() if not pool.info[id(e)].axes & ~(rows | own)}
        if here:
            _replace(works, b, here)
        for s in b.stores:
            info = pool.info[id(s.value)]
            # a value that does not move with the loop is computed once a row, and is no element of the loop's own
            if _is_normal(s) and type(s.value) in (Call, Load) and info.cost > 1 and info.axes & own:
                waiting[id(s.value)] = pool.load(s.view, s.index)


def _kept(works: Works, nest: Nest, e: Expr, maker: Bucket, kept: dict[int, Expr],
          rewritten: dict[int, dict[int, Expr]]) -> Expr | None:
    """A load that stands for e, computed by an earlier loop; None if computing it again is cheaper."""
    pool = works.pool
    info = pool.info[id(e)]
    if info.cost <= CHEAP:
        return None
    found = kept.get(id(e))
    if found is not None:
        return found
    if hint(product([a.size for a in maker.axes])) * e.dtype.itemsize > SCRATCH_BYTES:
        return None
    buffer, store = scratch_row(works, maker.axes, pool.replaced(e, dict(rewritten[id(maker)])))
    nest.scratch.append(buffer)
    maker.stores.append(store)
    kept[id(e)] = pool.load(store.view, store.index)
    return kept[id(e)]

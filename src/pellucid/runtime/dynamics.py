"""Which sizes and numbers are symbolic at the next compile: what changed (None), all (True), nothing (False), and what
the user said of single ones (marks on tensors, specifications of arguments), which goes before all that."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from ..capture.types import FromGraph, FromSize, FromSource, Recipe
from ..events.record import record
from ..graph.types import Graph, TensorMeta
from ..guards.evaluate import LOAD_ERRORS, same
from ..guards.sources import Scope, load, name
from ..guards.types import Guard, Source
from ..ops.strides import contiguous
from ..shapes.dim import Dim, symbols
from ..shapes.env import Range, SizeGuard
from ..shapes.wishes import Wish, Wishes, root
from ..torchdoor.marks import mark_of

FLOATS = 3
"""Values of a float from which on it stays symbolic even where that breaks the graph."""
_PLAIN = ("arg", "slot", "item", "raw")
"""Steps of a source that stay within the call's arguments, not the state behind them."""


class Dynamics:
    """mode is compile()'s `dynamic`. `seen` holds (source, dim) of what differed between calls (dim None: a number).

    A float that changes is symbolic where all that is done with it is arithmetic; where it would break the graph, only
    from FLOATS values on, and never with `whole` (fullgraph). With `fixed` nothing is ever symbolic: the
    backend cannot.
    """

    def __init__(self, mode: bool | None, whole: bool = False, wishes: Wishes = (), fixed: bool = False):
        self.mode, self.whole, self.fixed = mode, whole, fixed
        self.wishes = {(n, dim): w for n, dim, w in wishes}
        self.roots = frozenset(root(n) for n, _, _ in wishes)
        self.seen: set[tuple[Source, int | None]] = set()
        self.floats: dict[Source, set[float]] = {}

    def after_break(self) -> Dynamics:
        """For a continuation of the same callable: arguments are slots there, which `inherit` tells of."""
        return Dynamics(self.mode, self.whole, fixed=self.fixed)

    # ---------------------------------------------------------------- what the user said
    def wish(self, source: Source, dim: int | None) -> Wish | None:
        """What a specification says of size `dim` of the tensor at `source` (of the number there, with dim None)."""
        if not self.wishes:
            return None
        start = source
        while start.base is not None:
            start = start.base
        if start.kind != "arg" or start.key not in self.roots:
            return None
        at: Source | None = source
        found = self.wishes.get((name(source), dim))
        while found is None and at is not None:
            found = self.wishes.get((name(at), None))
            at = at.base
        return found

    def asked(self, source: Source, dim: int | None, value: object) -> Wish | None:
        """What the user said of this size or number: the mark of the tensor itself, else the specification."""
        if dim is not None and isinstance(value, torch.Tensor) and (mark := mark_of(value, dim)) is not None:
            return Wish(*mark)
        return self.wish(source, dim)

    # ---------------------------------------------------------------- what calls showed
    def learn(self, guards_of_entries: Iterable[tuple[Guard, ...]], scope: Scope, callable_id: int | None) -> None:
        """Note every size and integer in which the call differs from what an earlier entry was made for."""
        if self.mode is False or self.fixed:
            return
        for guards in guards_of_entries:
            for g in guards:
                if g.kind == "tensor" or (g.kind == "equal" and type(g.expected) in (int, float)) \
                        or g.kind == "len":
                    self._compare(g, scope, callable_id)

    def _compare(self, g: Guard, scope: Scope, callable_id: int | None) -> None:
        assert g.source is not None
        try:
            v = load(g.source, scope)
        except LOAD_ERRORS:
            return
        if g.kind == "len":
            if type(v) is list and len(v) != g.expected:
                self._note(Source("call0", g.source, "len", len), None, g.expected, len(v), callable_id)
        elif g.kind == "equal":
            if type(v) is int and type(g.expected) is int and v != g.expected:
                self._note(g.source, None, g.expected, v, callable_id)
            elif type(v) is float and type(g.expected) is float and not same(v, g.expected):
                if g.source.kind == "calc":
                    return      # a comparison's or calculation's outcome, not a number that was given
                self.floats.setdefault(g.source, set()).update((g.expected, v))
                self._note(g.source, None, g.expected, v, callable_id)
        elif isinstance(v, torch.Tensor) and v.ndim == len(g.expected.shape):
            for dim, (was, now) in enumerate(zip(g.expected.shape, v.shape)):
                if was is not None and was != now:
                    self._note(g.source, dim, was, int(now), callable_id)
            usual = contiguous(tuple(v.shape))
            for dim, (was, now) in enumerate(zip(g.expected.strides or (), v.stride())):
                if was is not None and was != now != usual[dim]:
                    self._note(g.source, ~dim, was, now, callable_id)

    def _note(self, source: Source, dim: int | None, was: float, now: float, callable_id: int | None) -> None:
        if (source, dim) in self.seen:
            return
        self.seen.add((source, dim))
        what = (name(source) if dim is None else f"size {dim} of {name(source)}" if dim >= 0
                else f"stride {~dim} of {name(source)}")
        record.emit("promote_dynamic", callable_id=callable_id,
                    message=f"{what} was {was}, is {now}: symbolic from now on",
                    source=name(source), dim=dim, was=was, now=now)

    def doubtful(self) -> frozenset[tuple[Source, int | None]]:
        """Floats that are constants after all where they would break the graph."""
        return frozenset((s, None) for s, values in self.floats.items() if self.whole or len(values) < FLOATS)

    def keep(self, graph: Graph) -> None:
        """What is symbolic in an entry stays so in later ones, also where their tensors carry no mark."""
        for d in graph.symbols:
            self.seen.add((graph.inputs[d.input].source, d.dim))

    # ---------------------------------------------------------------- the answer
    def policy(self, scope: Scope, without: frozenset[tuple[Source, int | None]] = frozenset()) \
            -> Callable[[Source, int | None], bool | Range]:
        """dynamic(source, dim) for one capture; `scope` holds its example call. Sizes 0 and 1 are never symbolic, nor
        is what `without` names."""
        quiet = self.mode is None and not self.wishes

        def wants(source: Source, dim: int | None) -> bool | Range:
            if self.fixed or (without and (source, dim) in without):
                return False
            if dim is not None and dim < 0:
                return self.mode is not False and (source, dim) in self.seen
            if dim is None and quiet:
                return (source, None) in self.seen
            try:
                value = load(source, scope)
            except LOAD_ERRORS:
                return False
            wish = self.asked(source, dim, value)
            if dim is not None and value.shape[dim] < 2:
                return False
            if wish is not None:
                return wish.kind != "static" and _within(wish, dim, int(value if dim is None else value.shape[dim])
                                                         if dim is not None or type(value) is int else None)
            if self.mode is False:
                return False
            if (source, dim) in self.seen:
                return True
            return self.mode is True and (dim is not None or type(value) is int) and _argument(source)
        return wants

    def demands(self, graph: Graph, scope: Scope) -> dict[tuple[Source, int | None], Wish]:
        """The symbols of a graph that the user promised to vary, so that fixing one is an error."""
        out = {}
        for d in graph.symbols:
            if d.dim is not None and d.dim < 0:
                continue
            source = graph.inputs[d.input].source
            wish = self.asked(source, d.dim, load(source, scope))
            if wish is not None and wish.kind == "dynamic":
                out[source, d.dim] = wish
        return out

    def inherit(self, before: Dynamics, slots: Sequence[Recipe], graph: Graph) -> None:
        """What is symbolic in a segment is symbolic after its break, too."""
        if self.fixed:
            return
        for i, r in enumerate(slots):
            slot = Source("slot", None, i)
            if isinstance(r, FromSource):
                self.seen.update((slot, dim) for source, dim in before.seen if source == r.source)
                if r.source.kind == "calc":
                    self.seen.add((slot, None))
            elif isinstance(r, FromSize) and isinstance(r.size, Dim):
                self.seen.add((slot, None))
            elif isinstance(r, FromGraph):
                meta = graph.metas[graph.outputs[r.index]]
                if isinstance(meta, TensorMeta):
                    self.seen.update((slot, d) for d, size in enumerate(meta.shape) if isinstance(size, Dim))

    def clear(self) -> None:
        self.seen.clear()
        self.floats.clear()


def _within(wish: Wish, dim: int | None, value: int | None) -> bool | Range:
    """The range of a symbol: the promised one where this call keeps the promise."""
    least = 0 if dim is None else 2
    lo = max(least, wish.lo or 0)
    if value is None or (lo, wish.hi) == (least, None):
        return True
    return Range(lo, wish.hi) if lo <= value and (wish.hi is None or value <= wish.hi) else True


def fixed_symbols(graph: Graph) -> dict[tuple[Source, int | None], tuple[int, SizeGuard]]:
    """(source, dim) -> (the value it is fixed to, the size guard): symbols of which an equation leaves one value."""
    out: dict[tuple[Source, int | None], tuple[int, SizeGuard]] = {}
    where = {d.sym: (graph.inputs[d.input].source, d.dim) for d in graph.symbols}
    for g in graph.size_guards:
        if g.op != "==":
            continue
        used = symbols(g.lhs) | symbols(g.rhs)
        if len(used) == 1:
            (sym,) = used
            if sym in where:
                out[where[sym]] = (sym.hint, g)
    return out


def _argument(source: Source) -> bool:
    step: Source | None = source
    while step is not None:
        if step.kind not in _PLAIN:
            return False
        step = step.base
    return True

"""Which sizes and integers are symbolic at the next compile: what changed (None), all (True), or nothing (False)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from ..capture.types import FromGraph, FromSize, FromSource, Recipe
from ..events.record import record
from ..graph.types import Graph, TensorMeta
from ..guards.evaluate import LOAD_ERRORS, same
from ..guards.sources import Scope, load, name
from ..guards.types import Guard, Source
from ..shapes.dim import Dim
from ..torchdoor.marks import marked_dynamic, marked_static

FLOATS = 3
"""Values of a float from which on it is no longer a constant of the graph."""
_PLAIN = ("arg", "slot", "item", "raw")
"""Steps of a source that stay within the call's arguments, not the state behind them."""


class Dynamics:
    """mode is compile()'s `dynamic`. `seen` holds (source, dim) of what differed between calls (dim None: a number).

    A float that keeps changing is used natively, which breaks the graph; so it takes FLOATS values, and never happens
    with `whole` (fullgraph).
    """

    def __init__(self, mode: bool | None, whole: bool = False):
        self.mode, self.whole = mode, whole
        self.seen: set[tuple[Source, int | None]] = set()
        self.floats: dict[Source, set[float]] = {}

    def learn(self, guards_of_entries: Iterable[tuple[Guard, ...]], scope: Scope, callable_id: int | None) -> None:
        """Note every size and integer in which the call differs from what an earlier entry was made for."""
        if self.mode is False:
            return
        for guards in guards_of_entries:
            for g in guards:
                if g.kind == "tensor" or (g.kind == "equal" and type(g.expected) in (int, float)):
                    self._compare(g, scope, callable_id)

    def _compare(self, g: Guard, scope: Scope, callable_id: int | None) -> None:
        assert g.source is not None
        try:
            v = load(g.source, scope)
        except LOAD_ERRORS:
            return
        if g.kind == "equal":
            if type(v) is int and type(g.expected) is int and v != g.expected:
                self._note(g.source, None, g.expected, v, callable_id)
            elif type(v) is float and not same(v, g.expected) and not self.whole:
                values = self.floats.setdefault(g.source, set())
                values.update((g.expected, v))
                if len(values) >= FLOATS:
                    self._note(g.source, None, g.expected, v, callable_id)
        elif isinstance(v, torch.Tensor) and v.ndim == len(g.expected.shape):
            for dim, (was, now) in enumerate(zip(g.expected.shape, v.shape)):
                if was is not None and was != now:
                    self._note(g.source, dim, was, int(now), callable_id)

    def _note(self, source: Source, dim: int | None, was: float, now: float, callable_id: int | None) -> None:
        if (source, dim) in self.seen:
            return
        self.seen.add((source, dim))
        what = name(source) if dim is None else f"size {dim} of {name(source)}"
        record.emit("promote_dynamic", callable_id=callable_id,
                    message=f"{what} was {was}, is {now}: symbolic from now on",
                    source=name(source), dim=dim, was=was, now=now)

    def policy(self, scope: Scope) -> Callable[[Source, int | None], bool]:
        """dynamic(source, dim) for one capture; `scope` holds its example call. Sizes 0 and 1 are never symbolic."""
        def wants(source: Source, dim: int | None) -> bool:
            if self.mode is False:
                return False
            if dim is None and self.mode is None:
                return (source, None) in self.seen
            try:
                value = load(source, scope)
            except LOAD_ERRORS:
                return False
            if dim is None:
                return (source, None) in self.seen or (type(value) is int and _argument(source))
            if value.shape[dim] < 2 or marked_static(value, dim):
                return False
            return (source, dim) in self.seen or marked_dynamic(value, dim) or (self.mode is True and _argument(source))
        return wants

    def inherit(self, before: Dynamics, slots: Sequence[Recipe], graph: Graph) -> None:
        """What is symbolic in a segment is symbolic after its break, too."""
        if self.mode is False:
            return
        for i, r in enumerate(slots):
            slot = Source("slot", None, i)
            if isinstance(r, FromSource):
                self.seen.update((slot, dim) for source, dim in before.seen if source == r.source)
            elif isinstance(r, FromSize) and isinstance(r.size, Dim):
                self.seen.add((slot, None))
            elif isinstance(r, FromGraph):
                meta = graph.metas[graph.outputs[r.index]]
                if isinstance(meta, TensorMeta):
                    self.seen.update((slot, d) for d, size in enumerate(meta.shape) if isinstance(size, Dim))

    def clear(self) -> None:
        self.seen.clear()
        self.floats.clear()


def _argument(source: Source) -> bool:
    step: Source | None = source
    while step is not None:
        if step.kind not in _PLAIN:
            return False
        step = step.base
    return True


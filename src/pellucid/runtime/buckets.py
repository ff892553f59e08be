"""Shape buckets: inputs padded to a few sizes on entry, results cut to the true ones on exit, where that is exact.

    pellucid.compile(f, options={"buckets": {"x": {0: [8, 16, 32]}}})

Each entry for padded inputs is examined once (shapes.padding): where padding could change a result, and where a size
is in no bucket, the call goes on as it would without buckets, and the reason is counted.
"""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..capture.types import Build, FromGraph, FromSize, Recipe, Return, Segment
from ..events.record import record
from ..events.types import Cause
from ..graph.types import TensorMeta
from ..guards import globalkey
from ..guards.sources import load
from ..guards.types import Source
from ..options import Options
from ..shapes.dim import Sym, evaluate, symbols
from ..shapes.env import Range
from ..shapes.padding import Mixes, check
from ..shapes.wishes import Wish, Wishes
from . import frontend
from .compiled import Compiled
from .dynamics import Dynamics
from .errors import StepFailed
from .segment_code import segment_function
from .table import Table
from .target import Target
from .types import Entry

Place = tuple[str, int]
"""(argument, dimension)"""


@dataclass(frozen=True, slots=True)
class Padded:
    """How an entry runs for padded inputs: `run(*slots)` with the call's own arguments. `equal`: places whose true
    sizes must agree, because the program took them to."""

    run: Callable[..., Any]
    equal: tuple[tuple[Place, Place], ...]


class Bucketed:
    """The call of a bucketed callable. `plain` is the same callable compiled without buckets; `usual` says whether a
    call of it is a call of the target (a module without hooks)."""

    def __init__(self, target: Target, options: Options, plain: Callable[..., Any], usual: Callable[[], bool]):
        self.plain, self.usual, self.buckets = plain, usual, options.buckets
        most = 1
        for _, _, sizes in options.buckets:
            most *= len(sizes)
        self.compiled = Compiled(target, replace(options, recompile_limit=max(options.recompile_limit, most + 4)))
        fixed: Wishes = tuple((name, dim, Wish("static")) for name, dim, _ in options.buckets)
        known = self.compiled.dynamics
        self.compiled.dynamics = Dynamics(known.mode, known.whole, (*fixed, *options.wishes), known.fixed)
        self.refused: Counter[str] = self.compiled.notes
        self.verdicts: dict[Entry, Padded | str] = {}
        self.local = threading.local()
        self.compiled.on_clear.append(lambda c: self.verdicts.clear())

    # ---------------------------------------------------------------- the call
    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        if not self.usual():
            return self.refuse("the module has hooks, or its forward was replaced", args, kwargs)
        try:
            slots = self.compiled.bind(*args, **kwargs)
        except TypeError:
            return self.plain(*args, **kwargs)
        words = globalkey.words()
        if globalkey.unusual(words) is not None:
            return self.plain(*args, **kwargs)
        sizes: dict[Place, int] = {}
        try:
            padded = self.pad(slots, sizes)
        except Mixes as e:
            return self.refuse(e.why, args, kwargs)
        compiled = self.compiled
        table = compiled.roots.get(words) or compiled.root(words)
        found: Entry | str | None = next((e for e in table.entries if e.check(*padded)), None)
        if found is None:
            found = compiled.miss(table, padded)
        if isinstance(found, str):
            return self.refuse(found, args, kwargs)
        verdict = self.verdicts.get(found)
        if verdict is None:
            verdict = self.examine(table, found, padded)
        if isinstance(verdict, str):
            return self.refuse(verdict, args, kwargs)
        if any(sizes[a] != sizes[b] for a, b in verdict.equal):
            return self.refuse("padded inputs are taken to be of one size, and are not", args, kwargs)
        with self.current(slots, padded, sizes):
            try:
                result = verdict.run(*slots)
            except StepFailed as e:
                failed = str(e)
            else:
                found.hits += 1
                return result
        return self.refuse(f"a step failed on padded inputs: {failed}", args, kwargs)

    def refuse(self, why: str, args: Any, kwargs: Any) -> Any:
        if why not in self.refused:
            record.emit("notice", callable_id=self.compiled.id, message=f"called without padding: {why}")
        self.refused[why] += 1
        return self.plain(*args, **kwargs)

    def pad(self, slots: Sequence[Any], sizes: dict[Place, int]) -> tuple[Any, ...]:
        """The arguments with padded copies; `sizes` gets the true sizes. Raises Mixes where there is no bucket."""
        out = list(slots)
        params = self.compiled.target.params
        for name, places in itertools.groupby(self.buckets, key=lambda b: b[0]):
            at = params.index(name)
            x = slots[at]
            if x is None:
                continue
            if type(x) is not torch.Tensor or x.layout is not torch.strided:
                raise Mixes(f"{name} is a {type(x).__name__}")
            if x.requires_grad and torch.is_grad_enabled():
                raise Mixes(f"{name} requires grad")
            shape = list(x.shape)
            for _, dim, steps in places:
                if not -x.ndim <= dim < x.ndim:
                    raise Mixes(f"{name} has {x.ndim} dimensions, of which {dim} is none")
                d = dim % x.ndim
                n = sizes[name, d] = shape[d]
                fits = next((s for s in steps if s >= n), None)
                if n < 2 or fits is None:
                    raise Mixes(f"size {d} of {name} is {n}: " + ("above the largest bucket" if fits is None else
                                                                   "0 and 1 are not padded"))
                shape[d] = fits
            if tuple(shape) != tuple(x.shape) or not x.is_contiguous():
                copy = x.new_zeros(shape)
                copy[tuple(slice(n) for n in x.shape)] = x
                out[at] = copy
        return tuple(out)

    @contextmanager
    def current(self, slots: Sequence[Any], padded: Sequence[Any], sizes: dict[Place, int]) -> Iterator[None]:
        """What the run in progress on this thread finds beside its arguments: calls may nest."""
        before = getattr(self.local, "now", None)
        self.local.now = {id(a): b for a, b in zip(slots, padded) if a is not b}, sizes
        try:
            yield
        finally:
            self.local.now = before

    # ---------------------------------------------------------------- an entry's verdict
    def examine(self, table: Table, entry: Entry, padded: Sequence[Any]) -> Padded | str:
        """Capture once more with the padded sizes symbolic, and ask of each operation whether it mixes positions."""
        compiled = self.compiled
        with compiled.lock:
            verdict = self.verdicts.get(entry)
            if verdict is None:
                try:
                    verdict = self._examine(table, entry, padded)
                except (Mixes, frontend.Refused) as e:
                    verdict = f"padding may change the result: {e}"
                self.verdicts[entry] = verdict
        return verdict

    def _examine(self, table: Table, entry: Entry, padded: Sequence[Any]) -> Padded:
        compiled = self.compiled
        scope = table.scope(padded)
        places = {(name, dim % load(Source("arg", None, name), scope).ndim) for name, dim, _ in self.buckets
                  if load(Source("arg", None, name), scope) is not None}
        otherwise = table.dynamics.policy(scope)

        def wants(source: Source, dim: int | None) -> bool | Range:
            if source.kind == "arg" and (source.key, dim) in places:
                return Range(2)
            return otherwise(source, dim)
        segment = frontend.capture_call(compiled.target, padded, wants, compiled.options.budget)
        own = entry.segment
        if not isinstance(segment.exit, Return) or not isinstance(own.exit, Return):
            raise Mixes("the graph breaks")
        if segment.effects or own.effects:
            raise Mixes("Python objects are written")
        at = {d.sym: (segment.graph.inputs[d.input].source.key, d.dim) for d in segment.graph.symbols
              if d.dim is not None and (segment.graph.inputs[d.input].source.key, d.dim) in places}
        pad = frozenset(at)
        try:
            cuts = check(segment.graph, pad)
        except Mixes as e:
            if e.call is not None and e.call < len(segment.graph.calls):
                stack = segment.graph.calls[e.call].stack
                raise Mixes(str(Cause(e.why, stack))) from None
            raise
        if any(_sizes(r, pad) for r in (segment.exit.value, *segment.shared)):
            raise Mixes("the result tells the size")
        if _shape(segment) != _shape(own):
            raise Mixes("the program takes another way for other sizes")
        equal = tuple((at[a], at[b]) for g in segment.graph.size_guards if g.op == "=="
                      for a, b in itertools.pairwise(sorted(symbols(g.lhs) | symbols(g.rhs), key=lambda s: s.name))
                      if a in at and b in at)
        metas = {i: segment.graph.metas[segment.graph.outputs[i]] for i in cuts}
        layouts = {i: (m.shape, m.strides) for i, m in metas.items() if isinstance(m, TensorMeta)}
        made = segment_function(own, table.params, self.cutting(entry, layouts, at), lambda point: None,
                                f"padded {compiled.target.name} #{entry.number}")
        return Padded(made.run, equal)

    def cutting(self, entry: Entry, layouts: dict[int, tuple[Any, Any]], at: dict[Sym, Place]) \
            -> Callable[..., Any] | None:
        """The entry's graph with inputs exchanged for their padded copies and outputs cut to eager's shape and strides,
        which `layouts` gives by output in terms of the symbols of `at`."""
        graph = entry.run.__globals__.get("graph")
        if graph is None:
            return None
        local = self.local

        def run(*inputs: Any) -> Any:
            copies, sizes = local.now
            outs = graph(*[copies.get(id(x), x) for x in inputs])
            if not layouts or not copies:
                return outs
            values = {sym: sizes[place] for sym, place in at.items()}
            outs = list(outs)
            for i, (shape, strides) in layouts.items():
                size = [evaluate(s, values) for s in shape]
                part = outs[i][tuple(slice(n) for n in size)]
                step = [evaluate(s, values) for s in strides]
                outs[i] = part if list(part.stride()) == step and part.shape == outs[i].shape else \
                    part.new_empty_strided(size, step).copy_(part)
            return outs
        return run


def _sizes(r: Recipe | None, pad: frozenset[Sym]) -> bool:
    """Whether a padded size is part of the value."""
    if type(r) is FromSize:
        return bool(symbols(r.size) & pad)
    return type(r) is Build and any(_sizes(p, pad) for p in r.parts)


def _shape(segment: Segment) -> tuple[object, ...]:
    """What must agree between the two captures of a call."""
    def outline(r: Recipe | None) -> object:
        if type(r) is Build:
            return r.kind, tuple(outline(p) for p in r.parts)
        return ("out", r.index) if type(r) is FromGraph else type(r).__name__
    assert isinstance(segment.exit, Return)
    return tuple(c.target for c in segment.graph.calls), len(segment.graph.outputs), outline(segment.exit.value)

"""Which sizes and integers are symbolic at the next compile: what changed (None), all (True), or nothing (False)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from ..events.record import record
from ..guards.evaluate import LOAD_ERRORS
from ..guards.sources import Scope, load, name
from ..guards.types import Guard, Source
from ..torchdoor.marks import marked_dynamic, marked_static

_PLAIN = ("arg", "slot", "item", "raw")
"""Steps of a source that stay within the call's arguments, not the state behind them."""


class Dynamics:
    """mode is compile()'s `dynamic`. `seen` holds (source, dim) of what differed between calls (dim None: an int)."""

    def __init__(self, mode: bool | None):
        self.mode = mode
        self.seen: set[tuple[Source, int | None]] = set()

    def learn(self, guards_of_entries: Iterable[tuple[Guard, ...]], scope: Scope, callable_id: int | None) -> None:
        """Note every size and integer in which the call differs from what an earlier entry was made for."""
        if self.mode is False:
            return
        for guards in guards_of_entries:
            for g in guards:
                if g.kind == "tensor" or (g.kind == "equal" and type(g.expected) is int):
                    self._compare(g, scope, callable_id)

    def _compare(self, g: Guard, scope: Scope, callable_id: int | None) -> None:
        assert g.source is not None
        try:
            v = load(g.source, scope)
        except LOAD_ERRORS:
            return
        if g.kind == "equal":
            if type(v) is int and v != g.expected:
                self._note(g.source, None, g.expected, v, callable_id)
        elif isinstance(v, torch.Tensor) and v.ndim == len(g.expected.shape):
            for dim, (was, now) in enumerate(zip(g.expected.shape, v.shape)):
                if was is not None and was != now:
                    self._note(g.source, dim, was, int(now), callable_id)

    def _note(self, source: Source, dim: int | None, was: int, now: int, callable_id: int | None) -> None:
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
            try:
                value = load(source, scope)
            except LOAD_ERRORS:
                return False
            if dim is None:
                return type(value) is int and ((source, None) in self.seen or (self.mode is True and _argument(source)))
            if value.shape[dim] < 2 or marked_static(value, dim):
                return False
            return (source, dim) in self.seen or marked_dynamic(value, dim) or (self.mode is True and _argument(source))
        return wants

    def clear(self) -> None:
        self.seen.clear()


def _argument(source: Source) -> bool:
    step: Source | None = source
    while step is not None:
        if step.kind not in _PLAIN:
            return False
        step = step.base
    return True


"""Where a broken call goes on: the frame stack in canonical form, its key, and the slots that are passed to it.

What of the frames is static is in the key (code, next instruction, constants that are not numbers, which slots are the
same value); what varies is passed as slots and guarded by each entry of the continuation's table. So a loop with a
break inside comes back to the same key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..capture.executor import RETURNS
from ..capture.types import (
    Branch,
    Break,
    Build,
    FrameState,
    FromConst,
    FromGraph,
    FromNative,
    FromSize,
    FromSource,
    Recipe,
    Shared,
)
from ..guards.types import Source

_STRUCTURE = ("tuple", "method", "slice", "range", "iterator", "super", "builtin")
"""Immutable builds, and iterators that nothing else refers to, that stay structure of the frames; their parts (such as
an iterator's position) are slots. Anything else built is one slot."""


@dataclass(frozen=True, slots=True)
class Resume:
    """frames   canonical: their recipes are constants, `Source("slot")`s, and tuples, methods and slices of these
    slots       how the breaking segment computes the slots
    outcome     "value" (the last slot is the native operation's result, unless it is dropped), "exception" (the last
                slot is the exception) or "branch". The innermost frame stands behind the operation's instruction
    then        what a result does in the innermost frame, see `capture.types.Break`
    recheck     the operation before may have changed global state
    """

    key: tuple[Any, ...]
    frames: tuple[FrameState, ...]
    slots: tuple[Recipe, ...]
    outcome: str
    recheck: bool
    then: str = "push"
    handler_frame: int = 0


class _Slots:
    """Numbers distinct recipes; equal recipes of one segment are the same value (constants aside)."""

    def __init__(self) -> None:
        self.recipes: list[Recipe] = []
        self.numbers: dict[Any, int] = {}

    def number(self, r: Recipe) -> int:
        key: Any = r
        if type(r) in (FromConst, Build):      # equal numbers may differ in the next round; equal builds are two
            key = object()
        else:
            try:
                hash(r)
            except TypeError:
                key = id(r)
        known = self.numbers.get(key)
        if known is None:
            known = self.numbers[key] = len(self.recipes)
            self.recipes.append(r)
        return known

    def canonical(self, r: Recipe | None) -> tuple[Any, Recipe | None]:
        """(key part, recipe over slots)."""
        if r is None:
            return None, None
        if type(r) is FromConst and type(r.value) not in (int, float, complex):
            return _constant_key(r.value), r
        if type(r) is FromSource and r.source.kind == "const" and r.source.base is None:
            return ("object", id(r.source.obj)), r
        if type(r) is Build and r.kind == "iterator" and r.detail == "sequence" and type(r.parts[1]) is FromConst:
            # Items of a sequence are different objects (a model's layers), so its position decides what follows.
            key, items = self.canonical(r.parts[0])
            made = Build(r.kind, (items, r.parts[1]), r.detail)  # type: ignore[arg-type]
            return ("iterator", "sequence", key, r.parts[1].value), made
        if type(r) is Build and r.kind in _STRUCTURE:
            pairs = [self.canonical(p) for p in r.parts]
            made = Build(r.kind, tuple(p for _, p in pairs), r.detail)  # type: ignore[misc]
            return (r.kind, r.detail, *(k for k, _ in pairs)), made
        n = self.number(r)
        return n, FromSource(Source("slot", None, n))

    def frame(self, f: FrameState) -> tuple[tuple[Any, ...], FrameState]:
        function_key, function = self.canonical(f.function)
        locals_ = [self.canonical(r) for r in f.locals]
        stack = [self.canonical(r) for r in f.stack]
        handled_key, handled = self.canonical(f.handled)
        detail_key, detail = self.detail(f.detail)
        generator_key, generator = self.canonical(f.generator)
        key = (f.code, id(f.globals_of), f.index, f.on_return, detail_key, function_key, handled_key, generator_key,
               tuple(k for k, _ in locals_), tuple(k for k, _ in stack))
        return key, replace(f, function=function, locals=tuple(r for _, r in locals_),
                            stack=tuple(r for _, r in stack), handled=handled, detail=detail,
                            generator=generator)

    def detail(self, d: Any) -> tuple[Any, Any]:
        """What a frame does with its result: a chain of (kind, plain data or a recipe)."""
        if is_recipe(d):
            return self.canonical(d)
        if isinstance(d, tuple):
            pairs = [self.detail(x) for x in d]
            return tuple(k for k, _ in pairs), tuple(x for _, x in pairs)
        try:
            hash(d)
        except TypeError:
            return id(d), d
        return d, d


_RECIPES = (FromGraph, FromSource, FromConst, FromSize, FromNative, Shared, Build)


def is_recipe(x: Any) -> bool:
    return type(x) in _RECIPES


def _constant_key(value: Any) -> tuple[Any, ...]:
    if value is None or type(value) in (bool, str, bytes):
        return ("const", type(value), value)
    return ("object", id(value))


def _resume(frames: tuple[FrameState, ...], outcome: str, recheck: bool, then: str = "push",
            extra: bool = False) -> Resume:
    slots = _Slots()
    pairs = [slots.frame(f) for f in frames]
    if extra:
        slots.recipes.append(FromNative())
    return Resume((outcome, then, recheck, *(k for k, _ in pairs)), tuple(f for _, f in pairs), tuple(slots.recipes),
                  outcome, recheck, then, _handler(frames))


def _handler(frames: tuple[FrameState, ...]) -> int:
    """Number of the innermost frame that catches what its current instruction raises; -1 if none does."""
    for i in range(len(frames) - 1, -1, -1):
        f = frames[i]
        if f.index > 0 and f.code.instrs[f.index - 1].handler is not None:
            return i
        if f.on_return == "then" and any(RETURNS[kind].raised is not None for kind, _ in f.detail):
            return max(i - 1, 0)
    return -1


def resume_after(exit: Break, recheck: bool) -> Resume:
    """The continuation when the native operation returned."""
    return _resume(exit.frames, "value", recheck, exit.then, exit.then != "drop")


def resume_exception(exit: Break, recheck: bool) -> Resume | None:
    """The continuation when the native operation raised; None where no frame catches it."""
    if _handler(exit.frames) < 0 and exit.then != "for_iter":
        return None
    return _resume(exit.frames, "exception", recheck, exit.then, True)


def resume_branch(exit: Branch, truth: bool, recheck: bool) -> Resume:
    """The continuation for one truth value of the condition."""
    return _resume(exit.if_true if truth else exit.if_false, "branch", recheck)

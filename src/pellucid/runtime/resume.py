"""Going on in plain Python: the frames of a continuation rebuilt on plain objects and interpreted to their end."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ..capture import concrete
from ..capture.executor import program
from ..capture.frames import UNBOUND, Frame, Then
from ..capture.recipes import build
from ..capture.types import FrameState
from ..guards.sources import Scope
from .continuation import Resume, is_recipe


def run(point: Resume, slots: Sequence[Any]) -> Any:
    """The call's value, or its exception. Functions that these frames call run natively."""
    scope = Scope(slots=tuple(slots))
    f: Frame | None = None
    for state in point.frames:
        f = _frame(state, scope, f)
    assert f is not None
    if point.outcome == "exception":
        error = slots[-1]
        if point.then != "for_iter" or not isinstance(error, StopIteration):
            return concrete.finish(f, error)
        f.stack.pop()
        f.index = f.code.instrs[f.index - 1].arg
    elif point.then != "drop":
        f.stack.append(slots[-1])
        if point.then == "again":
            f.index -= 1
    return concrete.finish(f)


def _frame(state: FrameState, scope: Scope, below: Frame | None) -> Frame:
    def value(recipe: Any) -> Any:
        return UNBOUND if recipe is None else build(recipe, (), scope)

    b = state.globals_of.get("__builtins__", builtins)
    f = Frame(state.code, program(state.code), value(state.function), state.globals_of,
              b if type(b) is dict else b.__dict__, [value(r) for r in state.locals])
    f.index, f.stack = state.index, [value(r) for r in state.stack]
    f.handled = None if state.handled is None else value(state.handled)
    f.back = below
    f.then = _then(state, value)
    if state.generator is not None:
        record = value(state.generator).record
        f.generator, record.frame, record.state = record, f, "running"
    if state.generator is not None:
        f.generator = value(state.generator).record
        f.generator.frame, f.generator.state = f, "running"
    if below is not None:
        f.depth = below.depth + 1
    return f


def _then(state: FrameState, value: Any) -> Then | None:
    if state.on_return == "push":
        return None
    then: Then | None = None
    for kind, detail in reversed(state.detail):
        then = Then(kind, value(detail) if is_recipe(detail) else detail, then)
    return then

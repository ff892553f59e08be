"""The runtime's door to capture: segments from a call or from the middle of one, and the concrete way on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..capture.types import Segment
from ..guards.types import Source
from .continuation import Resume
from .target import Target

Policy = Callable[[Source, int | None], bool]


def capture_call(target: Target, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture a call of the target's function with the bound values `slots`, up to its return or first break."""
    from .. import capture

    return capture.capture(target.function, dict(zip(target.params, slots)), dynamic=dynamic, budget=budget)


def capture_continuation(resume: Resume, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture from the middle: the frames of `resume` with `slots`."""
    from .. import capture

    error = slots[-1] if resume.outcome == "exception" else None
    return capture.capture_continuation(resume.frames, tuple(slots), error=error, dynamic=dynamic, budget=budget)


def resume(point: Resume, slots: Sequence[Any]) -> Any:
    """Run the frames of `point` to their end on plain objects; gives the call's value, or raises its exception."""
    from ..capture import concrete

    error = slots[-1] if point.outcome == "exception" else None
    return concrete.resume(point.frames, tuple(slots), error=error)

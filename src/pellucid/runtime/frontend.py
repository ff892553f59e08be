"""The runtime's door to capture: segments from a call or from the middle of one, and the concrete way on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..capture import capture
from ..capture.frames import Stop
from ..capture.native_ops import CannotContinue
from ..capture.state import CaptureOptions
from ..capture.symbolic import CaptureRaised
from ..capture.types import Segment
from ..capture.values.base import Broken
from ..guards.types import Source
from .continuation import Resume
from .target import Target

Policy = Callable[[Source, int | None], bool]


class Refused(Exception):
    """Capture declined this call (the program raises, or there is no way to go on after a break): it runs in Python.
    `stop` is the break that could not be carried out, None if there is none."""

    def __init__(self, why: str, stop: Broken | None = None):
        self.stop = stop
        super().__init__(why)


def _declining(capture: Callable[..., Segment], *args: Any) -> Segment:
    try:
        return capture(*args)
    except CaptureRaised as e:
        raise Refused(f"the program raises: {e}") from None
    except CannotContinue as e:
        raise Refused(str(e), e.stop) from None
    except Broken as e:
        raise Refused(str(e), e) from None
    except Stop as e:
        raise Refused(str(e)) from None


def capture_call(target: Target, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture a call of the target with the bound values `slots`, up to its return or first break."""
    return _declining(capture.capture_call, target.callee, dict(zip(target.params, slots)),
                      CaptureOptions(dynamic, budget))


def capture_continuation(resume: Resume, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture from the middle: the frames of `resume` with `slots`."""
    raise Refused("no capture from the middle yet")

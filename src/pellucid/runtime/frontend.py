"""The runtime's door to capture: segments from a call or from the middle of one, and the concrete way on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..capture import capture
from ..capture.frames import Frame, Stop
from ..capture.known.applied import Again
from ..capture.native_ops import CannotContinue
from ..capture.segment import finish
from ..capture.state import CaptureOptions
from ..capture.symbolic import CaptureRaised
from ..capture.types import Segment
from ..capture.values.base import Broken
from ..guards.types import Source
from ..shapes.env import Range
from .continuation import Resume
from .target import Target

Policy = Callable[[Source, int | None], bool | Range]


class Refused(Exception):
    """Capture declined this call (the program raises, or there is no way to go on after a break): it runs in Python.
    `stop` is the break that could not be carried out, None if there is none."""

    def __init__(self, why: str, stop: Broken | None = None):
        self.stop = stop
        super().__init__(why)


class RefusedRaise(Refused):
    """Declined because the program ends in an exception, as capture sees it."""


def _declining(capture: Callable[..., Segment], *args: Any) -> Segment:
    try:
        return capture(*args)
    except Again:       # one more autograd.Function is known not to be followed
        return _declining(capture, *args)
    except CaptureRaised as e:
        raise RefusedRaise(f"the program raises: {e}") from None
    except CannotContinue as e:
        raise Refused(str(e), e.stop) from None
    except (RecursionError, MemoryError) as e:
        raise Refused(f"the program nests too deeply or makes too much for capture ({type(e).__name__})") from None
    except Broken as e:
        raise Refused(str(e), e) from None
    except Stop as e:
        raise Refused(str(e)) from None


def capture_call(target: Target, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture a call of the target with the bound values `slots`, up to its return or first break."""
    return _declining(_capture_call, target, slots, CaptureOptions(dynamic, budget))


def _capture_call(target: Target, slots: Sequence[Any], options: CaptureOptions) -> Segment:
    cx, domain, machine = capture.new_capture(options)
    callee = target.callee
    root = cx.wrap(callee, Source("const", None, target.name, callee))
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, kind, value in zip(target.params, target.kinds, slots):
        source = Source("arg", None, name)
        if kind == "varargs":
            cx.guard("len", source, len(value), "*args")
            args += [cx.wrap(x, Source("item", source, i)) for i, x in enumerate(value)]
        elif kind == "varkw":
            cx.guard("keys", source, tuple(value), "**kwargs")
            kwargs.update({k: cx.wrap(x, Source("item", source, k)) for k, x in value.items()})
        elif kind == "keyword":
            kwargs[name] = cx.wrap(value, source)
        else:
            args.append(cx.wrap(value, source))
    top = capture._root_frame(domain, root, args, kwargs)
    if not isinstance(top, Frame):
        raise Refused(f"{target.name} has no Python code to capture")
    return finish(cx, domain, machine, machine.run(top))


def capture_continuation(resume: Resume, slots: Sequence[Any], dynamic: Policy, budget: int) -> Segment:
    """Capture from the middle: the frames of `resume` with `slots`."""
    return _declining(capture.capture_frames, resume.frames, slots, resume.outcome, resume.then,
                      CaptureOptions(dynamic, budget))

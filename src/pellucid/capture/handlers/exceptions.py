"""Raising, matching and leaving exceptions; with-statements."""

from __future__ import annotations

from typing import Any

from ..executor import AGAIN, Machine, link
from ..frames import UNBOUND, Escaped, Frame, Then


def RAISE(m: Machine, f: Frame, n: int) -> Frame | None:
    s = f.stack
    entered = m.domain.raise_(f, s[-n] if n else UNBOUND, s[-1] if n == 2 else UNBOUND)
    if entered is None:
        raise RuntimeError("the domain's raise_ neither raised nor entered a frame")
    if n == 2:         # the frame makes the exception; the cause goes back above it
        return link(f, 2, entered, Then("again_under", s[-1]))
    return link(f, 1, entered, AGAIN)


def RERAISE(m: Machine, f: Frame, arg: Any) -> None:
    raise Escaped(f.stack[-1])


def PUSH_EXC_INFO(m: Machine, f: Frame, arg: Any) -> None:
    s = f.stack
    exc = s[-1]
    s[-1] = UNBOUND if f.handled is None else f.handled
    s.append(exc)
    f.handled = exc


def POP_EXCEPT(m: Machine, f: Frame, arg: Any) -> None:
    exc = f.stack.pop()
    f.handled = None if exc is UNBOUND else exc


def CHECK_EXC_MATCH(m: Machine, f: Frame, arg: Any) -> Frame | None:
    s = f.stack
    v = m.domain.exc_matches(f, s[-2], s[-1])
    if type(v) is Frame:
        return link(f, 1, v)
    s[-1] = v
    return None


def CHECK_EG_MATCH(m: Machine, f: Frame, arg: Any) -> None:
    """Group, type -> what is left, what matched."""
    s = f.stack
    rest, match = m.domain.group_matches(f, s[-2], s[-1])
    s[-2:] = rest, match
    if not m.domain.is_none(f, match):
        f.handled = match


def PREP_RERAISE_STAR(m: Machine, f: Frame, arg: Any) -> None:
    s = f.stack
    v = m.domain.prep_reraise_star(f, s[-2], s[-1])
    s.pop()
    s[-1] = v


def STOPITERATION_ERROR(m: Machine, f: Frame, arg: Any) -> None:
    f.stack[-1] = m.domain.generator_stop(f, f.stack[-1])


def CLEANUP_THROW(m: Machine, f: Frame, arg: Any) -> None:
    """Receiver, last value sent, exception -> None, value of a StopIteration; other exceptions are raised again."""
    s = f.stack
    value = m.domain.stop_iteration_value(f, s[-1])
    if value is UNBOUND:
        raise Escaped(s[-1])
    s[-3:] = m.domain.const(f, None), value


def ENTER_WITH(m: Machine, f: Frame, arg: Any) -> Frame | None:
    """Manager -> its __exit__, the result of its __enter__."""
    leave, enter = m.domain.with_parts(f, f.stack[-1])
    f.stack[-1] = leave         # also where entering is left to Python
    v = m.domain.call(f, enter, [], None)
    if type(v) is Frame:
        return link(f, 0, v)
    f.stack.append(v)
    return None


def WITH_EXCEPT_START(m: Machine, f: Frame, arg: Any) -> Frame | None:
    """__exit__, a number, the exception handled before, exception: calls __exit__ with the exception."""
    s = f.stack
    v = m.domain.call(f, s[-4], m.domain.exc_info(f, s[-1]), None)
    if type(v) is Frame:
        return link(f, 0, v)
    s.append(v)
    return None


HANDLERS = {h.__name__: h for h in (
    RAISE, RERAISE, PUSH_EXC_INFO, POP_EXCEPT, CHECK_EXC_MATCH, CHECK_EG_MATCH, PREP_RERAISE_STAR, STOPITERATION_ERROR,
    CLEANUP_THROW, ENTER_WITH, WITH_EXCEPT_START)}

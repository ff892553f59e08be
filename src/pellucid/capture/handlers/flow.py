"""Jumps, loops, generators."""

from __future__ import annotations

from typing import Any

from ..executor import AGAIN, LOOP, SENDING, Machine, deliver, link, return_value, yield_value
from ..frames import EXHAUSTED, Finished, Frame, Generator


def JUMP(m: Machine, f: Frame, target: int) -> None:
    f.index = target


def POP_JUMP_IF_TRUE(m: Machine, f: Frame, target: int) -> Frame | None:
    t = m.domain.truth(f, f.stack[-1])
    if type(t) is Frame:
        return link(f, 1, t, AGAIN)
    f.stack.pop()
    if t:
        f.index = target
    return None


def POP_JUMP_IF_FALSE(m: Machine, f: Frame, target: int) -> Frame | None:
    t = m.domain.truth(f, f.stack[-1])
    if type(t) is Frame:
        return link(f, 1, t, AGAIN)
    f.stack.pop()
    if not t:
        f.index = target
    return None


def POP_JUMP_IF_NONE(m: Machine, f: Frame, target: int) -> None:
    none = m.domain.is_none(f, f.stack[-1])
    f.stack.pop()
    if none:
        f.index = target


def POP_JUMP_IF_NOT_NONE(m: Machine, f: Frame, target: int) -> None:
    none = m.domain.is_none(f, f.stack[-1])
    f.stack.pop()
    if not none:
        f.index = target


def GET_ITER(m: Machine, f: Frame, arg: Any) -> Frame | None:
    v = m.domain.iter(f, f.stack[-1])
    if type(v) is Frame:
        return link(f, 1, v)
    f.stack[-1] = v
    return None


def GET_YIELD_FROM_ITER(m: Machine, f: Frame, arg: Any) -> Frame | None:
    v = m.domain.yield_from_iter(f, f.stack[-1])
    if type(v) is Frame:
        return link(f, 1, v)
    f.stack[-1] = v
    return None


def FOR_ITER(m: Machine, f: Frame, target: int) -> Frame | None:
    v = m.domain.next(f, f.stack[-1])
    if v is EXHAUSTED:
        f.stack.pop()
        f.index = target
    elif type(v) is Frame:
        return link(f, 0, v, LOOP)
    else:
        f.stack.append(v)
    return None


def SEND(m: Machine, f: Frame, target: int) -> Frame | None:
    s = f.stack
    result = m.domain.send(f, s[-2], s[-1])
    if isinstance(result, Frame):
        return link(f, 1, result, SENDING)
    yielded, value = result
    if yielded:
        s[-1] = value
    else:
        s.pop()
        s[-1] = value
        f.index = target
    return None


def RETURN_GENERATOR(m: Machine, f: Frame, arg: Any) -> Frame:
    """The call returns a generator that owns this frame."""
    generator = Generator(f)
    value = m.domain.generator(f, generator)
    below, then = f.back, f.then
    if below is None:
        f.generator = generator
        raise Finished("return", value)
    went_on = deliver(m, below, then, value)
    f.generator, f.back, f.then = generator, None, None
    return went_on


def YIELD_VALUE(m: Machine, f: Frame, arg: Any) -> Frame:
    return yield_value(m, f, f.stack[-1])


def RETURN_VALUE(m: Machine, f: Frame, arg: Any) -> Frame:
    return return_value(m, f, f.stack[-1])


HANDLERS = {h.__name__: h for h in (
    JUMP, POP_JUMP_IF_TRUE, POP_JUMP_IF_FALSE, POP_JUMP_IF_NONE, POP_JUMP_IF_NOT_NONE, GET_ITER, GET_YIELD_FROM_ITER,
    FOR_ITER, SEND, RETURN_GENERATOR, YIELD_VALUE, RETURN_VALUE)}

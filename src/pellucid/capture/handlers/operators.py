"""Attributes, operators, comparisons and items."""

from __future__ import annotations

from typing import Any

from ..executor import AGAIN, DROP, Machine, link
from ..frames import Frame


def LOAD_ATTR(m: Machine, f: Frame, name: str) -> Frame | None:
    v = m.domain.getattr(f, f.stack[-1], name)
    if type(v) is Frame:
        return link(f, 1, v)
    f.stack[-1] = v
    return None


def STORE_ATTR(m: Machine, f: Frame, name: str) -> Frame | None:
    s = f.stack
    entered = m.domain.setattr(f, s[-1], name, s[-2])
    if entered is not None:
        return link(f, 2, entered, DROP)
    del s[-2:]
    return None


def DELETE_ATTR(m: Machine, f: Frame, name: str) -> Frame | None:
    entered = m.domain.delattr(f, f.stack[-1], name)
    if entered is not None:
        return link(f, 1, entered, DROP)
    f.stack.pop()
    return None


def UNARY(m: Machine, f: Frame, fn: Any) -> Frame | None:
    v = m.domain.unary(f, fn, f.stack[-1])
    if type(v) is Frame:
        return link(f, 1, v)
    f.stack[-1] = v
    return None


def UNARY_NOT(m: Machine, f: Frame, arg: Any) -> Frame | None:
    t = m.domain.truth(f, f.stack[-1])
    if type(t) is Frame:
        return link(f, 1, t, AGAIN)
    f.stack[-1] = m.domain.const(f, not t)
    return None


def BINARY(m: Machine, f: Frame, fn: Any) -> Frame | None:
    s = f.stack
    v = m.domain.binary(f, fn, s[-2], s[-1])
    if type(v) is Frame:
        return link(f, 2, v)
    s.pop()
    s[-1] = v
    return None


def COMPARE(m: Machine, f: Frame, fn: Any) -> Frame | None:
    s = f.stack
    v = m.domain.compare(f, fn, s[-2], s[-1])
    if type(v) is Frame:
        return link(f, 2, v)
    s.pop()
    s[-1] = v
    return None


def IS(m: Machine, f: Frame, invert: int) -> None:
    s = f.stack
    v = m.domain.is_(f, s[-2], s[-1], invert)
    s.pop()
    s[-1] = v


def CONTAINS(m: Machine, f: Frame, invert: int) -> Frame | None:
    s = f.stack
    v = m.domain.contains(f, s[-2], s[-1], invert)
    if type(v) is Frame:
        return link(f, 2, v)
    s.pop()
    s[-1] = v
    return None


def SUBSCR(m: Machine, f: Frame, arg: Any) -> Frame | None:
    s = f.stack
    v = m.domain.getitem(f, s[-2], s[-1])
    if type(v) is Frame:
        return link(f, 2, v)
    s.pop()
    s[-1] = v
    return None


def STORE_SUBSCR(m: Machine, f: Frame, arg: Any) -> Frame | None:
    s = f.stack
    entered = m.domain.setitem(f, s[-2], s[-1], s[-3])
    if entered is not None:
        return link(f, 3, entered, DROP)
    del s[-3:]
    return None


def DELETE_SUBSCR(m: Machine, f: Frame, arg: Any) -> Frame | None:
    s = f.stack
    entered = m.domain.delitem(f, s[-2], s[-1])
    if entered is not None:
        return link(f, 2, entered, DROP)
    del s[-2:]
    return None


HANDLERS = {h.__name__: h for h in (
    LOAD_ATTR, STORE_ATTR, DELETE_ATTR, UNARY, UNARY_NOT, BINARY, COMPARE, IS, CONTAINS, SUBSCR, STORE_SUBSCR,
    DELETE_SUBSCR)}

"""match statements."""

from __future__ import annotations

from typing import Any

from ..executor import Machine, link
from ..frames import Frame


def GET_LEN(m: Machine, f: Frame, arg: Any) -> Frame | None:
    v = m.domain.len(f, f.stack[-1])
    if type(v) is Frame:
        return link(f, 0, v)
    f.stack.append(v)
    return None


def MATCH_SEQUENCE(m: Machine, f: Frame, arg: Any) -> None:
    f.stack.append(m.domain.match_sequence(f, f.stack[-1]))


def MATCH_MAPPING(m: Machine, f: Frame, arg: Any) -> None:
    f.stack.append(m.domain.match_mapping(f, f.stack[-1]))


def MATCH_KEYS(m: Machine, f: Frame, arg: Any) -> None:
    s = f.stack
    s.append(m.domain.match_keys(f, s[-2], s[-1]))


def MATCH_CLASS(m: Machine, f: Frame, positional: int) -> None:
    """Subject, class, names -> tuple of attributes, or None."""
    s = f.stack
    v = m.domain.match_class(f, s[-3], s[-2], positional, s[-1])
    s[-3:] = (v,)


HANDLERS = {h.__name__: h for h in (GET_LEN, MATCH_SEQUENCE, MATCH_MAPPING, MATCH_KEYS, MATCH_CLASS)}

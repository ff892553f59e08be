"""Calls, functions, imports, rare helpers."""

from __future__ import annotations

from typing import Any

from ...bytecode.types import CallArg
from ..executor import Machine, link
from ..frames import UNBOUND, Frame
from .containers import replace, top


def CALL(m: Machine, f: Frame, arg: CallArg) -> Frame | None:
    n, names, _ = arg
    s = f.stack
    if names:
        k = len(names)
        pop = n + k + 1
        args, keywords = s[1 - pop : len(s) - k], dict(zip(names, s[-k:]))
    else:
        pop = n + 1
        args, keywords = s[-n:] if n else [], None
    v = m.domain.call(f, s[-pop], args, keywords)
    if type(v) is Frame:
        return link(f, pop, v)
    del s[-pop:]
    s.append(v)
    return None


def CALL_EX(m: Machine, f: Frame, has_keywords: int) -> Frame | None:
    s = f.stack
    pop = 2 + has_keywords
    v = m.domain.call_ex(f, s[-pop], s[1 - pop], s[-1] if has_keywords else UNBOUND)
    if type(v) is Frame:
        return link(f, pop, v)
    replace(f, pop, v)
    return None


def MAKE_FUNCTION(m: Machine, f: Frame, flags: int) -> None:
    pop = 1 + flags.bit_count()
    parts = top(f.stack, pop)
    code = parts.pop()
    given = iter(parts)
    defaults, kwdefaults, annotations, closure = (next(given) if flags & bit else UNBOUND for bit in (1, 2, 4, 8))
    replace(f, pop, m.domain.make_function(f, code, defaults, kwdefaults, annotations, closure))


def LOAD_BUILD_CLASS(m: Machine, f: Frame, arg: Any) -> None:
    f.stack.append(m.domain.load_build_class(f))


def IMPORT_NAME(m: Machine, f: Frame, name: str) -> Frame | None:
    s = f.stack
    v = m.domain.import_name(f, name, s[-1], s[-2])
    if type(v) is Frame:
        return link(f, 2, v)
    replace(f, 2, v)
    return None


def IMPORT_FROM(m: Machine, f: Frame, name: str) -> Frame | None:
    v = m.domain.import_from(f, f.stack[-1], name)
    if type(v) is Frame:
        return link(f, 0, v)
    f.stack.append(v)
    return None


def IMPORT_STAR(m: Machine, f: Frame, arg: Any) -> None:
    f.stack[-1] = m.domain.import_star(f, f.stack[-1])


def INTRINSIC(m: Machine, f: Frame, arg: tuple[str, int]) -> None:
    name, n = arg
    replace(f, n, m.domain.intrinsic(f, name, top(f.stack, n)))


def UNSUPPORTED(m: Machine, f: Frame, arg: tuple[str, str]) -> None:
    opcode, reason = arg
    where = f"{f.code.qualname} ({f.code.file}:{f.code.line(f.index - 1)})"
    raise NotImplementedError(f"{opcode} in {where}: {reason}; call this function natively")


HANDLERS = {h.__name__: h for h in (
    CALL, CALL_EX, MAKE_FUNCTION, LOAD_BUILD_CLASS, IMPORT_NAME, IMPORT_FROM, IMPORT_STAR, INTRINSIC, UNSUPPORTED)}

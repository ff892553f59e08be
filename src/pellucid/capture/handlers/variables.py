"""Locals, cells, globals and names of class bodies."""

from __future__ import annotations

from typing import Any

from ..executor import Machine
from ..frames import UNBOUND, Frame


def unbound_local(m: Machine, f: Frame, i: int) -> None:
    m.domain.error(f, UnboundLocalError, f"cannot access local variable '{f.code.slots[i]}' where it is not associated "
                                         "with a value")


def unbound_cell(m: Machine, f: Frame, i: int) -> None:
    if i < len(f.code.slots) - f.code.nfree:
        unbound_local(m, f, i)
    m.domain.error(f, NameError, f"cannot access free variable '{f.code.slots[i]}' where it is not associated with a "
                                 "value in enclosing scope")


def LOAD_FAST(m: Machine, f: Frame, i: int) -> None:
    v = f.locals[i]
    if v is UNBOUND:
        unbound_local(m, f, i)
    f.stack.append(v)


def STORE_FAST(m: Machine, f: Frame, i: int) -> None:
    f.locals[i] = f.stack.pop()


def DELETE_FAST(m: Machine, f: Frame, i: int) -> None:
    if f.locals[i] is UNBOUND:
        unbound_local(m, f, i)
    f.locals[i] = UNBOUND


def LOAD_FAST_AND_CLEAR(m: Machine, f: Frame, i: int) -> None:
    """Save a variable that an inlined comprehension uses; it may be unbound."""
    f.stack.append(f.locals[i])
    f.locals[i] = UNBOUND


def MAKE_CELL(m: Machine, f: Frame, i: int) -> None:
    f.locals[i] = m.domain.make_cell(f, f.locals[i])


def COPY_FREE_VARS(m: Machine, f: Frame, n: int) -> None:
    f.locals[-n:] = m.domain.closure(f)


def LOAD_DEREF(m: Machine, f: Frame, i: int) -> None:
    v = m.domain.cell_get(f, f.locals[i])
    if v is UNBOUND:
        unbound_cell(m, f, i)
    f.stack.append(v)


def STORE_DEREF(m: Machine, f: Frame, i: int) -> None:
    m.domain.cell_set(f, f.locals[i], f.stack[-1])
    f.stack.pop()


def DELETE_DEREF(m: Machine, f: Frame, i: int) -> None:
    if m.domain.cell_get(f, f.locals[i]) is UNBOUND:
        unbound_cell(m, f, i)
    m.domain.cell_set(f, f.locals[i], UNBOUND)


def LOAD_FROM_DICT_OR_DEREF(m: Machine, f: Frame, i: int) -> None:
    v = m.domain.load_from(f, f.stack[-1], f.code.slots[i])
    if v is UNBOUND:
        v = m.domain.cell_get(f, f.locals[i])
        if v is UNBOUND:
            unbound_cell(m, f, i)
    f.stack[-1] = v


def LOAD_FROM_DICT_OR_GLOBALS(m: Machine, f: Frame, name: str) -> None:
    v = m.domain.load_from(f, f.stack[-1], name)
    f.stack[-1] = m.domain.load_global(f, name) if v is UNBOUND else v


def LOAD_GLOBAL(m: Machine, f: Frame, name: str) -> None:
    f.stack.append(m.domain.load_global(f, name))


def STORE_GLOBAL(m: Machine, f: Frame, name: str) -> None:
    m.domain.store_global(f, name, f.stack[-1])
    f.stack.pop()


def DELETE_GLOBAL(m: Machine, f: Frame, name: str) -> None:
    m.domain.delete_global(f, name)


def LOAD_NAME(m: Machine, f: Frame, name: str) -> None:
    f.stack.append(m.domain.load_name(f, name))


def STORE_NAME(m: Machine, f: Frame, name: str) -> None:
    m.domain.store_name(f, name, f.stack[-1])
    f.stack.pop()


def DELETE_NAME(m: Machine, f: Frame, name: str) -> None:
    m.domain.delete_name(f, name)


def LOAD_LOCALS(m: Machine, f: Frame, arg: Any) -> None:
    f.stack.append(m.domain.load_locals(f))


def SETUP_ANNOTATIONS(m: Machine, f: Frame, arg: Any) -> None:
    m.domain.setup_annotations(f)


HANDLERS = {h.__name__: h for h in (
    LOAD_FAST, STORE_FAST, DELETE_FAST, LOAD_FAST_AND_CLEAR, MAKE_CELL, COPY_FREE_VARS, LOAD_DEREF, STORE_DEREF,
    DELETE_DEREF, LOAD_FROM_DICT_OR_DEREF, LOAD_FROM_DICT_OR_GLOBALS, LOAD_GLOBAL, STORE_GLOBAL, DELETE_GLOBAL,
    LOAD_NAME, STORE_NAME, DELETE_NAME, LOAD_LOCALS, SETUP_ANNOTATIONS)}

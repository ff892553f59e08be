"""Building, filling and unpacking containers and strings."""

from __future__ import annotations

from typing import Any

from ..executor import AGAIN, DROP, Machine, link
from ..frames import UNBOUND, Frame


def top(s: list[Any], n: int) -> list[Any]:
    """The n topmost values, in the order they were pushed."""
    return s[-n:] if n else []


def replace(f: Frame, n: int, v: Any) -> None:
    """v takes the place of the n topmost values."""
    if n:
        del f.stack[-n:]
    f.stack.append(v)


def BUILD_TUPLE(m: Machine, f: Frame, n: int) -> None:
    replace(f, n, m.domain.build_tuple(f, top(f.stack, n)))


def BUILD_LIST(m: Machine, f: Frame, n: int) -> None:
    replace(f, n, m.domain.build_list(f, top(f.stack, n)))


def BUILD_SET(m: Machine, f: Frame, n: int) -> None:
    replace(f, n, m.domain.build_set(f, top(f.stack, n)))


def BUILD_MAP(m: Machine, f: Frame, n: int) -> None:
    items = top(f.stack, 2 * n)
    replace(f, 2 * n, m.domain.build_map(f, items[::2], items[1::2]))


def BUILD_CONST_KEY_MAP(m: Machine, f: Frame, n: int) -> None:
    values = top(f.stack, n + 1)
    keys = values.pop()
    replace(f, n + 1, m.domain.build_const_key_map(f, keys, values))


def BUILD_SLICE(m: Machine, f: Frame, n: int) -> None:
    replace(f, n, m.domain.build_slice(f, top(f.stack, n)))


def BUILD_STRING(m: Machine, f: Frame, n: int) -> None:
    replace(f, n, m.domain.build_string(f, top(f.stack, n)))


def CONVERT_VALUE(m: Machine, f: Frame, conversion: int) -> Frame | None:
    v = m.domain.convert(f, conversion, f.stack[-1])
    if type(v) is Frame:
        return link(f, 1, v)
    f.stack[-1] = v
    return None


def FORMAT_VALUE(m: Machine, f: Frame, has_spec: bool) -> Frame | None:
    s = f.stack
    v = m.domain.format(f, s[-2], s[-1]) if has_spec else m.domain.format(f, s[-1], UNBOUND)
    if type(v) is Frame:
        return link(f, 1 + has_spec, v)
    replace(f, 1 + has_spec, v)
    return None


def LIST_APPEND(m: Machine, f: Frame, n: int) -> None:
    s = f.stack
    m.domain.list_append(f, s[-n - 1], s[-1])
    s.pop()


def SET_ADD(m: Machine, f: Frame, n: int) -> None:
    s = f.stack
    m.domain.set_add(f, s[-n - 1], s[-1])
    s.pop()


def MAP_ADD(m: Machine, f: Frame, n: int) -> None:
    s = f.stack
    m.domain.map_add(f, s[-n - 2], s[-2], s[-1])
    del s[-2:]


def LIST_EXTEND(m: Machine, f: Frame, n: int) -> Frame | None:
    s = f.stack
    entered = m.domain.list_extend(f, s[-n - 1], s[-1])
    if entered is not None:
        return link(f, 1, entered, DROP)
    s.pop()
    return None


def SET_UPDATE(m: Machine, f: Frame, n: int) -> Frame | None:
    s = f.stack
    entered = m.domain.set_update(f, s[-n - 1], s[-1])
    if entered is not None:
        return link(f, 1, entered, DROP)
    s.pop()
    return None


def DICT_UPDATE(m: Machine, f: Frame, n: int) -> Frame | None:
    s = f.stack
    entered = m.domain.dict_update(f, s[-n - 1], s[-1])
    if entered is not None:
        return link(f, 1, entered, DROP)
    s.pop()
    return None


def DICT_MERGE(m: Machine, f: Frame, n: int) -> Frame | None:
    """The mapping is the keywords of a call whose callable and argument tuple lie below."""
    s = f.stack
    entered = m.domain.dict_merge(f, s[-n - 1], s[-1], s[-n - 3])
    if entered is not None:
        return link(f, 1, entered, DROP)
    s.pop()
    return None


def LIST_TO_TUPLE(m: Machine, f: Frame, arg: Any) -> None:
    f.stack[-1] = m.domain.list_to_tuple(f, f.stack[-1])


def UNPACK_SEQUENCE(m: Machine, f: Frame, n: int) -> Frame | None:
    items = m.domain.unpack(f, f.stack[-1], n)
    if isinstance(items, Frame):
        return link(f, 1, items, AGAIN)
    f.stack[-1:] = items[::-1]
    return None


def UNPACK_EX(m: Machine, f: Frame, arg: tuple[int, int]) -> Frame | None:
    items = m.domain.unpack_ex(f, f.stack[-1], *arg)
    if isinstance(items, Frame):
        return link(f, 1, items, AGAIN)
    f.stack[-1:] = items[::-1]
    return None


HANDLERS = {h.__name__: h for h in (
    BUILD_TUPLE, BUILD_LIST, BUILD_SET, BUILD_MAP, BUILD_CONST_KEY_MAP, BUILD_SLICE, BUILD_STRING, CONVERT_VALUE,
    FORMAT_VALUE, LIST_APPEND, SET_ADD, MAP_ADD, LIST_EXTEND, SET_UPDATE, DICT_UPDATE, DICT_MERGE, LIST_TO_TUPLE,
    UNPACK_SEQUENCE, UNPACK_EX)}

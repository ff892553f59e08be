"""The native operation with which a segment ends: what the breaking instruction asks for, as one call."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .frames import UNBOUND, Frame
from .values.base import Broken, Value
from .values.constant import Const

if TYPE_CHECKING:
    from .state import Capture

Operation = tuple[Value, list[Value], dict[str, Value], str]


def apply(function: Any, args: Any, kwargs: Any) -> Any:
    """function(*args, **kwargs)."""
    return function(*args, **kwargs)


def not_in(container: Any, item: Any) -> bool:
    return item not in container


def make_map(*parts: Any) -> Any:
    return dict(zip(parts[::2], parts[1::2]))


def make_set(*items: Any) -> Any:
    return set(items)


def set_attribute(obj: Any, name: str, value: Any) -> None:
    setattr(obj, name, value)


def import_module(globals_: dict[str, Any], name: str, fromlist: Any, level: int) -> Any:
    return __import__(name, globals_, None, fromlist, level)


def update(mapping: Any, other: Any) -> None:
    mapping.update(other)


def native_operation(cx: Capture, f: Frame, stop: Broken) -> Operation:
    """(function, arguments, keywords, what is done with the result)."""
    if stop.whole:
        raise CannotContinue(stop, "it looks at the frames of the program")
    if stop.function is not None:
        then = stop.then
        op = f.code.instrs[f.index].op
        if then == "push" and op in _NO_RESULT:
            then = "drop"
        if then == "push" and op in _TESTS:
            then = "again"
        return stop.function, stop.args_, stop.kwargs, then
    instr = f.code.instrs[f.index]
    make = _NATIVE.get(instr.op)
    if make is None:
        raise CannotContinue(stop, f"{instr.op} cannot be done as one native operation")
    fn, args, kwargs, then = make(cx, f, instr.arg)
    return fn if isinstance(fn, Value) else cx.fixed(fn), args, kwargs, then


class CannotContinue(Exception):
    """There is no way to go on after this break: the whole call must run eagerly."""

    def __init__(self, stop: Broken, reason: str):
        self.stop, self.reason = stop, reason
        super().__init__(f"{stop} at {stop.stack[-1] if stop.stack else '?'}; {reason}")


_NO_RESULT = frozenset(("STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR", "LIST_EXTEND", "SET_UPDATE",
                        "DICT_UPDATE", "DICT_MERGE", "STORE_GLOBAL"))
_TESTS = frozenset(("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "UNARY_NOT", "UNPACK_SEQUENCE", "UNPACK_EX"))


def _call(cx: Capture, f: Frame, arg: Any) -> Any:
    n, names, _ = arg
    s = f.stack
    k = len(names)
    pop = n + k + 1
    return s[-pop], s[1 - pop: len(s) - k] if n else [], dict(zip(names, s[-k:])) if k else {}, "push"


def _call_ex(cx: Capture, f: Frame, has_keywords: Any) -> Any:
    s = f.stack
    pop = 2 + has_keywords
    return apply, [s[-pop], s[1 - pop], s[-1] if has_keywords else _mapping.DictVal()], {}, "push"


def _top(n: int, then: str = "push") -> Callable[[Any], Any]:
    def register(fn: Any) -> Any:
        return lambda cx, f, arg: (fn, f.stack[-n:], {}, then)
    return register


_NATIVE: dict[str, Callable[[Capture, Frame, Any], Any]] = {
    "CALL": _call,
    "CALL_EX": _call_ex,
    "BINARY": lambda cx, f, fn: (fn, f.stack[-2:], {}, "push"),
    "COMPARE": lambda cx, f, fn: (fn, f.stack[-2:], {}, "push"),
    "UNARY": lambda cx, f, fn: (fn, f.stack[-1:], {}, "push"),
    "SUBSCR": lambda cx, f, a: (operator.getitem, f.stack[-2:], {}, "push"),
    "STORE_SUBSCR": lambda cx, f, a: (operator.setitem, [f.stack[-2], f.stack[-1], f.stack[-3]], {}, "drop"),
    "DELETE_SUBSCR": lambda cx, f, a: (operator.delitem, f.stack[-2:], {}, "drop"),
    "LOAD_ATTR": lambda cx, f, name: (getattr, [f.stack[-1], Const(name)], {}, "push"),
    "STORE_ATTR": lambda cx, f, name: (set_attribute, [f.stack[-1], Const(name), f.stack[-2]], {}, "drop"),
    "DELETE_ATTR": lambda cx, f, name: (delattr, [f.stack[-1], Const(name)], {}, "drop"),
    "CONTAINS": lambda cx, f, invert: (not_in if invert else operator.contains, [f.stack[-1], f.stack[-2]], {}, "push"),
    "GET_ITER": lambda cx, f, a: (iter, f.stack[-1:], {}, "push"),
    "FOR_ITER": lambda cx, f, a: (next, f.stack[-1:], {}, "for_iter"),
    "POP_JUMP_IF_TRUE": lambda cx, f, a: (bool, f.stack[-1:], {}, "again"),
    "POP_JUMP_IF_FALSE": lambda cx, f, a: (bool, f.stack[-1:], {}, "again"),
    "UNARY_NOT": lambda cx, f, a: (bool, f.stack[-1:], {}, "again"),
    "UNPACK_SEQUENCE": lambda cx, f, a: (tuple, f.stack[-1:], {}, "again"),
    "UNPACK_EX": lambda cx, f, a: (tuple, f.stack[-1:], {}, "again"),
    "LIST_EXTEND": lambda cx, f, n: (list.extend, [f.stack[-n - 1], f.stack[-1]], {}, "drop"),
    "SET_UPDATE": lambda cx, f, n: (set.update, [f.stack[-n - 1], f.stack[-1]], {}, "drop"),
    "DICT_UPDATE": lambda cx, f, n: (update, [f.stack[-n - 1], f.stack[-1]], {}, "drop"),
    "FORMAT_VALUE": lambda cx, f, has_spec: (format, f.stack[-1 - has_spec:], {}, "push"),
    "CONVERT_VALUE": lambda cx, f, c: ((None, str, repr, ascii)[c], f.stack[-1:], {}, "push"),
    "GET_LEN": lambda cx, f, a: (len, f.stack[-1:], {}, "push"),
    "IMPORT_NAME": lambda cx, f, name: (import_module, [f.globals, Const(name), f.stack[-1], f.stack[-2]], {}, "push"),
    "BUILD_MAP": lambda cx, f, n: (make_map, f.stack[-2 * n:], {}, "push"),
    "BUILD_SET": lambda cx, f, n: (make_set, f.stack[-n:], {}, "push"),
    "MAP_ADD": lambda cx, f, n: (operator.setitem, [f.stack[-n - 2], f.stack[-2], f.stack[-1]], {}, "drop"),
    "SET_ADD": lambda cx, f, n: (set.add, [f.stack[-n - 1], f.stack[-1]], {}, "drop"),
    "LIST_TO_TUPLE": lambda cx, f, a: (tuple, f.stack[-1:], {}, "push"),
}
"""Instruction -> (function, arguments, keywords, then) from its operands."""

__all__ = ["CannotContinue", "UNBOUND", "native_operation"]

# Modules that need this one: bound when all are loaded.
from .values import mapping as _mapping  # noqa: E402

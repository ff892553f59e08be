"""Methods of collections.deque on values."""

from __future__ import annotations

import collections
import operator
from typing import TYPE_CHECKING, Any

from ..operators import compare
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, Value
from ..values.builtin import TYPE_METHODS
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.deque import DequeVal
from ..values.iterator import SequenceIter
from .containers import method, number
from .iteration import all_of
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


@known(collections.deque)
def _deque(cx: Capture, args: Args, kw: Kw) -> Any:
    bound = args[1] if len(args) > 1 else kw.get("maxlen", NONE)
    maxlen = bound.constant(cx)
    if maxlen is not None and (type(maxlen) is not int or maxlen < 0):
        return None
    given = args[0] if args else kw.get("iterable")
    items = [] if given is None else all_of(cx, given)
    if items is None:
        return Invoke(polyfill(cx, "make_deque"), [cx.fixed(collections.deque), given, bound])  # type: ignore[list-item]
    made = DequeVal(items, maxlen)
    made.trim(left=True)
    return made


def _add(left: bool) -> Any:
    def call(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
        items = s.write(cx)
        items.insert(0, args[0]) if left else items.append(args[0])
        s.trim(not left)
        return NONE
    return call


def _extend(left: bool) -> Any:
    def call(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
        more = all_of(cx, args[0])
        if more is None:
            return Invoke(polyfill(cx, "deque_extendleft" if left else "deque_extend"), [s, args[0]])
        items = s.write(cx)
        for v in more:
            items.insert(0, v) if left else items.append(v)
            s.trim(not left)
        return NONE
    return call


def _pop(place: int) -> Any:
    def call(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
        if not s.load(cx):
            raise cx.raised(IndexError, "pop from an empty deque")
        return s.write(cx).pop(place)
    return call


TYPE_METHODS[collections.deque] = {
    "append": _add(False), "appendleft": _add(True), "extend": _extend(False), "extendleft": _extend(True),
    "pop": _pop(-1), "popleft": _pop(0),
    "__len__": lambda cx, s, a, k: s.length(cx),
    "__iter__": lambda cx, s, a, k: s.iterate(cx),
    "__getitem__": lambda cx, s, a, k: s.getitem(cx, a[0]),
    "__setitem__": lambda cx, s, a, k: s.setitem(cx, a[0], a[1]) or NONE,
    "__contains__": lambda cx, s, a, k: TRUE if s.contains(cx, a[0]) is True else FALSE,
    "__eq__": lambda cx, s, a, k: compare(cx, operator.eq, s, a[0]),
    "__reversed__": lambda cx, s, a, k: SequenceIter.over(list(reversed(s.load(cx)))),
}


@method(collections.deque, "clear")
def _clear(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    s.write(cx).clear()
    return NONE


@method(collections.deque, "copy", "__copy__")
def _copy(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    return DequeVal(list(s.load(cx)), s.maxlen)


@method(collections.deque, "reverse")
def _reverse(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    s.write(cx).reverse()
    return NONE


@method(collections.deque, "rotate")
def _rotate(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    items = s.write(cx)
    if items:
        n = (number(cx, args[0]) if args else 1) % len(items)
        items[:] = items[len(items) - n:] + items[:len(items) - n]
    return NONE


@method(collections.deque, "insert")
def _insert(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    if s.maxlen is not None and len(s.load(cx)) >= s.maxlen:
        raise cx.raised(IndexError, "deque already at its maximum size")
    s.write(cx).insert(number(cx, args[0]), args[1])
    return NONE


@method(collections.deque, "remove")
def _remove(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    for i, v in enumerate(s.load(cx)):
        if _same(cx, v, args[0]):
            del s.write(cx)[i]
            return NONE
    raise cx.raised(ValueError, _REFUSED if _REFUSED[:6] == "deque." else f"{args[0].constant(cx)!r} is not in deque")


@method(collections.deque, "count")
def _count(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    return Const(sum(_same(cx, v, args[0]) for v in s.load(cx)))


@method(collections.deque, "index")
def _index(cx: Capture, s: DequeVal, args: Args, kw: Kw) -> Any:
    n = len(s.load(cx))
    start, stop, _ = slice(*[number(cx, a) for a in args[1:3]] if len(args) > 2 else
                           (number(cx, args[1]) if len(args) > 1 else 0, n)).indices(n)
    for i in range(start, stop):
        if _same(cx, s.load(cx)[i], args[0]):
            return Const(i)
    raise cx.raised(ValueError, f"{args[0].constant(cx)!r} is not in deque")


def _refusal() -> str:
    try:
        collections.deque[int]().remove(0)
    except ValueError as e:
        return str(e)
    raise AssertionError("removing from an empty deque raises")


_REFUSED = _refusal()
"""What this Python says of an item that is not there."""


def _same(cx: Capture, a: Value, b: Value) -> bool:
    if a is b:
        return True
    r = compare(cx, operator.eq, a, b)
    if not isinstance(r, Const):
        raise Broken("PB112", "a search in a deque of objects with an __eq__ of their own")
    return r.truth(cx)

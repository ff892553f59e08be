"""collections.deque: made inside, or existing outside. One that is only appended to is not looked into."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..frames import EXHAUSTED
from ..types import Build, FromSource, Recipe
from .base import Result, Value
from .constant import NONE, Const
from .iterator import SequenceIter
from .sequence import SequenceVal, SliceVal, TupleVal, index_of

if TYPE_CHECKING:
    from ..state import Capture


class DequeVal(SequenceVal):
    """`maxlen`: the bound, or None. `changes` counts the writes, which iterators look at."""

    __slots__ = ("maxlen", "written", "changes")
    base = collections.deque

    def __init__(self, items: list[Value] | None, maxlen: int | None = None, obj: Any = None,
                 source: Source | None = None):
        super().__init__(items, collections.deque, obj, source)
        self.maxlen, self.written, self.changes = maxlen, False, 0

    def load(self, cx: Capture) -> list[Value]:
        if self.items is None and self.source is not None and self.source.kind != "const":
            cx.pin(Const(self.maxlen, Source("attr", self.source, "maxlen")))
        return SequenceVal.load(self, cx)

    def write(self, cx: Capture) -> list[Value]:
        """The items, about to be changed."""
        items = self.load(cx)
        self.changes += 1
        if self.obj is not None and not self.written:
            self.written = True
            cx.wrote(self)
        return items

    def trim(self, left: bool) -> None:
        """Drop what the bound does not allow: from the left, or from the right."""
        items = self.items
        assert items is not None
        if self.maxlen is not None and len(items) > self.maxlen:
            if left:
                del items[:len(items) - self.maxlen]
            else:
                del items[self.maxlen:]

    def getitem(self, cx: Capture, key: Value) -> Result:
        if type(key) is SliceVal:
            raise cx.raised(TypeError, "sequence index must be integer, not 'slice'")
        k = index_of(cx, key)
        if type(k) is not int:
            raise cx.raised(TypeError, f"sequence index must be integer, not {key.pytype(cx).__name__!r}")
        try:
            return self.load(cx)[k]
        except IndexError:
            raise cx.raised(IndexError, "deque index out of range") from None

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        k = index_of(cx, key)
        if type(k) is not int or not -len(self.load(cx)) <= k < len(self.load(cx)):
            raise cx.raised(IndexError, "deque index out of range")
        self.write(cx)[k] = value
        self.changes -= 1            # its iterators do not mind
        return None

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        k = index_of(cx, key)
        if type(k) is not int or not -len(self.load(cx)) <= k < len(self.load(cx)):
            raise cx.raised(IndexError, "deque index out of range")
        del self.write(cx)[k]
        return None

    def iterate(self, cx: Capture) -> Result:
        self.load(cx)
        return DequeIter(self)

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "maxlen":
            self.load(cx)
            return NONE if self.maxlen is None else Const(self.maxlen)
        return Value.attr(self, cx, name)

    def key(self, cx: Capture) -> Any:
        raise cx.raised(TypeError, "unhashable type: 'collections.deque'")

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        assert self.items is not None
        return Build("deque", tuple([cx.recipe(v) for v in self.items]), self.maxlen)


class DequeIter(SequenceIter):
    """Raises once the deque has been changed, as Python's does."""

    __slots__ = ("of", "changes")

    def __init__(self, of: DequeVal):
        super().__init__(TupleVal(list(of.items or ())))
        self.of, self.changes = of, of.changes

    def pytype(self, cx: Capture) -> type:
        return type(iter(collections.deque()))

    def advance(self, cx: Capture) -> Any:
        if self.changes != self.of.changes and self.position >= 0:
            self.position = -1
            raise cx.raised(RuntimeError, "deque mutated during iteration")
        v = super().advance(cx)
        if v is EXHAUSTED:
            self.position = -1
        return v


def wrap_deque(cx: Capture, obj: Any, source: Source) -> Value:
    return DequeVal(None, obj.maxlen, obj, source)

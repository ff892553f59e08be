"""Immutable values that are known during capture: numbers, strings, None, dtypes, devices and the like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..types import FromConst, FromSource, Recipe
from .base import Invoke, NotConstant, Raised, Result, Value

if TYPE_CHECKING:
    from ..state import Capture

_PLAIN = (int, float, bool, str, bytes, complex, type(None))


class Const(Value):
    """`pending` is the source that must still be guarded once the value is used; None when nothing is left to guard."""

    __slots__ = ("value", "pending")
    identity = False

    def __init__(self, value: Any, pending: Source | None = None):
        self.value, self.pending = value, pending

    def __repr__(self) -> str:
        return f"Const({self.value!r})"

    def pytype(self, cx: Capture) -> type:
        if self.pending is not None:
            cx.pin(self)
        return type(self.value)

    def truth(self, cx: Capture) -> bool:
        if self.pending is not None:
            cx.pin(self)
        return bool(self.value)

    def constant(self, cx: Capture) -> Any:
        if self.pending is not None:
            cx.pin(self)
        return self.value

    def key(self, cx: Capture) -> Any:
        if self.pending is not None:
            cx.pin(self)
        return self.value

    def attr(self, cx: Capture, name: str) -> Result:
        value = self.constant(cx)
        try:
            found = getattr(value, name)
        except AttributeError as e:
            raise cx.reraise(e) from None
        if callable(found) and not isinstance(found, type):
            return _builtin.ConstMethod(self, name, found)
        return cx.literal(found)

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        if type(self.constant(cx)) not in _PLAIN:
            return Value.setattr(self, cx, name, value)
        try:
            setattr(self.value, name, None)             # refuses, in this Python's own words
        except AttributeError as e:
            raise cx.reraise(e) from None
        return None

    def iterate(self, cx: Capture) -> Result:
        items = self.elements(cx)
        if items is None:
            return Value.iterate(self, cx)
        return _iterator.SequenceIter.over(items)

    def elements(self, cx: Capture) -> list[Value] | None:
        v = self.constant(cx)
        return [Const(x) for x in v] if type(v) in (str, bytes) else None

    def length(self, cx: Capture) -> Result:
        try:
            return Const(len(self.constant(cx)))
        except TypeError as e:
            raise cx.reraise(e) from None

    def getitem(self, cx: Capture, key: Value) -> Result:
        try:
            k = key.constant(cx)
        except NotConstant:
            return Value.getitem(self, cx, key)
        try:
            return Const(self.constant(cx)[k])
        except Exception as e:
            raise cx.reraise(e) from None

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        try:
            return item.constant(cx) in self.constant(cx)
        except TypeError as e:
            raise cx.reraise(e) from None

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        raise cx.raised(TypeError, f"{type(self.constant(cx)).__name__!r} object is not callable")

    def recipe(self, cx: Capture) -> Recipe:
        return FromConst(self.value) if self.pending is None else FromSource(self.pending)


NONE = Const(None)
TRUE = Const(True)
FALSE = Const(False)
__all__ = ["Const", "FALSE", "NONE", "NotConstant", "Raised", "TRUE"]

# Modules that need this one: bound when all are loaded.
from . import builtin as _builtin  # noqa: E402
from . import iterator as _iterator  # noqa: E402

"""dict.keys(), values() and items(): live views of a dict value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..types import Build
from .base import Value
from .mapping import DictVal, key_value
from .sequence import TupleVal

if TYPE_CHECKING:
    from ..state import Capture


class ViewVal(Value):
    """dict.keys(), .values() or .items() of a dict value."""

    __slots__ = ("dict", "kind")

    def __init__(self, d: DictVal, kind: str):
        self.dict, self.kind = d, kind

    def pytype(self, cx: Capture) -> type:
        return {"keys": type({}.keys()), "values": type({}.values()), "items": type({}.items())}[self.kind]

    def elements(self, cx: Capture) -> list[Value] | None:
        items = self.dict.load(cx)
        if self.kind == "keys":
            return [key_value(cx, k) for k in items]
        if self.kind == "values":
            return list(items.values())
        return [TupleVal([key_value(cx, k), v]) for k, v in items.items()]

    def iterate(self, cx: Capture) -> Any:
        return _iterator.KeysIter(TupleVal(self.elements(cx) or []), self.dict)

    def length(self, cx: Capture) -> Any:
        return self.dict.length(cx)

    def truth(self, cx: Capture) -> Any:
        return self.dict.truth(cx)

    def contains(self, cx: Capture, item: Value) -> Any:
        if self.kind == "keys":
            return self.dict.contains(cx, item)
        return _containers.sequence_contains(cx, TupleVal(self.elements(cx) or []), item)

    def attr(self, cx: Capture, name: str) -> Any:
        if name == "mapping":
            return self.dict
        return Value.attr(self, cx, name)

    def constant(self, cx: Capture) -> Any:
        d = self.dict.constant(cx)
        return getattr(d, self.kind)()

    def recipe(self, cx: Capture) -> Any:
        if self.dict.obj is None and self.kind != "keys":
            return Build("list", tuple([cx.recipe(v) for v in self.elements(cx) or []]))
        return Build("call", (Build("builtin", (cx.recipe(self.dict),), self.kind),), _apply)


def _apply(fn: Any) -> Any:
    return fn()

# Modules that need this one: bound when all are loaded.
from ..known import containers as _containers  # noqa: E402
from . import iterator as _iterator  # noqa: E402

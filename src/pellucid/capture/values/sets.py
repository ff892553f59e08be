"""Sets and frozensets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..types import Build, FromSource, Recipe
from .base import NotConstant, Result, Value
from .constant import Const
from .mapping import key_value

if TYPE_CHECKING:
    from ..state import Capture


def _is_set_of(expected: frozenset[Any]) -> Any:
    def equals(value: Any) -> bool:
        return value == expected
    return equals


class SetVal(Value):
    """`items` maps the keys to None; None until the set outside is first looked into."""

    __slots__ = ("cls", "obj", "source", "items", "written")

    def __init__(self, items: dict[Any, None] | None, cls: type = set, obj: Any = None, source: Source | None = None):
        self.items, self.cls, self.obj, self.source = items, cls, obj, source
        self.written = False

    def load(self, cx: Capture) -> dict[Any, None]:
        items = self.items
        if items is None:
            obj = self.obj
            assert self.source is not None
            if self.source.kind != "const":
                cx.guard("type", self.source, type(obj), "type")
            if self.source.kind != "const" or self.cls is not frozenset:
                cx.guard("python", self.source, _is_set_of(frozenset(obj)), "set contents")
            items = self.items = dict.fromkeys(obj)
        return items

    def write(self, cx: Capture) -> dict[Any, None]:
        items = self.load(cx)
        if self.obj is not None and not self.written:
            self.written = True
            cx.wrote(self)
        return items

    def pytype(self, cx: Capture) -> type:
        self.load(cx)
        return self.cls

    def truth(self, cx: Capture) -> bool:
        return bool(self.load(cx))

    def length(self, cx: Capture) -> Result:
        return Const(len(self.load(cx)))

    def elements(self, cx: Capture) -> list[Value] | None:
        return [key_value(cx, k) for k in self.load(cx)]

    def iterate(self, cx: Capture) -> Result:
        return _iterator.KeysIter(_iterator.TupleVal(self.elements(cx) or []), self)

    def contains(self, cx: Capture, item: Value) -> bool:
        return item.key(cx) in self.load(cx)

    def constant(self, cx: Capture) -> Any:
        if self.obj is not None and self.written:
            raise NotConstant(self)
        items = [key_value(cx, k).constant(cx) for k in self.load(cx)]
        return frozenset(items) if self.cls is frozenset else set(items)

    def key(self, cx: Capture) -> Any:
        if self.cls is frozenset:
            return frozenset(self.load(cx))
        raise cx.raised(TypeError, "unhashable type: 'set'")

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        assert self.items is not None
        return Build("frozenset" if self.cls is frozenset else "set",
                     tuple([cx.recipe(key_value(cx, k)) for k in self.items]))

# Modules that need this one: bound when all are loaded.
from . import iterator as _iterator  # noqa: E402

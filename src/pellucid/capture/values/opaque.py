"""Objects implemented in C of which nothing is modelled: passed on, compared by identity, used natively."""

from __future__ import annotations

import operator
import weakref
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..types import FromConst, FromSource, Recipe
from .base import Broken, Invoke, Result, Value
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture


def _referent(ref: weakref.ref[Any]) -> Any:
    return ref()


class OpaqueVal(Value):
    __slots__ = ("obj", "source", "typed")
    opaque = True

    def __init__(self, cx: Capture, obj: Any, source: Source):
        self.obj, self.source = obj, source
        self.typed = source.kind == "const"

    def __repr__(self) -> str:
        return f"<opaque {type(self.obj).__name__}>"

    def pytype(self, cx: Capture) -> type:
        if not self.typed:
            self.typed = True
            cx.guard("type", self.source, type(self.obj), "type")
        return type(self.obj)

    def attr(self, cx: Capture, name: str) -> Result:
        cls = self.pytype(cx)
        known = _opaque.OPAQUE_ATTRIBUTES.get((cls, name))
        if known is not None:
            return known(cx, self)
        if name == "__class__":
            return cx.fixed(cls)
        raw = cx.class_info(cls).find(name)
        if callable(raw) and not isinstance(raw, type):
            return _builtin.BuiltinMethod(self, name, raw)
        raise Broken("PB111", f"attribute {name!r} of a {cls.__module__}.{cls.__qualname__}", cx.fixed(getattr),
                     [self, Const(name)])

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        if type(self.obj) is weakref.ref and not args and not kwargs:
            self.pytype(cx)
            return cx.wrap(self.obj(), Source("call0", self.source, "weakref", _referent))
        r = _builtin.call_known(cx, self, self.obj, args, kwargs)
        if r is not None:
            return r
        if type(self.obj) is weakref.ref and not args and not kwargs:
            self.pytype(cx)
            return cx.wrap(self.obj(), Source("call0", self.source, "referent", _referent))
        raise _builtin.unknown(cx, self.obj, self, args, kwargs)

    def truth(self, cx: Capture) -> bool | Invoke:
        cls = self.pytype(cx)
        if not hasattr(cls, "__bool__") and not hasattr(cls, "__len__"):
            return True
        raise Broken("PB111", f"truth of a {cls.__name__}", cx.fixed(bool), [self], then="again")

    def iterate(self, cx: Capture) -> Result:
        raise Broken("PB111", f"iteration over a {self.pytype(cx).__name__}", cx.fixed(iter), [self])

    def length(self, cx: Capture) -> Result:
        raise self._native(cx, "len()", len)

    def getitem(self, cx: Capture, key: Value) -> Result:
        raise self._native(cx, "a subscript", operator.getitem, key)

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        raise self._native(cx, "assignment to a subscript", operator.setitem, key, value)

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        raise self._native(cx, "deletion of a subscript", operator.delitem, key)

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        raise self._native(cx, "`in`", operator.contains, item)

    def _native(self, cx: Capture, what: str, fn: Any, *operands: Value) -> Broken:
        """Whatever the object makes of it: the operation itself is done in Python."""
        return Broken("PB111", f"{what} of a {self.pytype(cx).__name__}", cx.fixed(fn), [self, *operands])

    def key(self, cx: Capture) -> Any:
        if type(self.obj).__hash__ is object.__hash__:
            return self.obj
        raise Broken("PB111", f"a {self.pytype(cx).__name__} as a key")

    def recipe(self, cx: Capture) -> Recipe:
        return FromConst(self.obj) if self.source.kind == "const" else FromSource(self.source)

# Modules that need this one: bound when all are loaded.
from ..known import opaque as _opaque  # noqa: E402
from . import builtin as _builtin  # noqa: E402

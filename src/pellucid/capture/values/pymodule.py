"""Python modules as values: their attributes are global variables of theirs."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..types import FromConst, Recipe
from .base import Invoke, Result, Value
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture


class ModuleVal(Value):
    __slots__ = ("obj", "source", "checked", "cache")

    def __init__(self, obj: types.ModuleType, source: Source):
        self.obj, self.source = obj, source
        self.checked = source.kind == "const"
        self.cache: dict[str, Value] = {}

    def __repr__(self) -> str:
        return f"<module {self.obj.__name__}>"

    def check(self, cx: Capture) -> types.ModuleType:
        if not self.checked:
            self.checked = True
            cx.guard("is", self.source, self.obj, "module")
        return self.obj

    def pytype(self, cx: Capture) -> type:
        self.check(cx)
        return type(self.obj)

    def constant(self, cx: Capture) -> Any:
        return self.check(cx)

    def key(self, cx: Capture) -> Any:
        return self.check(cx)

    def attr(self, cx: Capture, name: str) -> Result:
        v = self.cache.get(name)
        if v is not None:
            return v
        obj = self.check(cx)
        d = obj.__dict__
        if name not in d:
            if name == "__dict__":
                return _globals.globals_dict(cx, d, obj.__name__)
            hook = d.get("__getattr__")
            try:
                found = getattr(obj, name)
            except AttributeError as e:
                raise cx.reraise(e) from None
            if type(hook) is types.FunctionType and name not in d:
                return Invoke(cx.fixed(hook), [Const(name)])
            v = cx.wrap(found, Source("attr", self.source, name))
        else:
            g = _globals.globals_dict(cx, d, obj.__name__)
            v = g.get(cx, name)
            assert v is not None
            if g.changed is not None:
                return v
        self.cache[name] = v
        return v

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        self.cache.pop(name, None)
        _globals.globals_dict(cx, self.check(cx).__dict__, self.obj.__name__).put(cx, name, value)
        return None

    def recipe(self, cx: Capture) -> Recipe:
        return FromConst(self.check(cx))


def wrap_module(cx: Capture, obj: types.ModuleType, source: Source) -> Value:
    return ModuleVal(obj, source)

# Modules that need this one: bound when all are loaded.
from . import globals_ as _globals  # noqa: E402

"""Python functions (outside, or closures made inside), cells, bound methods, partials and super objects."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..types import Build, FromConst, FromSource, Recipe
from .base import Invoke, NotConstant, Result, Value
from .constant import NONE, Const
from .mapping import DictVal

if TYPE_CHECKING:
    from ..state import Capture


class CellVal(Value):
    """A closure cell. `value` is None while unread (outside) or empty."""

    __slots__ = ("obj", "source", "value", "written", "emptied")

    def __init__(self, value: Value | None = None, obj: Any = None, source: Source | None = None):
        self.value, self.obj, self.source = value, obj, source
        self.written = self.emptied = False

    def pytype(self, cx: Capture) -> type:
        return types.CellType

    def get(self, cx: Capture) -> Value | None:
        if self.value is None and self.obj is not None and not self.emptied:
            try:
                contents = self.obj.cell_contents
            except ValueError:
                return None
            assert self.source is not None
            if self.source.kind == "closure":
                source = Source("cell", self.source.base, self.source.key, self.source.obj)
            else:
                source = Source("contents", self.source)
            self.value = cx.wrap(contents, source)
        return self.value

    def set(self, cx: Capture, value: Value | None) -> None:
        self.value = value
        self.emptied = value is None
        if self.obj is not None and not self.written:
            self.written = True
            cx.wrote(self)

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "cell_contents":
            v = self.get(cx)
            if v is None:
                raise cx.raised(ValueError, "Cell is empty")
            return v
        return Value.attr(self, cx, name)

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromConst(self.obj) if self.source.kind == "const" else FromSource(self.source)
        return Build("cell", () if self.value is None else (cx.recipe(self.value),))


class FunctionVal(Value):
    """A Python function.

    obj, source   the function outside (None: made inside)
    code, globals what it executes
    made          for a function made inside: closure cells, defaults, kwdefaults as values
    """

    __slots__ = ("obj", "source", "code", "globals", "name", "qualname", "module", "closure", "defaults", "kwdefaults",
                 "annotations", "attrs", "checked", "cells", "default_cache")

    def __init__(self, code: types.CodeType, globals_: dict[str, Any], obj: types.FunctionType | None = None,
                 source: Source | None = None):
        self.code, self.globals, self.obj, self.source = code, globals_, obj, source
        self.closure: list[CellVal] | None = None
        self.defaults: Value | None = None
        self.kwdefaults: Value | None = None
        self.annotations: Value | None = None
        self.attrs: dict[str, Value] | None = None
        self.name, self.qualname = code.co_name, code.co_qualname
        self.module: Any = None
        self.checked = False
        self.cells: list[CellVal] | None = None
        self.default_cache: dict[Any, Value] | None = None

    def __repr__(self) -> str:
        return f"<function {self.qualname}>"

    def pytype(self, cx: Capture) -> type:
        if self.obj is not None and not self.checked:
            self.check(cx)
        return types.FunctionType

    def check(self, cx: Capture) -> None:
        """Guard that it is a function with this code."""
        self.checked = True
        if self.obj is not None:
            assert self.source is not None
            cx.guard("code", self.source, self.code, "call")

    def cell_values(self, cx: Capture) -> list[CellVal]:
        """The cells of the free variables."""
        if self.closure is not None:
            return self.closure
        cells = self.cells
        if cells is None:
            obj = self.obj
            assert obj is not None and self.source is not None
            cells = self.cells = []
            for i, c in enumerate(obj.__closure__ or ()):
                known = cx.ids.get(id(c))
                if known is None:
                    known = cx.ids[id(c)] = CellVal(None, c, Source("closure", self.source, i, obj.__code__))
                    cx.keep.append(c)
                cells.append(known)  # type: ignore[arg-type]
        return cells

    def default(self, cx: Capture, key: Any) -> Value | None:
        """The default of positional parameter number `key` counted among the defaults, or of keyword-only `key`."""
        cache = self.default_cache
        if cache is None:
            cache = self.default_cache = {}
        v = cache.get(key)
        if v is not None:
            return v
        obj = self.obj
        if obj is None:
            if type(key) is str:
                v = self.kwdefaults.get(cx, key) if isinstance(self.kwdefaults, DictVal) else None
            else:
                items = self.defaults.load(cx) if self.defaults is not None else []  # type: ignore[attr-defined]
                v = items[key] if key < len(items) else None
            return v
        assert self.source is not None
        if type(key) is str:
            if not obj.__kwdefaults__ or key not in obj.__kwdefaults__:
                return None
            v = cx.wrap(obj.__kwdefaults__[key], Source("kwdefault", self.source, key))
        else:
            if not obj.__defaults__ or key >= len(obj.__defaults__):
                return None
            v = cx.wrap(obj.__defaults__[key], Source("default", self.source, key))
        cache[key] = v
        return v

    def default_count(self, cx: Capture) -> int:
        if self.obj is not None:
            return len(self.obj.__defaults__ or ())
        return len(self.defaults.load(cx)) if self.defaults is not None else 0  # type: ignore[attr-defined]

    def attr(self, cx: Capture, name: str) -> Result:
        if self.attrs is not None and name in self.attrs:
            return self.attrs[name]
        if name == "__name__":
            return Const(self.obj.__name__ if self.obj is not None else self.name)
        if name == "__qualname__":
            return Const(self.obj.__qualname__ if self.obj is not None else self.qualname)
        if name == "__module__":
            return Const(self.obj.__module__ if self.obj is not None else self.module)
        if name == "__doc__":
            return Const(
                self.obj.__doc__
                if self.obj is not None
                else (self.code.co_consts[0] if self.code.co_consts and type(self.code.co_consts[0]) is str else None)
            )
        if name == "__code__":
            self.pytype(cx)
            return cx.fixed(self.code)
        if name == "__globals__":
            return _globals.globals_value(cx, self)
        if name in ("__call__",):
            return self
        if name == "__defaults__" and self.obj is None:
            return self.defaults or NONE
        if name == "__kwdefaults__" and self.obj is None:
            return self.kwdefaults or NONE
        if name == "__get__":
            return _builtin.BuiltinMethod(self, "__get__", types.FunctionType.__get__)
        if name == "__class__":
            return cx.fixed(types.FunctionType)
        if self.obj is not None:
            assert self.source is not None
            if name in ("__defaults__", "__kwdefaults__", "__annotations__", "__closure__", "__type_params__"):
                return cx.wrap(getattr(self.obj, name), Source("attr", self.source, name))
            if name == "__dict__":
                return cx.wrap(self.obj.__dict__, Source("attr", self.source, "__dict__"))
            d = self.obj.__dict__
            if name in d:
                v = cx.wrap(d[name], Source("attr", self.source, name))
                if self.attrs is None:
                    self.attrs = {}
                self.attrs[name] = v
                return v
            self.pytype(cx)
            cx.guard_once((self, "absent", name), "absent", self.source, name, "attribute lookup")
        elif name == "__dict__":
            if self.attrs is None:
                self.attrs = {}
            return DictVal(items=self.attrs)        # the same entries: writes through it are writes to the function
        elif name == "__closure__":
            return _sequence.TupleVal(list(self.closure)) if self.closure else NONE
        elif name == "__annotations__":
            return self.annotations or DictVal()
        raise cx.raised(AttributeError, f"'function' object has no attribute {name!r}")

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        if self.obj is not None:
            return Value.setattr(self, cx, name, value)
        if name == "__name__":
            self.name = value.constant(cx)
        elif name == "__qualname__":
            self.qualname = value.constant(cx)
        elif name == "__module__":
            self.module = value.constant(cx)
        elif name == "__defaults__":
            self.defaults = None if type(value) is Const else value
        elif name == "__kwdefaults__":
            self.kwdefaults = None if type(value) is Const else value
        elif name == "__annotations__":
            self.annotations = value
        else:
            if self.attrs is None:
                self.attrs = {}
            self.attrs[name] = value
        return None

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        if self.obj is not None:
            r = _builtin.call_known(cx, self, self.obj, args, kwargs)
            by_code = _declared.BY_CODE.get(id(self.code))
            if r is None and by_code is not None:
                r = by_code(cx, self, args, kwargs)
            if r is None:
                r = _higher_order.call_higher_order(cx, self, self.obj, args, kwargs)
            if r is None and self.obj.__dict__:
                r = _declared.call_declared(cx, self, self.obj, args, kwargs)
            if r is not None:
                return r
        return Invoke(self, args, kwargs)

    def constant(self, cx: Capture) -> Any:
        if self.obj is None:
            raise NotConstant(self)
        assert self.source is not None
        if self.source.kind != "const":
            cx.guard_once((self.source, "is"), "is", self.source, self.obj, "identity")
        return self.obj

    def key(self, cx: Capture) -> Any:
        return self.constant(cx) if self.obj is not None else self

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromConst(self.obj) if self.source.kind == "const" else FromSource(self.source)
        closure: Recipe = FromConst(None)
        if self.closure:
            closure = Build("tuple", tuple([cx.recipe(c) for c in self.closure]))
        parts = (
            closure,
            cx.recipe(self.defaults or NONE),
            cx.recipe(self.kwdefaults or NONE),
            cx.recipe(self.annotations or NONE),
            cx.recipe(DictVal(items=dict(self.attrs))) if self.attrs else FromConst(None),
        )
        return Build("function", parts, (self.code, self.globals, self.name, self.qualname, self.module))


class MethodVal(Value):
    """A bound method: `fn` called with `self` in front."""

    __slots__ = ("fn", "self", "obj", "source")

    def __init__(self, fn: Value, self_: Value, obj: Any = None, source: Source | None = None):
        self.fn, self.self, self.obj, self.source = fn, self_, obj, source

    def __repr__(self) -> str:
        return f"<method {self.fn!r}>"

    def pytype(self, cx: Capture) -> type:
        return types.MethodType

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        return self.fn.call(cx, [self.self, *args], kwargs)

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "__self__":
            return self.self
        if name == "__func__":
            return self.fn
        if name == "__class__":
            return cx.fixed(types.MethodType)
        if name == "__call__":
            return self
        return self.fn.attr(cx, name)

    def key(self, cx: Capture) -> Any:
        return ("method", self.fn.key(cx), self.self.key(cx))

    def recipe(self, cx: Capture) -> Recipe:
        if self.source is not None:
            return FromSource(self.source)
        return Build("method", (cx.recipe(self.fn), cx.recipe(self.self)))


class PartialVal(Value):
    __slots__ = ("fn", "args", "kwargs", "cls", "obj", "source", "attrs")

    def __init__(self, fn: Value, args: list[Value], kwargs: dict[str, Value], cls: type = functools.partial,
                 obj: Any = None, source: Source | None = None):
        self.fn, self.args, self.kwargs, self.cls, self.obj, self.source = fn, args, kwargs, cls, obj, source
        self.attrs: dict[str, Value] = {}

    def pytype(self, cx: Capture) -> type:
        return self.cls

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        return self.fn.call(cx, [*self.args, *args], {**self.kwargs, **kwargs})

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "func":
            return self.fn
        if name == "args":
            return _sequence.TupleVal(list(self.args))
        if name == "keywords":
            return DictVal(items=dict(self.kwargs))
        if name in self.attrs:
            return self.attrs[name]
        return Value.attr(self, cx, name)

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        if self.obj is not None or name in ("func", "args", "keywords"):
            return Value.setattr(self, cx, name, value)
        self.attrs[name] = value
        return None

    def recipe(self, cx: Capture) -> Recipe:
        if self.source is not None:
            return FromSource(self.source)
        parts = (cx.recipe(self.fn), cx.recipe(_sequence.TupleVal(list(self.args))),
                 cx.recipe(DictVal(items=dict(self.kwargs))))
        if self.attrs:
            parts += (cx.recipe(DictVal(items=dict(self.attrs))),)
        return Build("partial", parts, self.cls)


class SuperVal(Value):
    """super(after, obj); obj is an instance, or a class."""

    __slots__ = ("after", "obj", "cls")

    def __init__(self, after: type, obj: Value, cls: type):
        self.after, self.obj, self.cls = after, obj, cls

    def pytype(self, cx: Capture) -> type:
        return super

    def attr(self, cx: Capture, name: str) -> Result:
        return _attributes.super_attribute(cx, self.after, self.obj, self.cls, name)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("super", (FromConst(self.after), cx.recipe(self.obj)))


def wrap_function(cx: Capture, obj: types.FunctionType, source: Source) -> Value:
    return FunctionVal(obj.__code__, obj.__globals__, obj, source)


def wrap_method(cx: Capture, obj: types.MethodType, source: Source) -> Value:
    if source.kind != "const":
        cx.guard("type", source, types.MethodType, "method")
    return MethodVal(cx.wrap(obj.__func__, Source("func", source)), cx.wrap(obj.__self__, Source("self", source)), obj,
                     source)


def wrap_partial(cx: Capture, obj: Any, source: Source) -> Value:
    cls = type(obj)
    if source.kind != "const":
        cx.guard("type", source, cls, "partial")
        cx.guard("len", Source("attr", source, "args"), len(obj.args), "partial")
        cx.guard("keys", Source("attr", source, "keywords"), tuple(obj.keywords), "partial")
    args = [cx.wrap(a, Source("item", Source("attr", source, "args"), i)) for i, a in enumerate(obj.args)]
    kwargs = {k: cx.wrap(a, Source("item", Source("attr", source, "keywords"), k)) for k, a in obj.keywords.items()}
    return PartialVal(cx.wrap(obj.func, Source("attr", source, "func")), args, kwargs, cls, obj, source)

# Modules that need this one: bound when all are loaded.
from ..known import declared as _declared  # noqa: E402
from ..known import higher_order as _higher_order  # noqa: E402
from . import attributes as _attributes  # noqa: E402
from . import builtin as _builtin  # noqa: E402
from . import globals_ as _globals  # noqa: E402
from . import sequence as _sequence  # noqa: E402

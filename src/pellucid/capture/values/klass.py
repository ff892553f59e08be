"""Classes: attribute lookup, and making instances."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..classes import MISSING
from ..types import FromConst, FromSource, Recipe
from .base import Broken, Invoke, Result, Value, unsupported
from .constant import Const
from .mapping import DictVal
from .sequence import ListVal, TupleVal

if TYPE_CHECKING:
    from ..state import Capture


class ClassVal(Value):
    __slots__ = ("obj", "source", "checked")

    def __init__(self, obj: type, source: Source):
        self.obj, self.source = obj, source
        self.checked = source.kind == "const"

    def __repr__(self) -> str:
        return f"<class {self.obj.__name__}>"

    def check(self, cx: Capture) -> type:
        """The class, guarded by identity."""
        if not self.checked:
            self.checked = True
            cx.guard("is", self.source, self.obj, "class")
        return self.obj

    def pytype(self, cx: Capture) -> type:
        self.check(cx)
        return type(self.obj)

    def constant(self, cx: Capture) -> Any:
        return self.check(cx)

    def key(self, cx: Capture) -> Any:
        return self.check(cx)

    def attr(self, cx: Capture, name: str) -> Result:
        cls = self.check(cx)
        info = cx.class_info(cls)
        raw = info.find(name)
        meta = type(cls)
        if meta is not type:
            mraw = cx.class_info(meta).find(name)
            if mraw is not MISSING and name not in (
                "__dict__",
                "__doc__",
                "__module__",
                "__qualname__",
                "__name__",
                "__call__",
            ):
                if name == "__members__" and isinstance(cls, enum.EnumMeta):
                    return cx.literal(cls.__members__)
                if type(mraw) is property:
                    return Invoke(cx.fixed(mraw.fget), [self])
                if raw is MISSING and type(mraw) is types.FunctionType:
                    return _function.MethodVal(cx.fixed(mraw), self)
        if name == "__dict__":
            return cx.wrap(dict(cls.__dict__), Source("const", None, f"vars({cls.__name__})", dict(cls.__dict__)))
        if raw is MISSING or name in (
            "__class__",
            "__name__",
            "__qualname__",
            "__module__",
            "__doc__",
            "__mro__",
            "__bases__",
        ):
            try:
                found = getattr(cls, name)
            except AttributeError as e:
                mget = cx.class_info(meta).find("__getattr__") if meta is not type else MISSING
                if type(mget) is types.FunctionType:
                    return Invoke(cx.fixed(mget), [self, Const(name)])
                raise cx.reraise(e) from None
            if isinstance(found, (types.MethodType, types.BuiltinMethodType, types.MethodWrapperType)):
                return _builtin.BuiltinMethod(self, name, found)
            return cx.literal(found)
        t = type(raw)
        if t is types.FunctionType:
            return cx.fixed(raw)
        if t is staticmethod:
            return cx.fixed(raw.__func__)
        if t is classmethod:
            return _function.MethodVal(cx.fixed(raw.__func__), self)
        if t in (property, types.MemberDescriptorType, types.GetSetDescriptorType, functools.cached_property):
            return cx.fixed(raw)
        if t in (types.WrapperDescriptorType, types.MethodDescriptorType, types.BuiltinFunctionType):
            return cx.fixed(raw)
        if t is types.ClassMethodDescriptorType:
            return _builtin.BuiltinMethod(self, name, raw)
        getter = getattr(t, "__get__", None)
        if getter is None:
            return _attributes.class_constant(cx, cls, name, raw)
        return _attributes.bind_raw(cx, self, cls, name, raw)

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        cls = self.check(cx)
        r = _builtin.call_known(cx, self, cls, args, kwargs)
        if r is not None:
            return r
        meta = type(cls)
        if isinstance(cls, enum.EnumMeta) and len(args) == 1 and not kwargs and type(args[0]) is Const:
            made = enum_member(cx, cls, args[0])
            if made is not None:
                return made
        if meta is not type:
            mcall = cx.class_info(meta).find("__call__")
            if type(mcall) is types.FunctionType:
                return Invoke(cx.fixed(mcall), [self, *args], kwargs)
        return make_instance(cx, self, cls, args, kwargs)

    def getitem(self, cx: Capture, key: Value) -> Result:
        cls = self.check(cx)
        meta = cx.class_info(type(cls))
        raw = meta.find("__getitem__")
        if type(raw) is types.FunctionType:
            if isinstance(cls, enum.EnumMeta):
                try:
                    return Const(cls[key.constant(cx)])
                except KeyError as e:
                    raise cx.reraise(e) from None
            return Invoke(cx.fixed(raw), [self, key])
        try:
            return cx.literal(cls[key.constant(cx)])  # type: ignore[index]
        except TypeError as e:
            raise cx.reraise(e) from None

    def meta_special(self, cx: Capture, name: str, args: list[Value], then: str = "push") -> Invoke | None:
        """The special method `name` of the metaclass, where that is Python code."""
        meta = type(self.check(cx))
        if meta is type or issubclass(meta, enum.EnumMeta):
            return None
        raw = cx.class_info(meta).find(name)
        return Invoke(cx.fixed(raw), [self, *args], then=then) if type(raw) is types.FunctionType else None

    def truth(self, cx: Capture) -> bool | Invoke:
        return self.meta_special(cx, "__bool__", [], "truth") or self.meta_special(cx, "__len__", [], "truth") or True

    def iterate(self, cx: Capture) -> Result:
        items = self.elements(cx)
        if items is None:
            return self.meta_special(cx, "__iter__", []) or Value.iterate(self, cx)
        return _iterator.SequenceIter.over(items)

    def elements(self, cx: Capture) -> list[Value] | None:
        cls = self.check(cx)
        return [Const(m) for m in cls] if isinstance(cls, enum.EnumMeta) else None  # type: ignore[attr-defined]

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        cls = self.check(cx)
        if isinstance(cls, enum.EnumMeta):
            return item.constant(cx) in cls
        return self.meta_special(cx, "__contains__", [item], "truth") or Value.contains(self, cx, item)

    def length(self, cx: Capture) -> Result:
        items = self.elements(cx)
        if items is None:
            return self.meta_special(cx, "__len__", []) or Value.length(self, cx)
        return Const(len(items))

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        raise unsupported(f"setting attribute {name!r} of the class {self.obj.__name__}")

    def recipe(self, cx: Capture) -> Recipe:
        return FromConst(self.obj) if self.checked else FromSource(self.source)


def enum_member(cx: Capture, cls: Any, value: Const) -> Value | None:
    """cls(value) of an enumeration, without code of the program's own in between; else None."""
    v = value.constant(cx)
    missing = cx.class_info(cls).find("_missing_")
    ours = getattr(missing, "__func__", None) in (enum.Enum._missing_.__func__, enum.Flag._missing_.__func__)  # type: ignore[attr-defined]
    try:
        if not ours and v not in cls._value2member_map_:
            return None
        return Const(cls(v))
    except (ValueError, TypeError) as e:
        raise cx.reraise(e) from None


_BASE_NEW = {object.__new__, BaseException.__new__}


def make_instance(cx: Capture, me: ClassVal, cls: type, args: list[Value], kwargs: dict[str, Value]) -> Result:
    """type.__call__: __new__, then __init__."""
    info = cx.class_info(cls)
    new = info.find("__new__")
    if isinstance(new, staticmethod):
        new = new.__func__
    if type(new) is types.FunctionType:
        if hasattr(cls, "_fields") and issubclass(cls, tuple) and "_tuple_new" in new.__globals__:
            return named_tuple(cx, cls, new, args, kwargs)
        return Invoke(_polyfills.polyfill(cx, "new_then_init"), [me, TupleVal(args), DictVal(items=dict(kwargs))])
    if not cls.__flags__ & (1 << 9):   # Py_TPFLAGS_HEAPTYPE: a class of C code
        if not issubclass(cls, BaseException):
            raise Broken("PB104", f"making a {cls.__module__}.{cls.__qualname__}, which is implemented in C", me, args,
                         kwargs)
    obj = None if kwargs and issubclass(cls, _NAMING) and type(info.find("__init__")) is not types.FunctionType \
        else allocate(cx, cls, args)
    if obj is None:
        raise Broken("PB104", f"making a {cls.__module__}.{cls.__qualname__}", me, args, kwargs)
    init = info.find("__init__")
    if type(init) is types.FunctionType:
        return Invoke(cx.fixed(init), [obj, *args], kwargs, "init", obj)
    r = builtin_init(cx, obj, args, kwargs)
    if isinstance(r, Invoke):
        r.then, r.detail = "init", obj
        return r
    return obj


_KEEPING_MORE = (OSError, SyntaxError, UnicodeError)
"""Exceptions that make attributes of their arguments."""
_NAMING = (ImportError, NameError, AttributeError)
"""Exceptions that take keywords."""


def allocate(cx: Capture, cls: type, args: list[Value]) -> Any:
    """cls.__new__ of a C base class; None where it cannot be modelled."""
    if getattr(cls, "__abstractmethods__", None):
        try:
            object.__new__(cls)         # refuses before it makes anything, in this Python's own words
        except TypeError as e:
            raise cx.reraise(e) from None
    if issubclass(cls, BaseException):
        if issubclass(cls, _KEEPING_MORE) and (len(args) > 1 or issubclass(cls, UnicodeError)):
            return None
        return _instance.InstanceVal(cx, cls, base=TupleVal(list(args)))
    if issubclass(cls, dict):
        kind = collections.OrderedDict if issubclass(cls, collections.OrderedDict) else dict
        if issubclass(cls, collections.defaultdict):
            return None
        return _instance.InstanceVal(cx, cls, base=DictVal(kind))
    if issubclass(cls, list):
        return _instance.InstanceVal(cx, cls, base=ListVal([]))
    if issubclass(cls, tuple):
        items = args[0].elements(cx) if args else []
        return None if items is None else _instance.InstanceVal(cx, cls, base=TupleVal(list(items)))
    if cls.__new__ is object.__new__:
        return _instance.InstanceVal(cx, cls)
    return None


def builtin_init(cx: Capture, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Result | None:
    """__init__ of a C base class."""
    if obj.is_exception:
        if args or not obj.base.items:
            obj.base = TupleVal(list(args))
        return None
    if isinstance(obj.base, (DictVal, ListVal)):
        method = _builtin.TYPE_METHODS[dict if isinstance(obj.base, DictVal) else list][
            "update" if isinstance(obj.base, DictVal) else "extend"
        ]
        if args or kwargs:
            return method(cx, obj.base, args, kwargs)
        return None
    if (args or kwargs) and obj.base is None and obj.info.find("__new__") is object.__new__:
        raise cx.raised(TypeError, f"{obj.cls.__name__}() takes no arguments")
    return None


def named_tuple(cx: Capture, cls: Any, new: Any, args: list[Value], kwargs: dict[str, Value]) -> Result:
    fields, defaults = cls._fields, cls._field_defaults
    values = list(args)
    for f in fields[len(args):]:
        if f in kwargs:
            values.append(kwargs[f])
        elif f in defaults:
            values.append(cx.fixed(defaults[f], f"{cls.__name__}.{f}"))
        else:
            break
    if len(values) != len(fields) or any(k not in fields[len(args):] for k in kwargs):
        return Invoke(cx.fixed(new), [cx.fixed(cls), *args], kwargs)        # which says what is wrong
    return tuple_of(cx, cls, values)


def tuple_of(cx: Capture, cls: type, values: list[Value]) -> Value:
    """An instance of a subclass of tuple with these items."""
    if plain_named_tuple(cls):
        return TupleVal(values, cls)
    return _instance.InstanceVal(cx, cls, base=TupleVal(values))


_GENERATED = frozenset(("__new__", "__repr__", "__getnewargs__", "__init_subclass__", "__class_getitem__",
                        "__replace__"))


@functools.cache
def plain_named_tuple(cls: type) -> bool:
    """Whether instances are told apart from a tuple by nothing but names of their items, methods and properties."""
    own = cls.__mro__[:cls.__mro__.index(tuple)]
    return hasattr(cls, "_fields") and not cls.__dictoffset__ and not any(
        isinstance(v, types.FunctionType) and n[:2] == n[-2:] == "__" and n not in _GENERATED
        for c in own for n, v in vars(c).items())


def is_frozen_dataclass(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen  # type: ignore[attr-defined]

# Modules that need this one: bound when all are loaded.
from .. import polyfills as _polyfills  # noqa: E402
from . import attributes as _attributes  # noqa: E402
from . import builtin as _builtin  # noqa: E402
from . import function as _function  # noqa: E402
from . import instance as _instance  # noqa: E402
from . import iterator as _iterator  # noqa: E402

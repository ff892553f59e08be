"""Attribute lookup on values that are not instances, and the binding of what is found in a class."""

from __future__ import annotations

import collections
import functools
import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..classes import MISSING, find_after
from .base import Broken, Invoke, Result, Value, unsupported
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture

_CACHED = type(functools.lru_cache(len))
_FIELD = type(collections.namedtuple("_One", "a").a)
"""The descriptors of a named tuple's fields."""
_C_METHODS = (types.WrapperDescriptorType, types.MethodDescriptorType)


def generic_attribute(cx: Capture, v: Value, name: str) -> Result:
    """An attribute of a value whose class is implemented in C (list, dict, tuple ...)."""
    cls = v.pytype(cx)
    info = cx.class_info(cls)
    raw = info.find(name)
    if raw is MISSING:
        raise cx.raised(AttributeError, f"{cls.__name__!r} object has no attribute {name!r}")
    return bind_raw(cx, v, cls, name, raw)


def bind_raw(cx: Capture, v: Value, cls: type, name: str, raw: Any) -> Result:
    """What reading class attribute `raw` through an instance gives (its `__get__`)."""
    t = type(raw)
    if t is types.FunctionType:
        return _function.MethodVal(cx.fixed(raw), v)
    if t is _CACHED:
        return _function.MethodVal(cx.fixed(raw), v)
    if t in _C_METHODS:
        return _builtin.BuiltinMethod(v, name, raw)
    if t is staticmethod:
        return cx.fixed(raw.__func__)
    if t is classmethod:
        return _function.MethodVal(cx.fixed(raw.__func__), cx.fixed(cls))
    if t is property:
        return Invoke(cx.fixed(raw.fget), [v])
    if t is types.MemberDescriptorType:
        if isinstance(v, _instance.InstanceVal):
            return v.slot(cx, name)
        raise unsupported(f"attribute {name!r} of a {cls.__name__}")
    if t is types.GetSetDescriptorType:
        return getset(cx, v, cls, name, raw)
    if t is functools.cached_property:
        return Invoke(_polyfills.polyfill(cx, "cached_property"), [v, cx.fixed(raw.func), Const(raw.attrname or name)])
    if t is types.BuiltinFunctionType or isinstance(raw, type):
        return cx.fixed(raw)
    if t is types.ClassMethodDescriptorType:
        return _builtin.BuiltinMethod(cx.fixed(cls), name, raw)
    if t is _FIELD and isinstance(v, _instance.InstanceVal) and isinstance(v.base, _sequence.TupleVal):
        return v.base.load(cx)[raw.__reduce__()[1][0]]
    getter = getattr(t, "__get__", None)
    if getter is None:
        return class_constant(cx, cls, name, raw)
    if type(getter) is types.FunctionType:
        owner = v if not isinstance(v, _klass.ClassVal) or v.obj is not cls else Const(None)
        return cx.fixed(getter).call(cx, [cx.fixed(raw), owner, cx.fixed(cls)], {})
    if t is functools.partialmethod:
        raise unsupported(f"functools.partialmethod {name!r} of {cls.__name__}")
    raise Broken("PB112", f"attribute {name!r} of a {cls.__name__} is a descriptor implemented in C ({t.__name__})",
                 cx.fixed(getattr), [v, Const(name)])


def class_constant(cx: Capture, cls: type, name: str, raw: Any) -> Value:
    """A plain object found in a class: fixed by the class's version, except for what is inside it."""
    return cx.wrap(raw, Source("attr", Source("const", None, cls.__qualname__, cls), name)) \
        if not _is_immediate(raw) else Const(raw)


def _is_immediate(raw: Any) -> bool:
    return raw is None or type(raw) in (int, str, bool, float, bytes, complex)


def getset(cx: Capture, v: Value, cls: type, name: str, raw: Any) -> Result:
    """Attributes that C code computes: `__dict__`, `__class__`, an exception's parts."""
    if name == "__class__":
        return cx.fixed(cls)
    if isinstance(v, _instance.InstanceVal):
        if name == "__dict__":
            return v.dict
        if v.is_exception:
            if name == "args":
                return v.base
            if v.obj is not None and name in ("__cause__", "__context__", "__suppress_context__"):
                return cx.wrap(getattr(v.obj, name), Source("attr", v.source, name))
            if name == "__cause__":
                return v.cause or Const(None)
            if name == "__context__":
                return v.context or Const(None)
            if name == "__traceback__":
                return _traceback.TracebackVal(v)
            if name == "__suppress_context__":
                return Const(v.suppress)
            if name == "value" and cls is StopIteration:
                return v.base.items[0] if v.base.items else Const(None)
        if v.obj is not None and name == "__weakref__":
            raise unsupported("weak references")
    if name == "__doc__":
        return Const(cls.__doc__)
    raise Broken("PB112", f"attribute {name!r} of a {cls.__name__}", cx.fixed(getattr), [v, Const(name)])


def super_attribute(cx: Capture, after: type, v: Value, cls: type, name: str) -> Result:
    """super(after, v).name, where v is an instance or a class (`cls` is type(v), or v itself)."""
    found_in, raw = find_after(cls, after, name)
    cx.class_info(cls).find("__mro__")
    if found_in is None:
        raise cx.raised(AttributeError, f"'super' object has no attribute {name!r}")
    cx.class_info(found_in).find(name)
    if isinstance(v, _klass.ClassVal) and v.obj is cls:
        t = type(raw)
        if t is classmethod:
            return _function.MethodVal(cx.fixed(raw.__func__), v)
        if t is types.FunctionType or t is types.BuiltinFunctionType:
            return cx.fixed(raw)
        if t is staticmethod:
            return cx.fixed(raw.__func__)
    return bind_raw(cx, v, cls, name, raw)


def constant_instance(cx: Capture, v: Any) -> Any:
    """The object itself for instances whose equality and hash are fixed by what they are (enum members)."""
    import enum

    if isinstance(v.obj, enum.Enum):
        return v.obj
    return None

# Modules that need this one: bound when all are loaded.
from .. import polyfills as _polyfills  # noqa: E402
from . import builtin as _builtin  # noqa: E402
from . import function as _function  # noqa: E402
from . import instance as _instance  # noqa: E402
from . import klass as _klass  # noqa: E402
from . import sequence as _sequence  # noqa: E402
from . import traceback_ as _traceback  # noqa: E402

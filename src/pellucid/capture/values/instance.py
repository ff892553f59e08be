"""Instances of Python classes, existing outside or made inside: attributes by Python's own lookup rules."""

from __future__ import annotations

import collections
import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..classes import MISSING, ClassInfo
from ..types import Build, FromConst, FromSource, Recipe
from .base import Broken, Invoke, NotConstant, Raised, Result, Value, unsupported
from .constant import Const
from .mapping import DictVal
from .sequence import ListVal, SequenceVal, TupleVal

if TYPE_CHECKING:
    from ..state import Capture

_get = object.__getattribute__
_MODULE_GROUPS = ("_parameters", "_buffers", "_modules")
_NO_DICT: dict[str, Any] = {}


class InstanceVal(Value):
    """cls        its class
    obj, source  the object outside (None: made inside)
    dict         its instance dictionary (also of classes with slots: slots made inside are kept in `slots`)
    base         for a subclass of dict, list, tuple or set: the contents; for an exception: its args
    """

    __slots__ = ("cls", "obj", "source", "info", "dict", "slots", "base", "typed", "cause", "context", "suppress")

    def __init__(self, cx: Capture, cls: type, obj: Any = None, source: Source | None = None, base: Any = None):
        self.cls, self.obj, self.source, self.base = cls, obj, source, base
        self.info: ClassInfo = cx.class_info(cls)
        self.typed = obj is None
        self.slots: dict[str, Value] | None = None
        self.cause: Value | None = None
        self.context: Value | None = None
        self.suppress = False
        if obj is None:
            self.dict = DictVal(owner=self)
        else:
            d = _get(obj, "__dict__") if self.info.has_dict else _NO_DICT
            self.dict = DictVal(obj=d, source=None, owner=self)

    def __repr__(self) -> str:
        return f"<{self.cls.__name__} instance>"

    # ---------------------------------------------------------------- guards
    def pytype(self, cx: Capture) -> type:
        if not self.typed:
            self.typed = True
            assert self.source is not None
            if self.source.kind != "const":
                cx.guard("type", self.source, self.cls, "type")
        return self.cls

    def attribute_source(self, cx: Capture, name: Any) -> Source:
        """The source of instance dictionary entry `name`."""
        info = self.info
        if info.custom_get is None and type(name) is str and not _is_data(info.find(name)):
            return Source("attr", self.source, name)
        return Source("dict", self.source, name)

    def guard_absent(self, cx: Capture, name: Any) -> None:
        self.pytype(cx)
        if not self.info.has_dict:
            return
        cx.guard("absent", self.source, name, "attribute lookup")

    def dict_source(self) -> Source:
        return Source("dictattr", self.source)

    # ---------------------------------------------------------------- attributes
    def attr(self, cx: Capture, name: str) -> Result:
        if not self.typed:
            self.pytype(cx)
        info = self.info
        if info.custom_get is not None:
            if info.getattr is not MISSING and info.getattr is not None:
                return Invoke(_polyfills.polyfill(cx, "getattribute_or_getattr"),
                              [self, Const(name), cx.fixed(info.custom_get), cx.fixed(info.getattr)])
            return Invoke(cx.fixed(info.custom_get), [self, Const(name)])
        return self.generic(cx, name)

    def generic(self, cx: Capture, name: str, fallback: bool = True) -> Result:
        """object.__getattribute__, then (with `fallback`) the class's `__getattr__`."""
        info = self.info
        raw = info.find(name)
        t = type(raw)
        if raw is not MISSING:
            if t is types.FunctionType:
                v = self.dict.get(cx, name)
                return v if v is not None else MethodVal_(cx.fixed(raw), self)
            if t is property:
                if raw.fget is None:
                    raise cx.raised(AttributeError,
                                    f"property {name!r} of {self.cls.__qualname__!r} object has no getter")
                return Invoke(cx.fixed(raw.fget), [self])
            if not _is_data(raw):
                v = self.dict.get(cx, name)
                if v is not None:
                    return v
            return _attributes.bind_raw(cx, self, self.cls, name, raw)
        v = self.dict.get(cx, name)
        if v is not None:
            return v
        if fallback and info.getattr is not MISSING:
            if info.module_getattr:
                return self.module_attribute(cx, name)
            if info.getattr is not None:
                return Invoke(cx.fixed(info.getattr), [self, Const(name)])
        raise self.no_attribute(cx, name)

    def no_attribute(self, cx: Capture, name: str) -> Raised:
        return cx.raised(AttributeError, _messages.not_found(self.cls, name))

    def not_settable(self, cx: Capture, name: str, raw: Any) -> Raised:
        return cx.raised(AttributeError, _messages.not_settable(self.cls, name, raw is not MISSING))

    def module_attribute(self, cx: Capture, name: str) -> Value:
        """nn.Module.__getattr__: parameters, buffers, submodules."""
        for group in _MODULE_GROUPS:
            d = self.dict.get(cx, group)
            if isinstance(d, DictVal):
                d.typed = True
                if d.obj is not None and not d.complete and name not in d.obj and name not in d.items:
                    if d.changed is None:
                        cx.guard_once((d, "keys"), "keys", d.source, tuple(d.obj), "attribute lookup")
                        continue
                v = d.get(cx, name)
                if v is not None:
                    return v
        raise self.no_attribute(cx, name)

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        self.pytype(cx)
        info = self.info
        if info.custom_set is not None:
            if info.module_setattr and self.module_plain_set(cx, name, value):
                return None
            return Invoke(cx.fixed(info.custom_set), [self, Const(name), value])
        return self.generic_set(cx, name, value)

    def generic_set(self, cx: Capture, name: str, value: Value) -> Result | None:
        """object.__setattr__."""
        raw = self.info.find(name)
        t = type(raw)
        if t is property:
            if raw.fset is None:
                raise cx.raised(AttributeError, f"property {name!r} of {self.cls.__qualname__!r} object has no setter")
            return Invoke(cx.fixed(raw.fset), [self, value])
        if t is types.MemberDescriptorType:
            if self.slots is None:
                self.slots = {}
            self.slots[name] = value
            if self.obj is not None:
                cx.wrote(self)
            return None
        if raw is not MISSING and _is_data(raw):
            setter = getattr(t, "__set__", None)
            if type(setter) is types.FunctionType:
                return Invoke(cx.fixed(setter), [cx.fixed(raw), self, value])
            if self.base is not None and isinstance(raw, types.GetSetDescriptorType) \
                    and name in ("__traceback__", "__cause__", "__context__", "__suppress_context__"):
                self.set_exception_part(cx, name, value)
                return None
            if name == "__class__":
                raise unsupported(f"assigning __class__ of a {self.cls.__name__}")
            raise unsupported(f"setting the attribute {name!r} of a {self.cls.__name__}")
        if not self.info.has_dict:
            raise self.not_settable(cx, name, raw)
        self.dict.put(cx, name, value)
        return None

    def set_exception_part(self, cx: Capture, name: str, value: Value) -> None:
        nothing = type(value) is Const and value.value is None
        exception = isinstance(value, InstanceVal) and value.is_exception
        if self.obj is not None or name == "__suppress_context__" and type(value) is not Const or name in (
                "__cause__", "__context__") and not nothing and not exception:
            raise unsupported(f"setting {name} of a {self.cls.__name__}")
        if name == "__context__":
            self.context = None if nothing else value
        elif name == "__cause__":
            self.cause, self.suppress = None if nothing else value, True
        elif name == "__suppress_context__":
            self.suppress = value.truth(cx)

    def module_plain_set(self, cx: Capture, name: str, value: Value) -> bool:
        """nn.Module.__setattr__ where it comes to a plain entry of the instance dictionary."""
        if type(value) is _tensor.TensorVal or isinstance(value, InstanceVal) and value.info.is_module:
            return False
        for group in _MODULE_GROUPS:
            d = self.dict.get(cx, group)
            if not isinstance(d, DictVal) or d.get(cx, name) is not None:
                return False
        raw = self.info.find(name)
        if _is_data(raw):
            return False
        self.dict.put(cx, name, value)
        return True

    def delattr(self, cx: Capture, name: str) -> Result | None:
        self.pytype(cx)
        info = self.info
        if info.custom_del is not None:
            return Invoke(cx.fixed(info.custom_del), [self, Const(name)])
        return self.generic_delete(cx, name)

    def generic_delete(self, cx: Capture, name: str) -> Result | None:
        raw = self.info.find(name)
        if type(raw) is property:
            if raw.fdel is None:
                raise cx.raised(AttributeError, f"property {name!r} of {self.cls.__qualname__!r} object has no deleter")
            return Invoke(cx.fixed(raw.fdel), [self])
        if type(raw) is types.MemberDescriptorType and self.obj is None:
            if self.slots is None or name not in self.slots:
                raise cx.raised(AttributeError, name)
            del self.slots[name]
            return None
        deleter = getattr(type(raw), "__delete__", None)
        if type(deleter) is types.FunctionType:
            return Invoke(cx.fixed(deleter), [cx.fixed(raw), self])
        if _is_data(raw):
            raise unsupported(f"deleting the attribute {name!r} of a {self.cls.__name__}")
        if not self.info.has_dict:
            raise self.not_settable(cx, name, raw)
        if self.dict.get(cx, name) is None:
            raise self.no_attribute(cx, name)
        self.dict.remove(cx, name)
        return None

    def slot(self, cx: Capture, name: str) -> Value:
        """The value in a `__slots__` slot."""
        v = self.slots.get(name) if self.slots is not None else None
        if v is not None:
            return v
        if self.obj is None:
            if self.is_exception:
                if name in ("value", "code") and issubclass(self.cls, (StopIteration, SystemExit)) and self.base.items:
                    return self.base.items[0]
                return Const(self.suppress if name == "__suppress_context__" else None)
            raise cx.raised(AttributeError, _messages.empty_slot(self.cls, name))
        self.pytype(cx)
        try:
            real = _get(self.obj, name)
        except AttributeError as e:
            raise cx.raised(AttributeError, str(e)) from None
        assert self.source is not None
        v = cx.wrap(real, Source("attr", self.source, name))
        if self.slots is None:
            self.slots = {}
        self.slots[name] = v
        return v

    # ---------------------------------------------------------------- special methods
    def special(self, cx: Capture, name: str) -> Any:
        """The raw special method `name` of the class, or MISSING."""
        self.pytype(cx)
        raw = self.info.find(name)
        return MISSING if raw is None else raw

    def invoke_special(self, cx: Capture, name: str, args: list[Value], then: str = "push") -> Result | None:
        """Call a special method that is Python code; None if the class has none, or a C one."""
        raw = self.special(cx, name)
        if type(raw) is types.FunctionType:
            return Invoke(cx.fixed(raw), [self, *args], then=then)
        if raw is MISSING or type(raw) in (types.WrapperDescriptorType, types.MethodDescriptorType,
                                           types.BuiltinFunctionType):
            return None
        bound = _attributes.bind_raw(cx, self, self.cls, name, raw)
        if isinstance(bound, Invoke):
            raise unsupported(f"{self.cls.__name__}.{name} is computed by a descriptor")
        return Invoke(bound, args, then=then)

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        compiled = self.special(cx, "__pellucid__")
        if compiled is not MISSING:          # a nested compiled function or module: what it stands for is inlined
            return cx.fixed(compiled.original).call(cx, args, kwargs)
        if self.info.is_module:
            return _nn.call_module(cx, self, args, kwargs)
        if isinstance(self.obj, _torch_calls.OPERATORS):
            made = _torch_calls.call_operator(cx, self.obj, args, kwargs, self)
            if made is not None:
                return made
        if type(self.obj) in _getters.GETTERS and len(args) == 1 and not kwargs:
            return _getters.call_getter(cx, self.obj, args)
        if type(self.obj) is _declared.CACHED:
            r = _declared.call_declared(cx, self, self.obj, args, kwargs)
            if r is not None:
                return r
        raw = self.special(cx, "__call__")
        if type(raw) is types.FunctionType:
            return Invoke(cx.fixed(raw), [self, *args], kwargs)
        if raw is MISSING:
            raise cx.raised(TypeError, f"{self.cls.__name__!r} object is not callable")
        if self.obj is not None and type(raw) is not types.WrapperDescriptorType:
            bound = _attributes.bind_raw(cx, self, self.cls, "__call__", raw)
            if isinstance(bound, Value):
                return bound.call(cx, args, kwargs)
        raise Broken("PB104", f"call of a {self.cls.__module__}.{self.cls.__qualname__} object", self, args, kwargs)

    def truth(self, cx: Capture) -> bool | Invoke:
        r = self.invoke_special(cx, "__bool__", [], then="truth")
        if r is not None:
            return r  # type: ignore[return-value]
        r = self.invoke_special(cx, "__len__", [], then="truth")
        if r is not None:
            return r  # type: ignore[return-value]
        if self.base is not None and not self.is_exception:
            return self.base.truth(cx)
        if self.info.find("__bool__") is not MISSING or self.info.find("__len__") is not MISSING:
            raise unsupported(f"truth of a {self.cls.__name__}")
        return True

    @property
    def is_exception(self) -> bool:
        return issubclass(self.cls, BaseException)

    def _container(self, cx: Capture, name: str, args: list[Value], then: str = "push") -> Result | None | Any:
        r = self.invoke_special(cx, name, args, then)
        if r is not None:
            return r
        if self.base is None or self.is_exception:
            raw = self.info.find(name)
            if raw is MISSING:
                return None
            if self.obj is not None:
                raise Broken("PB111", f"{name} of a {self.cls.__name__}, which is implemented in C",
                             cx.fixed(raw), [self, *args])
            raise unsupported(f"{name} of a {self.cls.__name__}")
        return MISSING

    def getitem(self, cx: Capture, key: Value) -> Result:
        r = self._container(cx, "__getitem__", [key])
        if r is MISSING:
            base = self.base
            if isinstance(base, DictVal) and self.info.find("__missing__") is not MISSING:
                found = base.get(cx, key.key(cx))
                if found is not None:
                    return found
                missing = self.invoke_special(cx, "__missing__", [key])
                if missing is not None:
                    return missing
            return base.getitem(cx, key)
        return Value.getitem(self, cx, key) if r is None else r

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        r = self._container(cx, "__setitem__", [key, value])
        if r is MISSING:
            return self.base.setitem(cx, key, value)
        return Value.setitem(self, cx, key, value) if r is None else r

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        r = self._container(cx, "__delitem__", [key])
        if r is MISSING:
            return self.base.delitem(cx, key)
        return Value.delitem(self, cx, key) if r is None else r

    def length(self, cx: Capture) -> Result:
        r = self._container(cx, "__len__", [])
        if r is MISSING:
            return self.base.length(cx)
        return Value.length(self, cx) if r is None else r

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        r = self._container(cx, "__contains__", [item], "truth")
        if r is MISSING:
            return self.base.contains(cx, item)
        if r is None:
            return Invoke(_polyfills.polyfill(cx, "contains_by_iteration"), [self, item], then="truth")
        return r

    def iterate(self, cx: Capture) -> Result:
        r = self._container(cx, "__iter__", [])
        if r is MISSING:
            return self.base.iterate(cx)
        if r is None and self.info.find("__getitem__") is not MISSING:
            return Invoke(_polyfills.polyfill(cx, "iterate_by_index"), [self])
        return Value.iterate(self, cx) if r is None else r

    def elements(self, cx: Capture) -> list[Value] | None:
        if self.base is not None and not self.is_exception:
            raw = self.special(cx, "__iter__")
            if type(raw) is not types.FunctionType:
                return self.base.elements(cx)
        return None

    def key(self, cx: Capture) -> Any:
        self.pytype(cx)
        raw = self.info.find("__hash__")
        if raw is object.__hash__ and self.info.find("__eq__") is object.__eq__:
            return self.obj if self.obj is not None else self
        if raw is BaseException.__hash__:
            return self
        if isinstance(self.base, TupleVal) and type(raw) is not types.FunctionType:
            return self.base.key(cx)
        if raw is None:
            raise cx.raised(TypeError, f"unhashable type: {self.cls.__name__!r}")
        obj = _attributes.constant_instance(cx, self)
        if obj is None:
            obj = _keys.dataclass_key(cx, self)
        if obj is None:
            raise unsupported(f"using a {self.cls.__name__} with its own __hash__ as a key")
        return obj

    def constant(self, cx: Capture) -> Any:
        raise NotConstant(self)

    # ---------------------------------------------------------------- building
    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromConst(self.obj) if self.source.kind == "const" else FromSource(self.source)
        attrs = dict(self.dict.items)
        if self.slots:
            attrs.update(self.slots)
        names = tuple(attrs)
        parts = [cx.recipe(v) for v in attrs.values()]
        base = self.base
        kind = None
        if self.is_exception:
            kind = "exception"
            for name, v in (("__context__", self.context), ("__cause__", self.cause)):
                if v is not None:
                    names += (name,)
                    parts.append(cx.recipe(v))
            if self.suppress:
                names += ("__suppress_context__",)
                parts.append(FromConst(True))
            parts += [cx.recipe(v) for v in base.load(cx)]
        elif isinstance(base, DictVal):
            kind = "dict"
            for k, v in base.items.items():
                parts += [cx.recipe(_mapping.key_value(cx, k)), cx.recipe(v)]
        elif isinstance(base, SequenceVal):
            kind = "tuple" if isinstance(base, TupleVal) else "list"
            parts += [cx.recipe(v) for v in base.load(cx)]
        elif base is not None:
            kind = "set"
            parts += [cx.recipe(v) for v in base.elements(cx)]
        return Build("instance", tuple(parts), (self.cls, names, kind))


def _is_data(raw: Any) -> bool:
    """Whether a raw class attribute is a data descriptor."""
    t = type(raw)
    if t is types.FunctionType or raw is MISSING:
        return False
    return hasattr(t, "__set__") or hasattr(t, "__delete__")


def MethodVal_(fn: Value, obj: Value) -> Value:
    return _function.MethodVal(fn, obj)


def wrap_instance(cx: Capture, obj: Any, source: Source) -> Value:
    """An object outside whose class is Python code; contents of container subclasses are read through it."""
    cls = type(obj)
    base: Any = None
    if isinstance(obj, dict):
        kind = collections.OrderedDict if issubclass(cls, collections.OrderedDict) else dict
        base = DictVal(kind, obj=obj, source=source)
        base.typed = True
    elif isinstance(obj, list):
        base = ListVal(None, list, obj, source)
    elif isinstance(obj, tuple):
        base = TupleVal(None, tuple, obj, source)
    elif isinstance(obj, (set, frozenset)):
        base = _sets.SetVal(None, frozenset if isinstance(obj, frozenset) else set, obj, source)
    elif isinstance(obj, BaseException):
        base = TupleVal(None, tuple, obj.args, Source("attr", source, "args"))
    v = InstanceVal(cx, cls, obj, source, base)
    if isinstance(base, (DictVal, SequenceVal)):
        v.pytype(cx) if source.kind == "const" else None
    return v


def exception_value(cx: Capture, cls: type[BaseException], args: list[Value]) -> InstanceVal:
    return InstanceVal(cx, cls, base=TupleVal(list(args)))

# Modules that need this one: bound when all are loaded.
from .. import polyfills as _polyfills  # noqa: E402
from .. import torch_calls as _torch_calls  # noqa: E402
from ..known import declared as _declared  # noqa: E402
from ..known import getters as _getters  # noqa: E402
from . import attributes as _attributes  # noqa: E402
from . import function as _function  # noqa: E402
from . import keys as _keys  # noqa: E402
from . import mapping as _mapping  # noqa: E402
from . import messages as _messages  # noqa: E402
from . import nn as _nn  # noqa: E402
from . import sets as _sets  # noqa: E402
from . import tensor as _tensor  # noqa: E402

"""Callables implemented in C: functions, methods of built-in types, tensor methods; and what is known of them."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ...ops.registry import FUNCTIONS, METHODS
from ..types import Build, FromConst, FromSource, Recipe
from .base import Broken, Invoke, NotConstant, Result, Value, give_up
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture

Known = Callable[..., Any]
KNOWN: dict[Any, Known] = {}
"""Callable -> fn(cx, args, kwargs) -> value, Invoke, or None where it does not apply. Filled by `capture.known`."""

TYPE_METHODS: dict[type, dict[str, Known]] = {}
"""Built-in class -> method name -> fn(cx, self, args, kwargs). Filled by `capture.known`."""

PURE: set[Any] = set()
"""C functions that only compute from their arguments: called during capture when all arguments are known."""

_CHANGES = (bytearray, memoryview)
_OPERATOR = "_operator"


def call_known(cx: Capture, me: Value, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Result | None:
    """The call of an outside callable about which something is known; None if nothing is."""
    try:
        known = KNOWN.get(obj)
    except TypeError:
        return None
    if known is not None:
        check_identity(cx, me)
        if obj in _arity.CHECKED:
            error = _arity.misfit(obj, None, len(args), tuple(kwargs))
            if error is not None:
                raise cx.reraise(error)
        r = known(cx, args, kwargs)
        if r is not None:
            return r
    if obj in FUNCTIONS:
        if getattr(obj, "__module__", None) != _OPERATOR or any(_torch_calls.has_tensor(a) for a in args):
            check_identity(cx, me)
            return _torch_calls.call_function(cx, obj, args, kwargs, me)
    if obj in PURE:
        check_identity(cx, me)
        return call_pure(cx, me, obj, args, kwargs)
    return None


def whole_call(e: Broken, me: Value, args: list[Value], kwargs: dict[str, Value]) -> Broken:
    """A break inside what is known of a callable: one native operation stands for the instruction, so that has to be
    the call itself and not, say, the comparison that max() came to."""
    if e.function is None or e.whole or e.then != "push":
        return e
    if len(e.args_) == len(args) and all(a is b for a, b in zip(e.args_, args)) and len(e.kwargs) == len(kwargs):
        return e
    if any(isinstance(a, (_iterator.IterVal, _iterator.GeneratorVal)) for a in args):
        return give_up(e.message)               # items may have been taken from it already
    return Broken(e.code, e.message, me, args, kwargs, e.remedy)


def check_identity(cx: Capture, me: Value) -> None:
    source = getattr(me, "source", None)
    if source is not None and source.kind != "const":
        cx.guard_once((source, "is"), "is", source, me.obj, "call")  # type: ignore[attr-defined]


def call_pure(cx: Capture, me: Value, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> Result:
    """fn(*args) computed now; breaks where an argument is not known."""
    try:
        xs = [a.constant(cx) for a in args]
        ks = {k: a.constant(cx) for k, a in kwargs.items()}
    except NotConstant as e:
        if type(e.value) in (_number.FloatVal, _size.SizeVal) and not kwargs:
            made = _number.calculation(cx, fn, args)
            if made is not None:
                return made
        if type(e.value) is _size.SizeVal:
            fixed = [Const(a.concrete(cx)) if type(a) is _size.SizeVal else a for a in args]
            if any(a is not b for a, b in zip(fixed, args)):
                return call_pure(cx, me, fn, fixed, kwargs)
        name = getattr(fn, "__qualname__", repr(fn))
        raise Broken("PB104", f"{name}() of a value that is only known at run time", me, args, kwargs) from None
    try:
        made = fn(*xs, **ks)
    except Exception as e:
        raise cx.reraise(e) from None
    if type(made) in _CHANGES:
        raise Broken("PB104", f"{getattr(fn, '__qualname__', fn)}() makes an object that may change", me, args, kwargs)
    return cx.literal(made)


class BuiltinVal(Value):
    """A C function, or an unbound method or slot of a C class."""

    __slots__ = ("obj", "source")

    def __init__(self, obj: Any, source: Source):
        self.obj, self.source = obj, source

    def __repr__(self) -> str:
        return f"<built-in {getattr(self.obj, '__qualname__', self.obj)}>"

    def pytype(self, cx: Capture) -> type:
        self.constant(cx)
        return type(self.obj)

    def constant(self, cx: Capture) -> Any:
        if self.source.kind != "const":
            cx.guard_once((self.source, "is"), "is", self.source, self.obj, "identity")
        return self.obj

    def key(self, cx: Capture) -> Any:
        return self.constant(cx)

    def attr(self, cx: Capture, name: str) -> Result:
        obj = self.constant(cx)
        try:
            found = getattr(obj, name)
        except AttributeError as e:
            raise cx.reraise(e) from None
        return cx.fixed(found, name)

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        obj = self.obj
        r = call_known(cx, self, obj, args, kwargs)
        if r is not None:
            return r
        t = type(obj)
        if t in (types.MethodDescriptorType, types.WrapperDescriptorType) and args:
            return call_descriptor(cx, obj, args[0], args[1:], kwargs, self)
        if t in (types.BuiltinFunctionType, types.MethodWrapperType):
            owner = getattr(obj, "__self__", None)
            if owner is not None and not isinstance(owner, types.ModuleType) and hasattr(owner, obj.__name__):
                if isinstance(owner, type):
                    return call_class_method(cx, cx.fixed(owner), obj.__name__, args, kwargs, self)
                v = cx.wrap(owner, Source("attr", self.source, "__self__"))
                r2 = v.attr(cx, obj.__name__)
                if isinstance(r2, (BuiltinMethod, ConstMethod, TensorMethod)):
                    return r2.call(cx, args, kwargs)
        raise unknown(cx, obj, self, args, kwargs)

    def recipe(self, cx: Capture) -> Recipe:
        return FromConst(self.obj) if self.source.kind == "const" else FromSource(self.source)


def unknown(cx: Capture, obj: Any, me: Value, args: list[Value], kwargs: dict[str, Value]) -> Broken:
    module = getattr(obj, "__module__", None) or getattr(getattr(obj, "__objclass__", None), "__module__", "") or ""
    name = getattr(obj, "__qualname__", None) or getattr(obj, "__name__", repr(obj))
    if "pybind11" in name:
        name = obj.__name__
    label = f"{module}.{name}" if module else name
    if module.startswith("torch") or "TensorBase" in name or module == "_VariableFunctionsClass":
        cx.missing(label)
        return Broken("PB105", f"{label} has no entry in the operator catalogue", me, args, kwargs)
    return Broken("PB104", f"call of {label}", me, args, kwargs)


class BuiltinMethod(Value):
    """A method of a built-in class, bound to a value."""

    __slots__ = ("self", "name", "raw")
    identity = False

    def __init__(self, self_: Value, name: str, raw: Any):
        self.self, self.name, self.raw = self_, name, raw

    def __repr__(self) -> str:
        return f"<method {self.name} of {self.self!r}>"

    def pytype(self, cx: Capture) -> type:
        return types.BuiltinMethodType

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "__self__":
            return self.self
        if name in ("__name__", "__qualname__"):
            return Const(getattr(self.raw, name))
        if name == "__call__":
            return self
        return Value.attr(self, cx, name)

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        if isinstance(self.self, _klass.ClassVal) and type(self.raw) is not types.WrapperDescriptorType:
            return call_class_method(cx, self.self, self.name, args, kwargs, self)
        return call_descriptor(cx, self.raw, self.self, args, kwargs, self)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("builtin", (cx.recipe(self.self),), self.name)


def call_descriptor(cx: Capture, raw: Any, self: Value, args: list[Value], kwargs: dict[str, Value],
                    me: Value) -> Result:
    """raw(self, *args): a method or slot of a C class."""
    if type(self) is _tensor.TensorVal:
        return TensorMethod(self, raw.__name__).call(cx, args, kwargs)
    owner = getattr(raw, "__objclass__", None) or type(raw)
    name = getattr(raw, "__name__", "")
    if isinstance(self, _instance.InstanceVal) and owner is not object and owner is not type and self.base is not None \
            and not self.is_exception:
        fn = _type_method(owner, name)
        if fn is not None and not (owner is collections.OrderedDict and name == "copy"):    # gives the same class
            _fitting(cx, raw, owner, args, kwargs)
            return fn(cx, self.base, args, kwargs)
    else:
        fn = _type_method(owner, name)
        if fn is not None:
            _fitting(cx, raw, owner, args, kwargs)
            r = fn(cx, self, args, kwargs)
            if r is not None:
                return r
    if type(self) is Const:
        return call_pure(cx, me, raw, [self, *args], kwargs)
    raise unknown(
        cx, raw, me if type(me) is not BuiltinVal else me, args if type(me) is not BuiltinVal else [self, *args], kwargs
    )


_MADE_PLAINLY = frozenset((str, bytes, int, float, dict, list, set, frozenset, tuple, collections.deque,
                           collections.OrderedDict))


def _fitting(cx: Capture, raw: Any, owner: type, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Raises what Python raises of a wrong number of arguments."""
    if owner in _MADE_PLAINLY:
        error = _arity.misfit(raw, owner, len(args), tuple(kwargs))
        if error is not None:
            raise cx.reraise(error)


def _type_method(owner: type, name: str) -> Known | None:
    for c in owner.__mro__:
        table = TYPE_METHODS.get(c)
        if table is not None:
            fn = table.get(name)
            if fn is not None:
                return fn
        if name in _COMPARED and name in c.__dict__:
            return None         # a method of C code of its own, not object's
    return None


_COMPARED = frozenset(("__eq__", "__ne__", "__hash__", "__str__", "__reduce_ex__"))


def call_class_method(cx: Capture, cls: Value, name: str, args: list[Value], kwargs: dict[str, Value],
                      me: Value) -> Result:
    """cls.name(*args) where the method of the class is C code: dict.fromkeys, object.__new__ ..."""
    fn = _classes.CLASS_METHODS.get(name)
    if fn is not None:
        r = fn(cx, cls, args, kwargs)
        if r is not None:
            return r
    raw = getattr(cls.obj, name, None)  # type: ignore[attr-defined]
    try:
        if raw in PURE or cls.obj in (int, float, str, bytes):  # type: ignore[attr-defined]
            return call_pure(cx, me, raw, args, kwargs)
    except TypeError:
        pass
    raise unknown(cx, raw, me, args, kwargs)


class ConstMethod(Value):
    """A method of a constant: pure, computed when its arguments are known."""

    __slots__ = ("self", "name", "bound")
    identity = False

    def __init__(self, self_: Const, name: str, bound: Any):
        self.self, self.name, self.bound = self_, name, bound

    def pytype(self, cx: Capture) -> type:
        return type(self.bound)

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        if type(self.bound) is types.MethodType:
            return Invoke(cx.fixed(self.bound.__func__), [self.self, *args], kwargs)
        special = TYPE_METHODS.get(type(self.self.value), {}).get(self.name)
        if special is not None:
            owner = type(self.self.value)
            _fitting(cx, getattr(owner, self.name), owner, args, kwargs)
            r = special(cx, self.self, args, kwargs)
            if r is not None:
                return r
        return call_pure(cx, self, self.bound, args, kwargs)

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "__self__":
            return self.self
        return cx.literal(getattr(self.bound, name))

    def recipe(self, cx: Capture) -> Recipe:
        return Build("builtin", (cx.recipe(self.self),), self.name)


class TensorMethod(Value):
    """A method of a tensor, bound."""

    __slots__ = ("self", "name")
    identity = False

    def __init__(self, self_: Value, name: str):
        self.self, self.name = self_, name

    def __repr__(self) -> str:
        return f"<tensor method {self.name}>"

    def pytype(self, cx: Capture) -> type:
        return types.BuiltinMethodType

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        name = self.name
        fn = _tensor.META_METHODS.get(name)
        if fn is not None:
            return fn(cx, self.self, args, kwargs)
        if name in _tensor.VALUE_METHODS:
            self.self.pytype(cx)
            if not args and not kwargs and type(self.self) is _tensor.TensorVal:
                known = _known_values.handed(cx, self.self, name)
                if known is not None:
                    return known
            raise Broken("PB102", f"Tensor.{name}() hands the tensor's value to Python", self, args, kwargs)
        if name in METHODS:
            return _torch_calls.call_method(cx, self.self, name, args, kwargs)
        raw = getattr(self.self.cls, name, None)  # type: ignore[attr-defined]
        if type(raw) is types.FunctionType and name != "backward":
            return Invoke(cx.fixed(raw), [self.self, *args], kwargs)
        return _torch_calls.call_method(cx, self.self, name, args, kwargs)

    def attr(self, cx: Capture, name: str) -> Result:
        if name == "__self__":
            return self.self
        if name == "__name__":
            return Const(self.name)
        return Value.attr(self, cx, name)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("builtin", (cx.recipe(self.self),), self.name)


def wrap_builtin(cx: Capture, obj: Any, source: Source) -> Value:
    return BuiltinVal(obj, source)


METHODS_OF = TYPE_METHODS

# Modules that need this one: bound when all are loaded.
from .. import known_values as _known_values  # noqa: E402
from .. import torch_calls as _torch_calls  # noqa: E402
from ..known import arity as _arity  # noqa: E402
from ..known import classes as _classes  # noqa: E402
from . import instance as _instance  # noqa: E402
from . import iterator as _iterator  # noqa: E402
from . import klass as _klass  # noqa: E402
from . import number as _number  # noqa: E402
from . import size as _size  # noqa: E402
from . import tensor as _tensor  # noqa: E402

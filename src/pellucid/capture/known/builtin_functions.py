"""Python's built-in functions on values."""

from __future__ import annotations

import operator
import types
from typing import TYPE_CHECKING, Any

import torch

from ..classes import MISSING
from ..operators import binary, compare, unary
from ..polyfills import polyfill
from ..polyfills.plain import NO_EXTREME
from ..values.base import Broken, Invoke, NotConstant, Raised, Value
from ..values.builtin import KNOWN, BuiltinVal, check_identity
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.function import FunctionVal, SuperVal
from ..values.identity import IdVal
from ..values.instance import InstanceVal
from ..values.klass import ClassVal
from ..values.mapping import DictVal
from ..values.opaque import OpaqueVal
from ..values.sequence import SequenceVal, TupleVal
from ..values.size import SizeVal, size_of, size_value
from ..values.tensor import TensorVal
from .register import boolean, known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


# ------------------------------------------------------------------ classes and attributes
def class_argument(cx: Capture, v: Value) -> Any:
    """The class, union, or tuple of them, that isinstance gets."""
    if type(v) is OpaqueVal and type(v.obj) is types.UnionType:
        return v.obj
    if type(v) is InstanceVal and v.obj is not None and v.cls.__module__ == "typing":
        check_identity(cx, v)
        return v.obj
    return v.constant(cx)


@known(isinstance)
def _isinstance(cx: Capture, args: Args, kw: Kw) -> Any:
    v, c = args
    cls = class_argument(cx, c)
    return boolean(instance_of(cx, v, cls))


def instance_of(cx: Capture, v: Value, cls: Any) -> bool:
    if type(cls) is tuple:
        return any(instance_of(cx, v, c) for c in cls)
    t = v.pytype(cx)
    if type(v) is TensorVal:
        if v.obj is not None:
            return isinstance(v.obj, cls)
        return t is torch.Tensor and cls in (torch.Tensor, object) or (
            cls not in (torch.nn.Parameter, torch.nn.Buffer, torch.nn.parameter.Buffer)
            and isinstance(cls, type) and issubclass(t, cls))
    if isinstance(cls, types.UnionType):
        return any(instance_of(cx, v, c) for c in cls.__args__)
    try:
        if type(v) is InstanceVal and v.obj is not None and type(type(cls).__instancecheck__) is types.FunctionType:
            return isinstance(v.obj, cls)
        found = issubclass(t, cls)
    except TypeError as e:
        if isinstance(v, InstanceVal) and v.obj is not None:
            return isinstance(v.obj, cls)
        try:
            isinstance(None, cls)           # says what is wrong with it in isinstance's own words
        except TypeError as own:
            raise cx.reraise(own) from None
        raise cx.reraise(e) from None
    if found or type(v) is not InstanceVal or v.info.find("__class__") is object.__dict__["__class__"]:
        return found
    raise Broken("PB112", f"isinstance() of a {t.__name__}, whose class overrides __class__", cx.fixed(isinstance),
                 [v, cx.fixed(cls)])


@known(issubclass)
def _issubclass(cx: Capture, args: Args, kw: Kw) -> Any:
    try:
        return boolean(issubclass(args[0].constant(cx), class_argument(cx, args[1])))
    except TypeError as e:
        raise cx.reraise(e) from None


@known(type)
def _type(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) != 1:
        raise Broken("PB114", "type() with three arguments defines a class", cx.fixed(type), args, kw)
    return cx.fixed(args[0].pytype(cx))


@known(getattr)
def _getattr(cx: Capture, args: Args, kw: Kw) -> Any:
    name = args[1].constant(cx)
    if type(name) is not str:
        raise cx.raised(TypeError, "attribute name must be string")
    if len(args) == 2:
        return args[0].attr(cx, name)
    try:
        r = args[0].attr(cx, name)
    except Raised as e:
        if _is_attribute_error(e.value):
            return args[2]
        raise
    if isinstance(r, Invoke):
        return Invoke(polyfill(cx, "getattr_default"), args)
    return r


def _is_attribute_error(v: Any) -> bool:
    return isinstance(v, InstanceVal) and issubclass(v.cls, AttributeError)


@known(hasattr)
def _hasattr(cx: Capture, args: Args, kw: Kw) -> Any:
    name = args[1].constant(cx)
    try:
        r = args[0].attr(cx, name)
    except Raised as e:
        if _is_attribute_error(e.value):
            return FALSE
        raise
    if isinstance(r, Invoke):
        return Invoke(polyfill(cx, "hasattr"), args)
    return TRUE


@known(setattr)
def _setattr(cx: Capture, args: Args, kw: Kw) -> Any:
    r = args[0].setattr(cx, args[1].constant(cx), args[2])
    if isinstance(r, Invoke):
        r.then, r.detail = "instead", NONE
        return r
    return NONE


@known(delattr)
def _delattr(cx: Capture, args: Args, kw: Kw) -> Any:
    r = args[0].delattr(cx, args[1].constant(cx))
    if isinstance(r, Invoke):
        r.then, r.detail = "instead", NONE
        return r
    return NONE


@known(callable)
def _callable(cx: Capture, args: Args, kw: Kw) -> Any:
    return boolean(cx.class_info(args[0].pytype(cx)).find("__call__") is not MISSING)


@known(id)
def _id(cx: Capture, args: Args, kw: Kw) -> Any:
    return IdVal(args[0])


@known(super)
def _super(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        f = cx.machine.frame
        code = f.code
        index = code.slots.index("__class__")
        after = f.locals[index].get(cx)
        obj = f.locals[0]
        if type(obj) is _function.CellVal:
            obj = obj.get(cx)
    else:
        after, obj = args
    cls = after.constant(cx)
    t = obj.pytype(cx)
    if isinstance(obj, ClassVal) and issubclass(obj.constant(cx), cls):
        t = obj.constant(cx)
    if not issubclass(t, cls):
        raise cx.raised(TypeError, "super(type, obj): obj must be an instance or subtype of type")
    return SuperVal(cls, obj, t)


# ------------------------------------------------------------------ numbers, strings
@known(len)
def _len(cx: Capture, args: Args, kw: Kw) -> Any:
    return args[0].length(cx)


@known(bool)
def _bool(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        return FALSE
    if type(args[0]) is TensorVal:
        if (n := _known_values.handed(cx, args[0], "__bool__")) is not None:
            return n
        raise Broken("PB101", "bool() of a tensor", cx.fixed(bool), args)
    t = args[0].truth(cx)
    return t if isinstance(t, Invoke) else boolean(t)


@known(int)
def _int(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) == 1 and not kw:
        v = args[0]
        if type(v) is SizeVal:
            return v
        if type(v) is TensorVal:
            if (n := _known_values.handed(cx, v, "__int__")) is not None:
                return n
            raise Broken("PB102", "int() of a tensor", cx.fixed(int), args)
        if isinstance(v, InstanceVal):
            r = v.invoke_special(cx, "__int__", []) or v.invoke_special(cx, "__index__", [])
            if r is not None:
                return r
    return None


@known(float)
def _float(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) == 1:
        v = args[0]
        if type(v) is TensorVal:
            if (n := _known_values.handed(cx, v, "__float__")) is not None:
                return n
            raise Broken("PB102", "float() of a tensor", cx.fixed(float), args)
        if isinstance(v, InstanceVal):
            return v.invoke_special(cx, "__float__", [])
    return None


@known(str)
def _str(cx: Capture, args: Args, kw: Kw) -> Any:
    return text_of(cx, args[0], "__str__") if args else Const("")


@known(repr)
def _repr(cx: Capture, args: Args, kw: Kw) -> Any:
    return text_of(cx, args[0], "__repr__")


_TEXT_OF_ARGS = (BaseException.__str__, KeyError.__str__, NameError.__str__, AttributeError.__str__,
                 ImportError.__str__)
"""What an exception's text is: that of its argument, or of the tuple of them."""


def text_of(cx: Capture, v: Value, method: str) -> Any:
    """str(v) or repr(v)."""
    fn = str if method == "__str__" else repr
    if type(v) is Const:
        return Const(fn(v.constant(cx)))
    if type(v) is SizeVal:
        return Const(fn(v.concrete(cx)))
    if isinstance(v, InstanceVal):
        r = v.invoke_special(cx, method, [])
        if r is None and method == "__str__" and type(v.info.find("__repr__")) is types.FunctionType:
            r = v.invoke_special(cx, "__repr__", [])
        if r is not None:
            return r
        if v.is_exception and v.info.find(method) in (*_TEXT_OF_ARGS, BaseException.__repr__):
            return exception_text(cx, v, method)
    if isinstance(v, (ClassVal, FunctionVal, BuiltinVal)) and getattr(v, "obj", None) is not None:
        return Const(fn(v.constant(cx)))
    if type(v) is TupleVal and type(v.cls.__repr__) is types.FunctionType:
        return Invoke(cx.fixed(v.cls.__repr__), [v])
    try:
        return Const(fn(v.constant(cx)))
    except NotConstant:
        if isinstance(v, (SequenceVal, DictVal)) and not (isinstance(v, TupleVal) and v.cls is not tuple):
            return Invoke(polyfill(cx, "container_repr"), [v])
        raise Broken(
            "PB102" if type(v) is TensorVal else "PB112",
            f"{fn.__name__}() of a {type(v).__name__[:-3].lower()}",
            cx.fixed(fn),
            [v],
        ) from None


def exception_text(cx: Capture, v: InstanceVal, method: str) -> Any:
    """BaseException.__str__ or __repr__ of v."""
    if method == "__repr__":
        return Invoke(polyfill(cx, "exception_repr"), [Const(v.cls.__name__), v.base])
    items = v.base.load(cx)
    if not items:
        return Const("")
    if len(items) == 1:
        return text_of(cx, items[0], "__repr__" if issubclass(v.cls, KeyError) else "__str__")
    return text_of(cx, v.base, "__str__")


@known(ascii)
def _ascii(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "ascii"), args)


@known(format)
def _format(cx: Capture, args: Args, kw: Kw) -> Any:
    return format_value(cx, args[0], args[1] if len(args) > 1 else Const(""))


def format_value(cx: Capture, v: Value, spec: Value) -> Any:
    s = spec.constant(cx)
    if isinstance(v, InstanceVal):
        r = v.invoke_special(cx, "__format__", [spec])
        if r is not None:
            return r
    if s == "" and not isinstance(v, (Const, SizeVal)) and v.pytype(cx).__format__ is object.__format__:
        return text_of(cx, v, "__str__")
    if type(v) is TensorVal and not v.graph_value(cx).meta.shape:
        v = _known_values.handed(cx, v, "item") or v
    try:
        value = v.concrete(cx) if type(v) is SizeVal else v.constant(cx)
    except NotConstant:
        raise Broken("PB102", f"format() of a {type(v).__name__[:-3].lower()}", cx.fixed(format), [v, spec]) from None
    try:
        return Const(format(value, s))
    except Exception as e:
        raise cx.reraise(e) from None


@known(divmod)
def _divmod(cx: Capture, args: Args, kw: Kw) -> Any:
    return args[0].invoke_special(cx, "__divmod__", args[1:]) if isinstance(args[0], InstanceVal) else None


@known(round)
def _round(cx: Capture, args: Args, kw: Kw) -> Any:
    return args[0].invoke_special(cx, "__round__", [*args[1:], *kw.values()]) if isinstance(args[0], InstanceVal) \
        else None


@known(abs)
def _abs(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if type(v) is SizeVal:
        return v if cx.env.decide(">=", v.dim, 0) else size_value(-v.dim)
    return unary(cx, abs, v)


@known(operator.index)
def _index(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if type(v) is SizeVal:
        return v
    if isinstance(v, InstanceVal):
        return v.invoke_special(cx, "__index__", [])
    return None


@known(hash)
def _hash(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if isinstance(v, InstanceVal):
        r = v.invoke_special(cx, "__hash__", [])
        if r is not None:
            return r
    try:
        return Const(hash(v.constant(cx)))
    except NotConstant:
        raise Broken("PB112", "hash() of an object", cx.fixed(hash), args) from None
    except TypeError as e:
        raise cx.reraise(e) from None


def _extreme(name: str, fn: Any, op: Any) -> Any:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        items = args[0].elements(cx) if len(args) == 1 else args
        if items is None or "key" in kw or any(isinstance(x, InstanceVal) for x in items):
            return Invoke(polyfill(cx, name), [TupleVal(args)], kw)
        if not items:
            if "default" in kw:
                return kw["default"]
            raise cx.raised(ValueError, NO_EXTREME[name])
        best = items[0]
        for x in items[1:]:
            if type(best) is TensorVal or type(x) is TensorVal:
                pair = [_known_values.known_value(cx, v) if type(v) is TensorVal else None for v in (x, best)]
                if all(p is not None or isinstance(v, Const) for p, v in zip(pair, (x, best))):
                    a, b = (v.constant(cx) if p is None else p for p, v in zip(pair, (x, best)))
                    if op(a, b):
                        best = x
                    continue
                raise Broken("PB101", f"{name}() of tensors compares their values", cx.fixed(fn), args, kw)
            if type(best) is SizeVal or type(x) is SizeVal:
                a, b = size_of(best), size_of(x)
                if a is not None and b is not None:
                    best = size_value((_dim.size_min if name == "min" else _dim.size_max)(a, b))
                    continue
            r = compare(cx, op, x, best)
            if not isinstance(r, Const):
                return Invoke(polyfill(cx, name), [TupleVal(args)], kw)
            if r.value:
                best = x
        return best
    KNOWN[fn] = call
    return call


_extreme("min", min, operator.lt)
_extreme("max", max, operator.gt)


@known(sum)
def _sum(cx: Capture, args: Args, kw: Kw) -> Any:
    items = args[0].elements(cx)
    start = args[1] if len(args) > 1 else kw.get("start", Const(0))
    if items is None:
        return Invoke(polyfill(cx, "sum"), [args[0], start])
    for x in items:
        r = binary(cx, operator.add, start, x)
        if isinstance(r, Invoke):
            return Invoke(polyfill(cx, "sum"), [args[0], start])
        start = r
    return start


@known(any)
def _any(cx: Capture, args: Args, kw: Kw) -> Any:
    return _quantifier(cx, args, "any", True)


@known(all)
def _all(cx: Capture, args: Args, kw: Kw) -> Any:
    return _quantifier(cx, args, "all", False)


def _quantifier(cx: Capture, args: Args, name: str, stop: bool) -> Any:
    items = args[0].elements(cx)
    if items is None or any(isinstance(x, (InstanceVal, TensorVal)) for x in items):
        return Invoke(polyfill(cx, name), args)
    for x in items:
        if x.truth(cx) is stop:
            return boolean(stop)
    return boolean(not stop)


# Modules that need this one: bound when all are loaded.
from ...shapes import dim as _dim  # noqa: E402
from .. import known_values as _known_values  # noqa: E402
from ..values import function as _function  # noqa: E402

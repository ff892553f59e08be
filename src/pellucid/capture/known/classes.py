"""Methods of object, type, functions and exceptions; class methods implemented in C."""

from __future__ import annotations

import collections
import copyreg
import types
from typing import TYPE_CHECKING, Any

import torch

from ...torchdoor.functions import CONTEXT, NO_SETUP
from ..classes import MISSING
from ..operators import compare_below, identical
from ..polyfills import POLYFILLS, polyfill
from ..values.base import Broken, Invoke, Value
from ..values.builtin import TYPE_METHODS, BuiltinVal
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.function import FunctionVal, MethodVal
from ..values.instance import InstanceVal
from ..values.klass import ClassVal, allocate, builtin_init, make_instance, tuple_of
from ..values.mapping import DictVal
from ..values.sequence import ListVal, SequenceVal, TupleVal
from ..values.sets import SetVal
from ..values.tensor import TensorVal
from .builtin_functions import exception_text, text_of
from .iteration import all_of
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]
NOT_IMPLEMENTED = Const(NotImplemented)


# ------------------------------------------------------------------ object
def _object_setattr(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    name = args[0].constant(cx)
    r = s.generic_set(cx, name, args[1]) if isinstance(s, InstanceVal) else s.setattr(cx, name, args[1])
    return _none(r)


def _none(r: Any) -> Any:
    if r is None:
        return NONE
    r.then, r.detail = "instead", NONE
    return r


def _object_delattr(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    name = args[0].constant(cx)
    return _none(s.generic_delete(cx, name) if isinstance(s, InstanceVal) else s.delattr(cx, name))


def _object_getattribute(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    name = args[0].constant(cx)
    return s.generic(cx, name, fallback=False) if isinstance(s, InstanceVal) else s.attr(cx, name)


def _object_init(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    if isinstance(s, InstanceVal):
        r = builtin_init(cx, s, args, kw)
        if r is not None:
            return r
    return NONE


def _object_eq(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return TRUE if identical(cx, s, args[0]) else NOT_IMPLEMENTED


def _object_ne(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return FALSE if identical(cx, s, args[0]) else NOT_IMPLEMENTED


def _object_hash(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    raise Broken("PB112", "the identity hash of an object", cx.fixed(hash), [s])


def _object_reduce(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    """object.__reduce_ex__(2 or more) of a plain object: copyreg.__newobj__, (class,), its attributes."""
    if isinstance(s, SetVal):
        return TupleVal([cx.fixed(s.cls), TupleVal([ListVal(s.elements(cx))]), NONE])
    if not isinstance(s, InstanceVal) or s.base is not None or not args or args[0].constant(cx) < 2:
        return None
    info = s.info
    plain = (("__reduce__", object), ("__getstate__", object))
    if any(info.find(n) is not getattr(c, n, MISSING) for n, c in plain) or info.find("__slots__") is not MISSING \
            or info.find("__getnewargs__") is not MISSING or info.find("__getnewargs_ex__") is not MISSING:
        return None
    s.pytype(cx)
    attributes = dict(s.dict.load(cx))
    state: Value = DictVal(items=attributes) if attributes else NONE
    return TupleVal([cx.fixed(copyreg.__newobj__), TupleVal([cx.fixed(s.cls)]), state, NONE, NONE])  # type: ignore[attr-defined]


@known(POLYFILLS["contents_compare"])
def _contents_compare(cx: Capture, args: Args, kw: Kw) -> Any:
    return compare_below(cx, args[0].constant(cx), args[1], args[2])


TYPE_METHODS[object] = {
    "__reduce_ex__": _object_reduce,
    "__setattr__": _object_setattr,
    "__delattr__": _object_delattr,
    "__getattribute__": _object_getattribute,
    "__init__": _object_init,
    "__eq__": _object_eq,
    "__ne__": _object_ne,
    "__hash__": _object_hash,
    "__init_subclass__": lambda cx, s, a, k: NONE,
    "__str__": lambda cx, s, a, k: text_of(cx, s, "__str__"),
}


# ------------------------------------------------------------------ type
def _type_call(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    if isinstance(s, ClassVal):
        return make_instance(cx, s, s.check(cx), args, kw)
    return None


def _type_getattribute(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return s.attr(cx, args[0].constant(cx))


def _instancecheck(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return TRUE if _builtin_functions.instance_of(cx, args[0], s.constant(cx)) else FALSE


def _subclasscheck(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return TRUE if issubclass(args[0].constant(cx), s.constant(cx)) else FALSE


TYPE_METHODS[type] = {
    "__call__": _type_call,
    "__getattribute__": _type_getattribute,
    "__instancecheck__": _instancecheck,
    "__subclasscheck__": _subclasscheck,
    "mro": lambda cx, s, a, k: cx.literal(s.constant(cx).mro()),
}


# ------------------------------------------------------------------ functions
def _function_get(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    if type(args[0]) is Const and args[0].constant(cx) is None:
        return s
    return MethodVal(s, args[0])


TYPE_METHODS[types.FunctionType] = {
    "__get__": _function_get,
    "__call__": lambda cx, s, a, k: s.call(cx, a, k),
}
TYPE_METHODS[types.MethodType] = {"__call__": lambda cx, s, a, k: s.call(cx, a, k)}


def _property_get(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    assert isinstance(s, BuiltinVal)
    if type(args[0]) is Const:
        return s
    return cx.fixed(s.obj.fget).call(cx, [args[0]], {})


TYPE_METHODS[property] = {"__get__": _property_get}


# ------------------------------------------------------------------ exceptions
def _exception_init(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    if isinstance(s, InstanceVal):
        s.base = TupleVal(list(args))
    return NONE


def _with_traceback(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    return s


def _add_note(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    note = args[0]
    if not isinstance(s, InstanceVal) or s.obj is not None:
        return None
    if note.pytype(cx) is not str:
        raise cx.raised(TypeError, f"note must be a str, not '{note.pytype(cx).__name__}'")
    notes = s.dict.get(cx, "__notes__")
    if notes is None:
        s.dict.put(cx, "__notes__", ListVal([note]))
    elif isinstance(notes, ListVal):
        notes.append(cx, note)
    else:
        raise cx.raised(TypeError, "Cannot add note: __notes__ is not a list")
    return NONE


TYPE_METHODS[BaseException] = {
    "__init__": _exception_init,
    "with_traceback": _with_traceback,
    "__str__": lambda cx, s, a, k: exception_text(cx, s, "__str__"),
    "__repr__": lambda cx, s, a, k: exception_text(cx, s, "__repr__"),
    "add_note": _add_note,
}


# ------------------------------------------------------------------ class methods
def _fromkeys(cx: Capture, cls: Value, args: Args, kw: Kw) -> Any:
    c = cls.constant(cx)
    if c not in (dict, collections.OrderedDict) or kw.keys() - {"iterable", "value"} or c is dict and kw or not args:
        return None
    keys = all_of(cx, args[0])
    if keys is None:
        return None
    value = args[1] if len(args) > 1 else kw.get("value", NONE)
    return DictVal(c, {k.key(cx): value for k in keys})


def _new(cx: Capture, cls: Value, args: Args, kw: Kw) -> Any:
    """object.__new__(C), dict.__new__(C) ... or C.__new__(C) that is one of them."""
    made = args[0].constant(cx) if args else None
    if not isinstance(made, type):
        return None
    if made in (tuple, list, dict, set, frozenset, int, float, str):
        return args[0].call(cx, args[1:], kw)
    if made.__flags__ & (1 << 9) == 0 and not issubclass(made, BaseException) and made is not object:
        return None
    if hasattr(made, "_fields") and issubclass(made, tuple):
        items = all_of(cx, args[1])
        return None if items is None else tuple_of(cx, made, items)
    if issubclass(made, BaseException):
        return InstanceVal(cx, made, base=TupleVal(list(args[1:])))
    if issubclass(made, tuple):
        items = all_of(cx, args[1]) if len(args) > 1 else []
        return None if items is None else InstanceVal(cx, made, base=TupleVal(items))
    if issubclass(made, (dict, list)):
        return allocate(cx, made, args[1:])
    if issubclass(made, (int, float, str, set, frozenset)):
        return None
    return InstanceVal(cx, made)


@known(tuple.__new__, object.__new__)
def _new_of(cx: Capture, args: Args, kw: Kw) -> Any:
    made = _new(cx, args[0], args, kw) if args else None
    if made is None and len(args) == 2 and isinstance(args[0], ClassVal) and issubclass(args[0].constant(cx), tuple) \
            and not isinstance(args[1], SequenceVal):
        return Invoke(polyfill(cx, "tuple_new"), args)          # items that Python code makes
    return made


def _apply(cx: Capture, cls: Value, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """autograd.Function.apply where nothing of it is differentiated: its forward, followed. None elsewhere."""
    if not (isinstance(cls.obj, type) and issubclass(cls.obj, torch.autograd.Function)):    # type: ignore[attr-defined]
        return None
    tensors = [a for a in args if type(a) is TensorVal]
    if kwargs:
        return None
    if cx.grad and any(t.grad for t in tensors):
        return _applied.apply(cx, cls, args)
    needs = TupleVal([Const(type(a) is TensorVal and a.grad) for a in args])
    own_setup = cls.obj.setup_context is not NO_SETUP                                       # type: ignore[attr-defined]
    return Invoke(polyfill(cx, "apply_function"), [cls, cx.fixed(CONTEXT), needs, Const(own_setup),
                                                   cx.fixed(torch.no_grad), TupleVal(args)])


CLASS_METHODS: dict[str, Any] = {
    "fromkeys": _fromkeys,
    "__new__": _new,
    "__init_subclass__": lambda cx, cls, a, k: NONE,
    "__subclasshook__": lambda cx, cls, a, k: NOT_IMPLEMENTED,
    "apply": _apply,
    "mro": lambda cx, cls, a, k: cx.literal(cls.constant(cx).mro()),
}

__all__ = ["CLASS_METHODS", "FunctionVal", "MISSING"]

# Modules that need this one: bound when all are loaded.
# Modules that need this one: bound when all are loaded.
from . import applied as _applied  # noqa: E402
from . import builtin_functions as _builtin_functions  # noqa: E402

"""Python's built-in functions on values."""

from __future__ import annotations

import builtins
import collections
import dataclasses
import functools
import inspect
import logging
import operator
import sys
import types
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ..classes import MISSING
from ..frames import EXHAUSTED
from ..operators import binary, compare, identical, unary
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, NotConstant, Raised, Value, give_up
from ..values.builtin import KNOWN, BuiltinVal, TensorMethod
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.function import FunctionVal, MethodVal, PartialVal, SuperVal
from ..values.instance import InstanceVal
from ..values.iterator import EnumerateIter, GeneratorVal, IterVal, RangeIter, ZipIter, known_iterator
from ..values.klass import ClassVal
from ..values.mapping import DictVal, keyword_mapping
from ..values.sequence import ListVal, RangeVal, SequenceVal, SliceVal, TupleVal
from ..values.sets import SetVal
from ..values.size import SizeVal, size_of, size_value
from ..values.tensor import TensorVal

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


def known(*targets: Any) -> Callable[[Any], Any]:
    def register(fn: Any) -> Any:
        for t in targets:
            KNOWN[t] = fn
        return fn
    return register


def boolean(b: bool) -> Value:
    return TRUE if b else FALSE


# ------------------------------------------------------------------ classes and attributes
def class_argument(cx: Capture, v: Value) -> Any:
    """The class, or tuple of classes, that isinstance gets."""
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
        return issubclass(t, cls)
    except TypeError as e:
        if isinstance(v, InstanceVal) and v.obj is not None:
            return isinstance(v.obj, cls)
        raise cx.reraise(e) from None


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
    v = args[0]
    obj = getattr(v, "obj", None)
    if obj is None:
        raise Broken("PB112", "id() of an object made inside", cx.fixed(id), args, kw)
    source = getattr(v, "source", None)
    if source is not None and source.kind != "const":
        cx.guard_once((source, "is"), "is", source, obj, "id()")
    return Const(id(obj))


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
        if v.is_exception and method == "__str__" and v.info.find("__str__") in (BaseException.__str__, KeyError.__str__):
            items = v.base.load(cx)
            if not items:
                return Const("")
            if len(items) == 1:
                return text_of(cx, items[0], "__repr__" if issubclass(v.cls, KeyError) else "__str__")
            return text_of(cx, v.base, "__str__")
        if v.is_exception and method == "__repr__" and v.info.find("__repr__") is BaseException.__repr__:
            return Invoke(polyfill(cx, "exception_repr"), [Const(v.cls.__name__), v.base])
    if isinstance(v, (ClassVal, FunctionVal, BuiltinVal)) and getattr(v, "obj", None) is not None:
        return Const(fn(v.constant(cx)))
    try:
        return Const(fn(v.constant(cx)))
    except NotConstant:
        raise Broken("PB102" if type(v) is TensorVal else "PB112", f"{fn.__name__}() of a {type(v).__name__[:-3].lower()}",
                     cx.fixed(fn), [v]) from None


@known(ascii)
def _ascii(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "ascii"), args)


@known(format)
def _format(cx: Capture, args: Args, kw: Kw) -> Any:
    return format_value(cx, args[0], args[1] if len(args) > 1 else Const(""))


def format_value(cx: Capture, v: Value, spec: Value) -> Any:
    s = spec.constant(cx)
    if s == "" and not isinstance(v, (Const, SizeVal)):
        if isinstance(v, InstanceVal):
            r = v.invoke_special(cx, "__format__", [spec])
            if r is not None:
                return r
        return text_of(cx, v, "__str__")
    try:
        value = v.concrete(cx) if type(v) is SizeVal else v.constant(cx)
    except NotConstant:
        raise Broken("PB102", f"format() of a {type(v).__name__[:-3].lower()}", cx.fixed(format), [v, spec]) from None
    try:
        return Const(format(value, s))
    except Exception as e:
        raise cx.reraise(e) from None


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


def _extreme(name: str, fn: Any, op: Any) -> Any:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        items = args[0].elements(cx) if len(args) == 1 else args
        if items is None or "key" in kw or any(isinstance(x, InstanceVal) for x in items):
            return Invoke(polyfill(cx, name), [TupleVal(args)], kw)
        if not items:
            if "default" in kw:
                return kw["default"]
            raise cx.raised(ValueError, f"{name}() arg is an empty sequence")
        best = items[0]
        for x in items[1:]:
            if type(best) is TensorVal or type(x) is TensorVal:
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


# ------------------------------------------------------------------ containers
def all_of(cx: Capture, v: Value) -> list[Value] | None:
    """What iterating over v gives, where that is known at once (an iterator is used up)."""
    if isinstance(v, IterVal):
        return v.rest(cx)
    items = v.elements(cx)
    if items is not None:
        return list(items)
    it = known_iterator(cx, v)
    return it.rest(cx) if it is not None else None


@known(list)
def _list(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        return ListVal([])
    items = all_of(cx, args[0])
    return Invoke(polyfill(cx, "list"), args) if items is None else ListVal(items)


@known(tuple)
def _tuple(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        return TupleVal([])
    if type(args[0]) is TupleVal and args[0].cls is tuple:
        return args[0]
    items = all_of(cx, args[0])
    return Invoke(polyfill(cx, "tuple"), args) if items is None else TupleVal(items)


@known(torch.Size)
def _torch_size(cx: Capture, args: Args, kw: Kw) -> Any:
    items = all_of(cx, args[0]) if args else []
    return None if items is None else TupleVal(items, torch.Size)


@known(set)
def _set(cx: Capture, args: Args, kw: Kw) -> Any:
    return _make_set(cx, args, set)


@known(frozenset)
def _frozenset(cx: Capture, args: Args, kw: Kw) -> Any:
    return _make_set(cx, args, frozenset)


def _make_set(cx: Capture, args: Args, cls: type) -> Any:
    items = all_of(cx, args[0]) if args else []
    if items is None:
        return Invoke(polyfill(cx, cls.__name__), args)
    return SetVal(dict.fromkeys(x.key(cx) for x in items), cls)


@known(dict)
def _dict(cx: Capture, args: Args, kw: Kw) -> Any:
    return fill_dict(cx, DictVal(), args, kw)


@known(collections.OrderedDict)
def _ordered(cx: Capture, args: Args, kw: Kw) -> Any:
    return fill_dict(cx, DictVal(collections.OrderedDict), args, kw)


@known(collections.defaultdict)
def _defaultdict(cx: Capture, args: Args, kw: Kw) -> Any:
    return fill_dict(cx, DictVal(collections.defaultdict, factory=args[0] if args else NONE), args[1:], kw)


def fill_dict(cx: Capture, d: DictVal, args: Args, kw: Kw) -> Any:
    r = update_dict(cx, d, args, kw)
    if isinstance(r, Invoke):
        r.then, r.detail = "instead", d
        return r
    return d


def update_dict(cx: Capture, d: DictVal, args: Args, kw: Kw) -> Any:
    """d.update(*args, **kw)."""
    if args:
        other: Any = args[0]
        if isinstance(other, InstanceVal) and isinstance(other.base, DictVal):
            if type(other.info.find("keys")) is types.FunctionType or type(other.info.find("__getitem__")) is types.FunctionType \
                    and other.cls.__module__.split(".")[0] != "transformers":
                return Invoke(polyfill(cx, "dict_update"), [d, other])
            other = other.base
        if isinstance(other, DictVal):
            for k, v in list(other.load(cx).items()):
                d.put(cx, k, v)
        elif isinstance(other, InstanceVal) and other.info.find("keys") is not MISSING:
            return Invoke(polyfill(cx, "dict_update"), [d, other, DictVal(items=dict(kw))])
        else:
            pairs = all_of(cx, other)
            if pairs is None:
                return Invoke(polyfill(cx, "dict_update_pairs"), [d, other, DictVal(items=dict(kw))])
            for i, p in enumerate(pairs):
                kv = p.elements(cx)
                if kv is None or len(kv) != 2:
                    raise cx.raised(ValueError, f"dictionary update sequence element #{i} has a wrong length; 2 is required")
                d.put(cx, kv[0].key(cx), kv[1])
    for k, v in kw.items():
        d.put(cx, k, v)
    return None


@known(slice)
def _slice(cx: Capture, args: Args, kw: Kw) -> Any:
    a = [NONE, args[0], NONE] if len(args) == 1 else [*args, NONE, NONE][:3]
    return SliceVal(*a)


@known(range)
def _range(cx: Capture, args: Args, kw: Kw) -> Any:
    sizes = []
    for a in args:
        if type(a) is Const:
            a.constant(cx)
            s: Any = a.value
        elif type(a) is SizeVal:
            s = a.dim
        else:
            raise cx.raised(TypeError, f"'{a.pytype(cx).__name__}' object cannot be interpreted as an integer")
        if type(s) is float:
            raise cx.raised(TypeError, "'float' object cannot be interpreted as an integer")
        sizes.append(int(s) if type(s) is bool else s)
    start, stop, step = (0, sizes[0], 1) if len(sizes) == 1 else (*sizes, 1)[:3]
    if type(step) is not int:
        step = cx.env.concrete(step)
    if step == 0:
        raise cx.raised(ValueError, "range() arg 3 must not be zero")
    return RangeVal(start, stop, step)


# ------------------------------------------------------------------ iteration
@known(iter)
def _iter(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) == 2:
        return Invoke(polyfill(cx, "iter_until"), args)
    return args[0].iterate(cx)


@known(next)
def _next(cx: Capture, args: Args, kw: Kw) -> Any:
    it = args[0]
    if isinstance(it, IterVal):
        v = it.advance(cx)
        if v is EXHAUSTED:
            if len(args) > 1:
                return args[1]
            raise cx.raised(StopIteration)
        return v
    if len(args) > 1:
        return Invoke(polyfill(cx, "next_default"), args)
    if isinstance(it, GeneratorVal):
        return cx.machine.resume_generator(it, NONE)
    if isinstance(it, InstanceVal):
        r = it.invoke_special(cx, "__next__", [])
        if r is not None:
            return r
    raise Broken("PB104", f"next() of a {it.pytype(cx).__name__}", cx.fixed(next), args)


@known(enumerate)
def _enumerate(cx: Capture, args: Args, kw: Kw) -> Any:
    start = args[1] if len(args) > 1 else kw.get("start", Const(0))
    it = known_iterator(cx, args[0])
    if it is None:
        return Invoke(polyfill(cx, "enumerate"), [args[0], start])
    return EnumerateIter(it, start.constant(cx))


@known(zip)
def _zip(cx: Capture, args: Args, kw: Kw) -> Any:
    inner = [known_iterator(cx, a) for a in args]
    if "strict" in kw and kw["strict"].truth(cx) or any(i is None for i in inner):
        return Invoke(polyfill(cx, "zip"), args, kw)
    return ZipIter([i for i in inner if i is not None])


@known(map)
def _map(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "map"), args)


@known(filter)
def _filter(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "filter"), args)


@known(reversed)
def _reversed(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if isinstance(v, InstanceVal):
        r = v.invoke_special(cx, "__reversed__", [])
        if r is not None:
            return r
    if isinstance(v, RangeVal):
        r2 = reversed(v.known(cx))
        rest = list(r2)
        return RangeIter(rest[0], rest[-1] - v.step, -v.step) if rest else RangeIter(0, 0, 1)
    items = v.elements(cx)
    if items is None:
        return Invoke(polyfill(cx, "reversed"), args)
    return _iterator.SequenceIter.over(list(reversed(items)))


@known(sorted)
def _sorted(cx: Capture, args: Args, kw: Kw) -> Any:
    items = all_of(cx, args[0])
    if items is not None:
        out = sort_values(cx, items, kw)
        if out is not None:
            return ListVal(out)
    return Invoke(polyfill(cx, "sorted"), args, kw)


def sort_values(cx: Capture, items: list[Value], kw: Kw) -> list[Value] | None:
    """The items sorted, where that needs nothing but constants."""
    key = kw.get("key", NONE)
    if not (type(key) is Const and key.constant(cx) is None):
        return None
    try:
        order = [x.constant(cx) for x in items]
        reverse = kw["reverse"].truth(cx) if "reverse" in kw else False
        return [items[i] for i in sorted(range(len(order)), key=order.__getitem__, reverse=bool(reverse))]
    except NotConstant:
        return None
    except TypeError as e:
        raise cx.reraise(e) from None


# ------------------------------------------------------------------ frames and the rest
@known(globals)
def _globals(cx: Capture, args: Args, kw: Kw) -> Any:
    return cx.machine.frame.globals


@known(locals)
def _locals(cx: Capture, args: Args, kw: Kw) -> Any:
    return locals_of(cx, cx.machine.frame)


def locals_of(cx: Capture, f: Any) -> Value:
    out: dict[Any, Value] = {}
    for name, v in zip(f.code.slots, f.locals):
        if type(v) is _function.CellVal:
            v = v.get(cx)
        if v is not _frames.UNBOUND and v is not None:
            out[name] = v
    return DictVal(items=out)


@known(vars)
def _vars(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        return locals_of(cx, cx.machine.frame)
    return args[0].attr(cx, "__dict__")


@known(dataclasses._process_class)  # type: ignore[attr-defined]
def _process_class(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB114", "a dataclass is made", cx.fixed(dataclasses._process_class), args, kw)  # type: ignore[attr-defined]


@known(warnings.warn)
def _warn(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "warnings.warn()", cx.fixed(warnings.warn), args, kw)


@known(logging.Logger._log)
def _log(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "a log message is written", cx.fixed(logging.Logger._log), args, kw)


def _enabled(level: int, expected: bool) -> Any:
    def check(logger: Any) -> bool:
        return logger.isEnabledFor(level) is expected
    check.__name__ = f"isEnabledFor({level}) is {expected}"
    return check


@known(logging.Logger.isEnabledFor)
def _is_enabled_for(cx: Capture, args: Args, kw: Kw) -> Any:
    logger, level = args[0], args[1].constant(cx)
    if not isinstance(logger, InstanceVal) or logger.obj is None:
        return None
    answer = logger.obj.isEnabledFor(level)
    assert logger.source is not None
    cx.guard_once((logger, level), "python", logger.source, _enabled(level, answer), "log level")
    return boolean(answer)


@known(print)
def _print(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "print()", cx.fixed(print), args, kw)


@known(open, input)
def _open(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "input or output", cx.fixed(open), args, kw)


@known(functools.partial)
def _partial(cx: Capture, args: Args, kw: Kw) -> Any:
    fn = args[0]
    if isinstance(fn, PartialVal) and fn.cls is functools.partial:
        return PartialVal(fn.fn, [*fn.args, *args[1:]], {**fn.kwargs, **kw})
    return PartialVal(fn, args[1:], kw)


@known(functools.reduce)
def _reduce(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "reduce"), args)


@known(types.MethodType)
def _method(cx: Capture, args: Args, kw: Kw) -> Any:
    return MethodVal(args[0], args[1])


@known(object)
def _object(cx: Capture, args: Args, kw: Kw) -> Any:
    if args or kw:
        raise cx.raised(TypeError, "object() takes no arguments")
    return InstanceVal(cx, object)


def _operator(op: Any) -> None:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return binary(cx, op, args[0], args[1])
    KNOWN[op] = call


def _compare(op: Any) -> None:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return compare(cx, op, args[0], args[1])
    KNOWN[op] = call


for _op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
            operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.iadd,
            operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.iand, operator.ior):
    _operator(_op)
for _op in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    _compare(_op)
for _op in (operator.neg, operator.pos, operator.invert):
    KNOWN[_op] = lambda cx, args, kw, op=_op: unary(cx, op, args[0])


@known(operator.getitem)
def _getitem(cx: Capture, args: Args, kw: Kw) -> Any:
    return args[0].getitem(cx, args[1])


@known(operator.setitem)
def _setitem(cx: Capture, args: Args, kw: Kw) -> Any:
    r = args[0].setitem(cx, args[1], args[2])
    if isinstance(r, Invoke):
        r.then, r.detail = "instead", NONE
        return r
    return NONE


@known(operator.is_)
def _is(cx: Capture, args: Args, kw: Kw) -> Any:
    return boolean(identical(cx, args[0], args[1]))


@known(operator.is_not)
def _is_not(cx: Capture, args: Args, kw: Kw) -> Any:
    return boolean(not identical(cx, args[0], args[1]))


@known(operator.not_)
def _not(cx: Capture, args: Args, kw: Kw) -> Any:
    t = args[0].truth(cx)
    return Invoke(polyfill(cx, "not_"), args) if isinstance(t, Invoke) else boolean(not t)


@known(operator.truth)
def _truth(cx: Capture, args: Args, kw: Kw) -> Any:
    return _bool(cx, args, kw)


@known(operator.contains)
def _contains(cx: Capture, args: Args, kw: Kw) -> Any:
    t = args[0].contains(cx, args[1])
    return t if isinstance(t, Invoke) else boolean(t)


@known(eval, exec)
def _eval(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) < 2:
        raise give_up("eval() or exec() in the frame that calls it")
    return None


@known(sys._getframe)
def _getframe(cx: Capture, args: Args, kw: Kw) -> Any:
    raise give_up("sys._getframe()")


@known(sys.exc_info)
def _exc_info(cx: Capture, args: Args, kw: Kw) -> Any:
    exc = cx.machine.handled_exception()
    if exc is None:
        return TupleVal([NONE, NONE, NONE])
    return TupleVal([cx.fixed(exc.cls), exc, _traceback.TracebackVal(exc)])


@known(builtins.dir)
def _dir(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        names = locals_of(cx, cx.machine.frame)
        return ListVal([Const(n) for n in sorted(names.items)])  # type: ignore[attr-defined]
    if args and isinstance(args[0], ClassVal):
        return cx.literal(dir(args[0].constant(cx)))
    raise Broken("PB112", "dir()", cx.fixed(dir), args, kw)


@known(operator.attrgetter, operator.itemgetter, operator.methodcaller)
def _getter(cx: Capture, args: Args, kw: Kw) -> Any:
    return None


@known(inspect.signature)
def _signature(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if isinstance(v, MethodVal) and isinstance(v.fn, FunctionVal) and v.fn.obj is not None:
        return _cached_signature(cx, v.fn, True)
    if isinstance(v, FunctionVal) and v.obj is not None:
        return _cached_signature(cx, v, False)
    return None


def _cached_signature(cx: Capture, fn: FunctionVal, bound: bool) -> Value:
    fn.pytype(cx)
    known_ = cx.signatures.get((fn, bound))
    if known_ is None:
        assert fn.obj is not None
        sig = inspect.signature(fn.obj)
        if bound:
            sig = sig.replace(parameters=list(sig.parameters.values())[1:])
        known_ = cx.signatures[fn, bound] = cx.fixed(sig)
    return known_


__all__ = ["SequenceVal", "TensorMethod", "all_of", "fill_dict", "format_value", "instance_of", "keyword_mapping",
           "locals_of", "sort_values", "text_of", "update_dict"]

# Modules that need this one: bound when all are loaded.
from ...shapes import dim as _dim  # noqa: E402
from .. import frames as _frames  # noqa: E402
from ..values import function as _function  # noqa: E402
from ..values import iterator as _iterator  # noqa: E402
from ..values import traceback_ as _traceback  # noqa: E402

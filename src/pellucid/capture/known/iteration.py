"""Built-in functions that make containers and iterators, or run over them."""

from __future__ import annotations

import collections
import types
from typing import TYPE_CHECKING, Any

import torch

from ..classes import MISSING
from ..frames import EXHAUSTED
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, NotConstant, Value
from ..values.constant import NONE, Const
from ..values.instance import InstanceVal
from ..values.iterator import EnumerateIter, GeneratorVal, IterVal, RangeIter, ZipIter, known_iterator
from ..values.mapping import DictVal
from ..values.sequence import ListVal, RangeVal, SliceVal, TupleVal
from ..values.sets import KeySet, SetVal
from ..values.size import SizeVal
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


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
    if cls is frozenset and args and type(args[0]) is SetVal and args[0].cls is frozenset:
        return args[0]
    items = all_of(cx, args[0]) if args else []
    if items is None:
        return Invoke(polyfill(cx, cls.__name__), args)
    return SetVal(made_of(cx, args[0], items) if args else KeySet(), cls)


def made_of(cx: Capture, source: Value, items: list[Value]) -> KeySet:
    """The keys of set(source)."""
    return source.load(cx).duplicate() if type(source) is SetVal else KeySet(x.key(cx) for x in items)


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
            if (
                type(other.info.find("keys")) is types.FunctionType
                or type(other.info.find("__getitem__")) is types.FunctionType
                and other.cls.__module__.split(".")[0] != "transformers"
            ):
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
                kv = all_of(cx, p) if not isinstance(p, Const) or type(p.value) is str else None
                if kv is None:
                    raise cx.raised(TypeError, f"cannot convert dictionary update sequence element #{i} to a sequence")
                if len(kv) != 2:
                    raise cx.raised(
                        ValueError, f"dictionary update sequence element #{i} has a wrong length; 2 is required"
                    )
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
    if isinstance(v, SetVal) or type(v) is Const and type(v.constant(cx)) not in (str, bytes):
        raise cx.raised(TypeError, f"{v.pytype(cx).__name__!r} object is not reversible")
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


# Modules that need this one: bound when all are loaded.
from ..values import iterator as _iterator  # noqa: E402

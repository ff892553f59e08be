"""Methods of Python's built-in containers, strings and generators on values."""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..frames import EXHAUSTED
from ..operators import binary, compare
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, Value
from ..values.builtin import TYPE_METHODS
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.iterator import GeneratorVal, IterVal
from ..values.mapping import DictVal, key_value
from ..values.sequence import ListVal, SequenceVal, SliceVal, TupleVal
from ..values.sets import KeySet, SetVal, sought
from ..values.size import SizeVal
from ..values.view import ViewVal
from .iteration import all_of, sort_values, update_dict

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


def method(cls: type, *names: str) -> Callable[[Any], Any]:
    def register(fn: Any) -> Any:
        for n in names or (fn.__name__.rpartition("_")[2],):
            TYPE_METHODS.setdefault(cls, {})[n] = fn
        return fn
    return register


def number(cx: Capture, v: Value) -> int:
    return v.concrete(cx) if type(v) is SizeVal else v.constant(cx)


# ------------------------------------------------------------------ the operators as methods
def _protocol(cls: type) -> None:
    """__getitem__ and the like, called by name (from super() or unbound)."""
    table = TYPE_METHODS.setdefault(cls, {})
    table.update({
        "__getitem__": lambda cx, s, a, k: s.getitem(cx, a[0]),
        "__setitem__": lambda cx, s, a, k: s.setitem(cx, a[0], a[1]) or NONE,
        "__delitem__": lambda cx, s, a, k: s.delitem(cx, a[0]) or NONE,
        "__len__": lambda cx, s, a, k: s.length(cx),
        "__iter__": lambda cx, s, a, k: s.iterate(cx),
        "__contains__": lambda cx, s, a, k: TRUE if s.contains(cx, a[0]) else FALSE,
        "__eq__": lambda cx, s, a, k: compare(cx, operator.eq, s, a[0]),
        "__ne__": lambda cx, s, a, k: compare(cx, operator.ne, s, a[0]),
        "__add__": lambda cx, s, a, k: binary(cx, operator.add, s, a[0]),
        "__or__": lambda cx, s, a, k: binary(cx, operator.or_, s, a[0]),
        "__init__": lambda cx, s, a, k: _init(cx, s, a, k),
    })


def _init(cx: Capture, s: Value, args: Args, kw: Kw) -> Any:
    if isinstance(s, DictVal):
        return update_dict(cx, s, args, kw) or NONE
    if isinstance(s, ListVal):
        if s.load(cx):
            return Invoke(polyfill(cx, "list_again"), [s, *args], kw)
        return list_extend(cx, s, args, kw) if args else NONE
    if type(s) is SetVal and s.cls is set and (args or s.load(cx)):
        return Invoke(polyfill(cx, "set_again"), [s, *args], kw)
    return NONE


for _c in (list, tuple, dict, collections.OrderedDict, set, frozenset, str, range):
    _protocol(_c)


# ------------------------------------------------------------------ list
@method(list, "append")
def list_append(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    s.append(cx, args[0])
    return NONE


@method(list, "extend")
def list_extend(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    more = all_of(cx, args[0])
    if more is None:
        return Invoke(polyfill(cx, "list_extend"), [s, args[0]])
    s.write(cx).extend(more)
    return NONE


@method(list, "__iadd__")
def list_iadd(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    return binary(cx, operator.iadd, s, args[0])


@method(list, "insert")
def list_insert(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    s.write(cx).insert(number(cx, args[0]), args[1])
    return NONE


@method(list, "pop")
def list_pop(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    items = s.write(cx)
    try:
        return items.pop(number(cx, args[0]) if args else -1)
    except IndexError:
        raise cx.raised(IndexError, "pop from empty list" if not items else "pop index out of range") from None


@method(list, "clear")
def list_clear(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    s.write(cx).clear()
    return NONE


@method(list, "copy")
def list_copy(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    return ListVal(list(s.load(cx)))


@method(list, "reverse")
def list_reverse(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    s.write(cx).reverse()
    return NONE


@method(list, "sort")
def list_sort(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    out = sort_values(cx, s.load(cx), kw)
    if out is None:
        return Invoke(polyfill(cx, "list_sort"), [s], kw)
    s.write(cx)[:] = out
    return NONE


@method(list, "remove")
def list_remove(cx: Capture, s: ListVal, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "list_remove"), [s, *args])


@method(list, "index")
def list_index(cx: Capture, s: SequenceVal, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "list_index"), [s, *args])


@method(list, "count")
def list_count(cx: Capture, s: SequenceVal, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "list_count"), [s, *args])


TYPE_METHODS[tuple].update(index=list_index, count=list_count)


def _numel(cx: Capture, s: TupleVal, args: Args, kw: Kw) -> Any:
    total: Any = Const(1)
    for v in s.load(cx):
        total = binary(cx, operator.mul, total, v)
    return total


import torch  # noqa: E402

TYPE_METHODS[torch.Size] = {"numel": _numel}


def sequence_contains(cx: Capture, s: SequenceVal, item: Value) -> Any:
    for x in s.load(cx):
        if x is item:
            return True
        try:
            r = compare(cx, operator.eq, x, item)
        except Broken:
            r = NotImplemented          # a break belongs to the comparison of these two, in Python code
        if not isinstance(r, Const):
            return Invoke(polyfill(cx, "contains_by_iteration"), [s, item], then="truth")
        if r.truth(cx):
            return True
    return False


SequenceVal.contains = lambda self, cx, item: sequence_contains(cx, self, item)  # type: ignore[method-assign, assignment]


# ------------------------------------------------------------------ dict
@method(dict, "get")
def dict_get(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    v = s.get(cx, args[0].key(cx))
    return v if v is not None else args[1] if len(args) > 1 else kw.get("default", NONE)


@method(dict, "keys")
def dict_keys(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    return ViewVal(s, "keys")


@method(dict, "values")
def dict_values(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    return ViewVal(s, "values")


@method(dict, "items")
def dict_items(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    return ViewVal(s, "items")


@method(dict, "pop")
def dict_pop(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    k = args[0].key(cx)
    v = s.get(cx, k)
    if v is None:
        if len(args) > 1 or "default" in kw:
            return args[1] if len(args) > 1 else kw["default"]
        raise cx.raised(KeyError, k if not isinstance(k, Value) else str(k))
    s.remove(cx, k)
    return v


@method(dict, "popitem")
def dict_popitem(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    items = s.load(cx)
    if not items:
        raise cx.raised(KeyError, "popitem(): dictionary is empty")
    last = args[0].truth(cx) if args else kw["last"].truth(cx) if "last" in kw else True
    k = next(reversed(items)) if last else next(iter(items))
    v = items[k]
    s.remove(cx, k)
    return TupleVal([key_value(cx, k), v])


@method(dict, "setdefault")
def dict_setdefault(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    k = args[0].key(cx)
    v = s.get(cx, k)
    if v is None:
        v = args[1] if len(args) > 1 else NONE
        s.put(cx, k, v)
    return v


@method(dict, "update")
def dict_update(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    r = update_dict(cx, s, args, kw)
    return r if isinstance(r, Invoke) else NONE


@method(dict, "clear")
def dict_clear(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    s.clear(cx)
    return NONE


@method(dict, "copy")
def dict_copy(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    return DictVal(s.cls, dict(s.load(cx)), factory=s.default_factory(cx) if s.cls is collections.defaultdict else None)


@method(collections.OrderedDict, "move_to_end")
def move_to_end(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    k = args[0].key(cx)
    items = s.load(cx)
    if k not in items:
        raise cx.raised(KeyError, k)
    last = args[1].truth(cx) if len(args) > 1 else kw["last"].truth(cx) if "last" in kw else True
    v = items[k]
    s.remove(cx, k)
    if last:
        s.put(cx, k, v)
    else:
        s.put(cx, k, v)
        s.items = {k: v, **{a: b for a, b in s.items.items() if a != k}}
    return NONE


@method(dict, "__reversed__")
def dict_reversed(cx: Capture, s: DictVal, args: Args, kw: Kw) -> Any:
    return _iterator.SequenceIter.over(list(reversed(s.elements(cx) or [])))


def is_set_view(v: Value) -> bool:
    return type(v) is ViewVal and v.kind != "values"


def as_set(cx: Capture, v: Value) -> SetVal | None:
    """set(v) where that is known at once."""
    if isinstance(v, SetVal):
        return v
    items = all_of(cx, v)
    return None if items is None else SetVal(KeySet(x.key(cx) for x in items))


def _disjoint(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    a, b = as_set(cx, s), as_set(cx, args[0])
    if a is None or b is None:
        raise Broken("PB112", f"isdisjoint() of a {type(args[0]).__name__}")
    return TRUE if not a.load(cx).keys() & b.load(cx).keys() else FALSE


for _t in (type({}.keys()), type({}.items())):
    TYPE_METHODS[_t] = {"isdisjoint": _disjoint}


# ------------------------------------------------------------------ set
def _set_method(name: str, op: Any, inplace: bool) -> None:
    def call(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
        out: Any = s
        for a in args:
            other = as_set(cx, a)
            if other is None:
                raise Broken("PB112", f"set.{name}() of a {type(a).__name__}", None)
            out = binary(cx, op, out, other)
        if inplace:
            s.write(cx)
            s.items = out.load(cx).duplicate() if out is s else out.load(cx)
            return NONE
        return SetVal(out.load(cx).duplicate() if out is s else out.load(cx), s.cls)
    for c in (set, frozenset):
        TYPE_METHODS[c][name] = call


for _n, _op, _in in (("union", operator.or_, False), ("intersection", operator.and_, False),
                     ("difference", operator.sub, False), ("symmetric_difference", operator.xor, False),
                     ("update", operator.or_, True), ("intersection_update", operator.and_, True),
                     ("difference_update", operator.sub, True), ("symmetric_difference_update", operator.xor, True)):
    _set_method(_n, _op, _in)


@method(set, "add")
def set_add(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    k = args[0].key(cx)
    s.write(cx)[k] = None
    return NONE


@method(set, "discard")
def set_discard(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    s.write(cx).pop(sought(cx, args[0]), None)
    return NONE


@method(set, "remove")
def set_remove(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    k = sought(cx, args[0])
    if k not in s.load(cx):
        if type(args[0]) is SetVal:
            raise Broken("PB112", "remove() of a set that is no item", cx.fixed(set.remove), [s, *args])
        raise cx.raised(KeyError, k)
    del s.write(cx)[k]
    return NONE


@method(set, "pop")
def set_pop(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    items = s.write(cx)
    if not items:
        raise cx.raised(KeyError, "pop from an empty set")
    if len(items) > 1 and (items.real is None or s.obj is not None):
        raise Broken("PB112", "set.pop() of objects takes one that their addresses choose")
    k = items.order()[0] if items.real is None else items.real.pop()
    dict.__delitem__(items, k)
    return key_value(cx, k)


@method(set, "clear")
def set_clear(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    s.write(cx).clear()
    return NONE


@method(set, "copy")
def set_copy(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    return s if s.cls is frozenset else SetVal(s.load(cx).duplicate(), s.cls)


def _subset(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    other = as_set(cx, args[0])
    if other is None:
        raise Broken("PB112", f"issubset() of a {type(args[0]).__name__}")
    return TRUE if all(k in other.load(cx) for k in s.load(cx)) else FALSE


def _superset(cx: Capture, s: SetVal, args: Args, kw: Kw) -> Any:
    other = as_set(cx, args[0])
    if other is None:
        raise Broken("PB112", f"issuperset() of a {type(args[0]).__name__}")
    return TRUE if all(k in s.load(cx) for k in other.load(cx)) else FALSE


for _c in (set, frozenset):
    TYPE_METHODS[_c].update(issubset=_subset, issuperset=_superset, isdisjoint=_disjoint, copy=set_copy)


# ------------------------------------------------------------------ str
@method(str, "join")
def str_join(cx: Capture, s: Const, args: Args, kw: Kw) -> Any:
    items = all_of(cx, args[0])
    if items is None:
        return Invoke(polyfill(cx, "str_join"), [s, args[0]])
    try:
        return Const(s.constant(cx).join([x.constant(cx) for x in items]))
    except TypeError as e:
        raise cx.reraise(e) from None


@method(str, "format")
def str_format(cx: Capture, s: Const, args: Args, kw: Kw) -> Any:
    return None


# ------------------------------------------------------------------ iterators, generators
def _next_of(cx: Capture, s: IterVal, args: Args, kw: Kw) -> Any:
    v = s.advance(cx)
    if v is EXHAUSTED:
        raise cx.raised(StopIteration)
    return v


for _t in (type(iter([])), type(iter(range(0))), enumerate, zip):
    TYPE_METHODS[_t] = {"__next__": _next_of, "__iter__": lambda cx, s, a, k: s,
                        "__length_hint__": lambda cx, s, a, k: Const(0)}


def _generator_send(cx: Capture, s: GeneratorVal, args: Args, kw: Kw) -> Any:
    return cx.machine.resume_generator(s, args[0])


TYPE_METHODS[types.GeneratorType] = {
    "send": _generator_send,
    "__next__": lambda cx, s, a, k: cx.machine.resume_generator(s, NONE),
    "__iter__": lambda cx, s, a, k: s,
    "close": lambda cx, s, a, k: cx.machine.close_generator(s),
    "throw": lambda cx, s, a, k: cx.machine.throw_generator(s, a),
}


# ------------------------------------------------------------------ slice
def _indices(cx: Capture, s: SliceVal, args: Args, kw: Kw) -> Any:
    return cx.literal(s.slice(cx).indices(number(cx, args[0])))


TYPE_METHODS[slice] = {"indices": _indices}

# Modules that need this one: bound when all are loaded.
from ..values import iterator as _iterator  # noqa: E402

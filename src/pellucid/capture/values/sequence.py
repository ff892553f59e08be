"""Tuples and lists, with named tuples and torch.Size; ranges and slices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ...guards.types import Source
from ...shapes.dim import Dim, Size
from ..classes import MISSING
from ..polyfills import polyfill
from ..types import Build, FromConst, FromSource, Recipe
from .base import Invoke, NotConstant, Result, Value
from .constant import Const
from .size import SizeVal, size_of, size_value

if TYPE_CHECKING:
    from ..state import Capture


_NUMBERS = frozenset((int, str, bool, float, type(None)))


class SequenceVal(Value):
    """obj, source  the sequence outside (None: made inside); `items` is None until it is first looked into."""

    __slots__ = ("obj", "source", "cls", "items")
    base: type = object

    def __init__(self, items: list[Value] | None, cls: type | None = None, obj: Any = None,
                 source: Source | None = None):
        self.items, self.obj, self.source = items, obj, source
        self.cls: type = cls or self.base

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.items!r})"

    def load(self, cx: Capture) -> list[Value]:
        items = self.items
        if items is None:
            obj, source = self.obj, self.source
            assert source is not None
            if source.kind != "const":
                if type(obj) is tuple and all(type(x) in _NUMBERS for x in obj):
                    cx.guard("equal", source, obj, "tuple of constants")
                    items = self.items = [Const(x) for x in obj]
                    return items
                cx.guard_once((source, "type"), "type", source, type(self.obj), "type")
                cx.guard("len", source, len(obj), "length")
            step = "item" if type(obj) in (tuple, list) else "raw"
            items = self.items = [cx.wrap(x, Source(step, source, i)) for i, x in enumerate(self.base.__iter__(obj))]  # type: ignore[attr-defined]
        return items

    def pytype(self, cx: Capture) -> type:
        self.load(cx)
        return self.cls

    def truth(self, cx: Capture) -> bool:
        return bool(self.load(cx))

    def length(self, cx: Capture) -> Result:
        return Const(len(self.load(cx)))

    def elements(self, cx: Capture) -> list[Value] | None:
        return self.load(cx)

    def iterate(self, cx: Capture) -> Result:
        self.load(cx)
        return _iterator.SequenceIter(self)

    def getitem(self, cx: Capture, key: Value) -> Result:
        items = self.load(cx)
        if type(key) is SliceVal:
            cls = self.cls if self.cls is torch.Size else None
            if type(self) is TupleVal and self.cls is tuple and key.slice(cx).indices(len(items)) == (0, len(items), 1):
                return self
            return type(self)(items[key.slice(cx)], cls)
        k = index_of(cx, key)
        if type(k) is not int:
            if isinstance(key, _instance.InstanceVal) and key.info.find("__index__") is not MISSING:
                return Invoke(polyfill(cx, "getitem_at_index"), [self, key])
            raise cx.raised(TypeError, f"{self.base.__name__} indices must be integers or slices, "
                                       f"not {key.pytype(cx).__name__}")
        try:
            return items[k]
        except IndexError:
            raise cx.raised(IndexError, f"{self.base.__name__} index out of range") from None


def index_of(cx: Capture, key: Value) -> Any:
    """A Python int for a subscript; a symbolic one is fixed by a guard."""
    t = type(key)
    if t is Const:
        v = key.constant(cx)
        return int(v) if type(v) is not int and isinstance(v, int) else v
    if t is SizeVal:
        return key.concrete(cx)
    return None


class TupleVal(SequenceVal):
    __slots__ = ()
    base = tuple
    identity = False

    def constant(self, cx: Capture) -> Any:
        items = [v.constant(cx) for v in self.load(cx)]
        if self.cls is tuple:
            return tuple(items)
        if self.cls is torch.Size:
            return torch.Size(items)
        raise NotConstant(self)

    def key(self, cx: Capture) -> Any:
        k = tuple([v.key(cx) for v in self.load(cx)])
        if self.cls is torch.Size and all(type(x) is int for x in k):
            return torch.Size(k)
        return tuple.__new__(self.cls, k) if hasattr(self.cls, "_fields") else k

    def attr(self, cx: Capture, name: str) -> Result:
        if self.cls is not tuple and self.cls is not torch.Size:
            fields = getattr(self.cls, "_fields", None) or structseq_fields(self.cls)
            if name in fields:
                return self.load(cx)[fields.index(name)]
        return Value.attr(self, cx, name)

    def recipe(self, cx: Capture) -> Recipe:
        if self.items is None or (self.source is not None and self.source.kind != "const" and self.cls is not tuple):
            assert self.source is not None
            return FromSource(self.source)
        parts = tuple([cx.recipe(v) for v in self.items])
        if self.cls is tuple and all(type(p) is FromConst for p in parts):
            return FromConst(tuple([p.value for p in parts]))  # type: ignore[union-attr]
        return Build("tuple", parts, None if self.cls is tuple else self.cls)


def structseq_fields(cls: type) -> tuple[str, ...]:
    """Field names of a C named tuple such as torch.return_types.max."""
    n = getattr(cls, "n_sequence_fields", 0)
    if not n:
        return ()
    named = {k: v for k, v in cls.__dict__.items() if type(v).__name__ == "member_descriptor"}
    return tuple(named)[:n]


class ListVal(SequenceVal):
    """A list outside that is only appended to need not be looked into: `tail` is what was appended then."""

    __slots__ = ("written", "tail")
    base = list

    def __init__(self, items: list[Value] | None, cls: type | None = None, obj: Any = None,
                 source: Source | None = None):
        super().__init__(items, cls, obj, source)
        self.written = False
        self.tail: list[Value] | None = None

    def load(self, cx: Capture) -> list[Value]:
        items = self.items
        if items is None:
            items = SequenceVal.load(self, cx)
            if self.tail is not None:
                items += self.tail
                self.tail = None
        return items

    def pytype(self, cx: Capture) -> type:
        """Asked of a list outside before most that is done with it: its items are not looked at for that."""
        if self.items is None and self.source is not None and self.source.kind != "const":
            cx.guard_once((self.source, "type"), "type", self.source, type(self.obj), "type")
            return self.cls
        return SequenceVal.pytype(self, cx)

    def length(self, cx: Capture) -> Result:
        """Of a list whose length changes between calls: a symbol."""
        source = self.source
        if self.items is None and source is not None and source.kind != "const":
            counted = Source("call0", source, "len", len)
            if cx.options.dynamic(counted, None):
                cx.guard_once((source, "type"), "type", source, type(self.obj), "type")
                return size_value(cx.symbolic_int(len(self.obj), counted).dim + len(self.tail or ()))
        return SequenceVal.length(self, cx)

    def truth(self, cx: Capture) -> bool:
        counted = self.length(cx)
        assert isinstance(counted, Value)
        return bool(counted.truth(cx))

    def append(self, cx: Capture, value: Value) -> None:
        if self.items is not None:
            self.write(cx).append(value)
            return
        if self.tail is None:
            self.tail = []
            if self.source is not None and self.source.kind != "const":
                cx.guard_once((self.source, "type"), "type", self.source, type(self.obj), "append")
        if not self.written:
            self.written = True
            cx.wrote(self)
        self.tail.append(value)

    def write(self, cx: Capture) -> list[Value]:
        """The items, about to be changed."""
        items = self.load(cx)
        if self.obj is not None and not self.written:
            self.written = True
            cx.wrote(self)
        return items

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        items = self.write(cx)
        if type(key) is SliceVal:
            new = value.elements(cx)
            if new is None:
                return Invoke(polyfill(cx, "list_set_slice"), [self, key, value])
            try:
                items[key.slice(cx)] = new
            except ValueError as e:
                raise cx.reraise(e) from None
            return None
        k = index_of(cx, key)
        if type(k) is not int:
            raise cx.raised(TypeError, f"list indices must be integers or slices, not {key.pytype(cx).__name__}")
        try:
            items[k] = value
        except IndexError:
            raise cx.raised(IndexError, "list assignment index out of range") from None
        return None

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        items = self.write(cx)
        k = key.slice(cx) if type(key) is SliceVal else index_of(cx, key)
        try:
            del items[k]
        except IndexError:
            raise cx.raised(IndexError, "list assignment index out of range") from None
        return None

    def constant(self, cx: Capture) -> Any:
        if self.obj is not None and self.written:
            raise NotConstant(self)
        return [v.constant(cx) for v in self.load(cx)]

    def key(self, cx: Capture) -> Any:
        raise cx.raised(TypeError, "unhashable type: 'list'")

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        assert self.items is not None
        return Build("list", tuple([cx.recipe(v) for v in self.items]))


class SliceVal(Value):
    __slots__ = ("start", "stop", "step")
    identity = False

    def __init__(self, start: Value, stop: Value, step: Value):
        self.start, self.stop, self.step = start, stop, step

    def pytype(self, cx: Capture) -> type:
        return slice

    def slice(self, cx: Capture) -> slice:
        """A slice of plain ints, symbolic bounds fixed by guards."""
        return slice(*[v.concrete(cx) if type(v) is SizeVal else v.constant(cx)
                       for v in (self.start, self.stop, self.step)])

    def attr(self, cx: Capture, name: str) -> Result:
        if name in ("start", "stop", "step"):
            return getattr(self, name)
        return Value.attr(self, cx, name)

    def constant(self, cx: Capture) -> Any:
        return slice(self.start.constant(cx), self.stop.constant(cx), self.step.constant(cx))

    def recipe(self, cx: Capture) -> Recipe:
        return Build("slice", (cx.recipe(self.start), cx.recipe(self.stop), cx.recipe(self.step)))


class RangeVal(Value):
    """range(start, stop, step); start and stop may be symbolic, step is a constant."""

    __slots__ = ("start", "stop", "step")
    identity = False

    def __init__(self, start: Size, stop: Size, step: int):
        self.start, self.stop, self.step = start, stop, step

    def pytype(self, cx: Capture) -> type:
        return range

    def known(self, cx: Capture) -> range:
        return range(cx.env.concrete(self.start), cx.env.concrete(self.stop), self.step)

    def truth(self, cx: Capture) -> bool:
        return cx.env.decide("<" if self.step > 0 else ">", self.start, self.stop)

    def length(self, cx: Capture) -> Result:
        if type(self.start) is int and type(self.stop) is int:
            return Const(len(range(self.start, self.stop, self.step)))
        if self.step == 1 and cx.env.decide("<=", self.start, self.stop):
            return size_value(self.stop - self.start)
        return Const(len(self.known(cx)))

    def iterate(self, cx: Capture) -> Result:
        return _iterator.RangeIter(self.start, self.stop, self.step)

    def elements(self, cx: Capture) -> list[Value] | None:
        return [Const(i) for i in self.known(cx)]

    def getitem(self, cx: Capture, key: Value) -> Result:
        r = self.known(cx)
        if type(key) is SliceVal:
            out = r[key.slice(cx)]
            return RangeVal(out.start, out.stop, out.step)
        k = index_of(cx, key)
        if type(k) is not int:
            if isinstance(key, _instance.InstanceVal) and key.info.find("__index__") is not MISSING:
                return Invoke(polyfill(cx, "getitem_at_index"), [self, key])
            raise cx.raised(TypeError, f"range indices must be integers or slices, not {key.pytype(cx).__name__}")
        try:
            return Const(r[k])
        except IndexError as e:
            raise cx.reraise(e) from None

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        size = size_of(item)
        if size is None or type(size) is Dim:
            raise NotConstant(item)
        return size in self.known(cx)

    def attr(self, cx: Capture, name: str) -> Result:
        if name in ("start", "stop", "step"):
            return size_value(getattr(self, name))
        return Value.attr(self, cx, name)

    def constant(self, cx: Capture) -> Any:
        if type(self.start) is int and type(self.stop) is int:
            return range(self.start, self.stop, self.step)
        raise NotConstant(self)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("range", tuple([cx.recipe(size_value(s)) for s in (self.start, self.stop, self.step)]))

# Modules that need this one: bound when all are loaded.
from . import instance as _instance  # noqa: E402
from . import iterator as _iterator  # noqa: E402

"""Iterators whose next item is known during capture; interpreted generators."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ...shapes.dim import Size
from ..frames import EXHAUSTED, Generator
from ..types import Build, FromConst, FromSource, Recipe
from .base import Broken, Invoke, Result, Value
from .constant import Const
from .sequence import ListVal, SequenceVal, TupleVal
from .size import SizeVal, size_value

if TYPE_CHECKING:
    from ..state import Capture


class IterVal(Value):
    """`advance` gives the next value or EXHAUSTED, at once."""

    __slots__ = ()

    def pytype(self, cx: Capture) -> type:
        return type(iter([]))

    def advance(self, cx: Capture) -> Any:
        raise NotImplementedError

    def iterate(self, cx: Capture) -> Result:
        return self

    def rest(self, cx: Capture) -> list[Value]:
        out = []
        while (v := self.advance(cx)) is not EXHAUSTED:
            out.append(v)
        return out


class SequenceIter(IterVal):
    """Over a list or tuple value, from `position`; sees later changes of a list, as Python's does."""

    __slots__ = ("items", "position")

    def __init__(self, items: Value, position: int = 0):
        """items: a list or tuple, or an instance of a class derived from one, whose contents are meant."""
        contents = items.base if isinstance(items, _instance.InstanceVal) else items
        assert isinstance(contents, SequenceVal)
        self.items, self.position = contents, position

    @staticmethod
    def over(items: list[Value]) -> SequenceIter:
        return SequenceIter(TupleVal(items))

    def advance(self, cx: Capture) -> Any:
        items = self.items.items
        if items is None:
            items = self.items.load(cx)
        i = self.position
        if i < 0 or i >= len(items):
            self.position = -1
            return EXHAUSTED
        self.position = i + 1
        return items[i]

    def recipe(self, cx: Capture) -> Recipe:
        return Build("iterator", (cx.recipe(self.items), FromConst(self.position)), "sequence")


class KeysIter(SequenceIter):
    """Over the keys that a dict or set had; raises once their number is another one, as Python's does."""

    __slots__ = ("of",)

    def __init__(self, items: SequenceVal, of: Any):
        super().__init__(items)
        self.of = of

    def advance(self, cx: Capture) -> Any:
        if self.position >= 0 and len(self.of.load(cx)) != len(self.items.load(cx)):
            self.position = -1
            what = "dictionary" if issubclass(self.of.cls, dict) else "Set"
            raise cx.raised(RuntimeError, f"{what} changed size during iteration")
        return super().advance(cx)


class RangeIter(IterVal):
    __slots__ = ("start", "stop", "step")

    def __init__(self, start: Size, stop: Size, step: int):
        self.start, self.stop, self.step = start, stop, step

    def pytype(self, cx: Capture) -> type:
        return type(iter(range(0)))

    def advance(self, cx: Capture) -> Any:
        start = self.start
        if type(start) is int and type(self.stop) is int:
            if (start >= self.stop) if self.step > 0 else (start <= self.stop):
                return EXHAUSTED
            self.start = start + self.step
            return Const(start)
        cx.env.cause = cx.cause("loop over range")
        if not cx.env.decide("<" if self.step > 0 else ">", start, self.stop):
            return EXHAUSTED
        self.start = start + self.step
        return size_value(start)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("iterator", (cx.recipe(size_value(self.start)), cx.recipe(size_value(self.stop))), self.step)


class RealIter(IterVal):
    """An iterator object outside whose next items can be known without taking them; what was taken is an effect."""

    __slots__ = ("obj", "source", "inner", "taken")

    def __init__(self, obj: Any, source: Source, inner: IterVal):
        self.obj, self.source, self.inner, self.taken = obj, source, inner, 0

    def pytype(self, cx: Capture) -> type:
        return type(self.obj)

    def advance(self, cx: Capture) -> Any:
        v = self.inner.advance(cx)
        cx.wrote(self)
        self.taken += 1
        return v

    def recipe(self, cx: Capture) -> Recipe:
        return FromSource(self.source)


def range_start(it: Any) -> int:
    """Where a range iterator goes on (equal to the stop when it is exhausted)."""
    _, (r,), position = it.__reduce__()
    return r.start + r.step * (position or 0)


def range_stop(it: Any) -> int:
    return it.__reduce__()[1][0].stop


def range_step(it: Any) -> int:
    return it.__reduce__()[1][0].step


def sequence_items(it: Any) -> Any:
    """The list or tuple that an iterator runs over; () when it is exhausted."""
    return it.__reduce__()[1][0]


def sequence_position(it: Any) -> int:
    parts = it.__reduce__()
    return parts[2] if len(parts) > 2 else 0


def wrap_range_iterator(cx: Capture, obj: Any, source: Source) -> Value:
    cx.guard("type", source, type(obj), "iterator")

    def part(fn: Any) -> Source:
        return Source("call0", source, fn.__name__, fn)
    step = range_step(obj)
    if source.kind != "const":
        cx.pin(Const(step, part(range_step)))
    start: Size = range_start(obj)
    stop = cx.wrap(range_stop(obj), part(range_stop))
    if type(start) is int and start >= 0:
        start = cx.symbolic_int(start, part(range_start)).dim
    else:
        cx.pin(Const(start, part(range_start)))
    return RealIter(obj, source, RangeIter(start, stop.dim if type(stop) is SizeVal else stop.constant(cx), step))


def wrap_sequence_iterator(cx: Capture, obj: Any, source: Source) -> Value:
    cx.guard("type", source, type(obj), "iterator")
    items = cx.wrap(sequence_items(obj), Source("call0", source, "sequence_items", sequence_items))
    position = Const(sequence_position(obj), Source("call0", source, "sequence_position", sequence_position))
    if not isinstance(items.base if isinstance(items, _instance.InstanceVal) else items, (ListVal, TupleVal)):
        raise Broken("PB111", f"an iterator over a {type(items).__name__}")
    return RealIter(obj, source, SequenceIter(items, position.constant(cx)))


class EnumerateIter(IterVal):
    __slots__ = ("inner", "count")

    def __init__(self, inner: IterVal, count: Size):
        self.inner, self.count = inner, count

    def pytype(self, cx: Capture) -> type:
        return enumerate

    def advance(self, cx: Capture) -> Any:
        v = self.inner.advance(cx)
        if v is EXHAUSTED:
            return v
        count = self.count
        self.count = count + 1
        return TupleVal([size_value(count), v])

    def recipe(self, cx: Capture) -> Recipe:
        return Build("iterator", (cx.recipe(self.inner), cx.recipe(size_value(self.count))), "enumerate")


class ZipIter(IterVal):
    __slots__ = ("inner",)

    def __init__(self, inner: list[IterVal]):
        self.inner = inner

    def pytype(self, cx: Capture) -> type:
        return zip

    def advance(self, cx: Capture) -> Any:
        out: list[Value] = []
        for it in self.inner:
            v = it.advance(cx)
            if v is EXHAUSTED:
                return v
            out.append(v)
        return TupleVal(out) if self.inner else EXHAUSTED

    def recipe(self, cx: Capture) -> Recipe:
        return Build("iterator", tuple([cx.recipe(it) for it in self.inner]), "zip")


class GeneratorVal(Value):
    """An interpreted generator; `obj` is the InterpretedGenerator outside, if an earlier segment began it."""

    __slots__ = ("generator", "obj", "source")

    def __init__(self, generator: Generator, obj: Any = None, source: Source | None = None):
        self.generator, self.obj, self.source = generator, obj, source

    def pytype(self, cx: Capture) -> type:
        return types.GeneratorType

    def iterate(self, cx: Capture) -> Result:
        return self

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        return _generators.generator_recipe(cx, self)


def known_iterator(cx: Capture, v: Value) -> IterVal | None:
    """iter(v) where that is known at once and every step is; else None."""
    if isinstance(v, IterVal):
        return v
    if isinstance(v, GeneratorVal) or v.opaque:
        return None                 # its steps are Python's, or a break of their own
    if isinstance(v, (ListVal, TupleVal)):
        v.load(cx)
        return SequenceIter(v)
    items = v.elements(cx)
    if items is not None:
        return SequenceIter.over(items)
    r = None
    if not isinstance(v, (_instance.InstanceVal, _tensor.TensorVal)):
        r = v.iterate(cx)
    if isinstance(v, _tensor.TensorVal):
        r = v.iterate(cx)
    return r if isinstance(r, IterVal) else None


__all__ = [
    "EnumerateIter",
    "GeneratorVal",
    "Invoke",
    "IterVal",
    "RangeIter",
    "SequenceIter",
    "ZipIter",
    "known_iterator",
]

# Modules that need this one: bound when all are loaded.
from .. import generators as _generators  # noqa: E402
from . import instance as _instance  # noqa: E402
from . import tensor as _tensor  # noqa: E402

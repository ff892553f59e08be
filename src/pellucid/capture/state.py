"""One capture in progress: what was read (guards), what was written (effects), and the values of objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..events.types import Cause, UserStack
from ..graph.build import GraphBuilder
from ..graph.types import SymbolDef
from ..guards.types import Guard, Source
from ..shapes.dim import symbols
from ..shapes.env import Range, ShapeEnv
from ..torchdoor import autocast
from .classes import ClassInfo
from .types import Recipe
from .values.base import Raised, Value
from .values.constant import NONE, Const
from .values.number import FloatVal
from .values.size import SizeVal
from .wrap import wrapper_of

_IMMEDIATE = frozenset((int, str, bool, float, type(None), complex, bytes))


LEAST = -(1 << 62)
"""The lowest integer that a symbol may be where one below 0 was seen."""


def never(source: Source, dim: int | None) -> bool | Range:
    return False


@dataclass(frozen=True, slots=True)
class CaptureOptions:
    """dynamic(source, dim) says whether size `dim` of the tensor at `source` (dim ~k, negative: its stride k; dim
    None: the number there) is to be symbolic: a bool, or the Range of a symbol.
    budget bounds the instructions executed."""

    dynamic: Callable[[Source, int | None], bool | Range] = never
    budget: int = 2_000_000


class Capture:
    """The state that values act on. Nothing here touches the program's real objects but to read them."""

    def __init__(self, options: CaptureOptions):
        self.options = options
        self.env = ShapeEnv()
        self.builder = GraphBuilder(self.env)
        self.guards: list[Guard] = []
        self.ids: dict[int, Value] = {}
        """The value for each object from outside that has an identity, by id."""
        self.keep: list[Any] = []
        """Objects whose ids are used, so that they live as long as the capture."""
        self.classes: dict[type, ClassInfo] = {}
        self.dirty: dict[Value, None] = {}
        """Values of outside objects that were written to, in order of the first write."""
        self.tensors: list[Any] = []
        """Tensor values that are graph inputs, in order."""
        self.inlined: dict[Any, None] = {}
        self.grad = torch.is_grad_enabled()
        self.entry_grad = self.grad
        self.entry_autocast: autocast.State | None = autocast.read() if torch.is_autocast_enabled("cpu") else None
        self.autocast = self.entry_autocast
        """Autocast's state on the CPU where the program is; None: off, and untouched."""
        self.asks_grad = self.grad
        """Whether something may depend on a tensor's requires_grad: grad mode was on, or the program asked."""
        self.flags: dict[Any, Any] = {}
        """What reads a setting of torch's -> the value that the program gave it here."""
        self.applying: list[Any] = []
        """The forwards of autograd.Functions that are being followed (see `known.applied`)."""
        self.hidden: set[int] = set()
        """Graph values made inside such a forward, which no torch-level call of the graph makes."""
        self.attributes: dict[Value, dict[str, Value]] = {}
        """Attributes of OrderedDicts made inside."""
        self.global_key: Any = None
        self.machine: Any = None
        self.operation = "call"
        self.sources: dict[tuple[Any, ...], Source] = {}
        self.once: set[Any] = set()
        """Keys of guards that are made at most once."""
        self.wrappers: dict[type, Any] = {}
        self.uses_grad = False
        self.alike: dict[tuple[int, int], Any] = {}
        """(dimension, example size) -> the symbol of the first input with that size there."""
        self.numbers: dict[Source, Any] = {}
        """Floats that are 0-d inputs of the graph."""
        self.symbolic: dict[Source, SizeVal] = {}
        """Integers from outside that are symbols."""
        self.signatures: dict[Any, Value] = {}
        self.missing_ops: dict[str, None] = {}
        """Torch callables that the catalogue lacks, by name."""

    # ---------------------------------------------------------------- where we are
    def stack(self) -> UserStack:
        """The user's call stack, outermost first."""
        return self.machine.user_stack() if self.machine is not None else ()

    def cause(self, operation: str | None = None) -> Cause:
        return Cause(operation or self.operation, self.stack())

    # ---------------------------------------------------------------- guards
    def guard(self, kind: str, source: Source | None, expected: Any, operation: str = "") -> None:
        self.guards.append(Guard(kind, source, expected, Cause(operation or kind, self.stack())))

    def guard_once(self, key: Any, kind: str, source: Source | None, expected: Any, operation: str = "") -> None:
        if key not in self.once:
            self.once.add(key)
            self.guard(kind, source, expected, operation)

    def pin(self, v: Const) -> None:
        """The program needs this constant: guard it by value."""
        source, v.pending = v.pending, None
        value = v.value
        key = (source, "=")
        if source is None or key in self.once:
            return
        self.once.add(key)
        if value is None or value is True or value is False or type(value) not in _IMMEDIATE:
            self.guard("is" if _singleton(value) else "equal", source, value, "read")
        else:
            self.guard("equal", source, value, "read")

    def class_info(self, cls: type) -> ClassInfo:
        info = self.classes.get(cls)
        if info is None:
            info = self.classes[cls] = ClassInfo(cls)
        return info

    # ---------------------------------------------------------------- objects from outside
    def wrap(self, obj: Any, source: Source) -> Value:
        """The value that stands for `obj`, which was found at `source`."""
        t = type(obj)
        if t in _IMMEDIATE:
            if (t is float or t is int and -LEAST > obj > LEAST) and self.options.dynamic is not never \
                    and (wish := self.options.dynamic(source, None)):
                if t is int and obj >= 0:
                    return self.symbolic_int(obj, source, wish if type(wish) is Range else Range(0))
                if t is int:
                    return self.symbolic_int(obj, source, Range(LEAST))
                return FloatVal(source, obj)
            return Const(obj, source)
        w = self.wrappers.get(t)
        if w is None:
            w = self.wrappers[t] = wrapper_of(t)
        if w is Const:
            return Const(obj, source)
        known = self.ids.get(id(obj))
        if known is not None:
            first = getattr(known, "source", None)
            if first is not None and first is not source and source.kind != "const" and first != source:
                self.guard_once((source, "same"), "same", source, first, "identity")
            return known
        v = w(self, obj, source)
        if v.identity:
            self.ids[id(obj)] = v
            self.keep.append(obj)
        return v

    def symbolic_int(self, example: int, source: Source, within: Range = Range(0)) -> SizeVal:
        """The integer at `source` as a symbol, of 0 or more unless told."""
        known = self.symbolic.get(source)
        if known is None:
            index = self.builder.scalar_input("int", source)
            dim = self.env.symbol(example, within.lo, within.hi)
            (sym,) = symbols(dim)
            self.builder.symbols.append(SymbolDef(sym, index, None))
            known = self.symbolic[source] = SizeVal(dim)
        return known

    def fixed(self, obj: Any, label: str = "") -> Value:
        """The value for a long-lived object that needs no guard, because what led to it is guarded already."""
        t = type(obj)
        if t in _IMMEDIATE:
            return Const(obj)
        known = self.ids.get(id(obj))
        if known is not None:
            return known
        w = self.wrappers.get(t)
        if w is None:
            w = self.wrappers[t] = wrapper_of(t)
        if w is Const:
            return Const(obj)
        return self.wrap(obj, Source("const", None, label or getattr(obj, "__qualname__", type(obj).__qualname__), obj))

    def literal(self, obj: Any) -> Value:
        """The value for an object that pure code made during capture from known operands."""
        t = type(obj)
        if t in _IMMEDIATE:
            return NONE if obj is None else Const(obj)
        return _literals.literal(self, obj)

    def missing(self, name: str) -> None:
        self.missing_ops[name] = None

    # ---------------------------------------------------------------- exceptions of the program
    def raised(self, cls: type[BaseException], *args: Any) -> Raised:
        """The signal that the program raises cls(*args); args are Python constants."""
        v = _instance.exception_value(self, cls, [self.literal(a) for a in args])
        v.context = self.machine.handled_exception()
        return Raised(v)

    def reraise(self, error: BaseException) -> Raised:
        """The signal for an exception that a pure native function raised on known operands."""
        args: list[Value] = []
        for a in error.args:
            try:
                args.append(self.literal(a))
            except TypeError:
                args.append(Const(str(a)))
        v = _instance.exception_value(self, type(error), args)
        v.context = self.machine.handled_exception()
        for name in ("name", "obj", "path"):
            if type(error) in (NameError, ImportError, ModuleNotFoundError, AttributeError, UnboundLocalError) \
                    and type(getattr(error, name, None)) is str:
                v.dict.items[name] = Const(getattr(error, name))
        return Raised(v)

    # ---------------------------------------------------------------- writes
    def wrote(self, v: Value) -> None:
        if v not in self.dirty:
            self.dirty[v] = None

    # ---------------------------------------------------------------- recipes
    def recipe(self, v: Value) -> Recipe:
        return self.machine.recipes.of(v)


def _singleton(value: Any) -> bool:
    import enum

    return value is None or value is True or value is False or value is Ellipsis or value is NotImplemented \
        or isinstance(value, (torch.dtype, torch.layout, torch.memory_format, enum.Enum))

# Modules that need this one: bound when all are loaded.
from . import literals as _literals  # noqa: E402
from .values import instance as _instance  # noqa: E402

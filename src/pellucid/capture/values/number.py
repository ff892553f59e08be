"""Floats that change from call to call: arithmetic on them stays Python's own, done when the graph's inputs are loaded.

A FloatVal is a source: a float outside, or a calculation from such and from symbolic sizes. Beside a float32 or float64
tensor it becomes a 0-d input of that dtype, which is how torch itself treats a Python number there. What needs its
value breaks the graph; a comparison is decided as in this call, and guarded.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from ...graph.build import Val
from ...graph.types import TensorMeta
from ...guards.calc import OPERATIONS, RAISES, Number, OfSizes
from ...guards.types import Source
from ...shapes.dim import hint, symbols
from ..types import FromSource, Recipe
from .base import NotConstant, Value
from .constant import Const
from .size import SizeVal

if TYPE_CHECKING:
    from ..state import Capture

_NAMES: dict[Any, str] = {fn: n for n, fn in OPERATIONS.items()}
_NAMES |= {operator.iadd: "add", operator.isub: "sub", operator.imul: "mul", operator.itruediv: "truediv",
           operator.ifloordiv: "floordiv", operator.imod: "mod", operator.ipow: "pow"}
_COMPARE = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "bool"))


class FloatVal(Value):
    """`example` is the number of this call. `free`: it depends on a float from outside, not on sizes alone."""

    __slots__ = ("source", "example", "free", "leaves", "typed")
    identity = False

    def __init__(self, source: Source, example: float, free: bool = True, leaves: tuple[SizeVal, ...] = (),
                 typed: bool = False):
        self.source, self.example, self.free, self.leaves, self.typed = source, example, free, leaves, typed

    def __repr__(self) -> str:
        return f"FloatVal({self.example!r})"

    def check(self, cx: Capture) -> None:
        """Guard that it is a float."""
        if not self.typed:
            self.typed = True
            cx.guard_once((self.source, "type"), "type", self.source, float, "float")

    def pytype(self, cx: Capture) -> type:
        self.check(cx)
        return float

    def truth(self, cx: Capture) -> bool:
        answer = calculation(cx, "bool", [self])
        assert type(answer) is Const
        return bool(answer.value)

    def constant(self, cx: Capture) -> Any:
        """The number; of one that only sizes decide, these are fixed for it."""
        if self.free:
            raise NotConstant(self)
        for leaf in self.leaves:
            leaf.concrete(cx)
        return self.example

    def recipe(self, cx: Capture) -> Recipe:
        self.check(cx)
        return FromSource(self.source)


def is_number(v: Value) -> bool:
    return type(v) in (FloatVal, SizeVal) or (type(v) is Const and type(v.value) in (int, float, bool))


def calculation(cx: Capture, fn: Any, operands: list[Value]) -> Value | None:
    """fn(*operands) of numbers of which one or more are symbolic; None where it is no calculation known here."""
    name = fn if type(fn) is str else _NAMES.get(fn)
    if name is None or not all(is_number(v) for v in operands):
        return None
    parts: list[Any] = []
    leaves: list[SizeVal] = []
    free = False
    example: list[Any] = []
    for v in operands:
        if type(v) is FloatVal:
            v.check(cx)
            parts.append(v.source)
            example.append(v.example)
            leaves += v.leaves
            free = free or v.free
        elif type(v) is SizeVal:
            parts.append(_of_sizes(cx, v))
            example.append(hint(v.dim))
            leaves.append(v)
        else:
            parts.append(Number.of(v.constant(cx)))
            example.append(v.constant(cx))
    try:
        result = OPERATIONS[name](*example)
    except (ArithmeticError, ValueError) as e:
        _fix(cx, operands)
        raise cx.reraise(e) from None
    base = next((p for p in parts if type(p) is Source), None) or parts_source(parts)
    source = Source("calc", base, (name, tuple(parts)))
    if name in _COMPARE:
        cx.guard_once((source, "="), "equal", source, result, "comparison of numbers")
        return Const(result)
    if type(result) is not float:
        return None
    made = FloatVal(source, result, free, tuple(leaves), name not in RAISES)
    made.check(cx)
    return made


def parts_source(parts: list[Any]) -> Source:
    """Where a calculation from sizes alone starts."""
    found: Source = next(p for p in parts if type(p) is OfSizes).where[0][1]
    return found


def _of_sizes(cx: Capture, v: SizeVal) -> OfSizes:
    defined = {d.sym: (cx.builder.inputs[d.input].source, d.dim) for d in cx.builder.symbols}
    return OfSizes(v.dim, tuple((s, *defined[s]) for s in sorted(symbols(v.dim), key=lambda s: s.name)))


def _fix(cx: Capture, operands: list[Value]) -> None:
    """The program raises for these very numbers."""
    for v in operands:
        if type(v) is FloatVal:
            cx.guard_once((v.source, "="), "equal", v.source, v.example, "operation that raises")
        elif type(v) is SizeVal:
            v.concrete(cx)


# ------------------------------------------------------------------ beside tensors
def as_float32(v: float) -> torch.Tensor:
    """The number as torch takes it beside a float32 tensor."""
    return torch.tensor(v, dtype=torch.float32, device="cpu")


def as_float64(v: float) -> torch.Tensor:
    """The number as torch takes it beside a float64 tensor."""
    return torch.tensor(v, dtype=torch.float64, device="cpu")


_TENSORS = {torch.float32: as_float32, torch.float64: as_float64}
ARITHMETIC = frozenset(("add", "sub", "mul", "truediv", "div", "true_divide", "multiply", "subtract", "divide", "iadd",
                        "isub", "imul", "itruediv", "add_", "sub_", "mul_", "div_", "__radd__", "__rsub__", "__rmul__",
                        "__rtruediv__", "__add__", "__sub__", "__mul__", "__truediv__"))
"""Torch calls, by name, in which a number and a 0-d tensor of the other operand's dtype mean the same."""


def as_operand(cx: Capture, v: FloatVal, meta: TensorMeta) -> Val | None:
    """The 0-d input that stands for the number beside a tensor; None where it would mean something else."""
    if meta.dtype not in _TENSORS or meta.device.type != "cpu":
        return None
    v.check(cx)
    source = Source("call0", v.source, "number", _TENSORS[meta.dtype])
    known: Val | None = cx.numbers.get(source)
    if known is None:
        known = cx.numbers[source] = cx.builder.input(TensorMeta(meta.dtype, (), ()), source, "number")
    return known

"""Numbers computed in Python from what is outside: sources of kind "calc" over other sources, sizes and constants.

A source's key is (operation, operands); an operand is a Source, a `Const`, or an `OfSizes`: a size expression with the
source of each of its symbols. The operations are Python's own, so that the number is exactly eager's.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..graph.types import read_size, size_access
from ..shapes.dim import Dim, Sym, evaluate

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "neg": operator.neg, "pos": operator.pos,
    "abs": abs, "min": min, "max": max, "float": float, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "eq": operator.eq, "ne": operator.ne, "bool": bool,
    **{f"math.{n}": getattr(math, n) for n in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "tanh",
                                               "pow", "fabs")},
}
"""Name -> function of numbers."""
RAISES = frozenset(("truediv", "floordiv", "mod", "pow", *(n for n in OPERATIONS if n.startswith("math."))))
"""Operations that may raise, or whose result's type depends on the values."""


@dataclass(frozen=True, slots=True)
class Number:
    """A constant operand; `bits` keeps 0.0 and -0.0 apart."""

    value: float = field(compare=False)
    bits: str

    @staticmethod
    def of(value: float) -> Number:
        return Number(value, repr(value))


@dataclass(frozen=True, slots=True)
class OfSizes:
    """A size expression; `where` says of each symbol which source it is read from, and there which size (~k: stride k;
    None: the integer itself)."""

    size: Dim
    where: tuple[tuple[Sym, Any, int | None], ...]


def value_of(operand: Any, load: Callable[[Any], Any]) -> Any:
    if type(operand) is Number:
        return operand.value
    if type(operand) is OfSizes:
        values: Mapping[Sym, int] = {s: read_size(load(src), dim) for s, src, dim in operand.where}
        return evaluate(operand.size, values)
    return load(operand)


def calculate(key: tuple[str, tuple[Any, ...]], load: Callable[[Any], Any]) -> Any:
    """The number that a calc source names; `load` gives the values of sources."""
    return OPERATIONS[key[0]](*[value_of(o, load) for o in key[1]])


def calculation_text(key: tuple[str, tuple[Any, ...]], text: Callable[[Any], str], hold: Callable[[Any], str]) -> str:
    """A Python expression for it."""
    return f"{hold(OPERATIONS[key[0]])}({', '.join(_operand_text(o, text, hold) for o in key[1])})"


def _operand_text(operand: Any, text: Callable[[Any], str], hold: Callable[[Any], str]) -> str:
    if type(operand) is Number:
        return hold(operand.value)
    if type(operand) is OfSizes:
        names = {s.name: text(src) + size_access(dim) for s, src, dim in operand.where}
        return "(" + re.sub(r"\bs\d+\b", lambda m: f"({names[m.group()]})", str(operand.size)) + ")"
    return text(operand)


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "lt": "<",
          "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def calculation_name(key: tuple[str, tuple[Any, ...]], name: Callable[[Any], str]) -> str:
    """As a person would write it."""
    parts = [_operand_name(o, name) for o in key[1]]
    sign = _SIGNS.get(key[0])
    return f"({parts[0]} {sign} {parts[1]})" if sign and len(parts) == 2 else f"{key[0]}({', '.join(parts)})"


def _operand_name(operand: Any, name: Callable[[Any], str]) -> str:
    if type(operand) is Number:
        return operand.bits
    if type(operand) is OfSizes:
        return _operand_text(operand, name, repr)
    return name(operand)

"""The slow evaluator: every guard of an entry against a call, each with what was expected and what was there."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..graph.types import Graph
from ..shapes.dim import Sym, evaluate
from ..shapes.env import SizeGuard, holds
from ..torchdoor.tensors import dispatch_keys, extent
from . import globalkey
from .sources import Scope, instance_dict, load
from .types import Guard, TensorGuard


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the call matrix."""

    guard: Guard
    ok: bool
    expected: Any
    actual: Any


class Missing:
    """Stands for a value that could not be loaded; says why."""

    __slots__ = ("why",)

    def __init__(self, why: BaseException):
        self.why = f"{type(why).__name__}: {why}"

    def __repr__(self) -> str:
        return f"<absent: {self.why}>"


LOAD_ERRORS = (AttributeError, KeyError, IndexError, TypeError, ValueError, StopIteration, NameError,
               ArithmeticError)
"""What loading a source may raise when the object graph has changed; the guard then does not hold."""


def same(a: Any, b: Any) -> bool:
    """Equal type and value, floats by bits (0.0 and -0.0 differ, nan equals nan); containers item by item."""
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return (a == b and math.copysign(1.0, a) == math.copysign(1.0, b)) or (a != a and b != b)
    if type(a) is complex:
        return same(a.real, b.real) and same(a.imag, b.imag)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, slice):
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def own_dict(v: Any) -> Mapping[str, Any]:
    """The instance dictionary; an empty one for an object that has none, and so no attributes of its own."""
    try:
        return instance_dict(v)
    except AttributeError:
        return _NOTHING


_NOTHING: Mapping[str, Any] = {}


def describe_tensor(v: Any) -> Any:
    """The TensorGuard that would hold of `v` exactly; the value itself if it is no tensor."""
    if not isinstance(v, torch.Tensor):
        return v
    strided = v.layout is torch.strided
    return TensorGuard(type(v), v.dtype, v.device, tuple(v.shape), tuple(v.stride()) if strided else None,
                       v.requires_grad, dispatch_keys(v))


def _contiguous_strides(shape: Sequence[int], strides: Sequence[int]) -> bool:
    step = 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def tensor_holds(v: Any, g: TensorGuard) -> bool:
    if type(v) is not g.tensor_type:
        return False
    assert isinstance(v, torch.Tensor)
    if v.dtype is not g.dtype or v.device != g.device or v.ndim != len(g.shape):
        return False
    if dispatch_keys(v) != g.dispatch_keys or (g.requires_grad is not None and v.requires_grad is not g.requires_grad):
        return False
    if any(want is not None and want != have for want, have in zip(g.shape, v.shape)):
        return False
    if g.strides is None and not g.contiguous:
        return True
    have_strides = v.stride()
    if g.strides is not None and any(w is not None and w != h for w, h in zip(g.strides, have_strides)):
        return False
    return not g.contiguous or 0 in v.shape or _contiguous_strides(v.shape, have_strides)


def _in_range(v: Any, expected: tuple[str, tuple[int | None, int | None]]) -> bool:
    lo, hi = expected[1]
    return type(v) is int and (lo is None or lo <= v) and (hi is None or v <= hi)


CHECKS: dict[str, Callable[[Any, Any], bool]] = {
    "tensor": tensor_holds,
    "type": lambda v, e: type(v) is e,
    "is": lambda v, e: v is e,
    "equal": same,
    "int": _in_range,
    "len": lambda v, e: len(v) == e,
    "keys": lambda v, e: len(v) == len(e) and all(a is b or same(a, b) for a, b in zip(v, e)),
    "absent": lambda v, e: e not in own_dict(v),
    "missing_key": lambda v, e: e not in v,
    "has_key": lambda v, e: e in v,
    "has": lambda v, e: e in instance_dict(v),
    "code": lambda v, e: v.__code__ is e,
    "version": lambda v, e: bool(e.unchanged()),
    "python": lambda v, e: bool(e(v)),
}
"""Guard kind -> whether `value` meets `expected`."""

ACTUAL: dict[str, Callable[[Any], Any]] = {
    "tensor": describe_tensor, "type": type, "len": len, "keys": tuple,
    "absent": lambda v: tuple(own_dict(v)), "has": lambda v: tuple(instance_dict(v)), "missing_key": tuple,
    "has_key": tuple,
    "code": lambda v: v.__code__,
}
"""Guard kind -> what of the value is shown beside `expected` (the value itself unless named here)."""


def symbol_values(graph: Graph, scope: Scope) -> dict[Sym, int]:
    """Each symbol's value in this call; symbols that cannot be read are left out."""
    values: dict[Sym, int] = {}
    for d in graph.symbols:
        try:
            v = load(graph.inputs[d.input].source, scope)
            values[d.sym] = d.read(v)
        except LOAD_ERRORS:
            continue
    return values


def disjoint(tensors: Sequence[Any]) -> bool:
    """Whether no two of the tensors span common memory."""
    spans = sorted(extent(t) for t in tensors)
    spans = [s for s in spans if s != (0, 0)]
    return all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def _size(g: SizeGuard, values: dict[Sym, int]) -> tuple[bool, Any]:
    try:
        a, b = evaluate(g.lhs, values), evaluate(g.rhs, values)
    except KeyError as e:
        return False, Missing(e)
    except ZeroDivisionError as e:
        return False, Missing(e)
    return holds(g.op, a, b), f"{a} {g.op} {b}"


def evaluate_guard(g: Guard, graph: Graph, scope: Scope) -> Outcome:
    """One guard. Never raises for a value that is absent or of another type: that is a failed guard."""
    if g.kind == "size":
        ok, actual = _size(g.expected, dict(scope.symbols))
        return Outcome(g, ok, str(g.expected), actual)
    if g.kind == "global":
        now = globalkey.current()
        return Outcome(g, now == g.expected, g.expected, now)
    try:
        if g.kind == "overlap":
            ok = disjoint([load(graph.inputs[i].source, scope) for i in g.expected])
            return Outcome(g, ok, "no overlap", "no overlap" if ok else "inputs share memory")
        if g.source is None:
            raise ValueError(f"guard of kind {g.kind!r} has no source")
        value = load(g.source, scope)
        if g.kind in ("same", "distinct"):
            other = load(g.expected, scope)
            return Outcome(g, (value is other) is (g.kind == "same"), other, value)
        ok = CHECKS[g.kind](value, g.expected)
        show = ACTUAL.get(g.kind)
        return Outcome(g, ok, g.expected, show(value) if show else value)
    except LOAD_ERRORS as e:
        return Outcome(g, False, g.expected, Missing(e))


def row(guards: Sequence[Guard], graph: Graph, scope: Scope) -> list[Outcome]:
    """All guards of an entry against a call: the row of the call matrix."""
    scope.symbols = symbol_values(graph, scope)
    return [evaluate_guard(g, graph, scope) for g in guards]


def holds_all(guards: Sequence[Guard], graph: Graph, scope: Scope) -> bool:
    """Whether all guards hold; stops at the first that does not."""
    scope.symbols = symbol_values(graph, scope)
    return all(evaluate_guard(g, graph, scope).ok for g in guards)

"""Calls with out=: the plain call, then a write of its result into the tensors given."""

from __future__ import annotations

from typing import Any

from ...graph.build import GraphBuilder, Val
from ..errors import Unsupported
from .args import same_shape
from .declare import Expansion
from .inplace import check_writable


def with_out(b: GraphBuilder, fn: Expansion, args: tuple[Any, ...] | list[Any], kwargs: dict[str, Any]) -> Any:
    """fn(b, *args, **kwargs) with kwargs["out"], a tensor or a tuple of them, which is written and returned.

    Refused are tensors of another shape (eager would resize them), of another dtype (eager may compute in it), and
    those that share memory with an operand or with each other.
    """
    rest = {k: v for k, v in kwargs.items() if k != "out"}
    out = kwargs["out"]
    operands = {b.storage(v) for v in _vals((args, rest))}
    result = fn(b, *args, **rest)
    several = isinstance(out, (tuple, list))
    targets = list(out) if several else [out]
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(targets) != len(results) or not all(type(x) is Val for x in (*targets, *results)):
        raise Unsupported("out= that does not fit the results", "assign the result instead of passing out=")
    places = [b.storage(t) for t in targets]
    if len({*places}) != len(places) or not operands.isdisjoint(places):
        raise Unsupported("out= shares memory with another operand", "use the in-place form, or assign the result")
    for t, r in zip(targets, results):
        if t.meta.dtype is not r.meta.dtype or not same_shape(b, t.meta.shape, r.meta.shape):
            raise Unsupported(f"out= of {t} for a result {r}", "pass a tensor of the result's shape and dtype")
        check_writable(b, t)
    written = [b.write(t, r) for t, r in zip(targets, results)]
    return tuple(written) if several else written[0]


def _vals(x: Any) -> list[Val]:
    if isinstance(x, dict):
        x = tuple(x.values())
    if isinstance(x, (tuple, list)):
        return [v for y in x for v in _vals(y)]
    return [x] if type(x) is Val else []

"""All conditions of a segment as guards: those that capture recorded, the ranges of symbols, and questions on sizes."""

from __future__ import annotations

from ..events.types import Cause
from ..graph.types import Graph
from ..shapes.dim import Dim
from ..shapes.env import SizeGuard
from .types import Guard, Source


def conditions(guards: tuple[Guard, ...], graph: Graph) -> tuple[Guard, ...]:
    """`guards`, then symbol ranges, then the graph's size guards; each once, in an order safe to evaluate."""
    out: dict[tuple[str, Source | None, object], Guard] = {}

    def add(g: Guard) -> None:
        try:
            out.setdefault((g.kind, g.source, g.expected), g)
        except TypeError:  # an expected value that cannot be hashed
            out.setdefault((g.kind, g.source, id(g.expected)), g)

    sizes = [g for g in guards if g.source is None and g.kind in ("size", "overlap")]
    for g in guards:
        if g not in sizes:
            add(g)
    for d in graph.symbols:
        symbol = Dim.of(d.sym)
        source = graph.inputs[d.input].source
        why = Cause("an integer is symbolic" if d.dim is None else f"size {d.dim} of an input is symbolic" if d.dim >= 0
                    else f"stride {~d.dim} of an input is symbolic")
        if d.dim is None:
            add(Guard("int", source, (d.sym.name, (d.sym.lo, d.sym.hi)), why))
            continue
        add(Guard("size", None, SizeGuard("<=", d.sym.lo, symbol, why), why))
        if d.sym.hi is not None:
            add(Guard("size", None, SizeGuard("<=", symbol, d.sym.hi, why), why))
    for s in graph.size_guards:
        add(Guard("size", None, s, s.cause if isinstance(s.cause, Cause) else None))
    for g in sizes:
        add(g)
    return tuple(out.values())

"""Sizes that were symbolic until an operation fixed or bound them: which, by what equation, and where."""

from __future__ import annotations

from ..events.types import Cause
from ..graph.types import Graph
from ..guards.explain import condition
from ..guards.sources import name
from ..guards.types import Guard
from ..shapes.dim import symbols
from .report import FixedReport


def fixed_sizes(graph: Graph) -> tuple[FixedReport, ...]:
    """Of each size guard of the graph, the sizes that it speaks of. `value` where only one is left."""
    names = {d.sym: name(graph.inputs[d.input].source) + d.access
             for d in graph.symbols}
    out = []
    for g in graph.size_guards:
        used = sorted(symbols(g.lhs) | symbols(g.rhs), key=lambda s: s.name)
        cause = g.cause if isinstance(g.cause, Cause) else None
        value = used[0].hint if g.op == "==" and len(used) == 1 else None
        out.append(FixedReport(" and ".join(names.get(s, s.name) for s in used), value,
                               condition(Guard("size", None, g), graph), cause.operation if cause else "",
                               str(cause.where) if cause and cause.where else ""))
    return tuple(out)

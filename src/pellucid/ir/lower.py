"""From the graph to loops: each live node's lowering in order, and the views that the end needs."""

from __future__ import annotations

from dataclasses import replace

from ..graph.passes import dead_code
from ..graph.types import Graph, Ref
from .build import Lowering
from .types import Program


def lower(graph: Graph) -> Program:
    """The loop program of a graph. `Program.outputs` are the graph's outputs, then the value of each mutation.

    Nodes that nothing needs are left out, except those that can raise, draw random numbers or run Python. Raises
    NotImplementedError naming the operator where the catalogue has no lowering for it.
    """
    graph = dead_code(graph)
    lx = Lowering(graph)
    for node in graph.nodes:
        lx.node(node)
    program = lx.program()
    return replace(program, outputs=program.outputs + tuple([lx.view(Ref(m.value)) for m in graph.mutations]))

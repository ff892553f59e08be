"""Passes on the core graph: dead code and common subexpressions. Each takes a graph and gives a new one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ops.registry import OPS
from .types import Graph, Node, Ref, ValueId
from .verify import operands


def _effectful(node: Node) -> bool:
    entry = OPS[node.op]
    return entry.can_raise or entry.rng or entry.runs_python


def dead_code(graph: Graph) -> Graph:
    """Without the nodes that nothing needs. What can raise, draws random numbers or runs Python stays."""
    needed: set[ValueId] = {*graph.outputs, *(m.value for m in graph.mutations)}
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if _effectful(node) or not needed.isdisjoint(node.outs):
            kept.append(node)
            needed.update(operands(node.args))
            needed.update(node.roots)
    if len(kept) == len(graph.nodes):
        return graph
    return replace(graph, nodes=tuple(reversed(kept)))


def _key(a: Any) -> Any:
    """Hashable and exact: 1, 1.0 and True are three values, and so are 0.0 and -0.0."""
    if type(a) is tuple or type(a) is list:
        return tuple([_key(x) for x in a])
    if type(a) is float:
        return (float, a.hex())
    return (type(a), a) if isinstance(a, (int, complex, str)) else a


def common_subexpressions(graph: Graph) -> Graph:
    """Equal pure nodes computed once.

    A tensor that is new in eager stays new: a node is not merged into an earlier one if its storage is handed out
    (by an output or a mutation), and a view that is itself an output stays an object of its own.
    """
    handed = {graph.roots[v] for v in (*graph.outputs, *(m.value for m in graph.mutations))}
    outputs = set(graph.outputs)
    merged: dict[ValueId, ValueId] = {}
    first: dict[Any, Node] = {}
    kept: list[Node] = []
    roots = dict(graph.roots)
    for node in graph.nodes:
        node = _renamed(node, merged, roots)
        entry = OPS[node.op]
        if entry.rng or entry.runs_python:
            kept.append(node)
            continue
        try:
            key = (node.op, _key(node.args), node.metas)
            earlier = first.get(key)
        except TypeError:  # an argument that has no hash names an object, not a value
            kept.append(node)
            continue
        fresh = not entry.view and not handed.isdisjoint(node.outs)
        if earlier is None:
            first[key] = node
        elif not fresh and outputs.isdisjoint(node.outs):
            merged.update(zip(node.outs, earlier.outs))
            continue
        kept.append(node)
    if not merged:
        return graph
    return replace(graph, nodes=tuple(kept), roots=roots)


def _renamed(node: Node, merged: dict[ValueId, ValueId], roots: dict[ValueId, ValueId]) -> Node:
    if not merged:
        return node
    new_roots = tuple([merged.get(r, r) for r in node.roots])
    for v, r in zip(node.outs, new_roots):
        roots[v] = r
    return replace(node, args=_rename(node.args, merged), roots=new_roots)


def _rename(a: Any, merged: dict[ValueId, ValueId]) -> Any:
    t = type(a)
    if t is Ref:
        new = merged.get(a.value)
        return a if new is None else Ref(new)
    if t is tuple or t is list:
        return tuple([_rename(x, merged) for x in a])
    return a


def run_passes(graph: Graph) -> Graph:
    """The passes that every graph goes through before it is lowered."""
    return dead_code(common_subexpressions(graph))

"""What must hold of a graph, checked in tests before and after each pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..ops.registry import OPS
from .types import Graph, Ref, TensorMeta, ValueId


class Malformed(ValueError):
    """A graph breaks its rules; the message names the node and the rule."""


def operands(args: Any) -> Iterator[ValueId]:
    """The values that a node's arguments name, in order."""
    for a in args:
        if type(a) is Ref:
            yield a.value
        elif type(a) is tuple or type(a) is list:
            yield from operands(a)


def verify(graph: Graph) -> None:
    """Raise Malformed where a value is used before it is made, made twice, or disagrees with its meta or root."""
    known: set[ValueId] = set()
    for i, g in enumerate(graph.inputs):
        if g.value in known:
            raise Malformed(f"input {i} defines %{g.value} a second time")
        known.add(g.value)
    for k, node in enumerate(graph.nodes):
        at = f"node {k} ({node.op})"
        if node.op not in OPS:
            raise Malformed(f"{at}: the catalogue has no such operator")
        entry = OPS[node.op]
        if len(node.args) != len(entry.params):
            raise Malformed(f"{at}: {len(node.args)} arguments for {len(entry.params)} parameters")
        if not len(node.outs) == len(node.metas) == len(node.roots):
            raise Malformed(f"{at}: outs, metas and roots differ in number")
        for v in operands(node.args):
            if v not in known:
                raise Malformed(f"{at}: %{v} is used before it is made")
        for v, meta, root in zip(node.outs, node.metas, node.roots):
            if v in known:
                raise Malformed(f"{at}: %{v} is made a second time")
            known.add(v)
            if graph.metas.get(v) != meta or graph.roots.get(v) != root:
                raise Malformed(f"{at}: %{v} has another meta or root in the graph's tables")
            if len(meta.shape) != len(meta.strides):
                raise Malformed(f"{at}: %{v} has {len(meta.shape)} sizes and {len(meta.strides)} strides")
            if entry.view != (root != v):
                raise Malformed(f"{at}: %{v} lives in %{root}, but is {'' if entry.view else 'not '}made by a view")
            if root not in known:
                raise Malformed(f"{at}: root %{root} does not exist")
    for v in (*graph.outputs, *(m.value for m in graph.mutations)):
        if v not in known:
            raise Malformed(f"%{v} is handed out but never made")
    for m in graph.mutations:
        new, old = graph.metas[m.value], graph.inputs[m.input].meta
        if not isinstance(new, TensorMeta) or not isinstance(old, TensorMeta) or new.shape != old.shape:
            raise Malformed(f"input {m.input} is to become %{m.value} of another shape")

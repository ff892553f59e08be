"""The core graph as text for people: one node a line, each with what it makes and the user's line it came from."""

from __future__ import annotations

from typing import Any

import torch

from ..shapes.dim import Dim
from .types import Graph, Meta, Ref, ScalarMeta, ValueId


def meta_text(meta: Meta) -> str:
    """`f32[2, s0]`, with strides only where they are not the contiguous ones, and the offset where it is not 0."""
    if isinstance(meta, ScalarMeta):
        return meta.kind
    text = f"{str(meta.dtype).removeprefix('torch.')}[{', '.join(map(str, meta.shape))}]"
    step: Any = 1
    dense = True
    for n, s in zip(reversed(meta.shape), reversed(meta.strides)):
        dense = dense and (n == 1 or s == step)
        step = step * n
    if not dense:
        text += f" strides [{', '.join(map(str, meta.strides))}]"
    if meta.offset != 0:
        text += f" offset {meta.offset}"
    return text if meta.device.type == "cpu" else f"{text} on {meta.device}"


def operand_text(a: Any) -> str:
    if isinstance(a, Ref):
        return f"%{a.value}"
    if isinstance(a, (tuple, list)):
        return "(" + ", ".join(map(operand_text, a)) + ")"
    if isinstance(a, torch.dtype):
        return str(a).removeprefix("torch.")
    return str(a) if isinstance(a, Dim) else repr(a)


def _value(graph: Graph, v: ValueId) -> str:
    root = graph.roots.get(v, v)
    return f"%{v}: {meta_text(graph.metas[v])}" + ("" if root == v else f" in %{root}")


def to_text(graph: Graph) -> str:
    """The whole graph: inputs with their roles, nodes, mutations, outputs and the conditions on sizes."""
    lines = [f"input {i} {_value(graph, g.value)} {g.role}" for i, g in enumerate(graph.inputs)]
    lines += [f"symbol {s.sym} = input {s.input}" + ("" if s.dim is None else f" size {s.dim}" if s.dim >= 0
                                                           else f" stride {~s.dim}") for s in graph.symbols]
    for node in graph.nodes:
        stack = graph.calls[node.call].stack if node.call < len(graph.calls) else ()
        where = f"  # {stack[-1].file}:{stack[-1].line}" if stack else ""
        made = ", ".join(_value(graph, v) for v in node.outs)
        lines.append(f"{made} = {node.op}({', '.join(map(operand_text, node.args))}){where}")
    lines += [f"input {m.input} becomes %{m.value}" for m in graph.mutations]
    lines += [f"holds {g}" for g in graph.size_guards]
    lines.append("return " + ", ".join(f"%{v}" for v in graph.outputs))
    return "\n".join(lines) + "\n"

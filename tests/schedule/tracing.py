"""Graphs for the scheduler's tests: functions traced through the catalogue, without capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import pellucid.ops  # noqa: F401  (fills the tables)
from pellucid.graph.build import GraphBuilder
from pellucid.graph.types import Graph, SymbolDef, TensorMeta
from pellucid.ops.registry import FUNCTIONS
from pellucid.runtime.reference import read_symbols


def trace(fn: Callable[..., Any], *examples: torch.Tensor, dynamic: dict[tuple[int, int], None] | tuple = ()) -> Graph:
    """fn(f, *values) as a graph: `f(torch.add, x, y)` expands a torch function.

    dynamic: (input, dimension) pairs whose size is a symbol.
    """
    b = GraphBuilder()
    vals = []
    for k, t in enumerate(examples):
        shape: list[Any] = list(t.shape)
        strides: list[Any] = list(t.stride())
        for i, d in dynamic:
            if i == k:
                shape[d] = b.env.symbol(t.shape[d])
                b.symbols.append(SymbolDef(b.env.symbols[-1], k, d))
        if any(i == k for i, _ in dynamic):
            step: Any = 1
            for d in reversed(range(len(shape))):
                strides[d] = step
                step = step * shape[d]
        vals.append(b.input(TensorMeta(t.dtype, tuple(shape), tuple(strides)), None))

    def f(target: Any, *args: Any, **kwargs: Any) -> Any:
        return FUNCTIONS[target](b, *args, **kwargs)
    out = fn(f, *vals)
    return b.finish(out if isinstance(out, tuple) else (out,))


def symbols(graph: Graph, inputs: Any) -> dict:
    return read_symbols(graph.symbols, inputs)


def eager(target: Any, *args: Any, **kwargs: Any) -> Any:
    return target(*args, **kwargs)

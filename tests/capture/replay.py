"""A tiny interpreter of segments for tests: guards by the slow evaluator, calls by torch, recipes in Python."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from pellucid.capture.recipes import build, build_shared, commit
from pellucid.capture.types import Return, Segment
from pellucid.graph.types import Graph, Ref
from pellucid.guards.evaluate import evaluate_guard, symbol_values
from pellucid.guards.sources import Scope, load
from pellucid.shapes.dim import Dim, evaluate


def arguments(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    return dict(inspect.signature(target).bind(*args, **kwargs).arguments)


def failing(segment: Segment, scope: Scope) -> list[Any]:
    scope.symbols = symbol_values(segment.graph, scope)
    return [o for o in (evaluate_guard(g, segment.graph, scope) for g in segment.guards) if not o.ok]


def run_graph(graph: Graph, scope: Scope) -> tuple[list[Any], dict[int, Any]]:
    values: dict[int, Any] = {}
    for g in graph.inputs:
        values[g.value] = load(g.source, scope)
    symbols = symbol_values(graph, scope)
    scope.symbols = symbols

    def real(a: Any) -> Any:
        if type(a) is Ref:
            return values[a.value]
        if type(a) is Dim:
            return evaluate(a, symbols)
        if type(a) in (tuple, list):
            return type(a)(real(x) for x in a)
        if type(a) is dict:
            return {k: real(v) for k, v in a.items()}
        if type(a) is slice:
            return slice(real(a.start), real(a.stop), real(a.step))
        return a

    def bind(outs: Any, result: Any) -> None:
        if type(outs) is Ref:
            meta = graph.metas[outs.value]
            shape = tuple(evaluate(s, symbols) for s in meta.shape)
            assert tuple(result.shape) == shape, (result.shape, meta)
            assert result.dtype is meta.dtype, (result.dtype, meta)
            values[outs.value] = result
        elif type(outs) in (tuple, list):
            for o, r in zip(outs, result, strict=True):
                bind(o, r)

    for call in graph.calls:
        args, kwargs = real(call.args), real(call.kwargs)
        with torch.set_grad_enabled(call.global_state[0]):
            result = getattr(args[0], call.target)(*args[1:], **kwargs) if call.kind == "method" else \
                call.target(*args, **kwargs)
        for m in call.mutates:
            values[m] = args[0]
        bind(call.outs, result)
    outputs = []
    for o in graph.outputs:
        outputs.append(values[o] if o in values else read(graph, values, o))
    return outputs, values


def read(graph: Graph, values: dict[int, Any], o: int) -> Any:
    """A value that only core nodes name (the contents of a storage after a write): the tensor of its storage."""
    for n in reversed(graph.nodes):
        if o in n.outs and n.op in ("assign", "as_strided"):
            source = n.args[0].value
            return values[source] if source in values else read(graph, values, source)
    raise KeyError(o)


def run(segment: Segment, scope: Scope) -> Any:
    """The segment's result, its effects committed."""
    assert isinstance(segment.exit, Return), segment.exit
    outputs, _ = run_graph(segment.graph, scope)
    shared = build_shared(segment.shared, outputs, scope)
    value = build(segment.exit.value, outputs, scope, shared)
    commit(segment.effects, outputs, scope, shared)
    return value


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor):
        return type(a) is type(b) and a.shape == b.shape and a.dtype == b.dtype and torch.allclose(a, b, equal_nan=True)
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(dict.__getitem__(a, k), dict.__getitem__(b, k)) for k in dict.keys(a))
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
    if hasattr(a, "__dict__") and not isinstance(a, (type, torch.nn.Module)):
        return equal(vars(a), vars(b))
    return bool(a == b)

"""Runs a torch call both ways: eagerly, and by its expansion, shape rules, lowering and the reference runner.

A call is a target (a torch callable, or a Tensor method's name) with arguments. Compared are the structure of the
result, every meta (dtype, shape, strides), every value, and what the call wrote into its arguments.
"""

from __future__ import annotations

import copy
from typing import Any

import torch

import pellucid.ops  # noqa: F401
from pellucid.graph.build import GraphBuilder, Val
from pellucid.graph.types import SymbolDef, TensorMeta
from pellucid.ir.lower import lower
from pellucid.ops.torch_level import expansion_of
from pellucid.runtime.reference import run_program
from pellucid.shapes.dim import Dim, evaluate

DYNAMIC = 5
"""In dynamic runs every size of 5 is a symbol; all of them are one symbol."""


def find(target: Any) -> Any:
    fn = expansion_of(target)
    assert fn is not None, f"{target} has no expansion"
    return fn


def eager(target: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(target, str):
        attr = getattr(torch.Tensor, target)
        return attr(*args, **kwargs) if callable(attr) else getattr(args[0], target)
    return target(*args, **kwargs)


def mapped(value: Any, fn: Any) -> Any:
    """value with fn applied to each tensor in its tuples, lists, slices and dicts."""
    if isinstance(value, torch.Tensor):
        return fn(value)
    if type(value) is slice:
        return slice(*[mapped(v, fn) for v in (value.start, value.stop, value.step)])
    if isinstance(value, dict):
        return {k: mapped(v, fn) for k, v in value.items()}
    if type(value) in (tuple, list):
        return type(value)(mapped(v, fn) for v in value)
    return value


class Expanded:
    """One call, expanded: the builder, its inputs as tensors, and the result with Vals."""

    def __init__(self, target: Any, args: Any, kwargs: Any, dynamic: bool = False):
        self.builder = GraphBuilder()
        self.tensors: list[torch.Tensor] = []
        self.seen: dict[int, Val] = {}
        self.sym: Dim | None = None
        self.dynamic = dynamic
        args, kwargs = mapped(args, self._input), mapped(kwargs, self._input)
        if self.sym is not None:
            args, kwargs = _symbolic(args, self.sym), _symbolic(kwargs, self.sym)
        self.args = args
        self.result = find(target)(self.builder, *args, **kwargs)

    def _input(self, t: torch.Tensor) -> Val:
        if id(t) in self.seen:
            return self.seen[id(t)]
        b, shape, strides = self.builder, tuple(t.shape), tuple(t.stride())
        if self.dynamic and DYNAMIC in shape and t.is_contiguous():
            if self.sym is None:
                self.sym = b.env.symbol(DYNAMIC)
                b.symbols.append(SymbolDef(b.env.symbols[0], len(b.inputs), shape.index(DYNAMIC)))
            shape = tuple(self.sym if s == DYNAMIC else s for s in shape)
            out: list[Any] = []
            step: Any = 1
            for s in reversed(shape):
                out.append(step)
                step = step * s
            strides = tuple(reversed(out))
        v = b.input(TensorMeta(t.dtype, shape, strides), f"input {len(b.inputs)}")
        self.tensors.append(t)
        self.seen[id(t)] = v
        return v

    def values(self) -> dict[str, int]:
        return {s: DYNAMIC for s in self.builder.env.symbols}

    def run(self) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        """(values of the result's Vals, contents of all inputs afterwards)."""
        vals = leaves(self.result)
        inputs = list(self.builder.inputs)
        after = [self.builder.fresh(self.seen[id(t)]) for t in self.tensors]
        graph = self.builder.finish(tuple(vals + after))
        data, k = [], 0
        for g in inputs:
            if g.role == "constant":
                data.append(g.source.obj)
            else:
                data.append(self.tensors[k])
                k += 1
        outs = run_program(lower(graph), data, self.values())
        return outs[:len(vals)], outs[len(vals):len(vals) + len(after)]


def _symbolic(value: Any, sym: Dim) -> Any:
    if type(value) is int and value == DYNAMIC:
        return sym
    if type(value) is slice:
        return slice(*[_symbolic(v, sym) for v in (value.start, value.stop, value.step)])
    if isinstance(value, dict):
        return {k: _symbolic(v, sym) for k, v in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_symbolic(v, sym) for v in value)
    return value


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (Val, torch.Tensor)):
        return [result]
    if isinstance(result, (tuple, list)):
        return [x for r in result for x in leaves(r)]
    return []


def shape_of(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [shape_of(r) for r in result]
    return isinstance(result, (Val, torch.Tensor))


def check(target: Any, *args: Any, dynamic: bool = False, strides: bool = True, values: bool = True,
          rtol: float | None = None, atol: float | None = None, **kwargs: Any) -> Expanded:
    """Assert that the expansion of target(*args, **kwargs) does what eager does; arguments are left as they are."""
    theirs = copy.deepcopy((args, kwargs))
    expected = eager(target, *theirs)
    made = Expanded(target, args, kwargs, dynamic)
    assert shape_of(made.result) == shape_of(expected), (made.result, expected)
    wanted = leaves(expected)
    symbols = made.values()
    for v, t in zip(leaves(made.result), wanted):
        m = v.meta
        assert m.dtype is t.dtype, f"dtype {m.dtype} instead of {t.dtype}"
        assert tuple(evaluate(s, symbols) for s in m.shape) == tuple(t.shape), f"shape {m.shape} instead of {t.shape}"
        if strides and t.numel():
            have = tuple(evaluate(s, symbols) for s in m.strides)
            assert have == t.stride(), f"strides {have} instead of {t.stride()}"
    if not values:
        return made
    outs, after = made.run()
    for o, t in zip(outs, wanted):
        torch.testing.assert_close(o, t, rtol=rtol, atol=atol, equal_nan=True)
    unique: list[torch.Tensor] = []
    for t in _tensors(theirs):
        if not any(t is u for u in unique):
            unique.append(t)
    assert len(unique) == len(after)
    for o, t in zip(after, unique):
        torch.testing.assert_close(o, t, rtol=rtol, atol=atol, equal_nan=True)
    return made


def _tensors(value: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(list(value), lambda t: found.append(t) or t)
    return found

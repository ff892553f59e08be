"""Whole models through the catalogue, without capture: each torch call is run and expanded side by side.

Every meta must be eager's, and the program lowered from all of it must give eager's outputs.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import pellucid.ops  # noqa: F401
from pellucid.graph.build import GraphBuilder, Val
from pellucid.graph.types import TensorMeta
from pellucid.ir.lower import lower
from pellucid.ops.errors import OpError
from pellucid.ops.torch_level import expansion_of
from pellucid.runtime.reference import run_program
from tests.models.configs import CASES, build, tensors_of


class Shadow(TorchFunctionMode):
    """Expands every torch call that is run under it; `vals` holds the graph value of each tensor seen."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = GraphBuilder()
        self.vals: dict[int, Val] = {}
        self.inputs: list[torch.Tensor] = []
        self.held: list[Any] = []

    def value(self, t: torch.Tensor) -> Val:
        if id(t) not in self.vals:
            self.vals[id(t)] = self.builder.input(TensorMeta(t.dtype, tuple(t.shape), t.stride()), "a tensor")
            self.inputs.append(t)
        return self.vals[id(t)]

    def operand(self, a: Any) -> Any:
        if isinstance(a, torch.Tensor):
            return self.value(a)
        if isinstance(a, slice):
            return slice(*map(self.operand, (a.start, a.stop, a.step)))
        if isinstance(a, (tuple, list)):
            return (list if isinstance(a, list) else tuple)([self.operand(x) for x in a])
        return a

    def __torch_function__(self, fn: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        expand = expansion_of(fn)
        real = None
        if expand is not None:
            operands, named = self.operand(args), {k: self.operand(v) for k, v in kwargs.items()}
            try:
                ours = expand(self.builder, *operands, **named)
            except OpError:
                expand = None  # reads a tensor's value: the result below must be no tensor
        real = fn(*args, **kwargs)
        outs = [t for t in (real if isinstance(real, (tuple, list)) else (real,)) if isinstance(t, torch.Tensor)]
        if not outs or getattr(fn, "__name__", "") == "__get__":
            return real
        assert expand is not None, f"{fn} gives tensors and has no expansion"
        for t, v in zip(outs, ours if isinstance(ours, (tuple, list)) else (ours,)):
            m = v.meta
            assert (m.dtype, m.shape, m.strides) == (t.dtype, tuple(t.shape), t.stride()), fn
            self.vals[id(t)] = v
            self.held.append(t)
        return real


@pytest.mark.parametrize("name", CASES)
def test_model(name: str) -> None:
    model, inputs = build(name, 0)
    with torch.no_grad(), Shadow() as shadow:
        eager = tensors_of(model(**inputs))
    outs = [shadow.vals[id(t)] for t in eager]
    got = run_program(lower(shadow.builder.finish(tuple(outs))), shadow.inputs)
    for v, ours, theirs in zip(outs, got, eager):
        assert v.meta.strides == theirs.stride()
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)

"""Transforms of torch.func and torch.autograd.grad are one break each, with an own code; marked regions are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import pellucid
from pellucid.errors.breaks import BREAKS
from pellucid.errors.types import GraphBreakError

STRICT = {"strict": True}


def vmapped(x: Tensor) -> Any:
    return torch.vmap(lambda row: row * row.sum())(x + 1) * 2


def gradient(x: Tensor) -> Any:
    return torch.func.grad(lambda y: (y**3).sum())(x + 1) * 2


def each_gradient(x: Tensor) -> Any:
    return torch.vmap(torch.func.grad(lambda y: (y**3).sum()))(x + 1) * 2


def forward_mode(x: Tensor) -> Any:
    return torch.func.jvp(torch.sin, (x + 1,), (x,))[1] * 2


def taken(x: Tensor) -> Any:
    return torch.autograd.grad((x * x).sum(), x)[0] * 2


@pytest.mark.parametrize(("fn", "code"), [(vmapped, "PB120"), (gradient, "PB120"), (each_gradient, "PB120"),
                                          (forward_mode, "PB120"), (taken, "PB118")])
def test_one_break_and_no_call_left_to_eager(fn: Callable[..., Any], code: str) -> None:
    pellucid.reset()
    compiled = pellucid.compile(fn, options=STRICT)
    for _ in range(2):
        x, y = (torch.arange(6.0).reshape(2, 3).requires_grad_(fn is taken) for _ in range(2))
        torch.testing.assert_close(compiled(x), fn(y), rtol=1e-6, atol=1e-6)
    counts = pellucid.counters()
    assert (counts["graph_break_count"], counts["eager_fallback_count"]) == (1, 0)
    with pytest.raises(GraphBreakError, match=code):
        pellucid.compile(fn, fullgraph=True)(torch.ones(2, 3).requires_grad_(fn is taken))
    assert code in BREAKS


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_a_marked_region_is_its_function(backend: str) -> None:
    @torch.compiler.nested_compile_region
    def layer(x: Tensor, k: float = 2.0) -> Tensor:
        return (x * k).sin()

    def fn(x: Tensor) -> Tensor:
        return layer(layer(x), k=3.0) + 1

    x = torch.arange(4.0)
    torch.testing.assert_close(pellucid.compile(fn, backend=backend, fullgraph=True, options=STRICT)(x), fn(x))

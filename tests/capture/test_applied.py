"""autograd.Function.apply inside captured code: one call in the graph, with its own backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import pellucid

STRICT = {"strict": True}
seen: list[str] = []


class Doubled(torch.autograd.Function):
    """The gradient is deliberately not that of the forward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.sin() * x

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return g * 10


class Noting(Doubled):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        seen.append("forward")
        return x * 2


class Printing(Doubled):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        print("forward")
        return x * 2


class Failing(Doubled):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no")


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_backward_is_the_functions_own(backend: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return Doubled.apply(x * 3) + x

    compiled = pellucid.compile(f, backend=backend, fullgraph=True, options=STRICT)
    for _ in range(2):
        x, y = (torch.arange(3.0).requires_grad_() for _ in range(2))
        f(x).sum().backward()
        compiled(y).sum().backward()
        assert torch.equal(x.grad, y.grad) and x.grad.tolist() == [31.0] * 3


@pytest.mark.parametrize("cls", [Noting, Printing])
def test_a_forward_with_effects_runs_in_python_once_a_call(cls: Any, capsys: Any) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return cls.apply(x * 3) + x

    compiled = pellucid.compile(f, backend="eager", options=STRICT)
    seen.clear()
    for _k in range(3):
        x = torch.arange(3.0).requires_grad_()
        compiled(x).sum().backward()
        assert x.grad.tolist() == [31.0] * 3
    assert len(seen) + capsys.readouterr().out.count("forward") == 3


def test_a_forward_that_raises() -> None:
    def f(x: torch.Tensor, log: list[str]) -> torch.Tensor:
        log.append("before")
        try:
            return Failing.apply(x)
        except ValueError:
            log.append("caught")
            return x * 2

    compiled = pellucid.compile(f, backend="eager", options=STRICT)
    for _ in range(3):
        x, log = torch.ones(2, requires_grad=True), []
        compiled(x, log).sum().backward()
        assert log == ["before", "caught"] and x.grad.tolist() == [2.0, 2.0]

"""Random numbers inside captured programs, against eager's stream."""

from __future__ import annotations

import copy

import pytest
import torch

import pellucid

from .rng import programs

test_rng = programs.test()


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_a_transformer_trains_with_dropout_as_eager_does(backend: str) -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(
        torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.2, batch_first=True),
        torch.nn.TransformerEncoderLayer(16, 4, 24, dropout=0.1, batch_first=True, norm_first=True),
        torch.nn.Dropout(0.5), torch.nn.Linear(16, 3))
    other = copy.deepcopy(plain)
    compiled = pellucid.compile(other, backend=backend, fullgraph=True, options={"strict": True})
    losses: list[list[float]] = [[], []]
    states = []
    for net, call, kept in ((plain, plain, losses[0]), (other, compiled, losses[1])):
        torch.manual_seed(5)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            loss = call(torch.randn(2, 5, 16)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(loss.item())
        states.append(torch.get_rng_state())
    assert losses[0] == losses[1]
    assert torch.equal(*states)
    for a, b in zip(plain.parameters(), other.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad) and torch.equal(a, b)


def test_draws_stay_in_their_place_in_the_plan() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        a = torch.rand(4)
        torch.rand(4)
        return x + torch.rand(4) - a

    compiled = pellucid.compile(f, options={"strict": True})
    x = torch.zeros(4)
    torch.manual_seed(1)
    want = f(x), f(x)
    torch.manual_seed(1)
    got = compiled(x), compiled(x)
    assert all(map(torch.equal, want, got))


def test_a_failed_step_puts_the_generator_back() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.rand(3) + x[i]

    compiled = pellucid.compile(f, options={"strict": True})
    x = torch.arange(3.0)
    compiled(x, torch.tensor([0, 1, 2]))
    for call in (f, compiled):
        torch.manual_seed(2)
        with pytest.raises(IndexError):
            call(x, torch.tensor([0, 1, 9]))
        after = torch.get_rng_state()
        torch.manual_seed(2)
        torch.rand(3)
        assert torch.equal(after, torch.get_rng_state())

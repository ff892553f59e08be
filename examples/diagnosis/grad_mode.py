"""Calls with and without gradients take turns: a version for each mode."""

import torch
from torch import nn

import pellucid

EXPECTED = {"cause": "grad-mode", "story": "guard failure", "settled": {"pellucid": True, "torch.compile": True}}


def _alternating(x):
    return [pellucid.Call((x,), context=torch.no_grad if i % 2 else torch.enable_grad) for i in range(6)]


def _steady(x):
    return [pellucid.Call((x,), context=torch.no_grad) for i in range(6)]


def small(x):  # <- small
    return torch.tanh(x) * 2


small_edited = small


def small_inputs():
    return _alternating(torch.linspace(-1, 1, 64))


def small_edited_inputs():
    return _steady(torch.linspace(-1, 1, 64))


class Critic(nn.Module):
    """Trained, and also used to score without gradients."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x):  # <- realistic
        return self.head(torch.relu(self.body(x)))


torch.manual_seed(0)
realistic = realistic_edited = Critic().eval()


def realistic_inputs():
    torch.manual_seed(1)
    return _alternating(torch.randn(8, 16))


def realistic_edited_inputs():
    torch.manual_seed(1)
    return _steady(torch.randn(8, 16))

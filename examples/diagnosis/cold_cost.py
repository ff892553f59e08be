"""A process that calls the function a few times never wins back the compile of its first call."""

import torch
from torch import nn

EXPECTED = {"cause": "cold-not-paid", "story": "stable", "timed": True, "lifetime": 3}
small_lifetime = realistic_lifetime = 3


def small(x):  # <- small
    return torch.tanh(x) * torch.sigmoid(x) + x.exp().log1p()


def small_inputs():
    return [(torch.linspace(-1, 1, 20_000),)] * 3


class Report(nn.Module):
    """Run once a night over a few batches."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(32, 64), nn.Linear(64, 8)

    def forward(self, x):  # <- realistic
        return torch.softmax(self.head(torch.nn.functional.gelu(self.body(x))), -1)


torch.manual_seed(0)
realistic = Report().eval().requires_grad_(False)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(16, 32),)] * 3

"""A counter attribute that takes part in the computation."""

import torch
from torch import nn

EXPECTED = {"cause": "counter", "story": "guard failure", "settled": {"pellucid": True}, "state": True}


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        self.steps += 1  # <- small
        return x * self.steps


class SmallEdited(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps.add_(1)
        return x * self.steps


small, small_edited = Small(), SmallEdited()


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 12


class Warmup(nn.Module):
    """A layer whose output is scaled up over the first calls."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.seen = 0

    def scale(self):
        self.seen = self.seen + 1  # <- realistic
        return self.seen / 100

    def forward(self, x):
        return torch.tanh(self.linear(x)) * self.scale()


class WarmupEdited(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)
        return torch.tanh(self.linear(x)) * (self.seen / 100)


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Warmup), _model(WarmupEdited)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(8, 16),)] * 12

"""Python's random numbers decide inside the function."""

import random

import torch
from torch import nn

EXPECTED = {"cause": "random", "story": "break", "random": True}


def small(x):
    if random.random() > 2:  # <- small
        return x - 1
    return x + 1


def small_edited(x):
    return x + 1


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 6


class DropLayer(nn.Module):
    """Stochastic depth with Python's generator."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))

    def keep(self, layer):
        return random.random() < 2  # <- realistic

    def forward(self, x):
        for layer in self.layers:
            if self.keep(layer):
                x = x + torch.tanh(layer(x))
        return x


class AllLayers(DropLayer):
    def keep(self, layer):
        return True


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(DropLayer), _model(AllLayers)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(8, 16),)] * 6

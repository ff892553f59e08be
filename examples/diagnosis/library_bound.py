"""Almost all time is in a matrix product: a compiler calls the same kernel."""

import torch
from torch import nn

EXPECTED = {"cause": "library-bound", "story": "stable", "timed": True}


def small(a, b):  # <- small
    return a @ b


def small_inputs():
    torch.manual_seed(1)
    a = torch.randn(384, 384)
    return [(a, a)] * 3


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(nn.Linear(512, 512) for _ in range(2)))

    def forward(self, x):  # <- realistic
        return self.layers(x)


torch.manual_seed(0)
realistic = Wide().eval().requires_grad_(False)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(256, 512),)] * 3

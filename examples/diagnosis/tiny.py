"""A tiny function that is called often: going in and out is most of its time."""

import torch
from torch import nn

EXPECTED = {"cause": "tiny", "story": "stable", "timed": True}


def small(x):  # <- small
    return x + 1


def small_inputs():
    return [(torch.zeros(4),)] * 3


class Gate(nn.Module):
    """One gate of a cell, compiled by itself."""

    def forward(self, x, h):  # <- realistic
        return torch.sigmoid(x) * h


realistic = Gate().eval()


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(1, 8), torch.randn(1, 8))] * 3

"""A tensor's value is read into a Python number in the middle of the function."""

import torch
from torch import nn

EXPECTED = {"cause": "item", "story": "break"}


def small(x):
    scale = x.abs().max().item()  # <- small
    return x / scale


def small_edited(x):
    return x / x.abs().max()


def small_inputs():
    return [(torch.linspace(-i, i, 64),) for i in (1, 1, 2, 3, 3)]


class Quantised(nn.Module):
    """A linear layer on inputs rounded to 8 bits, with the range found in each call."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(32, 32)

    def rounded(self, x):
        step = float(x.abs().max()) / 127  # <- realistic
        return torch.round(x / step) * step

    def forward(self, x):
        return self.linear(self.rounded(x))


class StaysTensor(Quantised):
    def rounded(self, x):
        step = x.abs().max() / 127
        return torch.round(x / step) * step


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Quantised), _model(StaysTensor)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(4, 32) * i,) for i in (1, 1, 2, 3, 3)]

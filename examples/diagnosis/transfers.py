"""Conversions in every call: the same tensor is converted again and again."""

import torch
from torch import nn

EXPECTED = {"cause": "transfers", "story": "stable", "timed": True}
TABLE = torch.arange(400_000, dtype=torch.float64)


def small(x):
    table = TABLE.to(torch.float32)  # <- small
    return table[:64] * x


TABLE_32 = TABLE.to(torch.float32)


def small_edited(x):
    return TABLE_32[:64] * x


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 3


class Mixed(nn.Module):
    """Weights are kept in float64 and used in float32."""

    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.randn(512, 512, dtype=torch.float64))

    def used(self):
        return self.weight.to(torch.float32)  # <- realistic

    def forward(self, x):
        return torch.mv(self.used(), x)


class Single(Mixed):
    def __init__(self):
        super().__init__()
        self.weight = self.weight.to(torch.float32)

    def used(self):
        return self.weight


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Mixed), _model(Single)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(512),)] * 3

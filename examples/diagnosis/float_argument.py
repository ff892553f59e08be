"""A Python float changes from call to call and decides something, so that each value is a constant."""

import torch
from torch import nn

EXPECTED = {"cause": "float", "story": "guard failure", "settled": {"pellucid": None, "torch.compile": None}}


def small(x, rate):
    return x * 2 if rate > 0.5 else x * rate  # <- small


def small_edited(x, rate):
    return torch.where(rate > 0.5, x * 2, x * rate)


def small_inputs():
    return [(torch.linspace(-1, 1, 64), 0.04 * i) for i in range(1, 13)]


def small_edited_inputs():
    return [(torch.linspace(-1, 1, 64), torch.tensor(0.04 * i)) for i in range(1, 13)]


class Annealed(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x, temperature):
        return torch.softmax(self.linear(x) / temperature, -1)  # <- realistic


torch.manual_seed(0)
realistic = realistic_edited = Annealed().eval()


def realistic_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, 1.0 / i) for i in range(1, 13)]


def realistic_edited_inputs():
    return [(x, torch.tensor(t)) for x, t in realistic_inputs()]

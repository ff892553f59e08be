"""Inputs come in several dtypes: a version for each."""

import torch
from torch import nn

EXPECTED = {"cause": "dtype", "story": "guard failure", "settled": {"pellucid": None, "torch.compile": None}}
KINDS = (torch.float32, torch.float64, torch.int32, torch.int64)


def small(x):
    return torch.tanh(x.float()) * 2  # <- small


small_edited = small


def small_inputs():
    return [(torch.arange(64).to(k),) for k in KINDS]


def small_edited_inputs():
    return [(torch.arange(64).to(k).float(),) for k in KINDS]


class Features(nn.Module):
    """Columns of a table as they come from a reader."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x.to(torch.float32))  # <- realistic


torch.manual_seed(0)
realistic = realistic_edited = Features().eval()


def realistic_inputs():
    return [(torch.arange(32).view(4, 8).to(k),) for k in KINDS]


def realistic_edited_inputs():
    return [(x.float(),) for (x,) in realistic_inputs()]

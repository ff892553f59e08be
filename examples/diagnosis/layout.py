"""The same shape with other strides: slices and transposes of one buffer."""

import torch
from torch import nn

EXPECTED = {"cause": "layout", "story": "guard failure", "settled": {"pellucid": None, "torch.compile": None}}


def small(x):  # <- small
    return torch.tanh(x) * 2


def small_edited(x):
    return torch.tanh(x) * 2


def _strided(shape, step):
    rows, columns = shape
    return torch.linspace(-1, 1, rows * columns * step).view(rows, columns * step)[:, ::step]


def small_inputs():
    kinds = [torch.linspace(-1, 1, 32).view(4, 8), torch.linspace(-1, 1, 32).view(8, 4).t()]
    return [(x,) for x in kinds * 3]


def small_edited_inputs():
    return [(x.contiguous(),) for (x,) in small_inputs()]


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)

    def forward(self, x):  # <- realistic
        return torch.softmax(self.head(x) * 2, -1)


torch.manual_seed(0)
realistic = realistic_edited = Head().eval()


def realistic_inputs():
    states = torch.linspace(-1, 1, 4 * 8).view(4, 8)
    columns = torch.linspace(-1, 1, 8 * 4).view(8, 4).t()
    return [(x,) for x in [states, columns] * 3]


def realistic_edited_inputs():
    return [(x.contiguous(),) for (x,) in realistic_inputs()]

"""A function made anew is passed in: its code, or what it closes over, is guarded."""

import torch
from torch import nn

EXPECTED = {"cause": "closure", "story": "guard failure", "settled": {"pellucid": None, "torch.compile": None}}


def small(x, f):
    return f(x) + 1  # <- small


def small_edited(x, scale):
    return x * scale + 1


def _scaled(name):
    return lambda x: x * len(name)


def _makers():
    return [lambda x: x * 1, lambda x: x * 2, lambda x: x * 3, lambda x: x * 4, lambda x: x * 5, lambda x: x * 6,
            lambda x: x * 7, lambda x: x * 8, lambda x: x * 9, lambda x: x * 10]


def small_inputs():
    return [(torch.linspace(-1, 1, 64), f) for f in _makers()]


def small_edited_inputs():
    return [(torch.linspace(-1, 1, 64), torch.tensor(float(i + 1))) for i in range(10)]


class Hooked(nn.Module):
    """A layer with a transform given by the caller, who writes a new one each time."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x, transform):
        return transform(self.linear(x))  # <- realistic


class Scaled(Hooked):
    def forward(self, x, scale):
        return self.linear(x) * scale


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Hooked), _model(Scaled)


def realistic_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, f) for f in _makers()]


def realistic_edited_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, torch.tensor(float(i + 1))) for i in range(10)]

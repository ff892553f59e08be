"""A dictionary keyed by an integer that changes: each key is another constant of the graph."""

import torch
from torch import nn

EXPECTED = {"cause": "dict-key", "story": "guard failure"}
SCALES = {i: 1.0 + i / 8 for i in range(32)}


def small(x, step):
    return torch.tanh(x) * SCALES[step]  # <- small


def small_edited(x, scale):
    return torch.tanh(x) * scale


def small_inputs():
    return [(torch.linspace(-1, 1, 64), i) for i in range(12)]


def small_edited_inputs():
    return [(torch.linspace(-1, 1, 64), torch.tensor(SCALES[i])) for i in range(12)]


class Scheduled(nn.Module):
    """A linear layer with a noise level looked up by the step of a sampler."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.levels = {i: 0.5 ** i for i in range(32)}

    def level(self, step):
        return self.levels[step]  # <- realistic

    def forward(self, x, step):
        return self.linear(x) * self.level(step)


class ByTensor(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)
        self.levels = torch.tensor([0.5 ** i for i in range(32)])

    def forward(self, x, step):
        return self.linear(x) * self.levels[step]


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Scheduled), _model(ByTensor)


def realistic_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, i) for i in range(12)]


def realistic_edited_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, torch.tensor([i])) for i in range(12)]

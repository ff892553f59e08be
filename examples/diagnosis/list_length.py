"""A list whose length changes: the loop over it is unrolled into the graph."""

import torch
from torch import nn

EXPECTED = {"cause": "list-length", "story": "guard failure"}


def small(x, parts):
    for p in parts:  # <- small
        x = x + p
    return torch.tanh(x)


def small_edited(x, parts):
    return torch.tanh(x + parts.sum(0))


def small_inputs():
    x = torch.linspace(-1, 1, 64)
    return [(x, [x] * i) for i in range(1, 13)]


def small_edited_inputs():
    x = torch.linspace(-1, 1, 64)
    return [(x, torch.stack([x] * i)) for i in range(1, 13)]


class Memory(nn.Module):
    """Attention over a list of states that grows with each step."""

    def __init__(self):
        super().__init__()
        self.query = nn.Linear(16, 16)

    def forward(self, x, states):
        keys = torch.stack(states)  # <- realistic
        return torch.softmax(self.query(x) @ keys.T, -1) @ keys


class MemoryEdited(Memory):
    def forward(self, x, keys):
        return torch.softmax(self.query(x) @ keys.T, -1) @ keys


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Memory), _model(MemoryEdited)


def _states():
    torch.manual_seed(1)
    return torch.randn(2, 16), [torch.randn(16) for _ in range(13)]


def realistic_inputs():
    x, states = _states()
    return [(x, states[:i]) for i in range(2, 14)]


def realistic_edited_inputs():
    x, states = _states()
    return [(x, torch.stack(states[:i])) for i in range(2, 14)]

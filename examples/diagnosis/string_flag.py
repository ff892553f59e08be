"""A string that changes from call to call: each is another constant of the graph."""

import torch
from torch import nn

EXPECTED = {"cause": "string", "story": "guard failure"}


def small(x, name):
    return torch.tanh(x) * len(name)  # <- small


def small_edited(x, length):
    return torch.tanh(x) * length


def small_inputs():
    return [(torch.linspace(-1, 1, 64), f"user{10 ** i}") for i in range(12)]


def small_edited_inputs():
    return [(torch.linspace(-1, 1, 64), torch.tensor(len(f"user{10 ** i}"))) for i in range(12)]


class Routed(nn.Module):
    """A layer that picks its bias by the name of a tenant."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x, tenant):
        bias = 1.0 if tenant.endswith("0") else 0.0  # <- realistic
        return self.linear(x) + bias


class RoutedEdited(Routed):
    def forward(self, x, bias):
        return self.linear(x) + bias


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Routed), _model(RoutedEdited)


def realistic_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, f"tenant-{i}") for i in range(12)]


def realistic_edited_inputs():
    torch.manual_seed(1)
    x = torch.randn(4, 16)
    return [(x, torch.tensor(1.0 if f"tenant-{i}".endswith("0") else 0.0)) for i in range(12)]

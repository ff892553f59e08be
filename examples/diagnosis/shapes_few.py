"""Three shapes that come again and again, with dynamic=False: one version each, compiled while users wait."""

import torch
from torch import nn

EXPECTED = {"cause": "shapes-few", "story": "guard failure", "settled": {"pellucid": True, "torch.compile": True}}
OPTIONS = {"dynamic": False}


def small(x):
    return torch.tanh(x) * 2  # <- small


small_edited = small


def small_inputs():
    return [(torch.linspace(-1, 1, n),) for n in (8, 16, 24, 8, 16, 24, 8, 16, 24, 8, 16, 24)]


class Scorer(nn.Module):
    """Batches of three sizes."""

    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(16, 32), nn.Linear(32, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))  # <- realistic


torch.manual_seed(0)
realistic = realistic_edited = Scorer().eval()


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(n, 16),) for n in (4, 8, 12) * 4]

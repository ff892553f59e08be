"""print in the hot path: each call leaves the graph to write a line."""

import torch
from torch import nn

EXPECTED = {"cause": "print", "story": "break"}


def small(x):
    y = torch.relu(x) * 2
    print("mean", tuple(y.shape))  # <- small
    return torch.tanh(y) + 1


def small_edited(x):
    y = torch.relu(x) * 2
    return torch.tanh(y) + 1


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 4


class Block(nn.Module):
    def __init__(self, verbose=True):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(32), nn.Linear(32, 64), nn.Linear(64, 32)
        self.verbose = verbose

    def forward(self, x):
        h = self.up(self.norm(x))
        self.report(h)
        return x + self.down(torch.relu(h))

    def report(self, h):
        if self.verbose:
            print("hidden", tuple(h.shape))  # <- realistic


def _model(verbose):
    torch.manual_seed(0)
    return nn.Sequential(Block(verbose), Block(verbose)).eval()


realistic, realistic_edited = _model(True), _model(False)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(8, 32),)] * 4

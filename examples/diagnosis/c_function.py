"""A C function that capture cannot look into: the clock, or a hash."""

import hashlib
import time

import torch
from torch import nn

EXPECTED = {"cause": "c-function", "story": "break"}


def small(x):
    y = x * 2
    now = time.time()  # <- small
    return y + 1


def small_edited(x):
    y = x * 2
    return y + 1


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 4


class Traced(nn.Module):
    """Stamps each call with a hash of its shape, for a trace that nobody reads any more."""

    def __init__(self, stamps):
        super().__init__()
        self.up, self.down, self.stamps = nn.Linear(16, 32), nn.Linear(32, 16), stamps

    def stamp(self, h):
        if self.stamps:
            digest = hashlib.md5(b"hidden")  # <- realistic
        return h

    def forward(self, x):
        return self.down(torch.relu(self.stamp(self.up(x))))


def _model(stamps):
    torch.manual_seed(0)
    return Traced(stamps).eval()


realistic, realistic_edited = _model(True), _model(False)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(8, 16),)] * 4

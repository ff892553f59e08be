"""A branch on a tensor: `if (x > 0).all()`."""

import torch
from torch import nn

EXPECTED = {"cause": "data-branch", "story": "break"}


def small(x):
    if (x > 0).all():  # <- small
        return x.sqrt()
    return x * x


def small_edited(x):
    return torch.where((x > 0).all(), x.sqrt(), x * x)


def small_inputs():
    x = torch.linspace(0.1, 1, 64)
    return [(x,), (x,), (-x,), (x,), (-x,)]


class Attention(nn.Module):
    """Attention that masks only where there is padding."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def scores(self, q, k, mask):
        s = q @ k.transpose(-1, -2) / 4
        if not mask.all():  # <- realistic
            s = s.masked_fill(~mask[:, None, :], -1e9)
        return s

    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, -1)
        return torch.softmax(self.scores(q, k, mask), -1) @ v


class AlwaysMasked(Attention):
    def scores(self, q, k, mask):
        return (q @ k.transpose(-1, -2) / 4).masked_fill(~mask[:, None, :], -1e9)


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Attention), _model(AlwaysMasked)


def realistic_inputs():
    torch.manual_seed(1)
    x, full = torch.randn(2, 8, 16), torch.ones(2, 8, dtype=torch.bool)
    padded = full.clone()
    padded[0, 5:] = False
    return [(x, full), (x, full), (x, padded), (x, full), (x, padded)]

"""`.item()` in a condition: the graph has to end before the branch is known."""

import torch
from torch import nn

EXPECTED = {"cause": "item-in-condition", "story": "break"}


def small(x):
    if x.sum().item() > 0:  # <- small
        y = x * 2
    else:
        y = x * 3
    return torch.tanh(y) + 1


def small_edited(x):
    y = torch.where(x.sum() > 0, x * 2, x * 3)
    return torch.tanh(y) + 1


def small_inputs():
    x = torch.linspace(0.1, 1, 64)
    return [(x,), (x,), (-x,), (x,), (-x,)]


class Clipped(nn.Module):
    """An MLP that scales its hidden state down where it is large."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def clip(self, h):
        norm = h.norm()
        if norm.item() > 10.0:  # <- realistic
            h = h * (10.0 / norm)
        return h

    def forward(self, x):
        return self.down(self.clip(torch.relu(self.up(x))))


class Branchless(Clipped):
    def clip(self, h):
        norm = h.norm()
        return torch.where(norm > 10.0, h * (10.0 / norm), h)


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(Clipped), _model(Branchless)


def realistic_inputs():
    torch.manual_seed(1)
    x = torch.randn(8, 32)
    return [(x,), (x,), (30 * x,), (x,), (30 * x,)]

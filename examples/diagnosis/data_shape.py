"""A result whose shape depends on the data: selecting by a mask."""

import torch
from torch import nn

EXPECTED = {"cause": "data-shape", "story": "break"}


def small(x):
    y = x * 2
    return y[y > 0].sum()  # <- small


def small_edited(x):
    y = x * 2
    return torch.where(y > 0, y, 0).sum()


def small_inputs():
    torch.manual_seed(1)
    return [(torch.randn(64),) for _ in range(5)]


class MaskedLoss(nn.Module):
    """A mean loss over the labels that count."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(16, 8)

    def loss(self, errors, keep):
        return errors[keep].sum() / keep.sum()  # <- realistic

    def forward(self, x, target, keep):
        return self.loss((self.head(x) - target).pow(2).mean(-1), keep)


class FixedShape(MaskedLoss):
    def loss(self, errors, keep):
        return torch.where(keep, errors, 0).sum() / keep.sum()


def _model(kind):
    torch.manual_seed(0)
    return kind().eval()


realistic, realistic_edited = _model(MaskedLoss), _model(FixedShape)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(12, 16), torch.randn(12, 8), torch.rand(12) > 0.3) for _ in range(5)]

"""A log message in the hot path: the logger runs in Python in every call."""

import logging

import torch
from torch import nn

EXPECTED = {"cause": "logging", "story": "break"}
log = logging.getLogger("example")
log.addHandler(logging.NullHandler())
log.propagate = False


def small(x):
    y = x * 2
    log.warning("doubled")  # <- small
    return y + 1


def small_edited(x):
    y = x * 2
    return y + 1


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 4


class Classifier(nn.Module):
    def __init__(self, logs):
        super().__init__()
        self.body, self.head, self.logs = nn.Linear(16, 32), nn.Linear(32, 4), logs

    def features(self, x):
        h = torch.tanh(self.body(x))
        if self.logs:
            log.warning("features for %d rows", x.shape[0])  # <- realistic
        return h

    def forward(self, x):
        return torch.softmax(self.head(self.features(x)), -1)


def _model(logs):
    torch.manual_seed(0)
    return Classifier(logs).eval()


realistic, realistic_edited = _model(True), _model(False)


def realistic_inputs():
    torch.manual_seed(1)
    return [(torch.randn(8, 16),)] * 4

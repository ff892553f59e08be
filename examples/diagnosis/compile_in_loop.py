"""compile() is called in every step, so that nothing compiled is ever used again."""

import torch
from torch import nn

import pellucid

EXPECTED = {"cause": "compile-in-loop", "story": "guard failure", "systems": ["as-is"]}


def work(x):  # <- small
    return torch.tanh(x) * 2


def small(x):
    fast = pellucid.compile(work)
    return fast(x)


once = pellucid.compile(work)


def small_edited(x):
    return once(x)


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 5


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return torch.softmax(self.linear(x), -1)


torch.manual_seed(0)
model = Scorer().eval()


def realistic(batch):
    """Serves one batch; the model is wrapped here so that "it is always compiled"."""
    fast = pellucid.compile(lambda x: model(x))  # <- realistic
    with torch.no_grad():
        return [fast(x) for x in batch]


compiled_model = pellucid.compile(model)


def realistic_edited(batch):
    with torch.no_grad():
        return [compiled_model(x) for x in batch]


def realistic_inputs():
    torch.manual_seed(1)
    return [([torch.randn(4, 16), torch.randn(4, 16)],) for _ in range(5)]

"""The time is in loading data, which no compiler of tensor programs can reach."""

import json

import torch
from torch import nn

import pellucid

EXPECTED = {"cause": "outside", "story": "stable", "timed": True, "systems": ["as-is"]}
ROWS = [json.dumps({"values": [((i * j) % 97) / 97 for j in range(64)]}) for i in range(32)]


@pellucid.compile
def score(x):
    return torch.tanh(x).sum(-1)


def load(rows):  # <- small
    return torch.tensor([[float(v) for v in json.loads(r)["values"]] for r in rows])


def small(rows):
    return score(load(rows))


def small_inputs():
    return [(ROWS,)] * 3


def small_eager(rows):
    return torch.tanh(load(rows)).sum(-1)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 4)).eval().requires_grad_(False)
fast = pellucid.compile(model)


def augment(rows):  # <- realistic
    out = []
    for r in rows:
        values = json.loads(r)["values"]
        mean = sum(values) / len(values)
        out.append([v - mean for v in values])
    return out


def realistic(rows):
    return fast(torch.tensor(augment(rows)))


def realistic_eager(rows):
    return model(torch.tensor(augment(rows)))


def realistic_inputs():
    return [(ROWS,)] * 3

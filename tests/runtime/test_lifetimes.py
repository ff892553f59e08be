"""A small form of benchmarks/lifetimes.py: compiled models that are deleted leave no tables and no entries."""

import gc

import torch
from torch import nn

import pellucid
from pellucid.runtime.types import Entry


def entries():
    gc.collect()
    return sum(isinstance(o, Entry) for o in gc.get_objects())


def test_entries_go_with_their_models():
    before, live = entries(), len(pellucid.api.live)
    with torch.no_grad():
        for i in range(6):
            c = pellucid.compile(nn.Sequential(nn.Linear(4 + i, 3), nn.ReLU()), options={"strict": True})
            for n in (2, 3, 4):
                c(torch.ones(n, 4 + i))
            del c
    assert entries() == before and len(pellucid.api.live) == live

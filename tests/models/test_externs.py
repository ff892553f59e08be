"""The models' external calls are those that docs/externs.md lists; nothing goes through the dispatcher by name."""

import pytest
import torch

import pellucid
from pellucid.schedule.types import ExternStep

from .configs import CASES, build

ALLOWED = {"gemm", "sdpa", "convolution"}


@pytest.mark.parametrize("name", CASES)
def test_external_calls(name):
    model, inputs = build(name)
    with torch.no_grad():
        fast = pellucid.compile(model, fullgraph=True, options={"strict": True})
        fast(**inputs)
    entries = [e for t in pellucid.compiled_of(fast).all_tables() for e in t.entries]
    plans = [e.code.plan for e in entries if e.code.plan is not None]
    assert len(plans) == 1
    assert {s.extern.kind for s in plans[0].steps if isinstance(s, ExternStep)} <= ALLOWED

"""Real models compile whole and are as close to float64 as eager is: at most twice its error, or 4 eps sqrt(K)."""

import math

import pytest
import torch

import pellucid

from .configs import CASES, build, in_float64, tensors_of


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", CASES)
def test_model_is_captured_whole_and_right(name, seed):
    model, inputs = build(name, seed)
    wide, wide_inputs = in_float64(model, inputs)
    with torch.no_grad():
        eager = model(**inputs)
        exact = tensors_of(wide(**wide_inputs))
        fast = pellucid.compile(model, fullgraph=True, options={"strict": True})
        ours = fast(**inputs)
    assert type(ours) is type(eager)
    assert list(ours.keys()) == list(eager.keys())
    floor = 4 * torch.finfo(torch.float32).eps * math.sqrt(CASES[name].longest_reduction)
    assert len(tensors_of(ours)) == len(exact)
    for mine, theirs, truth in zip(tensors_of(ours), tensors_of(eager), exact):
        assert mine.shape == theirs.shape and mine.dtype == theirs.dtype and mine.stride() == theirs.stride()
        scale = truth.abs().max()
        error = ((mine.double() - truth).abs().max() / scale).item()
        eagers = ((theirs.double() - truth).abs().max() / scale).item()
        assert error <= max(2 * eagers, floor), (error, eagers, floor)


@pytest.mark.parametrize("name", CASES)
def test_second_call_hits_and_follows_the_weights(name):
    model, inputs = build(name)
    with torch.no_grad():
        fast = pellucid.compile(model, options={"strict": True})
        fast(**inputs)
        compiled = pellucid.counters()["compile_count"]
        for p in model.parameters():
            p.mul_(1.01)
        ours, eager = tensors_of(fast(**inputs)), tensors_of(model(**inputs))
        assert pellucid.counters()["compile_count"] == compiled
    for a, b in zip(ours, eager):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)

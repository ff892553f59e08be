"""Order and overlap of what a call is given, which only that call shows: results are eager's all the same."""

from collections import OrderedDict

import pytest
import torch

import pellucid

STRICT = {"strict": True}


@pytest.fixture(autouse=True)
def _fresh():
    pellucid.reset()


def stacked(d, x):
    return torch.stack([d[k] * x for k in d])


def test_the_order_of_an_ordered_dict_is_its_own():
    fast = pellucid.compile(stacked, options=STRICT)
    moved, plain, x = OrderedDict(a=1.0, b=2.0, c=3.0), OrderedDict(a=1.0, b=2.0, c=3.0), torch.ones(2)
    moved.move_to_end("a")
    with torch.no_grad():
        for d in (moved, plain, moved, plain, plain):
            assert torch.equal(fast(d, x), stacked(d, x))
        plain.move_to_end("b")
        assert torch.equal(fast(plain, x), stacked(plain, x))
        assert fast(plain, x)[-1, 0] == 2.0


def writes(a, b):
    a.add_(1)
    return b * 2


def overlapping():
    base = torch.arange(6.0)
    return base[:4], base[2:]


@pytest.mark.parametrize("first", ["overlapping", "apart"])
def test_inputs_that_share_memory_run_eagerly(first):
    fast = pellucid.compile(writes, options=STRICT)
    with torch.no_grad():
        if first == "apart":
            fast(torch.zeros(4), torch.zeros(4))
        for _ in range(3):
            (a, b), (c, d) = overlapping(), overlapping()
            assert torch.equal(fast(a, b), writes(c, d))
            assert torch.equal(a, c) and torch.equal(b, d)
        assert pellucid.counters()["eager_fallback_count"] == 3
        a, b = torch.zeros(4), torch.ones(4)
        assert torch.equal(fast(a, b), torch.full((4,), 2.0)) and torch.equal(a, torch.ones(4))
        assert pellucid.counters()["eager_fallback_count"] == 3


def test_one_tensor_given_twice():
    def both(a, b):
        a.mul_(2)
        b.add_(a)
        return a + b
    fast = pellucid.compile(both, options=STRICT)
    with torch.no_grad():
        for _ in range(3):
            t, u = torch.ones(3), torch.ones(3)
            assert torch.equal(fast(t, t), both(u, u)) and torch.equal(t, u)

"""What torch's kernels refuse is refused with torch's own words; what they take beside it is right."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import pellucid

CASES = {
    "hypot": lambda x: torch.hypot(x, x), "hypot mixed": lambda x: torch.hypot(x, x.float()),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, x), "smooth_l1 mixed": lambda x: F.smooth_l1_loss(x.float(), x),
    "huber": lambda x: F.huber_loss(x, x), "huber mixed": lambda x: F.huber_loss(x, x.float()),
    "huber of floats": lambda x: F.huber_loss(x.float(), x),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.bool, torch.float32])
def test_as_eager(case, dtype):
    x = torch.ones(3).to(dtype)
    fast = pellucid.compile(CASES[case], options={"strict": True})
    try:
        want = CASES[case](x)
    except Exception as e:
        for _ in range(2):
            with pytest.raises(type(e)) as got:
                fast(x)
            assert str(got.value) == str(e)
    else:
        for _ in range(2):
            torch.testing.assert_close(fast(x), want)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 4}, {"include_last_offset": True}])
def test_embedding_bags(mode, options):
    w, i = torch.randn(10, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 9])
    offsets = torch.tensor([0, 4, 8] if options.get("include_last_offset") else [0, 4])

    def f(i, w, offsets):
        return F.embedding_bag(i, w, offsets, mode=mode, **options) * 2
    fast = pellucid.compile(f, options={"strict": True})
    for _ in range(3):
        assert torch.equal(fast(i, w, offsets), f(i, w, offsets))

"""What eager's kernels refuse, the compiled program refuses as well; corner values and layouts as eager has them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import pellucid

I = torch.tensor([[1, 2, 3], [4, 5, 6]])
NAN, INF = float("nan"), float("inf")
ODD = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -2.5])

REFUSED = {
    "mse_loss": lambda x: F.mse_loss(x, x),
    "kl_div": lambda x: F.kl_div(x, x, reduction="sum"),
    "nll_loss": lambda x: F.nll_loss(x, torch.tensor([0, 1])),
    "hinge_embedding_loss": lambda x: F.hinge_embedding_loss(x, x),
    "trace": lambda x: torch.trace(x > 1),
    "digamma_": lambda x: x.clone().digamma_(),
}

SAME = {
    "hypot": lambda: torch.hypot(ODD[:, None], ODD[None]),
    "logit of integers": lambda: torch.logit(torch.tensor([0, 1, 5, -3])),
    "fill": lambda: torch.fill(torch.zeros(3, 4).t(), True),
    "fill of nothing": lambda: torch.fill(torch.zeros(1, 0, 7)[:, :, ::2], True),
    "full_like of nothing": lambda: torch.full_like(torch.zeros(1, 0, 7)[:, :, ::2], 3),
    "unfold of a number": lambda: torch.tensor(3.0).unfold(0, 1, 1),
    "complex eye": lambda: torch.eye(3, 4, dtype=torch.complex64),
    "complex full": lambda: torch.full((2,), 1 + 2j),
    "complex zero_": lambda: torch.ones(2, dtype=torch.complex64).zero_(),
    "cfloat": lambda: torch.ones(2).cfloat(),
    "empty_strided": lambda: torch.empty_strided((2, 3), (1, 5)).zero_(),
    "empty_permuted": lambda: torch.empty_permuted((2, 3), (1, 0)).fill_(1),
    "erfinv_": lambda: torch.tensor([0.1, 0.5]).erfinv_(),
    "chunk_cat": lambda: torch._chunk_cat([I, I], 0, 2),
    "copysign": lambda: torch.copysign(torch.ones(3, 4).t(), -torch.ones(3)),
    "eig": lambda: torch.linalg.eig(torch.eye(3))[1],
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    fn = REFUSED[name]
    fast = pellucid.compile(fn, options={"strict": True})
    try:
        want = fn(I)
    except (RuntimeError, NotImplementedError) as e:
        with pytest.raises(type(e)) as raised:
            fast(I)
        assert str(raised.value) == str(e)
    else:
        got = fast(I)
        assert got.dtype is want.dtype and torch.equal(got, want)


@pytest.mark.parametrize("name", SAME)
def test_same(name):
    fn = SAME[name]
    fast = pellucid.compile(fn, options={"strict": True})
    for _ in range(2):
        got, want = fast(), fn()
        torch.testing.assert_close(got, want, equal_nan=True)
        assert (got.dtype, got.stride()) == (want.dtype, want.stride())

"""Autocast in captured code: dtypes, values and gradients of training are eager's, at every place it can begin."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

import pellucid
from pellucid.torchdoor import autocast

STRICT = {"strict": True}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_training_under_autocast(backend: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3))
    other = copy.deepcopy(plain)

    def loss(net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=dtype):
            y = net(x) + net(x * 2)
            return F.cross_entropy(y, torch.tensor([0, 1, 2]))

    compiled = pellucid.compile(lambda x: loss(other, x), backend=backend, fullgraph=True, options=STRICT)
    x = torch.randn(3, 4)
    for _ in range(2):
        a, b = loss(plain, x), compiled(x)
        assert a.dtype is b.dtype and torch.equal(a, b)
        a.backward()
        b.backward()
    for p, q in zip(plain.parameters(), other.parameters(), strict=True):
        assert torch.equal(p.grad, q.grad)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_called_under_autocast_and_without(backend: str) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x @ x

    compiled = pellucid.compile(f, backend=backend, fullgraph=True, options=STRICT)
    x = torch.randn(4, 4)
    for _ in range(2):
        assert compiled(x).dtype is torch.float32
        for dtype in (torch.bfloat16, torch.float16):
            with torch.autocast("cpu", dtype=dtype):
                assert torch.equal(compiled(x), f(x)) and compiled(x).dtype is dtype
                with torch.autocast("cpu", enabled=False):
                    assert compiled(x).dtype is torch.float32
    assert not torch.is_autocast_enabled("cpu")


def test_an_exception_leaves_autocast_as_it_was() -> None:
    def f(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            return (x @ x)[i]

    compiled = pellucid.compile(f, options=STRICT)
    x = torch.randn(3, 3)
    compiled(x, torch.tensor([0, 1]))
    depth = autocast.nesting()
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([0, 7]))
    assert not torch.is_autocast_enabled("cpu") and autocast.nesting() == depth


X = torch.randn(3, 4)
V = torch.rand(2, 4, 4)
CALLS = [
    (torch.mm, (X, X.t())), (torch.matmul, (X, X.t())), (torch.bmm, (V, V)), (torch.baddbmm, (V, V, V)),
    (torch.addmm, (torch.ones(3), X, X.t())), (torch.addbmm, (X.new_ones(4, 4), V, V)), (F.linear, (X, X)),
    (torch.einsum, ("ij,kj->ik", X, X)), (torch.tensordot, (X, X.t(), 1)), (torch.inner, (X, X)),
    (F.prelu, (X, torch.ones(1))), (F.conv1d, (V, torch.ones(2, 4, 3))), (torch.mv, (X, torch.ones(4))),
    (torch.dot, (X[0], X[0])), (torch.cdist, (X, X)), (torch.prod, (X,)), (torch.trace, (X,)),
    (F.mse_loss, (X, X.bfloat16())), (F.smooth_l1_loss, (X, X.bfloat16())), (F.huber_loss, (X, X)),
    (F.softmax, (X.bfloat16(), -1)), (F.layer_norm, (X.bfloat16(), (4,))), (torch.sum, (X.bfloat16(),)),
    (torch.cat, ([X, X.bfloat16()],)), (torch.stack, ([X.bfloat16(), X.bfloat16()],)), (torch.hstack, ([X, X.half()],)),
    (F.kl_div, (X.bfloat16().log_softmax(-1), X.softmax(-1))), (F.binary_cross_entropy_with_logits, (X, X.sigmoid())),
    (F.pad, (V.bfloat16(), (1, 1), "reflect")), (F.pad, (X.bfloat16(), (1, 1))), (torch.quantile, (X.bfloat16(), 0.5)),
    (F.scaled_dot_product_attention, (V, V, V)), (F.nll_loss, (X.bfloat16(), torch.tensor([0, 1, 2]))),
    (F.max_pool1d, (V.bfloat16(), 2)), (torch.linalg.inv, (V,)), (F.embedding, (torch.tensor([0, 1]), X)),
    (torch.add, (X, X.bfloat16())), (torch.mul, (X.bfloat16(), 2.0)), (torch.where, (X > 0, X, X.bfloat16())),
    (F.batch_norm, (X.bfloat16(), torch.zeros(4), torch.ones(4))), (F.cosine_similarity, (X, X.bfloat16())),
]


@pytest.mark.parametrize("k", range(len(CALLS)))
def test_dtypes_follow_the_policy(k: int) -> None:
    target, args = CALLS[k]

    def f(*args: object) -> object:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = target(*args)
            return y, y.dtype, y + 1

    compiled = pellucid.compile(f, backend="eager", options=STRICT)
    want, got = f(*args), compiled(*args)
    assert want[1] is got[1] and torch.equal(want[0], got[0]) and torch.equal(want[2], got[2])
    assert want[2].dtype is got[2].dtype

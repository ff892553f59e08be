"""Random numbers in a graph are those of eager for the same seed, and leave torch's generator where eager leaves it."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F

import pellucid

FILLS = [("uniform_", ()), ("uniform_", (1.0, 2.0)), ("normal_", ()), ("normal_", (1.0, 2.0)), ("bernoulli_", ()),
         ("bernoulli_", (0.3,)), ("random_", ()), ("random_", (5,)), ("random_", (2, 9)), ("exponential_", ()),
         ("cauchy_", ()), ("log_normal_", ()), ("geometric_", (0.4,))]
VIEWS = {"whole": lambda x: x, "transposed": lambda x: x.t(), "rows": lambda x: x[2:6], "column": lambda x: x[:, 0]}

PROGRAMS = {
    "dropout": lambda x: F.dropout(x * 2, 0.3) + 1,
    "dropout, transposed": lambda x: F.dropout(x.t(), 0.3),
    "dropout, expanded": lambda x: F.dropout(x[:1].expand(4, 5), 0.3),
    "dropout in place": lambda x: F.dropout(x, 0.3, inplace=True) + 1,
    "two of the same": lambda x: F.dropout(x, 0.3) - F.dropout(x, 0.3),
    "result unused": lambda x: (F.dropout(x, 0.3), x + torch.rand(5))[1],
    "dropout of nothing": lambda x: F.dropout(x[:0], 0.3),
    "dropout of all": lambda x: F.dropout(x, 1.0),
    "dropout2d": lambda x: F.dropout2d(x[None, None], 0.3),
    "alpha_dropout": lambda x: F.alpha_dropout(x, 0.3, True),
    "feature_alpha_dropout": lambda x: F.feature_alpha_dropout(x, 0.3, True),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "gumbel_softmax": lambda x: F.gumbel_softmax(x, hard=True),
    "rand": lambda x: x + torch.rand(8, 5) + torch.randn(5) + torch.rand_like(x) + torch.randn_like(x.t()).t(),
    "randint": lambda x: (torch.randint(5, (3,)), torch.randint(2, 9, (3,)), torch.randint(high=4, size=(2,)),
                          torch.randint(1, high=4, size=(2,)), torch.randint(low=1, high=4, size=(2,)),
                          torch.randint_like(x, 3), torch.randint_like(x, 1, 7)),
    "randperm": lambda x: x[torch.randperm(8)],
    "normal": lambda x: (torch.normal(0.0, 2.0, (20,)), torch.normal(x, 1.0), torch.normal(x, x.abs())),
    "by probabilities": lambda x: (torch.multinomial(x.abs(), 2), torch.poisson(x.abs()), x.sigmoid().bernoulli()),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.3),
}


def outcome(fn, *args):
    args = copy.deepcopy(args)
    torch.manual_seed(3)
    try:
        result = fn(*args)
    except (RuntimeError, NotImplementedError, IndexError) as e:
        result = type(e), str(e)
    return result, args, torch.get_rng_state()


def tensors(x):
    return [t for y in x for t in tensors(y)] if isinstance(x, (tuple, list)) else [x]


def assert_same(fn, *args, backend="llvm", breaks=0):
    fast = pellucid.compile(fn, backend=backend, options={"strict": True})
    for _ in range(2):
        for want, got in zip(tensors(outcome(fn, *args)), tensors(outcome(fast, *args)), strict=True):
            if isinstance(want, torch.Tensor):
                torch.testing.assert_close(got, want)
                assert got.stride() == want.stride()
            else:
                assert got == want
    if breaks is not None:
        assert len(pellucid.explain(fast).breaks) == breaks


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name):
    assert_same(PROGRAMS[name], torch.randn(8, 5))


@pytest.mark.parametrize("name", ["dropout", "two of the same", "result unused", "rand", "randperm"])
def test_replayed(name):
    assert_same(PROGRAMS[name], torch.randn(8, 5), backend="eager")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
@pytest.mark.parametrize("method, args", FILLS, ids=lambda v: str(v))
def test_filled_in_place(method, args, dtype, view):
    assert_same(lambda x: getattr(VIEWS[view](x), method)(*args) + 1, torch.ones(20, 5, dtype=dtype), backend="eager",
                breaks=None)


@pytest.mark.parametrize("method, args", FILLS, ids=lambda v: str(v))
def test_filled_in_place_natively(method, args):
    assert_same(lambda x: getattr(x, method)(*args) + 1, torch.ones(8, 5))


def test_gradients_see_the_same_mask():
    def fn(x):
        return F.dropout(x * 2, 0.3) * x
    fast = pellucid.compile(fn, options={"strict": True})
    grads = []
    for f in (fn, fast):
        x = torch.ones(8, 5, requires_grad=True)
        torch.manual_seed(1)
        f(x).sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads)


def test_the_generator_is_put_back_where_a_later_step_fails():
    def fn(x, i):
        y = F.dropout(x, 0.5)
        return y.index_select(0, i)
    assert_same(fn, torch.randn(8, 5), torch.tensor([1, 2]))
    fast = pellucid.compile(fn, options={"strict": True})
    outcome(fast, torch.randn(8, 5), torch.tensor([1, 2]))
    x, i = torch.randn(8, 5), torch.tensor([1, 99])
    want, got = outcome(fn, x, i), outcome(fast, x, i)
    assert want[0][0] is got[0][0]
    assert torch.equal(want[2], got[2])

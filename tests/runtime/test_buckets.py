"""Buckets: exact where they pad, and refused with a reason wherever padding could change a result."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import pellucid
from pellucid.errors.types import OptionError


def bucketed(fn, buckets, backend="eager", **kw):
    return pellucid.compile(fn, backend=backend, options={"strict": True, "buckets": buckets}, **kw)


def notes(c):
    return dict(pellucid.explain(c).notes)


def table(c):
    return len(pellucid.explain(c).entries)


X = {"x": {0: [4, 8, 16]}}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.up = nn.Embedding(10, 6), nn.LayerNorm(6), nn.Linear(6, 12)

    def forward(self, ids):
        h = self.norm(self.embed(ids))
        q, k = self.up(h).view(*h.shape[:2], 2, 6).unbind(2)
        return {"h": F.softmax(h, -1), "a": torch.cumsum(q * k, 1), "first": h[:, 0].tanh()}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_padded_calls_equal_eager_and_share_entries(backend):
    net = Net().eval()
    c = bucketed(net, {"ids": {0: [2, 4], 1: [4, 8]}}, backend)
    with torch.no_grad():
        for shape in ((2, 3), (2, 4), (3, 3), (4, 2), (2, 7), (3, 8)):
            ids = torch.randint(10, shape)
            got, want = c(ids), net(ids)
            assert list(got) == list(want)
            for name in want:
                assert got[name].shape == want[name].shape and got[name].stride() == want[name].stride()
                torch.testing.assert_close(got[name], want[name])
    assert table(c) == 4 and not notes(c)
    assert isinstance(c, Net) and list(c.state_dict()) == list(net.state_dict())


HARMLESS = {
    "pointwise": lambda x: (x * 2 + 1).relu().clamp(0, 3),
    "reduction of another dimension": lambda x: x.sum(1) / x.amax(-1),
    "product": lambda x: x @ torch.ones(3, 5),
    "softmax": lambda x: x.softmax(-1),
    "transposed": lambda x: (x + 1).t(),
    "transposed to the end": lambda x: (x.t() + 1).contiguous(),
    "view that keeps it": lambda x: (x + 0).view(x.shape[0], 3, 1),
    "mask by position": lambda x: x + torch.arange(x.shape[0]).unsqueeze(1),
    "running sum": lambda x: x.cumsum(0),
    "first place": lambda x: x[0] + 1,
    "bound by a check": lambda x: (torch._check(x.shape[0] <= 16), x + 1)[1],
    "causal attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], is_causal=True),
    "same object": lambda x: (x, x + 1),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_keeps_positions_apart_is_padded(name):
    f = HARMLESS[name]
    c = bucketed(f, X)
    for n in (3, 4, 7, 6, 5):
        x = torch.randn(n, 3)
        got, want = c(x), f(x)
        torch.testing.assert_close(got, want, equal_nan=True, check_stride=True)
    assert table(c) == 2 and not notes(c), notes(c)
    if name == "same object":
        assert c(x)[0] is x


MIXES = {
    "sum": (lambda x: x.sum(0), "sum reduces over dimension 0"),
    "sum of all": (lambda x: x.sum(), "sum reduces over"),
    "mean": (lambda x: x.mean(0), "mean reduces over"),
    "softmax": (lambda x: x.softmax(0), "softmax reduces over"),
    "last place": (lambda x: x[-1], "."),
    "flip": (lambda x: x.flip(0), "flip rearranges"),
    "sort": (lambda x: x.sort(0)[0], "sort reduces over|opaque"),
    "product over it": (lambda x: x.t() @ x, "sums over a padded dimension"),
    "size as a number": (lambda x: x * x.shape[0], "computes with the size"),
    "size returned": (lambda x: (x + 1, x.shape[0]), "tells the size"),
    "branch on size": (lambda x: x + 1 if x.shape[0] % 2 else x - 1, "demands"),
    "shared memory": (lambda x: (lambda y: (y, y.view(-1, 3)))(x + 1), "share memory"),
    "merged": (lambda x: (x + 1).reshape(-1), "size 3\\*s0|merges or splits"),
    "random": (lambda x: F.dropout(x, 0.5), "random|the graph breaks"),
    "attention": (lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]), "padded keys"),
    "written input": (lambda x: x.add_(1), "an input is written"),
    "view of input": (lambda x: x.view(-1, 3), "view of a padded input"),
    "cat along it": (lambda x: torch.cat([x, x]), "2\\*s0|rearranges"),
    "break": (lambda x: (x + 1) * float(x.sum().item() > 0), "the graph breaks"),
}


@pytest.mark.parametrize("name", MIXES)
def test_what_mixes_positions_is_refused_with_the_operation(name):
    f, why = MIXES[name]
    c = bucketed(f, X)
    for n in (3, 5, 4, 7):
        x = torch.randn(n, 3)
        y = x.clone()
        torch.manual_seed(n)
        got = c(x)
        torch.manual_seed(n)
        want = f(y)
        torch.testing.assert_close(got, want)
        assert torch.equal(x, y)
    reasons = notes(c)
    assert sum(reasons.values()) == 4
    import re
    assert any(re.search(why, r) for r in reasons), reasons


def test_a_branch_that_smaller_sizes_take_too_is_harmless():
    f = lambda x: x + 1 if x.shape[0] <= 4 else x - 1  # noqa: E731
    c = bucketed(f, X)
    for n in (3, 2, 5, 7):
        x = torch.randn(n, 3)
        assert torch.equal(c(x), f(x))
    assert sum(notes(c).values()) == 2, "above 4 the padded size may take another way than the true one"


def test_the_reason_names_the_users_line():
    def f(x):
        y = x + 1
        return y.sum(0)
    c = bucketed(f, X)
    c(torch.ones(3, 3))
    (why,) = notes(c)
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in why


def test_sizes_outside_the_buckets_go_on_without_padding():
    c = bucketed(lambda x: x * 2, X)
    for n in (1, 0, 17, 40):
        x = torch.randn(n, 3)
        assert torch.equal(c(x), x * 2)
    assert sorted(notes(c).values()) == [1, 1, 1, 1]
    assert "size 0 of x is 17: above the largest bucket" in notes(c)


def test_inputs_of_unequal_true_sizes_raise_as_eager_does():
    c = bucketed(lambda x, y: x + y, {"x": {0: [8]}, "y": {0: [8]}})
    assert torch.equal(c(torch.ones(5), torch.ones(5)), torch.full((5,), 2.0))
    with pytest.raises(RuntimeError, match="size of tensor a"):
        c(torch.ones(5), torch.ones(7))
    with pytest.raises(RuntimeError, match="size of tensor a"):
        c(torch.ones(8), torch.ones(7))


def test_a_step_that_fails_on_padding_is_done_without_it():
    c = bucketed(lambda x: 12 // x, {"x": {0: [8]}}, "llvm")
    x = torch.tensor([1, 2, 3])
    for _ in range(2):
        assert torch.equal(c(x), 12 // x)
    assert sum(notes(c).values()) == 2
    exact = torch.arange(1, 9)
    assert torch.equal(c(exact), 12 // exact)


def test_gradients_flow_without_padding():
    c = bucketed(lambda x: x * 2, X)
    x = torch.randn(3, 3, requires_grad=True)
    c(x).sum().backward()
    assert torch.equal(x.grad, torch.full((3, 3), 2.0)) and "x requires grad" in notes(c)


def test_hooks_and_another_forward_are_seen():
    net = nn.Linear(3, 2)
    c = bucketed(net, {"input": {0: [8]}})
    with torch.no_grad():
        x = torch.randn(5, 3)
        torch.testing.assert_close(c(x), net(x))
        handle = net.register_forward_hook(lambda m, a, out: out + 1)
        torch.testing.assert_close(c(x), net(x))
        handle.remove()
        net.forward = lambda input: input * 3
        torch.testing.assert_close(c(x), x * 3)


@pytest.mark.parametrize("bad", [{"x": [8]}, {"x": {0: []}}, {"x": {0: [1]}}, {"x": {"0": [8]}}, 3, {"q": {0: [8]}}])
def test_bad_buckets_are_named(bad):
    with pytest.raises(OptionError, match="buckets"):
        bucketed(lambda x: x, bad)

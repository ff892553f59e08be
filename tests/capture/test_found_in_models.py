"""Small programs for faults that real models showed, each against eager."""

import collections

import numpy
import pytest
import torch
from torch import nn

import pellucid


def run(fn, *args, whole=True, backend="eager"):
    """The compiled function's result, twice called; captured whole unless said otherwise."""
    pellucid.reset()
    fast = pellucid.compile(fn, fullgraph=whole, backend=backend, options={"strict": True})
    fast(*args)
    return fast(*args)


def test_a_number_tensor_formats_as_its_number():
    """format(tensor) of one element is not str(tensor)."""
    def f(x):
        return [f"e_{k[0]}" for k in x.nonzero()], f"{x[0]}", f"{x[0]:.2f}", f"{x[0]!s}", f"{x[0]!r}", format(x[1])
    x = torch.tensor([1.5, 0, 2.0])
    assert run(f, x, whole=False) == f(x)
    assert f(x)[0] == ["e_0", "e_2"]


class Makes(collections.OrderedDict):
    """What is in it is a class; what item access gives is an instance."""

    def __getitem__(self, key):
        content = super().__getitem__(key)
        cls, kwargs = content if isinstance(content, tuple) else (content, {})
        return cls(**kwargs)


MADE = Makes(relu=nn.ReLU, soft=(nn.Softplus, {"beta": 2.0}))


def test_a_dict_subclass_whose_item_access_is_its_own():
    def f(x):
        return MADE["relu"](x) + MADE["soft"](x)
    x = torch.randn(5)
    assert torch.equal(run(f, x), f(x))


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_numpy_functions_of_numbers_and_their_results_as_operands(backend):
    def f(x):
        scale = numpy.sqrt(16) * numpy.float64(0.5)
        return x / scale, scale * x, x + numpy.log(4), torch.full((2,), numpy.exp(1.0)), type(scale).__name__
    x = torch.tensor([1.0, 2.0])
    for a, b in zip(run(f, x, backend=backend), f(x)):
        assert a == b if isinstance(a, str) else (torch.allclose(a, b, rtol=1e-6) and a.dtype == b.dtype)


def test_numpy_warnings_are_eagers():
    def f(x):
        return x + numpy.log(0)
    x = torch.ones(2)
    pellucid.reset()
    fast = pellucid.compile(f, backend="eager", options={"strict": True})
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert torch.equal(fast(x), f(x))
            assert torch.equal(fast(x), torch.tensor([-torch.inf, -torch.inf]))


LIB = torch.library.Library("pellucid_found", "DEF")
LIB.define("grouped(Tensor x, Tensor ends) -> Tensor")


@torch.library.impl("pellucid_found::grouped", "cpu")
def _grouped(x, ends):
    out = x.new_zeros(x.shape)
    start = 0
    for i, end in enumerate(ends.tolist()):
        out[start:end] = x[start:end] * (i + 1)
        start = end
    return out


@torch.library.register_fake("pellucid_found::grouped")
def _grouped_fake(x, ends):
    return torch.empty_like(x)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_operators_called_through_torch_ops(backend):
    def f(x, ends):
        y = torch.ops.pellucid_found.grouped(x * 2, ends) + 1
        z = torch.ops.aten.add.Tensor(y, x, alpha=2)
        return torch.ops.aten.relu(z), torch.ops.aten.slice(z, 0, 1, 3)
    x, ends = torch.randn(6, 2), torch.tensor([2, 3, 6])
    for a, b in zip(run(f, x, ends, backend=backend), f(x, ends)):
        torch.testing.assert_close(a, b)
        assert a.stride() == b.stride()


class Bag(list):
    pass


class Seen(set):
    pass


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_subclasses_of_list_and_set_from_outside_are_read_and_written(backend):
    def f(x, bag, seen):
        n = len(bag)
        bag.append(n)
        if 3 in seen:
            seen.add(n + 10)
        return x * sum(bag), type(bag), type(bag)(), [b for b in bag]
    x = torch.ones(2)
    pellucid.reset()
    fast = pellucid.compile(f, backend=backend, options={"strict": True})
    mine, theirs = (Bag([1, 2]), Seen({3})), (Bag([1, 2]), Seen({3}))
    for _ in range(3):
        a, b = fast(x, *mine), f(x, *theirs)
        assert torch.equal(a[0], b[0]) and a[1:] == b[1:] and type(a[2]) is Bag
        assert mine == theirs and type(mine[0]) is Bag
    plain = [1, 2]
    assert torch.equal(fast(x, plain, {3})[0], f(x, [1, 2], {3})[0])
    assert plain == [1, 2, 2]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("fmt", [torch.contiguous_format, torch.channels_last])
def test_shuffles_keep_the_memory_format(backend, fmt):
    def f(x):
        return nn.functional.pixel_shuffle(x, 2), nn.functional.pixel_unshuffle(x, 2), torch.channel_shuffle(x, 2)
    x = torch.randn(2, 4, 8, 6).contiguous(memory_format=fmt)
    for a, b in zip(run(f, x, backend=backend), f(x)):
        assert torch.equal(a, b) and a.stride() == b.stride()

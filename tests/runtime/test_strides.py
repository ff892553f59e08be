"""Strides that change between calls become symbolic, like sizes: slices of tensors that grow need no version each."""

import pytest
import torch

import pellucid

RUNS = [("llvm", "auto"), ("llvm", "reference"), ("eager", "auto")]


@pytest.fixture(params=RUNS, ids=lambda r: "-".join(r))
def compiled(request):
    pellucid.reset()
    backend, runner = request.param
    yield lambda fn, **more: pellucid.compile(fn, backend=backend, options={"strict": True, "runner": runner}, **more)
    assert pellucid.counters()["internal_error_count"] == 0


def same(a, b):
    if isinstance(a, torch.Tensor):
        torch.testing.assert_close(a, b)
        assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset())
    elif isinstance(a, tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b):
            same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_the_last_column_of_a_growing_tensor(compiled, batch):
    def f(x):
        return x * 2 + 1, x.sum(0), x.reshape(-1), x.contiguous() + x
    fast = compiled(f)
    for n in range(5, 16):
        whole = torch.randn(batch, n)
        same(fast(whole[:, -1:]), f(whole[:, -1:]))
    assert pellucid.counters()["compile_count"] <= 2
    assert pellucid.counters()["eager_fallback_count"] == 0


def test_views_whose_sizes_change_too(compiled):
    def f(x, w):
        return (x @ w).relu(), x.transpose(0, 1).reshape(-1), x.shape, x.stride(), x.stride(0) + 1, x.is_contiguous()
    fast = compiled(f)
    w = torch.randn(4, 3)
    for n in range(5, 14):
        x = torch.randn(4, n).t()
        same(fast(x, w), f(x, w))
        x = torch.randn(n, 6)[:, :4]
        same(fast(x, w), f(x, w))
        x = torch.randn(n, 4)
        same(fast(x, w), f(x, w))
    assert pellucid.counters()["compile_count"] <= 6


def test_a_written_slice_and_a_view_of_it(compiled):
    def f(x):
        x.mul_(2)
        return x[1:], x + 1
    fast = compiled(f)
    for n in range(3, 10):
        mine, theirs = torch.arange(2.0 * n).reshape(2, n), torch.arange(2.0 * n).reshape(2, n)
        a, b = fast(mine[:, 1:2]), f(theirs[:, 1:2])
        same(a, b)
        assert torch.equal(mine, theirs)
        assert a[0].untyped_storage().data_ptr() == mine.untyped_storage().data_ptr()
    assert pellucid.counters()["compile_count"] <= 3


def test_expanded_and_overlapping_strides_are_not_taken_for_others(compiled):
    def f(x):
        return x + 1, x.cumsum(0)
    fast = compiled(f)
    for x in (torch.randn(3, 7)[:, :2], torch.randn(3, 9)[:, :2], torch.randn(3, 1).expand(3, 2),
              torch.randn(2).expand(3, 2), torch.randn(3, 8)[:, ::4], torch.randn(3, 2),
              torch.randn(20).as_strided((3, 2), (1, 1)), torch.randn(2, 3).t()):
        same(fast(x), f(x))


def test_gradients_through_slices(compiled):
    def f(x, w):
        return (x * w).tanh().sum()
    fast = compiled(f)
    for n in range(3, 8):
        base = torch.randn(2, n)
        w1, w2 = torch.ones(2, 1, requires_grad=True), torch.ones(2, 1, requires_grad=True)
        fast(base[:, -1:], w1).backward()
        f(base[:, -1:], w2).backward()
        torch.testing.assert_close(w1.grad, w2.grad)


def test_not_with_dynamic_false(compiled):
    fast = compiled(lambda x: x + 1, dynamic=False)
    for n in (4, 5, 6):
        x = torch.randn(2, n)[:, 1:2]
        assert torch.equal(fast(x), x + 1)
    assert pellucid.counters()["compile_count"] == 3


def test_the_reason_names_the_stride(compiled):
    from pellucid.events.record import record
    fast = compiled(lambda x: x + 1)
    for n in (4, 5, 6):
        fast(torch.randn(2, n)[:, 1:2])
    (event,) = record.events("promote_dynamic")
    assert event.message == "stride 0 of x was 4, is 5: symbolic from now on"

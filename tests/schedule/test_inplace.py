"""Mutated inputs: what is written in place, what is committed after the last step, and what an error leaves behind."""

import pytest
import torch
import torch.nn.functional as F

from pellucid.graph.passes import run_passes
from pellucid.ir.lower import lower
from pellucid.runtime.errors import StepFailed
from pellucid.runtime.reference import ReferenceRunner
from pellucid.schedule import schedule
from pellucid.schedule.text import kernel_text
from pellucid.schedule.types import KernelStep, ViewOfInput
from pellucid.schedule.verify import verify

from .tracing import eager, trace


def written(plan):
    space = {b.id: b.space for b in plan.buffers}
    return [b for s in plan.steps if isinstance(s, KernelStep) for b in s.kernel.writes if space[b] == "input"]


def check(fn, *inputs):
    """Plan of fn, whose outputs and effects on its inputs are eager's."""
    graph = run_passes(trace(fn, *inputs))
    plan = schedule(lower(graph), graph)
    verify(plan)
    mine, theirs = [x.clone() for x in inputs], [x.clone() for x in inputs]
    versions = [x._version for x in mine]
    got = ReferenceRunner().make(plan, None)(*mine)
    want = fn(eager, *theirs)
    for g, w in zip(got, want if isinstance(want, tuple) else (want,), strict=True):
        torch.testing.assert_close(g, w)
    for m, t, v in zip(mine, theirs, versions):
        torch.testing.assert_close(m, t)
        assert (m._version > v) == (t._version > 0)
    return plan, got, mine


def test_pointwise_update_writes_the_input_and_returns_it():
    plan, (out,), (x,) = check(lambda f, x: f(torch.Tensor.add_, x, 1.0), torch.randn(4, 8))
    assert out is x and not plan.commits and written(plan) and plan.arena_bytes == 0


def test_window_update_touches_the_window_only():
    def fn(f, cache, new):
        f(torch.Tensor.copy_, f(torch.narrow, cache, 1, 2, 3), f(torch.mul, new, 2.0))
        return f(torch.sum, cache, 1)
    plan, _, _ = check(fn, torch.randn(2, 9, 4), torch.randn(2, 3, 4))
    assert not plan.commits and written(plan)
    assert sum(kernel_text(s.kernel).count("] = ") for s in plan.steps) == 2  # the window, and the sum


def test_cache_update_by_index_checks_first():
    def fn(f, keys, at, new):
        f(torch.Tensor.index_copy_, keys, 1, at, new)
        return f(torch.mul, keys, 3.0)
    inputs = torch.randn(2, 9, 4), torch.tensor([5, 1]), torch.randn(2, 2, 4)
    plan, _, _ = check(fn, *inputs)
    assert not plan.commits and written(plan)
    keys, _, new = inputs
    before = keys.clone()
    with pytest.raises(StepFailed):
        ReferenceRunner().make(plan, None)(keys, torch.tensor([0, 9]), new)
    assert torch.equal(keys, before)


def test_nothing_is_written_in_the_kernel_of_a_check():
    def fn(f, state, table, ids):
        y = f(F.embedding, ids, table)
        f(torch.Tensor.add_, state, f(torch.sum, y, 0))
        return y
    inputs = torch.randn(3), torch.randn(6, 3), torch.tensor([1, 2])
    plan, _, _ = check(fn, *inputs)
    assert plan.commits
    state = inputs[0]
    before = state.clone()
    with pytest.raises(StepFailed):
        ReferenceRunner().make(plan, None)(state, inputs[1], torch.tensor([1, 6]))
    assert torch.equal(state, before)


@pytest.mark.parametrize("update_first", [True, False])
def test_a_moved_check_shares_no_kernel_with_another_direct_write(update_first):
    def fn(f, keys, at, new, count):
        if update_first:
            f(torch.Tensor.index_copy_, keys, 0, at, new)
        f(torch.Tensor.add_, count, 1.0)
        if not update_first:
            f(torch.Tensor.index_copy_, keys, 0, at, new)
        return f(torch.mul, keys, 3.0)
    inputs = torch.randn(9, 4), torch.tensor([5, 1]), torch.randn(2, 4), torch.randn(2)
    plan, _, _ = check(fn, *inputs)
    keys, _, new, count = inputs
    before = keys.clone(), count.clone()
    with pytest.raises(StepFailed):
        ReferenceRunner().make(plan, None)(keys, torch.tensor([0, 9]), new, count)
    assert torch.equal(keys, before[0]) and torch.equal(count, before[1])


def test_nothing_is_written_before_a_step_that_can_raise():
    def fn(f, x, table, ids):
        f(torch.Tensor.mul_, x, 2.0)
        return f(F.embedding, ids, table)
    inputs = torch.randn(5), torch.randn(6, 3), torch.tensor([1, 2])
    plan, _, _ = check(fn, *inputs)
    x = inputs[0]
    before = x.clone()
    if written(plan):  # then the check has to come first
        raise AssertionError("x is written by a step, though a later one can raise")
    with pytest.raises(StepFailed):
        ReferenceRunner().make(plan, None)(x, inputs[1], torch.tensor([1, 6]))
    assert torch.equal(x, before)


def test_a_later_reader_of_the_old_value_keeps_the_commit():
    def fn(f, x, y):
        old = f(torch.exp, f(torch.transpose, x, 0, 1))
        f(torch.Tensor.add_, x, y)
        return f(torch.matmul, old, x)
    check(fn, torch.randn(4, 4), torch.randn(4, 4))


def test_update_with_neighbours_is_not_done_in_place():
    def fn(f, x):
        f(torch.Tensor.copy_, x, f(torch.add, x, f(torch.flip, x, (0,))))
        return f(torch.sum, x)
    plan, _, _ = check(fn, torch.randn(64))
    assert len(plan.commits) == 1 and not written(plan)


def test_chain_of_window_writes_shares_one_buffer():
    def fn(f, x):
        z = f(torch.zeros, 4, 3)
        for k in range(3):
            f(torch.Tensor.copy_, f(torch.select, z, 1, k), f(torch.mul, x, float(k + 1)))
        return z
    plan, _, _ = check(fn, torch.randn(4))
    assert plan.arena_bytes == 0


def test_softmax_into_its_own_input():
    check(lambda f, x: f(torch.Tensor.copy_, x, f(torch.softmax, x, -1)), torch.randn(4, 16))


def test_views_of_a_mutated_input_come_back_as_views():
    def fn(f, x):
        f(torch.Tensor.add_, x, 1.0)
        return f(torch.transpose, x, 0, 1), x
    plan, (view, same), (x,) = check(fn, torch.randn(3, 5))
    assert same is x and view.data_ptr() == x.data_ptr() and view.shape == (5, 3)
    assert isinstance(plan.outputs[0], ViewOfInput) and not plan.outputs[0].whole


def test_two_inputs_that_swap():
    def fn(f, x, y):
        t = f(torch.clone, x)
        f(torch.Tensor.copy_, x, y)
        f(torch.Tensor.copy_, y, t)
        return f(torch.add, x, y)
    check(fn, torch.randn(6), torch.randn(6))

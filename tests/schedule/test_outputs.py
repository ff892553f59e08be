"""How outputs come back: fresh tensors, real views with eager's aliases, the same object where eager gives it."""

import torch

from pellucid.graph.passes import run_passes
from pellucid.ir.lower import lower
from pellucid.runtime.reference import ReferenceRunner
from pellucid.schedule import schedule
from pellucid.schedule.types import NewOutput, ViewOfInput, ViewOfOutput

from .tracing import eager, trace


def outputs(fn, *xs):
    g = run_passes(trace(fn, *xs))
    plan = schedule(lower(g), g)
    got, want = ReferenceRunner().make(plan, None)(*xs), fn(eager, *xs)
    for a, b in zip(got, want, strict=True):
        assert (a.shape, a.stride(), a.storage_offset()) == (b.shape, b.stride(), b.storage_offset())
        torch.testing.assert_close(a, b)
    share = [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in got] for a in got]
    assert share == [[a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() for b in want] for a in want]
    assert [[a is b for b in got] for a in got] == [[a is b for b in want] for a in want]
    return plan.outputs, got


def test_input_returned_and_viewed():
    x = torch.randn(3, 4)
    kinds, got = outputs(lambda f, x: (x, f(torch.transpose, x, 0, 1)), x)
    assert all(isinstance(k, ViewOfInput) for k in kinds) and got[0] is x


def test_views_of_one_result_share_its_storage():
    def fn(f, x):
        y = f(torch.exp, x)
        return f(torch.narrow, y, 0, 2, 1), y, f(torch.transpose, y, 0, 1)
    kinds, _ = outputs(fn, torch.randn(3, 4))
    assert [type(k) for k in kinds] == [NewOutput, ViewOfOutput, ViewOfOutput] and kinds[1].offset == -8


def test_same_tensor_twice_is_the_same_object():
    def fn(f, x):
        y = f(torch.exp, x)
        return y, f(torch.neg, x), y
    outputs(fn, torch.randn(3))


def test_two_results_of_equal_value_do_not_alias():
    outputs(lambda f, x: (f(torch.exp, x), f(torch.exp, x)), torch.randn(3))


def test_empty_results():
    outputs(lambda f, x: (f(torch.exp, x), f(torch.sum, x, 0)), torch.randn(0, 4))


def test_result_without_operands():
    outputs(lambda f, x: (f(torch.arange, 5), f(torch.zeros, 2, 3), x), torch.randn(1))

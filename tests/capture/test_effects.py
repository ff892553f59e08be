"""Writes to what exists outside: seen by later reads, done at commit only, in the same way as eager does them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from pellucid.capture.capture import CaptureOptions, CaptureRaised, capture_call
from pellucid.guards.sources import Scope

from .replay import arguments, equal, failing, run

COUNTER = 0


class Box:
    def __init__(self):
        self.value = 1
        self.items = [1, 2]
        self.table = {"a": 1}
        self.tags = {"x"}


def attributes(box, x):
    box.value += 1
    box.fresh = x * 2
    del box.tags
    return box.value, box.fresh + 1


def lists(box, x):
    box.items.append(x.shape[0])
    box.items[0] = 9
    box.items += [7, 8]
    return len(box.items), sum(box.items)


def appends(box, x):
    box.items.append(x + 1)
    box.items.append(3)
    return x


def dicts(box, x):
    box.table["b"] = x
    box.table["a"] = 5
    del box.table["a"]
    box.table.setdefault("c", []).append(4)
    return list(box.table)


def sets(box, x):
    box.tags.add("y")
    box.tags.discard("x")
    return "y" in box.tags, "x" in box.tags


@pytest.mark.parametrize("fn", [attributes, lists, appends, dicts, sets], ids=lambda f: f.__name__)
def test_writes_are_seen_and_done_at_commit(fn):
    x = torch.arange(3.0)
    mine, theirs = Box(), Box()
    before = copy.deepcopy(vars(mine))
    bound = arguments(fn, (mine, x), {})
    segment = capture_call(fn, bound)
    assert equal(vars(mine), before), "capture itself changes nothing"
    assert failing(segment, Scope(bound)) == []
    got, want = run(segment, Scope(bound)), fn(theirs, x)
    assert equal(got, want) and equal(vars(mine), vars(theirs))


def test_globals_and_cells():
    count = 0

    def step(x):
        global COUNTER
        nonlocal count
        COUNTER += 2
        count += 1
        return x + COUNTER + count
    bound = {"x": torch.zeros(2)}
    segment = capture_call(step, bound)
    assert (COUNTER, count) == (0, 0)
    assert torch.equal(run(segment, Scope(bound)), torch.full((2,), 3.0))
    assert (COUNTER, count) == (2, 1)


def test_a_value_written_back_is_a_guard_not_an_effect():
    class Flag:
        on = False

    def fn(flag, x):
        flag.busy = True
        y = x + 1
        flag.busy = False
        return y
    flag = Flag()
    flag.busy = False
    assert capture_call(fn, {"flag": flag, "x": torch.ones(2)}).effects == ()


def test_an_abandoned_capture_has_done_nothing():
    def fn(box, x):
        box.value = 100
        box.items.append(5)
        raise ValueError("no")
    box = Box()
    with pytest.raises(CaptureRaised, match="no"):
        capture_call(fn, {"box": box, "x": torch.ones(2)})
    assert box.value == 1 and box.items == [1, 2]


def test_aliased_arguments_are_one_object_and_guarded_as_such():
    def fn(a, b):
        a.append(1)
        return len(b)
    both: list = []
    bound = {"a": both, "b": both}
    segment = capture_call(fn, bound)
    assert run(segment, Scope(bound)) == 1
    apart = {"a": [], "b": []}
    assert [o.guard.kind for o in failing(segment, Scope(apart))] == ["same"]


def test_written_inputs_are_mutations_and_guard_overlap():
    def fn(x, y):
        x.add_(y)
        return x * 2
    segment = capture_call(fn, {"x": torch.ones(3), "y": torch.ones(3)})
    assert [m.input for m in segment.graph.mutations] == [0]
    assert [g.expected for g in segment.guards if g.kind == "overlap"] == [(0, 1)]


def test_guards_fail_when_what_was_read_changes():
    m = nn.Linear(3, 3).eval()
    m.scale = 2

    def fn(x):
        return m(x) * m.scale
    bound = {"x": torch.ones(1, 3)}
    segment = capture_call(fn, bound)
    assert failing(segment, Scope(bound)) == []
    m.scale = 3
    assert any(o.guard.kind == "equal" for o in failing(segment, Scope(bound)))
    m.scale = 2
    handle = m.register_forward_hook(lambda *a: None)
    assert failing(segment, Scope(bound))
    handle.remove()
    assert failing(segment, Scope(bound)) == []
    m.weight = nn.Parameter(torch.ones(3, 3, dtype=torch.float64))
    assert any(o.guard.kind == "tensor" for o in failing(segment, Scope(bound)))


def test_dynamic_batch_holds_for_other_sizes():
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).eval()

    def fn(x):
        y = net(x).view(x.shape[0], -1)
        return y.sum(1) / len(x)
    with torch.no_grad():
        segment = capture_call(fn, {"x": torch.randn(3, 4)}, CaptureOptions(dynamic=lambda source, dim: dim == 0))
        assert len(segment.graph.symbols) == 1
        for n in (2, 3, 7):
            bound = {"x": torch.randn(n, 4)}
            assert failing(segment, Scope(bound)) == []
            assert equal(run(segment, Scope(bound)), fn(**bound))


def test_objects_that_were_two_are_not_one_later():
    def fn(a, b):
        n = len(b)
        a.append(1)
        return n + len(b)
    bound = {"a": [], "b": []}
    segment = capture_call(fn, bound)
    assert failing(segment, Scope(bound)) == []
    both: list = []
    assert [o.guard.kind for o in failing(segment, Scope({"a": both, "b": both}))] == ["distinct"]


def test_inputs_of_one_batch_share_a_symbol():
    def fn(x, y):
        return x + y, x.shape[0]
    options = CaptureOptions(dynamic=lambda source, dim: dim == 0)
    segment = capture_call(fn, {"x": torch.randn(3, 2), "y": torch.randn(3, 2)}, options)
    bound = {"x": torch.randn(5, 2), "y": torch.randn(5, 2)}
    assert failing(segment, Scope(bound)) == []
    assert equal(run(segment, Scope(bound)), fn(**bound))
    shapes = {segment.graph.metas[o].shape[0] for o in segment.graph.outputs}
    assert len(shapes) == 1
    assert any(str(g) == "s1 == s0" for g in segment.graph.size_guards)

"""Tables, misses, limits and transactions of a compiled callable, with segments made by hand in place of capture."""

import threading

import pytest
import torch

from pellucid.errors.types import InternalError
from pellucid.events.record import record
from pellucid.options import parse
from pellucid.runtime import compiled as module
from pellucid.runtime import frontend
from pellucid.runtime.compiled import Compiled
from pellucid.runtime.limits import LimitError
from pellucid.runtime.target import target

from .handmade import double_plus_one


def fn(x):
    return x * 2 + 1


@pytest.fixture(autouse=True)
def _fresh():
    record.clear()


@pytest.fixture
def captures(monkeypatch):
    """Replaces capture; holds the sizes that each capture saw."""
    seen = []

    def capture_call(target, slots, dynamic, budget):
        seen.append(tuple(slots[0].shape))
        return double_plus_one(slots[0], dynamic)
    monkeypatch.setattr(frontend, "capture_call", capture_call)
    return seen


def make(**kw):
    options = kw.pop("options", {})
    return Compiled(target(fn), parse(backend="eager", options={"strict": True, **options}, **kw))


def test_a_second_call_hits(captures):
    c = make()
    x = torch.randn(3)
    for _ in range(3):
        assert torch.equal(c.call(x), fn(x))
    assert captures == [(3,)]
    (table,) = c.all_tables()
    assert (table.hits, table.misses, len(table.entries)) == (2, 1, 1)


def test_the_batch_matrix_needs_two_compiles(captures):
    c = make()
    for n in (1, 1, 2, 2, 1, 3, 4, 5):
        x = torch.randn(n)
        assert torch.equal(c.call(x), fn(x))
    assert captures == [(1,), (2,)]
    (table,) = c.all_tables()
    assert table.entries[0].hits == 4, "2, 3, 4 and 5 hit the symbolic entry"
    assert [e.message for e in record.events("promote_dynamic")] == ["size 0 of x was 1, is 2: symbolic from now on"]
    assert record.count("recompile") == 1


def test_dynamic_true_is_symbolic_from_the_first_call(captures):
    c = make(dynamic=True)
    for n in (2, 3, 4):
        c.call(torch.randn(n))
    assert captures == [(2,)]


def test_dynamic_false_never_is_and_the_limit_keeps_what_there_is(captures):
    c = make(dynamic=False, options={"recompile_limit": 3})
    for n in (2, 3, 4, 5, 6, 2, 3, 4):
        x = torch.randn(n)
        assert torch.equal(c.call(x), fn(x))
    assert captures == [(2,), (3,), (4,)]
    (table,) = c.all_tables()
    assert (table.hits, table.misses, table.eager) == (3, 5, 2)
    assert record.count("limit_reached") == 1 and record.count("eager_fallback") == 2


def test_the_limit_may_be_an_error(captures):
    c = make(dynamic=False, options={"recompile_limit": 1, "at_limit": "raise"})
    c.call(torch.randn(2))
    with pytest.raises(LimitError, match="x: size 0 was 2, is 3"):
        c.call(torch.randn(3))


def test_marked_sizes(captures):
    import torch._dynamo
    c = make()
    x = torch.randn(2)
    torch._dynamo.mark_dynamic(x, 0)
    c.call(x)
    c.call(torch.randn(9))
    assert captures == [(2,)]


def test_a_miss_stores_all_guards_of_all_entries(captures):
    c = make(dynamic=False)
    c.call(torch.randn(2))
    c.call(torch.randn(3))
    c.call(torch.randn(4).double())
    (table,) = c.all_tables()
    first, second, third = table.rows
    assert first.cells == () and first.outcome == "compiled" and first.entry == 0
    assert [n for n, _ in second.cells] == [0] and [o.ok for o in second.cells[0][1]] == [False]
    assert [n for n, _ in third.cells] == [1, 0]


def test_global_state_has_tables_of_its_own(captures):
    c = make()
    x = torch.randn(3)
    c.call(x)
    with torch.no_grad():
        c.call(x)
        c.call(x)
    c.call(x)
    assert len(captures) == 2 and len(c.roots) == 2


def test_modes_go_eager(captures):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Mode.seen += 1
            return func(*args, **(kwargs or {}))

    c = make()
    with Mode():
        c.call(torch.ones(2))
    assert Mode.seen >= 2 and not captures
    (event,) = record.events("eager_fallback")
    assert "TorchDispatchMode" in event.message


def test_wrong_arguments_are_eagers_error(captures):
    c = make()
    with pytest.raises(TypeError) as ours:
        c.call()
    with pytest.raises(TypeError) as theirs:
        fn()
    assert str(ours.value) == str(theirs.value)


def test_a_fault_of_ours_is_counted_and_the_call_goes_on(monkeypatch):
    def broken(*a):
        raise ZeroDivisionError("ours")
    monkeypatch.setattr(frontend, "capture_call", broken)
    c = make(options={"strict": False})
    for _ in range(5):
        assert torch.equal(c.call(torch.ones(2)), fn(torch.ones(2)))
    assert record.count("internal_error") == module.FAILURES, "then the table is left alone"
    assert record.count("eager_fallback") == 5
    assert "ZeroDivisionError" in record.events("internal_error")[0].data["traceback"]
    with pytest.raises(InternalError, match="ZeroDivisionError: ours"):
        make().call(torch.ones(2))


def test_guards_that_do_not_hold_for_their_own_call_are_a_fault(monkeypatch):
    monkeypatch.setattr(frontend, "capture_call", lambda t, slots, d, b: double_plus_one(torch.randn(7)))
    with pytest.raises(InternalError, match="do not hold for its own call.*size 0 was 7, is 2"):
        make().call(torch.ones(2))


def test_a_failed_step_is_done_again_by_the_original(captures):
    calls = []

    def original(x):
        calls.append(x)
        raise IndexError("eager's own")
    c = Compiled(target(original), parse(backend=lambda gm, inputs: broken_backend, options={"strict": True}))
    with pytest.raises(IndexError, match="eager's own"):
        c.call(torch.ones(2))
    assert len(calls) == 1


def broken_backend(*inputs):
    raise IndexError("the plan's")


def test_tracebacks_name_only_the_users_frames(captures):
    import traceback

    def original(x):
        raise IndexError("eager's own")
    c = Compiled(target(original), parse(backend=lambda gm, inputs: broken_backend))
    try:
        c.call(torch.ones(2))
    except IndexError as e:
        names = [f.name for f in traceback.extract_tb(e.__traceback__)]
    assert names == ["test_tracebacks_name_only_the_users_frames", "original"]


def test_threads_share_tables_without_a_race(captures):
    c = make(options={"strict": False})
    errors = []

    def work(seed):
        for i in range(60):
            x = torch.full((2 + (i + seed) % 5,), float(seed))
            if not torch.equal(c.call(x), fn(x)):
                errors.append((seed, i))
    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not errors
    (table,) = c.all_tables()
    assert len(table.entries) <= 3
    assert table.hits + table.misses + table.eager >= 360 - 6


def test_a_cleared_callable_starts_again(captures):
    c = make()
    c.call(torch.ones(2))
    c.clear()
    assert not c.all_tables()
    c.call(torch.ones(2))
    assert len(captures) == 2


def test_everything_goes_with_the_callable(captures):
    import gc
    import weakref

    def local(x):
        return x
    c = Compiled(target(local), parse(backend="eager"))
    c.call(torch.ones(2))
    entry = weakref.ref(next(iter(c.roots.values())).entries[0].run)
    gone = weakref.ref(local)
    del c, local
    gc.collect()
    assert entry() is None and gone() is None

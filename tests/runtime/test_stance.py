"""set_stance as torch's, the policies at the recompile limit, eager calls by reason, and the matrix of misses."""

import threading

import pytest
import torch

import pellucid
from pellucid.errors.types import OptionError
from pellucid.events.record import record
from pellucid.runtime.limits import LimitError
from pellucid.runtime.stance import RecompileError, current


def make(**kw):
    runs = []

    def f(x):
        if not torch.compiler.is_compiling():
            runs.append(tuple(x.shape))
        return x * 2 + 1
    options = {"strict": True, **kw.pop("options", {})}
    return pellucid.compile(f, options=options, **kw), runs


def reasons(c):
    return dict(pellucid.explain(c).eager_calls)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_force_eager_holds_for_native_entries_too_and_only_on_this_thread(backend):
    c, runs = make(backend=backend)
    x = torch.ones(3)
    for _ in range(4):
        c(x)
    assert not runs
    with pellucid.set_stance("force_eager"):
        assert torch.equal(c(x), x * 2 + 1) and runs == [(3,)]
        seen = []

        def other():
            c(x)
            seen.append((len(runs), current()))
        t = threading.Thread(target=other)
        t.start()
        t.join()
        assert seen == [(1, "default")]
    for _ in range(3):
        c(x)
    assert len(runs) == 1 and reasons(c) == {"set_stance('force_eager')": 1}
    assert len(pellucid.explain(c).entries) == 1


def test_a_compile_under_force_eager_does_not_bring_native_entries_up():
    c, runs = make()
    x = torch.ones(3)
    with pellucid.set_stance("force_eager"):
        threads = [threading.Thread(target=lambda: [c(x) for _ in range(5)]) for _ in range(2)]
        for t in threads:
            t.start()
            t.join()
        before = len(runs)
        c(x)
        assert len(runs) == before + 1
    c(x)
    c(x)
    assert len(runs) == before + 1


@pytest.mark.parametrize("backend", ["eager", "llvm"])
def test_eager_on_recompile_uses_what_there_is(backend):
    c, runs = make(backend=backend)
    x, y = torch.ones(3), torch.ones(3).double()
    c(x)
    with pellucid.set_stance("eager_on_recompile"):
        c(x)
        assert not runs
        assert torch.equal(c(y), y * 2 + 1) and runs == [(3,)]
    (why,) = reasons(c)
    assert why == "set_stance('eager_on_recompile'): x: dtype torch.float32 expected, torch.float64 given"
    c(y)
    assert len(runs) == 1 and len(pellucid.explain(c).entries) == 2


def test_fail_on_recompile_names_the_guard():
    c, _ = make()
    x = torch.ones(3)
    with pellucid.set_stance("fail_on_recompile"), pytest.raises(RecompileError, match="no version yet"):
        c(x)
    c(x)
    with pellucid.set_stance("fail_on_recompile"):
        c(x)
        c(x)
        with pytest.raises(RecompileError, match="x: size 0 was 3, is 4"):
            c(torch.ones(4))
    c(torch.ones(4))


def test_as_function_decorator_and_nested():
    assert current() == "default"
    pellucid.set_stance("eager_on_recompile")
    assert current() == "eager_on_recompile"
    with pellucid.set_stance("force_eager"):
        with pellucid.set_stance("default"):
            assert current() == "default"
        assert current() == "force_eager"
    assert current() == "eager_on_recompile"
    pellucid.set_stance("default")

    @pellucid.set_stance("force_eager")
    def inner():
        return current()
    assert current() == "default" and inner() == "force_eager" and current() == "default"
    with pytest.raises(OptionError, match="set_stance\\(\\): stance='never'"):
        pellucid.set_stance("never")


def test_an_error_inside_restores_the_stance():
    with pytest.raises(ZeroDivisionError), pellucid.set_stance("force_eager"):
        raise ZeroDivisionError
    assert current() == "default"


# ------------------------------------------------------------------ the limit
def test_promote_makes_one_version_for_all_sizes():
    record.clear()
    c, runs = make(dynamic=False, options={"recompile_limit": 3, "at_limit": "promote"})
    for n in (2, 3, 4, 5, 6, 7, 2, 3, 4, 90):
        x = torch.ones(n)
        assert torch.equal(c(x), x * 2 + 1)
    assert not runs and len(pellucid.explain(c).entries) == 3
    assert record.count("limit_reached") == 1


def test_promote_where_sizes_are_not_the_reason_then_keeps():
    kinds = (torch.float32, torch.float64, torch.int32, torch.int64, torch.int16)
    c, runs = make(options={"recompile_limit": 2, "at_limit": "promote"})
    for d in kinds:
        x = torch.ones(3, dtype=d)
        assert torch.equal(c(x), x * 2 + 1)
    assert len(pellucid.explain(c).entries) == 2 and len(runs) == 2
    assert sum(reasons(c).values()) == 2


def test_keep_counts_each_eager_call_by_reason():
    c, runs = make(dynamic=False, options={"recompile_limit": 1})
    for n in (2, 3, 3, 4):
        c(torch.ones(n))
    assert len(runs) == 3
    assert reasons(c) == {"the limit of 1 compiled versions is reached; newest: x: size 0 was 2, is 3": 2,
                          "the limit of 1 compiled versions is reached; newest: x: size 0 was 2, is 4": 1}


def test_raise():
    c, _ = make(dynamic=False, options={"recompile_limit": 1, "at_limit": "raise"})
    c(torch.ones(2))
    with pytest.raises(LimitError, match="size 0 was 2, is 3"):
        c(torch.ones(3))


# ------------------------------------------------------------------ the matrix
def test_every_guard_of_every_entry_is_in_the_row():
    record.clear()

    def f(x, flag):
        return x + 1 if flag else x - 1
    c = pellucid.compile(f, backend="eager", dynamic=False, options={"strict": True})
    c(torch.ones(2), True)
    c(torch.ones(3), True)
    c(torch.ones(4).double(), False)
    m = pellucid.matrix(c)
    (t,) = m.tables
    last = t.rows[-1]
    assert [(n, sorted(x.source for x in failed)) for n, _, failed in last.failed] == \
        [(1, ["flag", "x"]), (0, ["flag", "x"])]
    cell = next(x for x in last.failed[0][2] if x.source == "flag")
    assert (cell.expected, cell.actual) == ("True", "False") and "test_stance.py" in cell.cause
    text = m.text()
    assert "entry 1: 2 of" in text and "x: dtype torch.float32 expected, torch.float64 given" in text
    events = record.events("cache_miss")
    assert len(events) == 3 and events[0].data["cells"] == ()
    assert events[2].data["cells"] == last.failed

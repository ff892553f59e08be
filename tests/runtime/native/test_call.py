"""NativeCallable: binding of arguments, entries and their checks, results, the slow path; tables written by hand."""

from __future__ import annotations

import collections
import gc
import sys
import threading
import weakref

import pytest
import torch

from pellucid.runtime.native import records as R
from pellucid.runtime.native.call import EntryTable, NativeCallable, Signature
from pellucid.runtime.native.runner import NativeRunner
from pellucid.runtime.native.state import Watch, state_words_for_dict, state_words_for_order, watch_key
from pellucid.schedule.types import Plan, ViewOfInput
from pellucid.torchdoor import threadstate
from pellucid.torchdoor.layout import dispatch_keys, dtype_code

from .kernels import add_one_plan, buffer, kernel_step, kernels, new_output


@pytest.fixture(scope="module")
def runner() -> NativeRunner:
    return NativeRunner()


def tensor_check(register: int, t: torch.Tensor) -> list[int]:
    shape = [*t.shape, *t.stride()]
    return [R.CHECK_TENSOR, R.TENSOR_CHECK.size // 8 + len(shape), register, id(type(t)), dispatch_keys(t),
            dtype_code(t.dtype), t.dim(), int(t.requires_grad), 0, *shape]


def probes():
    return [(p, p.read()) for p in threadstate.probes()]


def add_one_entry(runner, n=8, checks=True) -> EntryTable:
    plan = runner.prepare(add_one_plan(n), kernels())
    e = EntryTable(tensor_check(0, torch.zeros(n)), 1, Watch(), probes(), plan, [("register", 0)])
    return e


@pytest.fixture
def slow():
    calls = []

    def record(*args, **kwargs):
        calls.append((args, kwargs))
        return "slow"
    record.calls = calls
    return record


def identity_entry(names=("x",), output=0) -> EntryTable:
    """No plan; the result is a register."""
    return EntryTable([], len(names), Watch(), [], None, [], ("recipe", [R.PUSH_REGISTER, output], 1))


def test_calls_hit_or_go_the_slow_way(runner, slow):
    c = NativeCallable(Signature.plain(["x"]), slow)
    x = torch.randn(8)
    assert c.function(x) == "slow"
    c.publish([add_one_entry(runner)])
    assert torch.equal(c.function(x), x + 1) and torch.equal(c.function(x=x), x + 1)
    bad = [torch.randn(9), torch.randn(8).double(), torch.randn(16)[::2], torch.randn(8, requires_grad=True),
           torch.randn(1, 8), torch.nn.Parameter(torch.randn(8)), torch.empty(8, device="meta"), 3, None]
    for b in bad:
        assert c.function(b) == "slow"
    assert c.entries[0].hits == 2 and c.counts == (2, 1 + len(bad))


def test_several_entries(runner, slow):
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([add_one_entry(runner, 8), add_one_entry(runner, 9)])
    for n in (9, 8, 9):
        x = torch.randn(n)
        assert torch.equal(c.function(x), x + 1)
    assert [e.hits for e in c.entries] == [1, 2] and c.function(torch.randn(10)) == "slow"


def test_slow_path_gets_the_call_as_it_was(slow):
    c = NativeCallable(Signature.plain(["x", "y"]), slow)
    c.function(1, y=2)
    c.publish([identity_entry(("x", "y"))])
    c.function(1, 2, 3, z=4)
    assert slow.calls == [((1,), {"y": 2}), ((1, 2, 3), {"z": 4})]


def test_exceptions_of_the_slow_path_pass():
    def slow(*args):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        NativeCallable(Signature.plain(["x"]), slow).function(1)


# ------------------------------------------------------------------ binding
def functions():
    def plain(a, b, c=3):
        pass

    def positional(a, b=2, /, c=3):
        pass

    def keyword(a, *, k, l=5):
        pass

    def variable(a, *rest, k=1, **more):
        pass

    def only_kw(**more):
        pass
    return [plain, positional, keyword, variable, only_kw]


CALLS = [((), {}), ((1,), {}), ((1, 2), {}), ((1, 2, 3), {}), ((1, 2, 3, 4), {}), ((1,), {"b": 5}), ((1,), {"c": 5}),
         ((1, 2),
          {"b": 3}), ((), {"b": 1, "a": 2}), ((1,), {"k": 2}), ((1,), {"k": 2, "l": 3}), ((1, 2), {"k": 9, "z": 8}),
         ((), {"z": 1, "y": 2}), ((1,), {"more": 1}), ((1,), {"rest": 1}), ((), {"a": 1, "k": 2})]


@pytest.mark.parametrize("f", functions(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("args,kwargs", CALLS)
def test_binding_is_pythons(f, args, kwargs, slow):
    import inspect

    s = Signature.of(f)
    n = len(s.names)
    recipe = [w for i in range(n) for w in (R.PUSH_REGISTER, i)] + [R.MAKE_TUPLE, n]
    c = NativeCallable(s, slow)
    c.publish([EntryTable([], n, Watch(), [], None, [], ("recipe", recipe, n + 1))])
    # Names that are equal to the parameters' but not the same objects.
    copied = {"".join(list(k)): v for k, v in kwargs.items()}
    try:
        bound = inspect.signature(f).bind(*args, **kwargs)
    except TypeError:
        assert c.function(*args, **copied) == "slow"
        return
    bound.apply_defaults()
    assert c.function(*args, **copied) == tuple(bound.arguments[k] for k in s.names)


def test_receiver_is_the_first_parameter(slow):
    def method(self, x, y=2):
        pass

    me = object()
    s = Signature.of(method, me)
    c = NativeCallable(s, slow)
    c.publish([EntryTable([], 3, Watch(), [], None, [], ("recipe", [R.PUSH_REGISTER, 0, R.PUSH_REGISTER, 1,
                                                                    R.PUSH_REGISTER, 2,
                                                                 R.MAKE_TUPLE, 3], 4))])
    assert c.function(7) == (me, 7, 2) and c.function(x=7, y=8) == (me, 7, 8)
    assert c.function(7, self=3) == "slow" and c.function(1, 2, 3) == "slow"


# ------------------------------------------------------------------ results
def test_results_by_recipe(runner, slow):
    x, y = buffer(0, (8,), "input", 0), buffer(1, (8,), "output", 0)
    plan = runner.prepare(Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (
        new_output(y), ViewOfInput(0, (8,), (1,), 0, True))), kernels())
    marker = object()
    recipe = [R.PUSH_OUTPUT, 0, R.PUSH_CONSTANT, id("k"), R.PUSH_OUTPUT, 1, R.PUSH_CONSTANT, id("m"), R.PUSH_CONSTANT,
              id(marker), R.MAKE_DICT, 2, R.PUSH_REGISTER, 0, R.PUSH_OUTPUT, 0, R.MAKE_LIST, 2, R.MAKE_TUPLE, 3]
    a = torch.randn(8)
    e = EntryTable(tensor_check(0, a), 1, Watch(), [], plan, [("register", 0)], ("recipe", recipe, 6))
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([e])
    for _ in range(1000):
        out, d, items = c.function(a)
    assert torch.equal(out, a + 1) and d == {"k": a, "m": marker} and items[0] is a and items[1] is out
    counts = sys.getrefcount(a), sys.getrefcount(marker), sys.getrefcount(out)
    for _ in range(1000):
        r = c.function(a)
    del r
    assert counts == (sys.getrefcount(a), sys.getrefcount(marker), sys.getrefcount(out))


def test_finish_and_python_check(runner, slow):
    e = add_one_entry(runner)
    seen = []
    e.result = ("finish", lambda outs, args: (outs[0] * 2, args))
    e.python_check = lambda args: seen.append(args) or len(seen) != 2
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([e])
    x = torch.randn(8)
    out, args = c.function(x)
    assert torch.equal(out, (x + 1) * 2) and args == (x,)
    assert c.function(x) == "slow"
    e2 = add_one_entry(runner)

    def fail(args):
        raise ZeroDivisionError("check")

    e2.python_check = fail
    c.publish([e2])
    with pytest.raises(ZeroDivisionError):
        c.function(x)


def test_failed_step_goes_the_slow_way(runner, slow):
    x, y = buffer(0, (8,), "input", 0), buffer(1, (8,), "output", 0)
    plan = runner.prepare(Plan((x, y), (kernel_step("check", x, y, can_raise=True),), (), 0, (new_output(y),)),
                          kernels())
    a = torch.ones(8)
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([EntryTable(tensor_check(0, a), 1, Watch(), [], plan, [("register", 0)])])
    assert torch.equal(c.function(a), a) and c.function(-a) == "slow" and torch.equal(c.function(a), a)


# ------------------------------------------------------------------ state and threads
def test_thread_state_decides(runner, slow):
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([add_one_entry(runner)])
    x = torch.randn(8)
    states = [torch.no_grad, torch.inference_mode, lambda: torch.autocast("cpu"), TorchDispatchMode, TorchFunctionMode]
    for enter in states:
        with enter():
            assert c.function(x) == "slow", enter
        assert torch.equal(c.function(x), x + 1)
    torch.set_default_dtype(torch.float64)
    try:
        assert c.function(x) == "slow"
    finally:
        torch.set_default_dtype(torch.float32)


def test_dictionary_keys_are_watched_in_two_levels(slow):
    class Thing:
        pass

    thing = Thing()
    thing.k, thing.other = value, _ = object(), 1
    e = identity_entry()
    watch_key(e.watch, state_words_for_dict(e.watch, thing), "k")
    watch_key(e.watch, state_words_for_dict(e.watch, thing), "gone", 0)
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([e])
    assert c.function(5) == 5
    for i in range(100):
        thing.other = i
        assert c.function(5) == 5
    for change in (lambda: setattr(thing, "k", object()), lambda: setattr(thing, "gone", 1),
                   lambda: setattr(thing, "__dict__", {"k": object()})):
        thing.k = value
        thing.__dict__.pop("gone", None)
        e2 = identity_entry()
        watch_key(e2.watch, state_words_for_dict(e2.watch, thing), "k")
        watch_key(e2.watch, state_words_for_dict(e2.watch, thing), "gone", 0)
        c.publish([e2])
        assert c.function(5) == 5
        change()
        assert c.function(5) == "slow" and e2.stale


def test_order_of_an_ordered_dict_is_watched(slow):
    d = collections.OrderedDict(a=1, b=2, c=3)
    e = identity_entry()
    state_words_for_order(e.watch, d)
    c = NativeCallable(Signature.plain(["x"]), slow)
    c.publish([e])
    assert c.function(5) == 5
    d.move_to_end("b")
    assert c.function(5) == "slow"


def test_everything_is_freed(runner):
    class Held:
        pass

    held = Held()
    e = add_one_entry(runner)
    e.held.append(held)
    c = NativeCallable(Signature.plain(["x"]), lambda *a: None)
    c.publish([e])
    f = c.function
    x = torch.randn(8)
    f(x)
    e.held.append(f)  # a cycle through the table
    ref = weakref.ref(held)
    del held, e, c, f
    gc.collect()
    assert ref() is None


def test_references_do_not_drift_over_many_calls(runner, slow):
    c = NativeCallable(Signature.plain(["x", "flag"], (None,)), slow)
    e = add_one_entry(runner)
    e.registers = 2
    e.checks += [R.CHECK_IS, R.CHECK.size // 8, 1, id(None), 0, 0]
    c.publish([e])
    x = torch.randn(8)
    f = c.function
    f(x)
    before = sys.getrefcount(x), sys.getrefcount(f), sys.getrefcount(e)
    none = sys.getrefcount(None)
    for _ in range(300_000):
        f(x)
    assert (sys.getrefcount(x), sys.getrefcount(f),
            sys.getrefcount(e)) == before and abs(sys.getrefcount(None) - none) < 50
    assert c.counts[0] == 300_001


def test_publishing_while_threads_call(runner, slow):
    c = NativeCallable(Signature.plain(["x"]), lambda x: x + 1)
    c.publish([add_one_entry(runner)])
    x = torch.randn(8)
    expected = x + 1
    errors = []
    stop = threading.Event()

    def work():
        while not stop.is_set():
            if not torch.equal(c.function(x), expected):
                errors.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(200):
        c.publish([add_one_entry(runner)])
    c.publish([])
    stop.set()
    for t in threads:
        t.join()
    assert not errors

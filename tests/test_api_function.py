"""Compiled functions: calls, guards, effects, dynamic sizes, errors, metadata, other backends."""

import functools
import inspect
import pickle
import sys

import pytest
import torch

import pellucid
from pellucid.errors.types import GraphBreakError

STRICT = {"strict": True}


backend_of_this_test = "eager"


def compiled(fn, **kw):
    kw.setdefault("backend", backend_of_this_test)
    return pellucid.compile(fn, options=STRICT, **kw)


@pytest.fixture(autouse=True, params=["eager", "llvm"])
def _fresh(request):
    global backend_of_this_test
    backend_of_this_test = request.param
    pellucid.reset()


@pellucid.compile(backend="eager", options=STRICT)
def decorated(x, *, scale=2.0):
    """What it does."""
    return x * scale


def test_metadata():
    assert decorated.__name__ == "decorated" and decorated.__doc__ == "What it does."
    assert decorated.__module__ == __name__
    assert str(inspect.signature(decorated)) == "(x, *, scale=2.0)"
    assert decorated.__wrapped__(torch.ones(1)) == 2
    assert pickle.loads(pickle.dumps(decorated)) is decorated


def test_decorators_and_methods():
    class Thing:
        factor = 3

        @pellucid.compile(backend=backend_of_this_test, options=STRICT)
        def times(self, x):
            return x * self.factor

        def plus(self, x):
            return x + self.factor
    t = Thing()
    x = torch.ones(2)
    assert torch.equal(t.times(x), x * 3) and torch.equal(t.times(x), x * 3)
    bound = compiled(t.plus)
    assert torch.equal(bound(x), x + 3)
    t.factor = 5
    assert torch.equal(t.times(x), x * 5) and torch.equal(bound(x), x + 5)


def test_any_callable():
    class Callable:
        def __call__(self, x):
            return x + 1
    x = torch.ones(2)
    assert torch.equal(compiled(Callable())(x), x + 1)
    assert torch.equal(compiled(functools.partial(torch.add, x))(x), x + x)
    assert torch.equal(compiled(torch.add)(x, x), x + x)


def test_keywords_and_positions_are_one_call():
    fast = compiled(lambda x, y=2, *rest, k=3, **kw: (x + y + k, rest, kw))
    x = torch.ones(2)
    fast(x, 2, k=3)
    fast(x=x)
    fast(x, k=3, y=2)
    c = pellucid.counters()
    assert (c["compile_count"], c["cache_hit_count"]) == (1, 2)
    got = fast(x, 2, 5, 6, z=7)
    assert got[1:] == ((5, 6), {"z": 7})


def test_the_batch_matrix():
    fast = compiled(lambda x: torch.nn.functional.softmax(x * 2, -1).sum(0))
    for n in (1, 1, 2, 2, 1, 3, 4, 5):
        x = torch.randn(n, 3)
        torch.testing.assert_close(fast(x), torch.nn.functional.softmax(x * 2, -1).sum(0))
    assert pellucid.counters()["compile_count"] <= 3
    (table,) = pellucid.compiled_of(fast).all_tables()
    newest = table.entries[0]
    assert newest.hits >= 3
    for n in (6, 7):
        fast(torch.randn(n, 3))
    assert pellucid.counters()["compile_count"] <= 3 and newest.hits >= 5


def test_integers_become_symbolic_when_they_change():
    fast = compiled(lambda x, n: x * n)
    x = torch.ones(2)
    for n in (2, 3, 4, 5, 6):
        assert torch.equal(fast(x, n), x * n)
    assert pellucid.counters()["compile_count"] == 2
    never = compiled(lambda x, n: x * n, dynamic=False)
    for n in (2, 3, 4):
        never(x, n)
    assert pellucid.counters()["compile_count"] == 5


def test_floats_that_change():
    for whole in (False, True):
        fast = compiled(lambda x, f: (x * f, f + 1), fullgraph=whole)
        x = torch.ones(2)
        compiles = []
        for f in (0.5, 1.5, 2.5, 3.5, 4.5, 0.5, -0.0, 5.5):
            want = (x * f, f + 1)
            got = fast(x, f)
            assert torch.equal(got[0], want[0]) and got[1] == want[1]
            compiles.append(sum(len(t.entries) for t in pellucid.compiled_of(fast).all_tables()))
        if not whole:
            assert len(set(compiles[3:])) == 1, "from the fourth value on nothing is compiled"


def test_an_integer_that_nobody_needs_is_no_guard():
    class Counter:
        calls = 0

    def step(x, c):
        c.calls += 1
        return x + 1
    fast, c = compiled(step), Counter()
    for _ in range(5):
        fast(torch.ones(2), c)
    assert c.calls == 5
    assert pellucid.counters()["compile_count"] <= 3


def test_globals_and_closures_are_guarded(monkeypatch):
    factor = 2
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "OFFSET", 1, raising=False)

    def fn(x):
        return x * factor + OFFSET  # noqa: F821
    fast = compiled(fn)
    x = torch.ones(2)
    assert torch.equal(fast(x), x * 2 + 1)
    factor = 3
    assert torch.equal(fast(x), x * 3 + 1)
    monkeypatch.setattr(module, "OFFSET", 5)
    assert torch.equal(fast(x), x * 3 + 5)


def test_effects_on_lists_dicts_and_inputs():
    def fn(x, log, table):
        y = x * 2
        log.append(y)
        table["last"] = y
        table["count"] = table.get("count", 0) + 1
        x.add_(1)
        return y
    fast = compiled(fn)
    x, log, table = torch.zeros(2), [], {}
    for i in range(3):
        y = fast(x, log, table)
        assert log[-1] is y and table["last"] is y and table["count"] == i + 1
    assert len(log) == 3 and torch.equal(x, torch.full((2,), 3.0))
    assert torch.equal(log[2], torch.full((2,), 4.0))


def test_outputs_that_are_inputs_or_views_of_them():
    fast = compiled(lambda x: (x, x.t(), x[0], {"x": x}))
    x = torch.randn(2, 3)
    for _ in range(2):
        a, b, c, d = fast(x)
        assert a is x and d["x"] is x
        assert b.untyped_storage().data_ptr() == c.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert torch.equal(b, x.t()) and torch.equal(c, x[0])


def test_eagers_own_error():
    def fn(x, i, log):
        log.append(1)
        return x[i]
    fast = compiled(fn)
    x, log = torch.randn(3), []
    fast(x, torch.tensor(1), log)
    with pytest.raises(IndexError) as ours:
        fast(x, torch.tensor(9), log)
    with pytest.raises(IndexError) as theirs:
        fn(x, torch.tensor(9), [])
    assert str(ours.value) == str(theirs.value)
    assert log == [1, 1], "once a call, also in the call that failed"


def test_shapes_that_do_not_fit_are_eagers_error():
    fast = compiled(lambda a, b: a @ b)
    with pytest.raises(RuntimeError) as ours:
        fast(torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(RuntimeError) as theirs:
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert str(ours.value) == str(theirs.value)
    assert ours.traceback[-1].name == "<lambda>"


def test_the_programs_own_exceptions():
    def fn(x):
        if x.ndim != 2:
            raise ValueError(f"{x.ndim} dimensions")
        return x + 1
    fast = compiled(fn)
    assert torch.equal(fast(torch.ones(1, 1)), torch.full((1, 1), 2.0))
    for _ in range(2):
        with pytest.raises(ValueError, match="^3 dimensions$") as e:
            fast(torch.ones(1, 1, 1))
        assert e.traceback[-1].name == "fn"


def test_fullgraph_names_operation_line_path_and_remedy():
    def inner(x):
        print("hello")
        return x

    def outer(x):
        return inner(x + 1)
    with pytest.raises(GraphBreakError) as e:
        compiled(outer, fullgraph=True)(torch.ones(2))
    text = str(e.value)
    line = inner.__code__.co_firstlineno + 1
    assert "print" in text and f"{__file__}:{line}" in text and "outer" in text and "what to change" in text
    assert [f.function.rpartition(".")[2] for f in e.value.stack] == ["outer", "inner"]


def test_nested_compiled_functions():
    inner = compiled(lambda x: x * 2)
    outer = compiled(lambda x: inner(x) + 1, fullgraph=True)
    x = torch.ones(2)
    assert torch.equal(outer(x), x * 2 + 1) and torch.equal(inner(x), x * 2)


def test_disabled_functions_stay_eager():
    seen = []

    @torch.compiler.disable
    def helper(x):
        seen.append(type(x))
        return x + float(x.sum())

    def fn(x):
        return helper(x * 2) * 3
    fast = compiled(fn)
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(fast(x), helper(x * 2) * 3)
    assert len(seen) == 6 and set(seen) == {torch.Tensor}


def test_a_callable_backend_gets_a_graph_module_and_its_inputs():
    got = []

    def backend(gm, example_inputs):
        got.append((gm, example_inputs))
        return gm.forward
    fast = compiled(lambda x, y: (x + y) * 2, backend=backend)
    x, y = torch.ones(2), torch.ones(2)
    assert torch.equal(fast(x, y), (x + y) * 2)
    assert torch.equal(fast(x, y), (x + y) * 2)
    ((gm, inputs),) = got
    assert isinstance(gm, torch.fx.GraphModule) and [i is v for i, v in zip(inputs, (x, y))] == [True, True]
    assert [n.op for n in gm.graph.nodes].count("call_function") == 2


def test_a_registered_backend_by_name():
    fast = compiled(lambda x: x.relu() + 1, backend="aot_eager")
    for n in (2, 3, 2):
        x = torch.randn(n)
        assert torch.equal(fast(x), x.relu() + 1)


def test_grad_mode_and_no_grad_are_separate_and_right():
    w = torch.nn.Parameter(torch.ones(3))
    fast = compiled(lambda x: x * w)
    x = torch.arange(3.0)
    assert fast(x).requires_grad
    with torch.no_grad():
        assert not fast(x).requires_grad
    fast(x).sum().backward()
    assert torch.equal(w.grad, x)


def test_no_grad_inside():
    def fn(x):
        with torch.no_grad():
            y = x * 2
        return y * x
    fast = compiled(fn)
    for _ in range(2):
        x = torch.ones(2, requires_grad=True)
        fast(x).sum().backward()
        assert torch.equal(x.grad, torch.full((2,), 2.0))
        assert torch.is_grad_enabled()


def test_autocast_has_entries_of_its_own():
    fast = compiled(lambda a, b: a @ b)
    a = torch.randn(4, 4)
    assert fast(a, a).dtype is torch.float32
    with torch.autocast("cpu", torch.bfloat16):
        want = a @ a
        got = fast(a, a)
        assert got.dtype is want.dtype is torch.bfloat16
    assert fast(a, a).dtype is torch.float32


def test_autocast_inside():
    def fn(a, b):
        with torch.autocast("cpu", torch.bfloat16):
            c = a @ b
        return c, a @ b
    fast, a = compiled(fn), torch.randn(4, 4)
    for _ in range(3):
        want, got = fn(a, a), fast(a, a)
        assert [x.dtype for x in got] == [x.dtype for x in want]
        torch.testing.assert_close(got, want)
        assert not torch.is_autocast_enabled("cpu")


def test_counters_and_reset():
    fast = compiled(lambda x: x + 1)
    fast(torch.ones(2))
    fast(torch.ones(2))
    c = pellucid.counters()
    assert (c["compile_count"], c["cache_hit_count"], c["graph_break_count"], c["internal_error_count"]) == (1, 1, 0, 0)
    pellucid.reset()
    assert not any(pellucid.counters().values())
    fast(torch.ones(2))
    assert pellucid.counters()["compile_count"] == 1


def test_torch_compile_with_the_pellucid_backend():
    def fn(x, y):
        return torch.relu(x @ y) + 1
    fast = torch.compile(fn, backend="pellucid", options={"backend": backend_of_this_test, "strict": True})
    with torch.no_grad():
        for n in (3, 4, 5):
            x, y = torch.randn(n, 4), torch.randn(4, 2)
            torch.testing.assert_close(fast(x, y), fn(x, y))
            torch.testing.assert_close(fast(x, y), fn(x, y))
    counts = pellucid.counters()
    assert counts["compile_count"] >= 1 and counts["cache_hit_count"] >= 1
    assert counts["eager_fallback_count"] == counts["graph_break_count"] == 0

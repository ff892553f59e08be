"""explain(): the break in a nested callee in a loop, the call matrix of a BERT, guards with causes, JSON."""

import contextlib
import io
import json

import pytest
import torch

import pellucid

from ..models.configs import CASES, build


def helper(x, i):
    print("value", i, x.sum().item())
    return x * 2


def program(x, n):
    for i in range(n):
        y = helper(x, i)
        x = x + 0.5
    return x + y


def printed(fn, *args):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        result = fn(*args)
    return result, out.getvalue()


def test_a_break_in_a_nested_callee_in_a_loop():
    fast = pellucid.compile(program, options={"strict": True})
    x = torch.ones(4)
    with torch.no_grad():
        want, text = printed(program, x, 1000)
        got, ours = printed(fast, x, 1000)
        assert ours == text and torch.equal(got, want)
        compiled = pellucid.counters()["compile_count"]
        got, ours = printed(fast, x, 1000)
        assert ours == text and torch.equal(got, want)
        assert pellucid.counters()["compile_count"] == compiled
    found = pellucid.explain(fast)
    assert len(found.breaks) == 1
    (b,) = found.breaks
    line = helper.__code__.co_firstlineno + 1
    assert b.where == f"{__file__}:{line} in helper"
    assert [p.rsplit(" in ")[1] for p in b.path] == ["program", "helper"]
    assert "print" in b.operation and b.remedy
    assert len(found.entries) <= 5 and sum(t.eager for t in found.tables) == 0
    text = found.text()
    assert "graph break" in text and f"{line} in helper" in text


def test_the_call_matrix_of_a_bert():
    model, _ = build("bert")
    fast = pellucid.compile(model, options={"strict": True})
    start = pellucid.counters()["compile_count"]
    with torch.no_grad():
        for batch in (1, 1, 2, 2, 1, 3, 4, 5):
            if batch == 3:
                before = {e.number: e.hits for t in pellucid.explain(fast).tables for e in t.entries}
            inputs = CASES["bert"].inputs(batch)
            torch.testing.assert_close(fast(**inputs).last_hidden_state, model(**inputs).last_hidden_state,
                                       rtol=1e-4, atol=1e-5)
    found = pellucid.explain(fast)
    (table,) = found.tables
    assert len(table.entries) <= 3
    gained = {e.number: e.hits - before.get(e.number, 0) for e in table.entries}
    assert sorted(gained.values())[-1] == sum(gained.values()) == 3, "the last three calls hit one entry"
    assert pellucid.counters()["compile_count"] - start <= 3
    assert next(e for e in table.entries if gained[e.number]).symbols
    assert table.missed[-1].failed, "the miss keeps why each entry did not fit"
    assert "size 0 was 1, is 2" in table.missed[-1].failed[0][1]


def test_guards_have_causes_and_everything_is_json():
    scale = 3

    def f(x, flag):
        return x * scale if flag else x
    found = pellucid.explain(f, torch.ones(3), True)
    (entry,) = found.entries
    assert any("flag" in g.condition and "test_explain.py" in g.where for g in entry.guards)
    assert json.loads(json.dumps(found.json()))["name"].endswith("f")
    assert entry.steps[0].kind == "kernel" and "mul" in " ".join(entry.steps[0].fused)


def test_a_plain_callable_needs_example_arguments():
    with pytest.raises(pellucid.errors.types.UnsupportedInput, match="example arguments"):
        pellucid.explain(program)


def test_calls_in_python_are_explained():
    fast = pellucid.compile(lambda x: x + 1, options={"recompile_limit": 1})
    with torch.no_grad():
        for dtype in (torch.float32, torch.float64, torch.float16):
            fast(torch.ones(3, dtype=dtype))
    found = pellucid.explain(fast)
    assert sum(n for _, n in found.eager_calls) == 2 and "limit" in found.eager_calls[0][0]

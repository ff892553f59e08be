"""diagnose() and attempt(): the worked traces, both stories at once told apart, and edits applied."""

import contextlib
import importlib.util
import io
import json

import pytest
import torch

import pellucid
from pellucid.diagnosis import edits
from pellucid.diagnosis.calls import parse
from pellucid.diagnosis.observe import observe

SYSTEMS = ("pellucid", "torch.compile")


def by(system, fn, **options):
    return pellucid.compile(fn, **options) if system == "pellucid" else torch.compile(fn, backend="eager", **options)


def quiet(run):
    with contextlib.redirect_stdout(io.StringIO()):
        return run()


def breaks_once(x):
    y = x * 2
    print("here")
    return torch.tanh(y)


def churns(x):
    return torch.tanh(x) * 2


def both(x):
    y = churns(x)
    print("here")
    return y + 1


@pytest.mark.parametrize("system", SYSTEMS)
def test_trace_a_a_break_at_call_one_and_no_compile_afterwards(system):
    d = quiet(lambda: pellucid.diagnose(by(system, breaks_once), [(torch.ones(8),)] * 10, timed=system == "pellucid",
                                        seconds=0.05))
    assert [c.outcome for c in d.observation.calls] == ["compile"] + 9 * ["hit"]
    assert d.story == "break" and d.stories == ("break",) and not d.observation.recompiles
    f = d.leading
    assert f.cause == "print" and f.line == breaks_once.__code__.co_firstlineno + 2
    assert any("not recompile churn" in e.supports for e in f.evidence)
    assert f.edit is not None and '-    print("here")' in f.edit.diff
    if system == "pellucid":
        assert d.observation.breaks[0].crossed == 10 and f.cost >= 0 and "warm call" in f.cost_of


@pytest.mark.parametrize("system", SYSTEMS)
def test_trace_b_a_compile_for_each_shape_and_no_break(system):
    calls = [(torch.ones(n),) for n in range(2, 8)]
    d = pellucid.diagnose(by(system, churns, dynamic=False), calls, timed=False)
    assert d.story == "guard failure" and d.stories == ("guard failure",) and not d.observation.breaks
    f = d.leading
    assert f.cause == "shapes-many" and "x.shape[0]" in f.evidence[1].seen
    assert all(str(n) in f.evidence[1].seen for n in range(2, 7)), "the observed shapes"
    assert any("would not help" in e.supports for e in f.evidence), "no advice about breaks"
    assert not any("torch.where" in g.remedy for g in d.findings)


@pytest.mark.parametrize("system", SYSTEMS)
def test_both_at_once_are_told_apart_by_region(system):
    d = quiet(lambda: pellucid.diagnose(by(system, both, dynamic=False), [(torch.ones(n),) for n in range(2, 8)],
                                        timed=False))
    assert set(d.stories) == {"break", "guard failure"}
    churn = [f for f in d.findings if f.story == "guard failure"]
    assert any("apart from the break" in f.relation or "isolates" in f.relation for f in churn)
    (b,) = [f for f in d.findings if f.story == "break"]
    assert b.line == both.__code__.co_firstlineno + 2
    before = [f for f in churn if "after a break" not in f.region and "resume" not in f.region]
    assert before and before[0].cause == "shapes-many"


def test_a_value_handed_over_by_a_break_amplifies_the_churn():
    def scaled(x):
        return x * int(x.sum().item())
    d = pellucid.diagnose(by("pellucid", scaled, dynamic=False), [(torch.full((4,), float(i)),) for i in range(1, 7)],
                          timed=False)
    assert d.leading.story == "break"
    (churn,) = [f for f in d.findings if f.story == "guard failure"]
    assert churn.cause == "after-break" and "amplifies" in churn.relation


def test_a_stable_and_faster_function_is_said_to_be_fine():
    def chain(x):
        for _ in range(10):
            x = torch.tanh(x) * 0.5 + x
        return x
    d = pellucid.diagnose(chain, [(torch.randn(64, 64),)] * 3, seconds=0.2, share=0.5)
    assert d.story == "stable" and d.bench.subject.speedup.low > 1
    assert d.findings[0].cause == "faster"
    assert "50 % of the end-to-end time" in d.stop and d.most >= 1
    assert json.loads(json.dumps(d.json()))["schema"] == "pellucid.diagnosis/1"


def test_torch_compile_goes_to_eager_at_its_limit_and_it_is_said():
    def f(x, s):
        return x * len(s)
    o = observe(torch.compile(f, backend="eager"), parse([(torch.ones(3), "a" * i) for i in range(1, 12)]),
                "torch.compile")
    assert [c.outcome for c in o.calls] == 8 * ["compile"] + 3 * ["eager"]
    assert o.limits and "recompile_limit 8" in o.limits[0]
    assert any("shape memory on disk" in n for n in o.notes)


def test_a_break_in_a_helper_is_one_place_under_torch_compile():
    def helper(x):
        print("hi")
        return x + 1

    def f(x):
        return helper(x) * 2
    o = quiet(lambda: observe(torch.compile(f, backend="eager"), parse([(torch.ones(3),)] * 2), "torch.compile"))
    assert len(o.breaks) == 1 and o.breaks[0].line == helper.__code__.co_firstlineno + 1


def test_attempt_says_improvement_and_regression():
    def without(x):
        return torch.tanh(x * 2)
    calls = [(torch.ones(64),)] * 3
    a = quiet(lambda: pellucid.attempt(breaks_once, without, calls, seconds=0.05))
    assert (a.before.breaks, a.after.breaks) == (1, 0) and a.same.ok and "breaks 1 -> 0" in a.improvements
    assert "after is" in a.text()
    back = quiet(lambda: pellucid.attempt(without, breaks_once, calls, seconds=0.05))
    assert "breaks 0 -> 1" in back.regressions and back.verdict.startswith("regression")


def test_attempt_with_other_results_is_a_regression():
    a = pellucid.attempt(churns, lambda x: torch.tanh(x) * 3, [(torch.ones(4),)] * 2, seconds=0.02)
    assert not a.same.ok and a.verdict == "regression: the results differ"


PROGRAM = '''"""Text."""


def branch(x):
    if x.sum().item() > 0:
        y = x * 2
    else:
        y = -x
    return y


def returns(x):
    if (x > 0).all():
        return x * 2
    return x * 3


def one_line(x):
    if x.sum() > 0: print("positive")
    return x


def masked(x):
    return x[x > 0].sum() + 1


def stamped(x):
    import time
    now = time.time()
    return x
'''


def module_of(text, path):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("cause, line, name", [
    ("item-in-condition", "if x.sum().item() > 0:", "branch"), ("data-branch", "if (x > 0).all():", "returns"),
    ("data-shape", "return x[x > 0].sum() + 1", "masked"), ("c-function", "now = time.time()", "stamped")])
def test_an_edit_keeps_the_result(cause, line, name, tmp_path):
    path = tmp_path / "program.py"
    before = getattr(module_of(PROGRAM, path), name)
    e = edits.edit(cause, str(path), [s.strip() for s in PROGRAM.splitlines()].index(line) + 1)
    assert e is not None and e.diff.startswith("--- ")
    after = getattr(module_of(e.text, tmp_path / "edited.py"), name)
    for x in (torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -3.0]), torch.tensor([1.0, -3.0])):
        assert torch.equal(before(x), after(x))
    quiet(lambda: pellucid.compile(after, fullgraph=True)(torch.ones(2)))


def test_an_edit_of_a_statement_that_shares_its_line(tmp_path):
    path = tmp_path / "program.py"
    module_of(PROGRAM, path)
    e = edits.edit("print", str(path), next(n for n, s in enumerate(PROGRAM.splitlines(), 1) if "positive" in s))
    assert "if x.sum() > 0: pass" in e.text
    compile(e.text, "edited", "exec")


def test_no_edit_where_it_would_be_a_guess(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("def f(x):\n    if x.sum() > 0:\n        y = x\n        z = x\n    return x\n"
                    "def g(x):\n    import time\n    t = time.time()\n    return x * t\n")
    assert edits.edit("data-branch", str(path), 2) is None
    assert edits.edit("c-function", str(path), 8) is None


def test_compile_in_the_loop_is_hoisted(tmp_path):
    path = tmp_path / "loop.py"
    module = module_of("import torch\nimport pellucid\n\n\ndef work(x):\n    return torch.tanh(x) * 2\n\n\n"
                       "def step(x):\n    fast = pellucid.compile(work)\n    return fast(x)\n", path)
    calls = [(torch.ones(4),)] * 4
    d = pellucid.diagnose(module.step, calls, timed=False)
    assert d.system == "as-is" and d.leading.cause == "compile-in-loop" and len(d.observation.compiles) == 4
    e = edits.edit("compile-in-loop", str(path), 10)
    after = module_of(e.text, tmp_path / "once.py")
    o = observe(after.step, parse(calls), "as-is")
    assert len(o.compiles) == 1 and torch.equal(after.step(torch.ones(4)), module.step(torch.ones(4)))


def test_static_sizes_are_made_symbolic(tmp_path):
    path = tmp_path / "static.py"
    module_of("import pellucid\n\n\n@pellucid.compile(dynamic=False)\ndef f(x):\n    return x * 2\n", path)
    e = edits.edit("shapes-many", str(path), 6)
    assert "dynamic=None" in e.text and e.line == 4
    f = module_of(e.text, tmp_path / "symbolic.py").f
    o = observe(f, parse([(torch.ones(n),) for n in range(2, 8)]), "pellucid")
    assert len(o.compiles) == 2


def test_operators_on_tensors_are_time_in_torch():
    from pellucid.diagnosis.hot import hottest

    a = torch.randn(300, 300)

    def products():
        b = a
        for _ in range(20):
            b = b @ a + b * 2
        return b

    found = hottest(products)
    assert found is None or found[4] < 0.3

"""The generated check and the slow evaluator agree, guard by guard, on calls that fit and calls that do not."""

import types

import pytest
import torch

from pellucid.events.types import Cause, UserFrame
from pellucid.graph.types import Graph, GraphInput, SymbolDef, TensorMeta
from pellucid.guards import evaluate, explain, generate, globalkey
from pellucid.guards.conditions import conditions
from pellucid.guards.sources import Scope
from pellucid.guards.types import Guard, Source
from pellucid.shapes.dim import Dim, Sym
from pellucid.shapes.env import SizeGuard
from tests.runtime.handmade import tensor_guard

X, Y = Source("arg", None, "x"), Source("arg", None, "y")
EMPTY = Graph((), (), (), ())


def verdicts(guards, graph, *values, params=("x", "y")):
    scope = Scope(args=dict(zip(params, values)))
    rows = evaluate.row(guards, graph, scope)
    check = generate.check(guards, graph, params[:len(values)])
    fast = check(*values)
    assert fast is all(r.ok for r in rows), [(r.guard, r.actual) for r in rows if not r.ok]
    return fast


class Thing:
    def __init__(self, **kw):
        self.__dict__.update(kw)


CASES = [
    ("type", 3, int, [(4, True), (True, False), (3.0, False)]),
    ("is", None, None, [(None, True), (0, False)]),
    ("equal", 3, 3, [(3, True), (3.0, False), (True, False), (4, False)]),
    ("equal", 0.0, 0.0, [(0.0, True), (-0.0, False), (0, False)]),
    ("equal", float("nan"), float("nan"), [(float("nan"), True), (1.0, False)]),
    ("equal", "a", "a", [("a", True), ("b", False)]),
    ("equal", (1, 2.0), (1, 2.0), [((1, 2.0), True), ((1, 2), False), ([1, 2.0], False)]),
    ("equal", torch.float32, torch.float32, [(torch.float32, True), (torch.float64, False)]),
    ("int", 5, ("s0", (2, None)), [(5, True), (2, True), (1, False), (True, False), (5.0, False)]),
    ("int", 5, ("s0", (2, 8)), [(8, True), (9, False)]),
    ("len", [1], 1, [([5], True), ([], False), ({1: 2}, True), (3, False)]),
    ("keys", {"a": 1}, ("a",), [({"a": 5}, True), ({"b": 1}, False), ({"a": 1, "b": 2}, False)]),
    ("keys", {}, ("a", "b"), [({"a": 1, "b": 1}, True), ({"b": 1, "a": 1}, False)]),
    ("missing_key", {}, "k", [({}, True), ({"k": 1}, False)]),
    ("absent", Thing(), "k", [(Thing(), True), (Thing(k=1), False), (object(), True)]),
    ("has", Thing(k=1), "k", [(Thing(k=2), True), (Thing(), False)]),
    ("python", 1, lambda v: v > 0, [(1, True), (-1, False), ("a", False)]),
]


@pytest.mark.parametrize("kind,example,expected,calls", CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_each_kind(kind, example, expected, calls):
    for value, holds in calls:
        assert verdicts([Guard(kind, X, expected)], EMPTY, value) is holds, (kind, value)


def test_code():
    f, g = (lambda: 1), (lambda: 2)
    again = types.FunctionType(f.__code__, globals())
    assert verdicts([Guard("code", X, f.__code__)], EMPTY, f)
    assert verdicts([Guard("code", X, f.__code__)], EMPTY, again)
    assert not verdicts([Guard("code", X, f.__code__)], EMPTY, g)
    assert not verdicts([Guard("code", X, f.__code__)], EMPTY, 3)


def variants():
    x = torch.randn(2, 3)
    with torch.inference_mode():
        inference = torch.randn(2, 3)
    return x, {
        "same": (torch.randn(2, 3), True), "shape": (torch.randn(3, 3), False), "rank": (torch.randn(2, 3, 1), False),
        "dtype": (x.double(), False), "strides": (torch.randn(3, 2).t(), False),
        "grad": (x.clone().requires_grad_(), False),
        "parameter": (torch.nn.Parameter(x, requires_grad=False), False), "sparse": (x.to_sparse(), False),
        "meta": (x.to("meta"), False), "inference": (inference, False), "no tensor": (3, False),
        "offset view": (torch.randn(7)[1:].view(2, 3), True),
    }


@pytest.mark.parametrize("name", variants()[1])
def test_a_tensor(name):
    x, all_ = variants()
    value, holds = all_[name]
    assert verdicts([Guard("tensor", X, tensor_guard(x))], EMPTY, value) is holds


def test_complex_conjugates_are_another_tensor():
    x = torch.randn(2, dtype=torch.complex64)
    assert not verdicts([Guard("tensor", X, tensor_guard(x))], EMPTY, x.conj())


def symbolic_graph():
    s0, s1 = Sym("s0", 4, 2, None), Sym("s1", 4, 0, 9)
    meta = TensorMeta(torch.float32, (Dim.of(s0), 3), (3, 1))
    return s0, s1, Graph((GraphInput(0, meta, X), GraphInput(1, meta, Y)), (), (), (), (),
                         (SymbolDef(s0, 0, 0), SymbolDef(s1, 1, 0)), (SizeGuard("==", Dim.of(s0) * 2, Dim.of(s1) + 4),))


def test_symbols_are_bound_and_size_guards_evaluated():
    s0, s1, graph = symbolic_graph()
    x = torch.randn(4, 3)
    guards = conditions((Guard("tensor", X, tensor_guard(x, (0,))), Guard("tensor", Y, tensor_guard(x, (0,)))), graph)
    assert verdicts(guards, graph, torch.randn(4, 3), torch.randn(4, 3))
    assert verdicts(guards, graph, torch.randn(5, 3), torch.randn(6, 3))
    assert not verdicts(guards, graph, torch.randn(5, 3), torch.randn(5, 3))
    assert not verdicts(guards, graph, torch.randn(1, 3), torch.randn(2, 3)), "below the range of s0"
    assert not verdicts(guards, graph, torch.randn(8, 3), torch.randn(12, 3)), "above the range of s1"
    assert not verdicts(guards, graph, torch.randn(3, 4).t(), torch.randn(4, 3)), "not contiguous"
    text = explain.condition(next(g for g in guards if g.kind == "size" and g.expected.op == "=="), graph)
    assert text == "2*s0 == s1 + 4 where s0 = x.shape[0], s1 = y.shape[0]" or \
        text == "2*s0 == s1 + 4 where s1 = y.shape[0], s0 = x.shape[0]"


def test_overlap():
    graph = Graph((GraphInput(0, TensorMeta(torch.float32, (2,), (1,)), X),
                   GraphInput(1, TensorMeta(torch.float32, (2,), (1,)), Y)), (), (), ())
    base = torch.zeros(8)
    guards = [Guard("overlap", None, (0, 1))]
    assert verdicts(guards, graph, base[:4], base[4:])
    assert not verdicts(guards, graph, base[:5], base[4:])
    assert not verdicts(guards, graph, base, base)
    assert verdicts(guards, graph, base, torch.zeros(8))


def test_absent_things_are_failed_guards_not_errors():
    deep = Source("item", Source("attr", X, "things"), 3)
    guards = [Guard("equal", deep, 1)]
    assert verdicts(guards, EMPTY, Thing(things=[0, 0, 0, 1]))
    assert not verdicts(guards, EMPTY, Thing(things=[0]))
    assert not verdicts(guards, EMPTY, Thing())
    assert not verdicts(guards, EMPTY, None)
    (row,) = evaluate.row(guards, EMPTY, Scope(args={"x": Thing(things=[])}))
    assert "IndexError" in repr(row.actual)


def test_global_state_is_one_guard():
    guards = [Guard("global", None, globalkey.current())]
    assert verdicts(guards, EMPTY, 1)
    with torch.no_grad():
        assert not verdicts(guards, EMPTY, 1)
        (row,) = evaluate.row(guards, EMPTY, Scope())
        assert explain.failure(row) == "global state: grad_mode was True, is False"
    assert verdicts(guards, EMPTY, 1)


CHANGES = ["autocast", "deterministic", "dtype", "precision", "inference", "device", "anomaly"]


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_global_key_sees(change):
    before = globalkey.words()
    if change == "autocast":
        with torch.autocast("cpu", torch.bfloat16):
            assert globalkey.words() != before
            assert globalkey.current().autocast[0] == ("cpu", torch.bfloat16)
        with torch.autocast("cpu", torch.float16):
            assert globalkey.current().autocast[0] == ("cpu", torch.float16)
    elif change == "inference":
        with torch.inference_mode():
            assert globalkey.current().inference_mode
    elif change == "device":
        with torch.device("meta"):
            assert globalkey.current().default_device == torch.device("meta")
            assert globalkey.unusual(globalkey.words()) is None
    elif change == "anomaly":
        with torch.autograd.set_detect_anomaly(True, check_nan=False):
            assert globalkey.words() != before
    else:
        set_, value, old = {"deterministic": (torch.use_deterministic_algorithms, True, False),
                            "dtype": (torch.set_default_dtype, torch.float64, torch.float32),
                            "precision": (torch.set_float32_matmul_precision, "high", "highest")}[change]
        set_(value)
        try:
            assert globalkey.words() != before
        finally:
            set_(old)
    assert globalkey.words() == before


def test_modes_that_see_operators_are_unusual():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class F(TorchFunctionMode):
        pass

    class D(TorchDispatchMode):
        pass

    assert globalkey.unusual(globalkey.words()) is None
    with F():
        assert "TorchFunctionMode" in globalkey.unusual(globalkey.words())
    with D():
        assert "TorchDispatchMode" in globalkey.unusual(globalkey.words())
    torch.func.vmap(lambda x: x * bool(globalkey.unusual(globalkey.words())))(torch.ones(2))


def test_text_names_the_value_and_the_cause():
    cause = Cause("torch.add", (UserFrame("m.py", 7, "forward"),))
    g = Guard("tensor", X, tensor_guard(torch.randn(2, 3)), cause)
    assert explain.explain(g) == \
        "x is a tensor float32[2, 3] on cpu, strides (3, 1), requires no grad  <- torch.add at m.py:7 in forward"
    (row,) = evaluate.row([g], EMPTY, Scope(args={"x": torch.randn(2, 4)}))
    assert explain.failure(row) == "x: size 1 was 3, is 4"


def test_the_check_is_readable_through_linecache():
    import linecache
    check = generate.check([Guard("equal", X, 3)], EMPTY, ("x",))
    assert "p0 == 3" in "".join(linecache.getlines(check.__code__.co_filename))
    generate.forget(check)
    assert not linecache.getlines(check.__code__.co_filename)

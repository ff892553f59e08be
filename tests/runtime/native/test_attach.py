"""The native fast path of compiled functions and modules: it must hit, miss when a guard fails, and come back."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections import OrderedDict

import pytest
import torch
from torch import nn

import pellucid
from pellucid.api import compiled_of
from pellucid.runtime.native.attach import attach


def fast_of(fn):
    """(the fast path, its built-in) of a newly compiled callable."""
    fast = attach(compiled_of(pellucid.compile(fn)))
    assert fast is not None
    return fast, fast.function


def hits(fast, call):
    """Whether `call()` was served natively, and its value."""
    before = fast.native.counts
    value = call()
    return fast.native.counts[1] == before[1], value


def warm(fast, f, *args, **kwargs):
    """Call until the entry is native; it must be then."""
    f(*args, **kwargs)
    f(*args, **kwargs)
    native, value = hits(fast, lambda: f(*args, **kwargs))
    assert native, [e.why for e in fast.entries]
    assert all(e.native is None or e.native.python_check is None for e in fast.entries)
    return value


X = torch.randn(4, 8)


def test_function_with_nested_arguments():
    def f(x, pair, *, scale, options=None, flag=False):
        y = x * pair[1] + pair[0]["b"] * scale
        if flag:
            y = y.relu()
        return {"y": y, "rest": [x, (y, scale)], "none": None}

    fast, g = fast_of(f)
    args = (X, ({"b": X + 1}, 3))
    warm(fast, g, *args, scale=0.5)
    native, got = hits(fast, lambda: g(*args, scale=0.5, flag=False))
    want = f(*args, scale=0.5)
    assert native and torch.equal(got["y"], want["y"]) and got["rest"][0] is X and got["rest"][1][0] is got["y"]
    assert list(got) == ["y", "rest", "none"] and got["rest"][1][1] == 0.5
    for other_args, other in [(args, {"scale": 0.25}), (args, {"scale": 0.5, "flag": True}), (args, {"scale": 1}),
                              ((X, ({"b": X + 1}, 4)), {"scale": 0.5}), ((X, [{"b": X + 1}, 3]), {"scale": 0.5}),
                              ((X, ({"b": X.double()}, 3)),
                               {"scale": 0.5}), ((X, ({"b": X, "c": 1}, 3)), {"scale": 0.5})]:
        want = f(*other_args, **other)
        got = g(*other_args, **other)
        assert torch.equal(got["y"], want["y"]) and got["rest"][1][1] == want["rest"][1][1]


def test_text_float_and_none_arguments():
    def f(x, mode, bias=None, eps=1e-5):
        y = x.relu() if mode == "relu" else x.tanh()
        return (y if bias is None else y + bias) + eps

    fast, g = fast_of(f)
    warm(fast, g, X, "relu")
    assert hits(fast, lambda: g(X, "".join(["re", "lu"])))[0]
    for args in [(X, "tanh"), (X, "relu", X), (X, "relu", None, 1e-3), (X, "relu", None, -0.0)]:
        torch.testing.assert_close(g(*args), f(*args))
    assert torch.equal(g(X, "relu"), f(X, "relu"))


SCALE = 2.0


def test_globals_cells_and_defaults():
    import types

    cell = 3.0

    def f(x, k=2):
        return x * SCALE + cell * k

    fast, g = fast_of(f)
    warm(fast, g, X)
    globals()["SCALE"] = 5.0
    try:
        assert torch.equal(g(X), X * 5.0 + 6.0)
    finally:
        globals()["SCALE"] = 2.0
    assert torch.equal(g(X), X * 2.0 + 6.0)
    cell = 7.0
    assert torch.equal(g(X), X * 2.0 + 14.0)
    f.__defaults__ = (10,)
    assert torch.equal(g(X), X * 2.0 + 70.0)
    assert isinstance(f, types.FunctionType)


class Net(nn.Module):
    factor = 2.0

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.layers = nn.ModuleList([nn.Linear(8, 8) for _ in range(3)])
        self.gain = 1.5
        self.order = OrderedDict(a=1, b=2, c=3)
        self.calls = 0

    def forward(self, x):
        x = self.a(x) * self.gain
        for layer in self.layers:
            x = layer(x).relu()
        return x * self.factor + sum(i * v for i, v in enumerate(self.order.values()))


CHANGES = {
    "attribute": lambda m: setattr(m, "gain", 3.0),
    "equal attribute": lambda m: setattr(m, "gain", float("1.5")),
    "unrelated attribute": lambda m: setattr(m, "calls", 5),
    "class attribute": lambda m: setattr(Net, "factor", 4.0),
    "new parameter": lambda m: setattr(m.a, "weight", nn.Parameter(torch.randn(8, 8))),
    "other shape": lambda m: m.layers.__setitem__(2, nn.Linear(8, 5)),
    "parameter data": lambda m: setattr(m.a.weight, "data", torch.randn(8, 8)),
    "transposed data": lambda m: setattr(m.a.weight, "data", torch.randn(8, 8).t()),
    "in place": lambda m: m.a.weight.data.mul_(2),
    "replaced layer": lambda m: m.layers.__setitem__(1, nn.Linear(8, 8)),
    "appended layer": lambda m: m.layers.append(nn.Linear(8, 8)),
    "removed bias": lambda m: setattr(m.layers[0], "bias", None),
    "other dictionary": lambda m: setattr(m, "__dict__", {**m.__dict__, "gain": 9.0}),
    "patched layer class": lambda m: setattr(nn.Linear, "forward", lambda self, x: x @ self.weight.t()),
    "layer's class": lambda m: setattr(m.layers[0], "__class__", type("Twice", (nn.Linear,), {
        "forward": lambda self, x: nn.functional.linear(x, self.weight, self.bias) * 2})),
    "hook": lambda m: m.layers[1].register_forward_hook(lambda mod, args, out: out + 1),
    "double": lambda m: m.double(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_module_after_a_change(name):
    torch.manual_seed(0)
    net = Net().eval()
    linear, factor = nn.Linear.forward, Net.factor
    with torch.no_grad():
        fast, g = fast_of(net)
        want = net(X)
        torch.testing.assert_close(warm(fast, g, X), want)
        try:
            CHANGES[name](net)
            x = X.double() if name == "double" else X
            for _ in range(3):
                torch.testing.assert_close(g(x), net(x), rtol=1e-5, atol=1e-5)
        finally:
            nn.Linear.forward, Net.factor = linear, factor
        torch.testing.assert_close(g(x), net(x), rtol=1e-5, atol=1e-5)


def test_harmless_changes_stay_native():
    net = Net().eval()
    with torch.no_grad():
        fast, g = fast_of(net)
        warm(fast, g, X)
        for i in range(50):
            net.calls = i
            net.a.weight.data.mul_(1.01)
            native, value = hits(fast, lambda: g(X))
            assert native
            torch.testing.assert_close(value, net(X), rtol=1e-5, atol=1e-5)
        net.gain = float("1.5")  # equal, another object: translated again, then native
        g(X)
        assert hits(fast, lambda: g(X))[0] and len(fast.entries) == 1


def test_state_that_is_replaced_in_each_call_becomes_live():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(4, 8)

        def forward(self, x):
            return x + self.state

    m = Holder()
    with torch.no_grad():
        fast, g = fast_of(m)
        g(X)
        g(X)
        native = 0
        for i in range(20):
            m.state = torch.full((4, 8), float(i))
            n, value = hits(fast, lambda: g(X))
            native += n
            assert torch.equal(value, X + i)
        assert native >= 15 and len(fast.entries) == 1


def test_dynamic_sizes_and_entries():
    def f(x, w):
        return (x @ w).relu() + x.shape[0]

    fast, g = fast_of(f)
    w = torch.randn(8, 3)
    for n in (4, 4, 5, 5, 6, 7, 1, 1, 1, 9):
        x = torch.randn(n, 8)
        torch.testing.assert_close(g(x, w), f(x, w), rtol=1e-5, atol=1e-5)
    before = len(fast.entries)
    for n in (11, 12, 13):
        x = torch.randn(n, 8)
        native, value = hits(fast, functools.partial(g, x, w))
        assert native
        torch.testing.assert_close(value, f(x, w), rtol=1e-5, atol=1e-5)
    assert len(fast.entries) == before <= 3


def test_thread_state():
    def f(x):
        return x * 2 + 1

    fast, g = fast_of(f)
    warm(fast, g, X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(g(X), f(X))
    with torch.no_grad():
        g(X)
        g(X)
        assert hits(fast, lambda: g(X))[0]
    assert hits(fast, lambda: g(X))[0]
    y = X.clone().requires_grad_()
    g(y).sum().backward()
    assert torch.equal(y.grad, torch.full_like(X, 2.0))
    doubled = torch.vmap(g)(X)
    assert torch.equal(doubled, f(X))


def test_effects_and_breaks_are_finished_in_python():
    log = []

    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []
            self.last = None

        def forward(self, x):
            y = x * 2
            self.last = y
            print(end="", file=Log())
            return y + 1

    class Log:
        def write(self, text):
            log.append(text)

        def flush(self):
            pass

    m = Counter()
    with torch.no_grad():
        fast, g = fast_of(m)
        for i in range(5):
            x = torch.full((4, 8), float(i))
            assert torch.equal(g(x), x * 2 + 1) and torch.equal(m.last, x * 2)
        assert fast.native.counts[0] >= 3, [e.why for e in fast.entries]
    assert len(log) == 5 or log == []


def test_mutated_inputs_must_not_overlap():
    def f(x, y):
        x.add_(1)
        return x + y

    fast, g = fast_of(f)
    base = torch.zeros(12)
    with torch.no_grad():
        for _ in range(3):
            a, b = torch.zeros(8), torch.zeros(8)
            assert torch.equal(g(a, b), torch.ones(8)) and a[0] == 1 and a._version == 1
        assert not hits(fast, lambda: g(base[4:], base[:8]))[0]
        g(base[8:], base[:4])  # another size: a new entry
        g(base[8:], base[:4])
        assert hits(fast, lambda: g(base[8:], base[:4]))[0] and hits(fast, lambda: g(base[4:8], base[:4]))[0]
        assert not hits(fast, lambda: g(base[1:5], base[:4]))[0]


def test_keywords_star_arguments():
    def f(*xs, **more):
        out = xs[0]
        for x in xs[1:]:
            out = out + x
        return out * more["k"] if "k" in more else out

    fast, g = fast_of(f)
    warm(fast, g, X, X)
    assert torch.equal(g(X), X)
    warm(fast, g, X, k=3)
    assert torch.equal(g(X, k=3), X * 3) and torch.equal(g(X, X), X + X) and torch.equal(g(X, k=4), X * 4)


def test_wrong_arguments_raise_pythons_error():
    def f(x):
        return x + 1

    _, g = fast_of(f)
    g(X)
    g(X)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        g(X, z=1)
    with pytest.raises(TypeError, match="positional argument"):
        g()


def test_all_is_freed_with_the_function():
    net = Net().eval()
    with torch.no_grad():
        compiled = pellucid.compile(net)
        fast = attach(compiled_of(compiled))
        g = fast.function
        warm(fast, g, X)
    refs = [weakref.ref(net), weakref.ref(net.a.weight), weakref.ref(compiled_of(compiled))]
    del net, compiled, fast, g
    gc.collect()
    gc.collect()
    assert [r() for r in refs] == [None, None, None]


def test_references_over_many_calls():
    def f(x, y=None):
        return x + 1, x

    fast, g = fast_of(f)
    warm(fast, g, X)
    before = sys.getrefcount(X), sys.getrefcount(None)
    for _ in range(100_000):
        g(X)
    after = sys.getrefcount(X), sys.getrefcount(None)
    assert after[0] == before[0] and abs(after[1] - before[1]) < 50


def test_tensors_whose_sizes_alone_matter_are_not_read_and_share_a_layout():
    class Sizes(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(20)])

        def forward(self, x):
            return x + sum(w.shape[0] for w in self.weights)

    net = Sizes()
    with torch.no_grad():
        fast = attach(compiled_of(pellucid.compile(net.forward)))
        assert torch.equal(warm(fast, fast.function, X), X + 60)
        table = fast.entries[0].native
        assert table.plan.field("inputs") == 21 and table.plan.field("reads") == 1
        assert len(table.watch.blocks) == 20 and len({words for _, words in table.watch.blocks.values()}) <= 2
        net.weights[7].data = torch.ones(5)
        assert torch.equal(fast.function(X), X + 62)

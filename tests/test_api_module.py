"""A compiled module behaves as the module it stands for."""

import copy
import io
import pickle

import pytest
import torch
from torch import nn

import pellucid

STRICT = {"strict": True}


class Net(nn.Module):
    registered = []

    def __init_subclass__(cls, **kw):
        Net.registered.append(cls)

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 2)
        self.register_buffer("steps", torch.zeros(()))
        self.scale = 2.0

    def forward(self, x, *, shift=0.0):
        return self.b(torch.relu(self.a(x))) * self.scale + shift

    def helper(self, x):
        return super().__repr__(), self.forward(x)

    @property
    def doubled(self):
        return self.scale * 2


backend_of_this_test = "eager"


@pytest.fixture(autouse=True, params=["eager", "llvm"])
def _fresh(request):
    global backend_of_this_test
    backend_of_this_test = request.param
    pellucid.reset()


def compiled(net=None, **kw):
    net = net or Net()
    return net, pellucid.compile(net, backend=backend_of_this_test, options=STRICT, **kw)


def test_classes_and_names():
    net, fast = compiled()
    assert isinstance(fast, Net) and isinstance(fast, nn.Module)
    assert type(fast).__name__ == "Net" and type(fast).__module__ == Net.__module__
    assert not Net.registered, "the user's __init_subclass__ is not run"
    assert repr(fast) == repr(net) and fast._orig_mod is net and fast.__wrapped__ is net
    assert fast.doubled == 4.0


def test_state_is_shared():
    net, fast = compiled()
    assert list(fast.state_dict()) == list(net.state_dict()) == ["steps", "a.weight", "a.bias", "b.weight", "b.bias"]
    assert all(p is q for p, q in zip(fast.parameters(), net.parameters()))
    fast.scale = 3.0
    assert net.scale == 3.0
    net.other = 1
    assert fast.other == 1
    del fast.other
    assert not hasattr(net, "other")
    fast.c = nn.Linear(1, 1)
    assert net.c is fast.c and dict(net.named_modules())["c"] is fast.c
    fast.eval()
    assert not net.training and not net.a.training
    assert fast.to(torch.float64) is fast and net.a.weight.dtype is torch.float64
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        fast.nothing  # noqa: B018


def test_both_prefixes_load():
    net, fast = compiled()
    state = {k: torch.full_like(v, 3.0) for k, v in net.state_dict().items()}
    fast.load_state_dict({f"_orig_mod.{k}": v for k, v in state.items()})
    assert float(net.a.weight[0, 0]) == 3.0
    fast.load_state_dict({k: v * 2 for k, v in state.items()})
    assert float(net.a.weight[0, 0]) == 6.0
    with pytest.raises(RuntimeError, match="Unexpected key.*nonsense"):
        fast.load_state_dict({**state, "nonsense": torch.ones(1)})
    outer = nn.Module()
    outer.inner = fast
    assert list(outer.state_dict()) == [f"inner.{k}" for k in net.state_dict()]
    outer.load_state_dict({f"inner._orig_mod.{k}": v for k, v in state.items()})
    assert float(net.a.weight[0, 0]) == 3.0


def test_deepcopy_is_another_compiled_module():
    net, fast = compiled()
    again = copy.deepcopy(fast)
    assert isinstance(again, Net) and again._orig_mod is not net
    assert again.a.weight is not net.a.weight and torch.equal(again.a.weight, net.a.weight)
    assert pellucid.compiled_of(again) is not pellucid.compiled_of(fast)
    outer = nn.Sequential(fast, fast)
    both = copy.deepcopy(outer)
    assert both[0] is both[1] and both[0]._orig_mod is not net


def test_pickle():
    net, fast = compiled()
    again = pickle.loads(pickle.dumps(fast))
    assert torch.equal(again.a.weight, net.a.weight) and isinstance(again, type(net))
    assert pellucid.compiled_of(again).options == pellucid.compiled_of(fast).options
    buffer = io.BytesIO()
    torch.save(fast, buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer, weights_only=False).a.weight, net.a.weight)


def test_compiling_twice_compiles_the_original():
    net, fast = compiled()
    assert pellucid.compile(fast)._orig_mod is net


def test_it_goes_when_it_is_deleted():
    import gc
    import weakref
    net, fast = compiled()
    with torch.no_grad():
        fast(torch.randn(2, 3))
    gone = [weakref.ref(net), weakref.ref(fast), weakref.ref(net.a.weight), weakref.ref(pellucid.compiled_of(fast))]
    del net, fast
    gc.collect()
    assert [g() for g in gone] == [None] * 4


# ---------------------------------------------------------------- calls
def test_calls():
    net, fast = compiled()
    x = torch.randn(2, 3)
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(fast(x), net(x))
            torch.testing.assert_close(fast(x=x, shift=1.0), net(x) + 1)
            torch.testing.assert_close(fast.forward(x), net(x))
            torch.testing.assert_close(fast.helper(x)[1], net(x))
    table = next(iter(pellucid.compiled_of(fast).roots.values()))
    assert table.hits >= 3, "x by position and by name is the same call"


def test_attributes_read_are_guarded():
    net, fast = compiled()
    x = torch.randn(2, 3)
    with torch.no_grad():
        fast(x)
        net.scale = 5.0
        torch.testing.assert_close(fast(x), net(x))
        net.b = nn.Linear(4, 7)
        torch.testing.assert_close(fast(x), net(x))
        net.a.weight.mul_(2)
        torch.testing.assert_close(fast(x), net(x))


def test_hooks_of_the_module_run_around_it():
    net, fast = compiled()
    x = torch.randn(2, 3)
    log = []
    fast.register_forward_pre_hook(lambda m, args: log.append("pre") or (args[0] * 2,))
    net.register_forward_hook(lambda m, args, out: log.append("post") or out + 1)
    with torch.no_grad():
        want = net(x)
        log.clear()
        torch.testing.assert_close(fast(x), want)
        assert log == ["pre", "post"]
        fast(x)
    assert pellucid.compiled_of(fast).all_tables()[0].hits == 1


def test_a_replaced_forward_is_seen():
    net, fast = compiled()
    x = torch.randn(2, 3)
    with torch.no_grad():
        fast(x)
        net.forward = lambda x: x + 1
        torch.testing.assert_close(fast(x), x + 1)
        del net.forward
        torch.testing.assert_close(fast(x), net(x))
        fast.forward = lambda x: x + 2
        torch.testing.assert_close(net(x), x + 2)
        torch.testing.assert_close(fast(x), x + 2)


def test_signature():
    import inspect
    net, fast = compiled()
    assert inspect.signature(fast.forward) == inspect.signature(net.forward)


def test_gradients_flow():
    net, fast = compiled()
    twin = copy.deepcopy(net)
    x = torch.randn(2, 3)
    fast(x).sum().backward()
    twin(x).sum().backward()
    for p, q in zip(net.parameters(), twin.parameters()):
        torch.testing.assert_close(p.grad, q.grad)


def test_training_steps_match_eager():
    torch.manual_seed(0)
    net, fast = compiled()
    twin = copy.deepcopy(net)
    opts = [torch.optim.SGD(m.parameters(), 0.1) for m in (fast, twin)]
    for i in range(4):
        x = torch.randn(3 + i, 3)
        for m, o in zip((fast, twin), opts):
            o.zero_grad()
            m(x).pow(2).mean().backward()
            o.step()
    for p, q in zip(net.parameters(), twin.parameters()):
        torch.testing.assert_close(p, q)


def test_nested_compiled_modules():
    net, inner = compiled()
    log = []
    net.register_forward_hook(lambda m, args, out: log.append(type(m)) or out * 2)
    outer = nn.Sequential(inner, nn.ReLU())
    fast = pellucid.compile(outer, backend=backend_of_this_test, fullgraph=True, options=STRICT)
    x = torch.randn(2, 3)
    with torch.no_grad():
        want = outer(x)
        torch.testing.assert_close(fast(x), want)
        torch.testing.assert_close(fast(x), want)
    assert len(log) == 3

"""Calls of compiled objects by way of vectorcall: every way of calling, copying and deriving keeps its meaning."""

from __future__ import annotations

import copy
import gc
import pickle
import types
import weakref

import pytest
import torch
from torch import nn

import pellucid
from pellucid.runtime.native import vectorcall
from pellucid.torchdoor.symbols import Unavailable


def native_function() -> object:
    f = pellucid.compile(lambda x, y=2: x * y, options={"strict": True})
    for _ in range(3):
        f(torch.ones(3))
    if type(f).__basicsize__ == 0 or not type(f).__flags__ & vectorcall.HAVE_VECTORCALL:
        pytest.skip("no native call path here")
    return f


def test_all_ways_of_calling() -> None:
    f = native_function()
    x = torch.arange(3.0)
    for got in (f(x), f(x, 2), f(x=x), f(y=2, x=x), f(*(x,), **{"y": 2}), f.__call__(x), types.MethodType(f, x)(2),
                list(map(f, [x]))[0]):
        assert got.tolist() == [0.0, 2.0, 4.0]
    for wrong in ((), (x, 1, 2)):
        with pytest.raises(TypeError, match="argument"):
            f(*wrong)
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        f(x, z=1)


def test_as_a_method() -> None:
    class Scaled:
        def __init__(self) -> None:
            self.k = 3

        @pellucid.compile(options={"strict": True})
        def times(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.k

    s = Scaled()
    for k in (3, 3, 4, 4, 3):
        s.k = k
        assert s.times(torch.ones(2)).tolist() == [k, k]


def test_the_object_can_die_and_be_copied() -> None:
    f = native_function()
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lin(x)


def warm(net: nn.Module) -> nn.Module:
    m = pellucid.compile(net.eval(), options={"strict": True})
    with torch.no_grad():
        for _ in range(3):
            m(torch.ones(1, 3))
    return m


def test_a_module_that_is_copied_pickled_hooked() -> None:
    net, x = Net(), torch.randn(2, 3)
    m = warm(net)
    with torch.no_grad():
        want = net(x)
        for other in (copy.deepcopy(m), copy.copy(m), pickle.loads(pickle.dumps(m))):
            for _ in range(3):
                assert torch.allclose(other(x), want)
        handle = m.register_forward_hook(lambda mod, args, out: out + 1)
        assert torch.allclose(m(x), want + 1)
        handle.remove()
        assert torch.allclose(m(x), want)


def test_a_class_derived_from_the_compiled_one_is_called_as_python_says() -> None:
    m = warm(Net())

    class Twice(type(m)):
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return super().__call__(x) * 2

    x = torch.randn(2, 3)
    with torch.no_grad():
        want = m(x)
        m.__class__ = Twice
        assert torch.allclose(m(x), want * 2)


def test_parametrized_after_it_was_compiled() -> None:
    net = Net()
    m = warm(net)

    class Double(nn.Module):
        def forward(self, w: torch.Tensor) -> torch.Tensor:
            return w * 2

    x = torch.randn(2, 3)
    with torch.no_grad():
        nn.utils.parametrize.register_parametrization(net.lin, "weight", Double())
        assert torch.allclose(m(x), net(x))


def test_no_room_no_change() -> None:
    class Plain:
        def __call__(self) -> int:
            return 3

    plain = Plain()
    try:
        f = native_function()
    except Unavailable:
        pytest.skip("no native call path here")
    assert not vectorcall.hang(plain, f.__pellucid__.fast.native)
    assert plain() == 3

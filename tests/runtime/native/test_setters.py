"""Assignments of `__class__` and `__dict__` are counted, by whatever way they come, and undone at exit."""

import subprocess
import sys

import pytest
import torch

import pellucid
from pellucid.runtime.native.setters import Setters, setters
from pellucid.torchdoor.layout import word

pytestmark = pytest.mark.skipif(sys.version_info[:2] > (3, 13), reason="state is polled up to Python 3.13")


class Plain:
    def __init__(self):
        self.k = 1.0


class Slotted:
    __slots__ = ("__dict__",)


class Other(Plain):
    pass


def through_descriptor(obj):
    Plain.__dict__["__dict__"].__set__(obj, {"k": 3.0})


def deleted(obj):
    del obj.__dict__
    obj.k = 3.0


WAYS = {
    "__class__ assigned": lambda o: setattr(o, "__class__", Other),
    "object.__setattr__": lambda o: object.__setattr__(o, "__class__", Other),
    "__dict__ assigned": lambda o: setattr(o, "__dict__", {"k": 3.0}),
    "the descriptor called": through_descriptor,
    "__dict__ deleted": deleted,
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is_counted(way):
    obj, before = Plain(), setters().count
    WAYS[way](obj)
    assert setters().count > before


def test_a_class_without_weak_references_is_counted_too():
    obj, before = Slotted(), setters().count
    obj.__dict__ = {"k": 1}
    assert setters().count > before and obj.k == 1
    assert setters().dict_is_counted(Slotted) and setters().dict_is_counted(torch.nn.Module)
    assert not setters().dict_is_counted(type(test_every_way_is_counted))


def test_errors_of_the_setters_are_pythons():
    with pytest.raises(TypeError, match="__class__ must be set to a class"):
        Plain().__class__ = 3
    with pytest.raises(TypeError, match="__dict__ must be set to a dictionary"):
        Plain().__dict__ = 3


@pytest.mark.parametrize("way", WAYS)
def test_entries_notice(way):
    obj = Plain()

    def fn(x):
        return x * obj.k if type(obj) is Plain else x - obj.k

    fast = pellucid.compile(fn, options={"strict": True})
    x = torch.arange(4.0)
    with torch.no_grad():
        for _ in range(4):
            assert torch.equal(fast(x), fn(x))
        hits = pellucid.compiled_of(fast)
        WAYS[way](obj)
        for _ in range(3):
            assert torch.equal(fast(x), fn(x))
        WAYS["__dict__ assigned"](Plain())  # of another object: nothing is compiled again
        compiles = pellucid.counters()["compile_count"]
        assert torch.equal(fast(x), fn(x))
        assert pellucid.counters()["compile_count"] == compiles and hits is pellucid.compiled_of(fast)


def test_without_the_setters_entries_look_each_time(monkeypatch):
    s = setters()
    places = [d + 16 for d in s.definitions]
    ours = [word(p) for p in places]
    s.restore()
    try:
        assert [word(p) for p in places] != ours
        before = s.count
        Plain().__class__ = Other
        assert s.count == before
        obj = Plain()

        def fn(x):
            return x * obj.k

        fast = pellucid.compile(fn)
        x = torch.arange(4.0)
        with torch.no_grad():
            for k in (1.0, 2.0, 3.0):
                obj.__dict__ = {"k": k}
                for _ in range(3):
                    assert torch.equal(fast(x), x * k)
    finally:
        setters.cache_clear()
        again = setters()
        assert isinstance(again, Setters) and [word(p) for p in places] == ours


def test_a_process_ends_cleanly():
    text = """
import torch, pellucid
class A(torch.nn.Module):
    def forward(self, x): return x + 1
class Late:
    def __del__(self):
        self.__class__ = Late
        self.__dict__ = {}
a = A(); late = Late()
f = pellucid.compile(a)
with torch.no_grad():
    f(torch.ones(2)); f(torch.ones(2))
print("done")
"""
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "done\n", "")

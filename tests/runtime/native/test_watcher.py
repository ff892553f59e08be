"""Watched dictionaries: an entry looks at none of them while nothing changed, and at all that changed after it did."""

import collections
import sys

import pytest
import torch

import pellucid
from pellucid.runtime.native.watcher import watcher

can_watch = pytest.mark.skipif(sys.version_info[:2] not in ((3, 12), (3, 13)), reason="only 3.12 and 3.13 watch")


class Holder:
    def __init__(self):
        self.k = 1.0


WAYS = {
    "attribute": lambda h: setattr(h, "k", 2.0),
    "the dictionary": lambda h: h.__dict__.__setitem__("k", 3.0),
    "update": lambda h: h.__dict__.update(k=4.0),
    "deleted and set": lambda h: (delattr(h, "k"), setattr(h, "k", 5.0)),
    "object.__setattr__": lambda h: object.__setattr__(h, "k", 6.0),
    "pop": lambda h: h.__dict__.update(k=h.__dict__.pop("k") + 7),
    "clear": lambda h: (h.__dict__.clear(), setattr(h, "k", 8.0)),
}


@pytest.mark.parametrize("way", WAYS)
def test_changes_of_objects_are_noticed(way):
    h = Holder()

    def fn(x):
        return x * h.k

    fast = pellucid.compile(fn, options={"strict": True})
    x = torch.arange(4.0)
    with torch.no_grad():
        for _ in range(5):
            assert torch.equal(fast(x), fn(x))
        for _ in range(3):
            WAYS[way](h)
            for _ in range(4):
                assert torch.equal(fast(x), fn(x))


def test_a_counter_that_changes_in_each_call():
    h = Holder()

    def fn(x):
        h.k = h.k + 1
        return x * h.k

    fast = pellucid.compile(fn, options={"strict": True})
    x = torch.arange(4.0)
    with torch.no_grad():
        for n in range(2, 30):
            assert torch.equal(fast(x), x * n) and h.k == n


def test_dictionaries_of_every_kind():
    plain, ordered, default = {"a": 1.0}, collections.OrderedDict(a=1.0), collections.defaultdict(float, a=1.0)

    def fn(x):
        return x * plain["a"] + ordered["a"] * 2 + default["a"]

    fast = pellucid.compile(fn, options={"strict": True})
    x = torch.arange(4.0)
    with torch.no_grad():
        for n in range(12):
            for d in (plain, ordered, default)[: n % 4]:
                d["a"] = d["a"] + 1
            assert torch.equal(fast(x), fn(x))


@can_watch
def test_nothing_is_announced_by_calls_that_hit():
    h = Holder()
    fast = pellucid.compile(lambda x: x * h.k)
    x = torch.arange(4.0)
    with torch.no_grad():
        for _ in range(5):
            fast(x)
        before = watcher().events
        fast(x)
        assert watcher().events == before
        h.k = 3.0
        assert watcher().events > before and torch.equal(fast(x), x * 3)


@can_watch
def test_after_the_watcher_is_given_back_entries_look_themselves():
    h = Holder()
    fast = pellucid.compile(lambda x: x * h.k)
    x = torch.arange(4.0)
    with torch.no_grad():
        for _ in range(5):
            fast(x)
        watcher().close()
        try:
            h.k = 9.0
            assert torch.equal(fast(x), x * 9) and torch.equal(fast(x), x * 9)
        finally:
            watcher.cache_clear()
            assert watcher().number is not None

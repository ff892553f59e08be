"""A callable that breaks often is timed against Python, and its results stay right whichever runs it."""

from __future__ import annotations

import pytest
import torch

import pellucid
from pellucid.runtime import trial


def total(x):
    out = 0.0
    for _ in range(40):
        out += x.item()
    return out


@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_a_storm_of_breaks_is_left_to_python(backend):
    fast = pellucid.compile(total, backend=backend, options={"strict": True})
    for k in range(30):
        assert fast(torch.tensor(float(k))) == total(torch.tensor(float(k)))
    reasons = fast.__pellucid__.reasons
    assert any("40 breaks in a call" in r or "left to Python" in r or "kept compiled" in r for r in reasons), reasons
    [kept] = [e for t in fast.__pellucid__.roots.values() for e in t.entries if e.trial is not None]
    assert kept.trial.decided and kept.trial.crossed >= trial.OFTEN
    if kept.trial.python:
        assert "left to Python" in kept.trial.why and max(reasons.values()) >= 10
        assert "left to Python" in str(pellucid.explain(fast))


def test_few_breaks_are_not_tried():
    def f(x):
        for _ in range(3):
            x = x + x.sum().item()
        return x

    fast = pellucid.compile(f, options={"strict": True})
    for _ in range(12):
        assert torch.equal(fast(torch.ones(3)), f(torch.ones(3)))
    assert not fast.__pellucid__.reasons


def test_what_is_faster_compiled_stays_compiled(monkeypatch):
    fast = pellucid.compile(total, options={"strict": True})
    call, slow = fast.__pellucid__.target.call, []

    class Target:
        def __getattr__(self, name):
            return getattr(target, name)

        def call(self, *args, **kwargs):
            import time

            slow.append(1)
            time.sleep(0.02)
            return call(*args, **kwargs)
    target = fast.__pellucid__.target
    monkeypatch.setattr(fast.__pellucid__, "target", Target())
    for k in range(20):
        assert fast(torch.tensor(float(k))) == total(torch.tensor(float(k)))
    assert len(slow) == trial.SAMPLES


def test_an_error_in_python_is_the_users_own():
    def f(x, n):
        for _ in range(40):
            x.item()
        return [1, 2][n]

    fast = pellucid.compile(f, options={"strict": True})
    for _ in range(20):
        assert fast(torch.ones(()), 1) == 2
        with pytest.raises(IndexError, match="list index out of range"):
            fast(torch.ones(()), 5)


def test_nothing_native_is_hung_up_while_a_thread_runs_eagerly():
    fast = pellucid.compile(lambda x: x + 1, options={"strict": True})
    for _ in range(3):
        fast(torch.ones(2))
    native = fast.__pellucid__.fast
    if native is None:
        pytest.skip("no native call path here")
    assert native.native.entries
    [entry] = next(iter(fast.__pellucid__.roots.values())).entries
    with pellucid.set_stance("force_eager"):
        native.pause(entry)
        assert native.native.entries == ()
    hits = entry.hits
    for _ in range(3):
        fast(torch.ones(2))
    native.sync()
    assert native.native.entries and entry.hits == hits + 3


def spread(x, /, scale=1, *more, bias, **named):
    out = 0.0
    for _ in range(20):
        out += x.item() * scale + bias
    return out, more, named


def test_what_is_left_to_python_is_entered_natively_with_every_kind_of_parameter():
    fast = pellucid.compile(spread, options={"strict": True})
    calls = [((torch.tensor(2.0), 3, 4, 5), {"bias": 1, "z": 7}), ((torch.tensor(3.0),), {"bias": 2})]
    for args, kwargs in calls:
        for _ in range(80):
            assert fast(*args, **kwargs) == spread(*args, **kwargs)
    entries = [e for t in fast.__pellucid__.roots.values() for e in t.entries]
    left = [e for e in entries if e.trial is not None and e.trial.python]
    assert fast.__pellucid__.fast is not None
    before, slow = fast.__pellucid__.fast.native.counts
    for _ in range(10):
        assert fast(*args, **kwargs) == spread(*args, **kwargs)
    assert fast.__pellucid__.fast.native.counts == (before + 10, slow)
    assert sum(fast.__pellucid__.reasons.values()) >= 50 * len(left)


def test_an_error_in_python_is_the_programs():
    def f(x, n):
        for _ in range(20):
            n += x.item()
        if n > 100:
            raise ValueError(f"{n}")
        return n

    fast = pellucid.compile(f, options={"strict": True})
    for _ in range(80):
        assert fast(torch.tensor(1.0), 2.0) == 22.0
    with pytest.raises(ValueError, match="220.0"):
        fast(torch.tensor(1.0), 200.0)

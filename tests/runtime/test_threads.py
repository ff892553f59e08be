"""Threads, background compiles, re-entrance, fork, asyncio, lifetimes: what is shared is safe, what is dead is gone."""

import asyncio
import gc
import os
import sys
import threading
import time
import weakref

import pytest
import torch
from torch import nn

import pellucid
from pellucid.errors.types import GraphBreakError, OptionError


def twice(x):
    return x * 2 + 1


def make(fn=twice, **kw):
    options = {"strict": True, **kw.pop("options", {})}
    return pellucid.compile(fn, options=options, **kw)


def together(*fns):
    """Run the functions at once, each on a thread of its own; raises what any of them raised."""
    errors, barrier = [], threading.Barrier(len(fns))

    def run(f):
        barrier.wait()
        try:
            f()
        except BaseException as e:
            errors.append(e)
    threads = [threading.Thread(target=run, args=(f,)) for f in fns]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


# ------------------------------------------------------------------ stall="never"
def test_a_call_that_would_compile_runs_eagerly_meanwhile():
    runs = []

    def f(x):
        if not torch.compiler.is_compiling():
            runs.append(1)
        return x * 2 + 1
    c = make(f, options={"stall": "never"})
    x = torch.ones(3)
    assert torch.equal(c(x), twice(x)) and len(runs) == 1
    background = pellucid.compiled_of(c).background
    assert background.settle(30)
    for _ in range(4):
        assert torch.equal(c(x), twice(x))
    assert len(runs) == 1 and len(pellucid.explain(c).entries) == 1
    (why,) = dict(pellucid.explain(c).eager_calls)
    assert why == "it is being compiled in the background"
    y = torch.ones(7)
    assert torch.equal(c(y), twice(y)) and len(runs) == 2
    assert background.settle(30)
    c(torch.ones(9))
    assert len(runs) == 2, "the second size made it symbolic"


def test_breaks_and_modes_in_the_background():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1
    c = make(f, options={"stall": "never"})
    for x in (torch.ones(2), -torch.ones(2)) * 4:
        for g in (True, False):
            with torch.set_grad_enabled(g):
                assert torch.equal(c(x), f(x))
                assert pellucid.compiled_of(c).background.settle(30)
    with torch.inference_mode():
        assert torch.equal(c(torch.ones(2)), f(torch.ones(2)))
        assert pellucid.compiled_of(c).background.settle(30)
        c(torch.ones(2))
    assert len(pellucid.explain(c).entries) >= 4


def test_an_error_of_the_background_is_raised_by_a_later_call():
    def f(x):
        print(end="")
        return x.sum().item()
    c = pellucid.compile(f, fullgraph=True, options={"stall": "never"})
    assert c(torch.ones(2)) == 2.0
    assert pellucid.compiled_of(c).background.settle(30)
    with pytest.raises(GraphBreakError):
        c(torch.ones(2))


def test_stall_is_checked():
    with pytest.raises(OptionError, match="stall"):
        make(options={"stall": "sometimes"})


# ------------------------------------------------------------------ threads
@pytest.mark.parametrize("stall", ["compile", "never"])
def test_many_threads_first_call(stall):
    c = make(options={"stall": stall})

    def calls():
        for n in (3, 4, 5, 3):
            x = torch.randn(n)
            assert torch.equal(c(x), twice(x))
    together(*[calls] * 8)
    if stall == "never":
        pellucid.compiled_of(c).background.settle(30)
    assert 1 <= len(pellucid.explain(c).entries) <= 3


def test_state_changes_while_others_call():
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(1.0))
    c = make(net)
    x = torch.ones(2, 4)
    with torch.no_grad():
        zero, eager = torch.zeros(2, 4), net.eval()(x)
    stop = threading.Event()

    def toggle():
        for i in range(200):
            net.train(i % 2 == 0)
            time.sleep(0)
        stop.set()

    def call():
        with torch.no_grad():
            while not stop.is_set():
                got = c(x)
                assert torch.allclose(got, eager) or torch.equal(got, zero)
    together(toggle, call, call)


def test_reset_while_others_call():
    c = make()
    stop = threading.Event()

    def resets():
        for _ in range(20):
            pellucid.compiled_of(c).clear()
            time.sleep(0.002)
        stop.set()

    def calls():
        while not stop.is_set():
            x = torch.randn(3)
            assert torch.equal(c(x), twice(x))
    together(resets, calls, calls)


def test_another_thread_runs_while_a_long_plan_does():
    a = torch.randn(900, 900)
    c = make(lambda x: (x @ x).relu() @ x)
    with torch.no_grad():
        for _ in range(3):
            c(a)

        def count(seconds):
            n, end = 0, time.perf_counter() + seconds
            while time.perf_counter() < end:
                n += 1
            return n
        stop, calls = threading.Event(), []

        def work():
            with torch.no_grad():
                while not stop.is_set():
                    start = time.perf_counter()
                    c(a)
                    calls.append(time.perf_counter() - start)
        before = sys.getswitchinterval()
        sys.setswitchinterval(10.0)     # who holds the GIL keeps it: only a plan that releases it lets others run
        try:
            t = threading.Thread(target=work)
            t.start()
            time.sleep(0.05)
            n = count(0.3)
        finally:
            stop.set()
            sys.setswitchinterval(before)
            t.join()
    assert n > 1000 and len(calls) >= 1


# ------------------------------------------------------------------ re-entrance
def test_reentrance_from_an_opaque_operation():
    depth = []

    def f(x):
        y = x * 2
        if len(depth) < 2:
            depth.append(1)
            y = y + again(x)
        return y + 1

    @torch.compiler.disable
    def again(x):
        return c(x)
    c = make(f)
    x = torch.ones(3)
    for _ in range(3):
        depth.clear()
        got = c(x)
        depth.clear()
        assert torch.equal(got, f_eager(x, depth))


def f_eager(x, depth):
    y = x * 2
    if len(depth) < 2:
        depth.append(1)
        y = y + f_eager(x, depth)
    return y + 1


def test_asyncio():
    c = make()

    async def one(n):
        x = torch.randn(n)
        await asyncio.sleep(0)
        return torch.equal(c(x), twice(x))

    async def main():
        return await asyncio.gather(*[one(n) for n in (3, 4, 5, 6) * 5])
    assert all(asyncio.run(main()))


# ------------------------------------------------------------------ fork
def in_child(check):
    pid = os.fork()
    if pid == 0:
        try:
            ok = check()
        except BaseException:
            ok = False
        os._exit(0 if ok else 1)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.01)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return False


@pytest.mark.parametrize("stall", ["compile", "never"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork(when, stall):
    c = make(options={"stall": stall})
    x = torch.randn(4)
    if when == "after":
        for _ in range(3):
            c(x)

    def check():
        ok = all(torch.equal(c(x), twice(x)) for _ in range(3))
        if stall == "never":
            ok = ok and pellucid.compiled_of(c).background.settle(60)
        y = torch.randn(9)
        return ok and all(torch.equal(c(y), twice(y)) for _ in range(3))
    assert in_child(check)
    assert torch.equal(c(x), twice(x))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_the_compiles_of_other_threads():
    c, other = make(options={"stall": "never"}), make()
    stop = threading.Event()

    def compiles():
        while not stop.is_set():
            make()(torch.randn(3))
    threads = [threading.Thread(target=compiles) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        for n in range(4, 9):
            x = torch.randn(n)
            c(x)            # its background compile is under way at the fork

            def check(x=x):
                same = all(torch.equal(c(x), twice(x)) and torch.equal(other(x), twice(x)) for _ in range(3))
                return same and pellucid.compiled_of(c).background.settle(20) and torch.equal(make()(x), twice(x))
            assert in_child(check), n
    finally:
        stop.set()
        for t in threads:
            t.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_task_of_the_parent_is_none_of_the_child():
    c = make(options={"stall": "never"})
    c(torch.randn(4))
    background = pellucid.compiled_of(c).background
    assert background.settle(60)
    background.pending.add(0)       # as when the thread has published and not yet said so
    assert in_child(lambda: background.settle(5))
    background.pending.discard(0)


# ------------------------------------------------------------------ lifetimes
@pytest.mark.parametrize("stall", ["compile", "never"])
def test_the_deleted_goes(stall):
    net = nn.Linear(4, 4)
    c = make(net, options={"stall": stall})
    with torch.no_grad():
        for n in (2, 3, 4):
            c(torch.ones(n, 4))
            if stall == "never":
                pellucid.compiled_of(c).background.settle(30)
    gone = [weakref.ref(net), weakref.ref(net.weight), weakref.ref(pellucid.compiled_of(c))]
    del net, c
    gc.collect()
    time.sleep(0.05)
    gc.collect()
    assert [r() for r in gone] == [None] * 3


def test_the_last_reference_goes_during_a_call():
    for _ in range(5):
        c = make(lambda x: x * 2 + 1)
        x = torch.ones(3)
        for _ in range(3):
            c(x)
        box = [c, c]
        del c

        def call(box=box):
            assert torch.equal(box.pop()(torch.ones(3)), torch.full((3,), 3.0))
        together(call, call)
        gc.collect()

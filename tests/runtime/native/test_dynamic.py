"""Symbolic sizes, conditions, commits, threads, the GIL, and fork."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.graph.types import SymbolDef
from pellucid.ir.types import View
from pellucid.runtime.errors import PreconditionFailed, StepFailed
from pellucid.runtime.native.runner import NativeRunner
from pellucid.schedule.types import Commit, NewOutput, Plan, ViewOfInput
from pellucid.shapes.dim import Dim, Sym, evaluate, size_max, size_min
from pellucid.shapes.env import SizeGuard

from .kernels import buffer, contiguous, gemm_step, kernel_step, kernels, new_output, places, whole

S0, S1 = Sym("s0", 4), Sym("s1", 5)
A, B = Dim.of(S0), Dim.of(S1)


@pytest.fixture(scope="module")
def runner() -> NativeRunner:
    return NativeRunner()


def test_dynamic_batch(runner):
    x, t, w, z = buffer(0, (A, 8), "input",
                        0), buffer(1, (A, 8)), buffer(2, (8, 3), "input", 1), buffer(3, (3,), "input", 2)
    y = buffer(4, (A, 3), "output", 0)
    where, total = places(2, t)
    plan = Plan((x, t, w, z, y), (kernel_step("add_one", x, t), gemm_step(whole(t), whole(w), whole(y), whole(z))),
                where,
                total, (new_output(y),), symbols=(SymbolDef(S0, 0, 0),))
    f = runner.make(plan, kernels())
    weight, bias = torch.randn(8, 3), torch.randn(3)
    for n in (4, 1, 700, 0, 2000, 3):
        a = torch.randn(n, 8)
        torch.testing.assert_close(f(a, weight, bias)[0], (a + 1) @ weight + bias, rtol=1e-5, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60))
def test_size_expressions(a, b):
    """Each expression as an output's offset into a window, compared with shapes.dim.evaluate."""
    runner = NativeRunner()
    exprs = [A * A * 3 - 2 * B + 7, (A + 5) // B, (A - 40) // B, (A - 40) % B, size_min(A * B, 100 + A),
             size_max(A, B * 2), ((A + B) // 3) % 7 * A]
    x = buffer(0, (A, B), "input", 0)
    outs = tuple(ViewOfInput(0, (1,), (1000 + e,), 0) for e in exprs)
    plan = Plan((x,), (), (), 0, outs, symbols=(SymbolDef(S0, 0, 0), SymbolDef(S1, 0, 1)))
    got = runner.make(plan, {})(torch.zeros(a, b))
    assert [t.stride(0) - 1000 for t in got] == [evaluate(e, {S0: a, S1: b}) for e in exprs]


def test_integer_inputs_and_kernel_sizes(runner):
    x, y = buffer(0, (B,), "input", 0), buffer(1, (B,), "output", 0)
    plan = Plan((x, y), (kernel_step("add_sizes", x, y, symbols=(A * 2, B)),), (), 0, (new_output(y),),
                symbols=(SymbolDef(S0, 1, None), SymbolDef(S1, 0, 0)))
    f = runner.make(plan, kernels())
    a = torch.randn(7)
    torch.testing.assert_close(f(a, 50)[0], a + 100 + 7)
    torch.testing.assert_close(f(a, -3)[0], a - 6 + 7)
    with pytest.raises(TypeError, match="graph input 1"):
        f(a, "x")
    with pytest.raises(StepFailed, match="64 bits"):
        f(a, 1 << 70)


@pytest.mark.parametrize("op,good,bad", [("==", 6, 7), ("!=", 5, 6), ("<", 5, 6), ("<=", 6, 7)])
def test_conditions(runner, op, good, bad):
    x, y = buffer(0, (A,), "input", 0), buffer(1, (A,), "output", 0)
    plan = Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (new_output(y),), symbols=(SymbolDef(S0, 0, 0),),
                preconditions=(SizeGuard(op, A * 2, 12),))
    f = runner.make(plan, kernels())
    f(torch.zeros(good))
    with pytest.raises(PreconditionFailed, match="2\\*s0"):
        f(torch.zeros(bad))


def test_undefined_symbol_is_named(runner):
    x, y = buffer(0, (A,), "input", 0), buffer(1, (A,), "output", 0)
    with pytest.raises(ValueError, match="s0"):
        runner.make(Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (new_output(y),)), kernels())


def test_six_dimensions(runner):
    shape = (A, 1, 2, 1, 2, B)
    x, y = buffer(0, shape, "input", 0), buffer(1, shape, "output", 0)
    plan = Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (new_output(y),),
                symbols=(SymbolDef(S0, 0, 0), SymbolDef(S1, 0, 5)))
    a = torch.randn(3, 1, 2, 1, 2, 9)
    (out,) = runner.make(plan, kernels())(a)
    assert torch.equal(out, a + 1) and out.stride() == a.stride()


# ------------------------------------------------------------------ commits
def commit_plan(kernel="add_one", can_raise=False):
    x, t, y = buffer(0, (6,), "input", 0), buffer(1, (6,)), buffer(2, (6,), "output", 0)
    where, total = places(2, t)
    return Plan((x, t, y), (kernel_step("double", x, t), kernel_step(kernel, x, y, can_raise=can_raise)), where, total,
                (new_output(y), ViewOfInput(0, (6,), (1,), 0, whole=True)), (Commit(0, 1, (6,), (1,)),))


def test_commit_writes_the_input_and_counts_its_version(runner):
    f = runner.make(commit_plan(), kernels())
    a = torch.randn(6)
    before, version = a.clone(), a._version
    y, same = f(a)
    assert same is a and torch.equal(a, before * 2) and torch.equal(y, before + 1) and a._version == version + 1


def test_nothing_is_committed_when_a_step_fails(runner):
    f = runner.make(commit_plan("check", True), kernels())
    a = -torch.ones(6)
    with pytest.raises(StepFailed):
        f(a)
    assert torch.equal(a, -torch.ones(6)) and a._version == 0


def test_commit_refuses_what_eager_refuses(runner):
    f = runner.make(commit_plan(), kernels())
    with torch.inference_mode():
        a = torch.ones(6)
    with pytest.raises(StepFailed, match="(?i)inference"):
        f(a)


def test_input_written_by_a_step_counts_its_version(runner):
    x = buffer(0, (6,), "input", 0)
    step = kernel_step("add_one", x, x)
    f = runner.make(Plan((x,), (step,), (), 0, (ViewOfInput(0, (6,), (1,), 0, whole=True),)), kernels())
    a = torch.zeros(6)
    assert f(a)[0] is a and torch.equal(a, torch.ones(6)) and a._version == 1
    lazy = torch._lazy_clone(torch.zeros(6))
    f(lazy)
    assert torch.equal(lazy, torch.ones(6))


# ------------------------------------------------------------------ threads
@pytest.fixture
def four_threads():
    n = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(n)


@pytest.mark.parametrize("n", [1, 7, 1000, 100_003])
def test_parallel_kernel(runner, four_threads, n):
    x, y = buffer(0, (n,), "input", 0), buffer(1, (n,), "output", 0)
    f = runner.make(Plan((x, y), (kernel_step("add_one", x, y, grain=16),), (), 0, (new_output(y),)), kernels())
    a = torch.randn(n)
    assert torch.equal(f(a)[0], a + 1)


def test_parallel_kernel_reports_index_errors(runner, four_threads):
    x, y = buffer(0, (5000,), "input", 0), buffer(1, (5000,), "output", 0)
    f = runner.make(Plan((x, y), (kernel_step("check", x, y, grain=16, can_raise=True),), (), 0, (new_output(y),)),
                    kernels())
    a = torch.ones(5000)
    f(a)
    a[4900] = -1
    with pytest.raises(StepFailed):
        f(a)


def test_parallel_products(runner, four_threads):
    torch.manual_seed(0)
    for shape in ((12, 40, 48, 64), (1, 1, 2048, 512)):
        b, m, n, k = shape
        a, w = torch.randn(b, m, k), torch.randn(b, n, k).transpose(1, 2)
        X, W = buffer(0, a.shape, "input", 0), buffer(1, w.shape, "input", 1, strides=w.stride())
        Y = buffer(2, (b, m, n), "output", 0)
        f = runner.make(Plan((X, W, Y), (gemm_step(whole(X), whole(W), whole(Y)),), (), 0, (new_output(Y),)), {})
        torch.testing.assert_close(f(a, w)[0], a @ w, rtol=1e-4, atol=1e-4)


def long_plan(n=400_000):
    """Long enough to release the GIL."""
    x, t, y = buffer(0, (n,), "input", 0), buffer(1, (n,)), buffer(2, (n,), "output", 0)
    where, total = places(2, t)
    return Plan((x, t, y), (kernel_step("add_one", x, t), kernel_step("double", t, y)), where, total, (new_output(y),))


def test_long_plans_release_the_gil(runner):
    native = runner.prepare(long_plan(), kernels())
    assert native.field("release") == 1
    f = runner.function(native)
    a = torch.randn(400_000)
    assert torch.equal(f(a)[0], (a + 1) * 2)
    from .kernels import add_one_plan

    assert runner.prepare(add_one_plan(), kernels()).field("release") == 0


def test_inputs_and_storages_survive_other_threads(runner):
    """While plans run without the GIL, the main thread replaces and drops the inputs' data."""
    f = runner.make(long_plan(50_000 * 4), kernels())
    n = 200_000
    shared = [torch.zeros(n)]
    errors: list[str] = []
    stop = threading.Event()

    def work():
        while not stop.is_set():
            t = shared[0]
            (y,) = f(t)
            if not bool((y == y[0]).all()):
                errors.append("mixed data")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for i in range(300):
        shared[0].data = torch.full((n,), float(i % 5))
        if i % 10 == 0:
            shared[0].untyped_storage()
            shared[0] = torch.full((n,), 1.0)
    stop.set()
    for t in threads:
        t.join()
    assert not errors


def test_storage_counts_after_released_calls(runner):
    f = runner.make(long_plan(), kernels())
    a = torch.randn(400_000)
    for wrapped in (False, True):
        s = a.untyped_storage() if wrapped else None
        before = torch._C._storage_Use_Count(a.untyped_storage()._cdata)
        for _ in range(20):
            f(a)
        assert torch._C._storage_Use_Count(a.untyped_storage()._cdata) == before
        del s
    b = a.untyped_storage()
    del a
    gc.collect()
    assert b.nbytes() == 1_600_000 and torch._C._storage_Use_Count(b._cdata) == 1


def test_four_threads_of_short_calls(runner):
    from .kernels import add_one_plan

    f = runner.make(add_one_plan(), kernels(), single=True)
    x = torch.randn(8)
    expected = x + 1
    errors = []

    def work():
        for _ in range(20_000):
            if not torch.equal(f(x), expected):
                errors.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_forked_child_runs_serially(runner, four_threads):
    """libgomp's threads do not exist in a forked child: a parallel region there would wait for ever."""
    n = 100_000
    x, y = buffer(0, (n,), "input", 0), buffer(1, (n,), "output", 0)
    f = runner.make(Plan((x, y), (kernel_step("add_one", x, y, grain=16),), (), 0, (new_output(y),)), kernels())
    a = torch.zeros(n)
    f(a)
    pid = os.fork()
    if pid == 0:
        (out,) = f(a)
        good = float(out[0]) == 1.0 and float(out[n - 1]) == 1.0
        os._exit(0 if good else 1)
    assert os.waitpid(pid, 0)[1] == 0


def test_forked_child_multiplies(runner, four_threads):
    a, w = torch.randn(512, 512), torch.randn(512, 512)
    A_, W, Y = buffer(0, (512, 512), "input", 0), buffer(1, (512, 512), "input", 1), buffer(2, (512, 512), "output", 0)
    f = runner.make(Plan((A_, W, Y), (gemm_step(whole(A_), whole(W), whole(Y)),), (), 0, (new_output(Y),)), {})
    (want,) = f(a, w)
    pid = os.fork()
    if pid == 0:
        # numpy compares: torch's own parallel operators would wait for ever here.
        os._exit(0 if abs(f(a, w)[0].numpy() - want.numpy()).max() < 1e-3 else 1)
    for _ in range(200):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        time.sleep(0.05)
    else:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pytest.fail("the child did not come back from its product")
    assert status == 0


def test_offsets_of_dynamic_views(runner):
    x = buffer(0, (A, B), "input", 0)
    y = buffer(1, (A, B), "output", 0)
    out = NewOutput(1, torch.float32, (A, 1), (B, 1), B - 1)
    plan = Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (out, ViewOfInput(0, (B,), (1,), (A - 1) * B)),
                symbols=(SymbolDef(S0, 0, 0), SymbolDef(S1, 0, 1)))
    f = runner.make(plan, kernels())
    for shape in ((3, 5), (7, 2)):
        a = torch.randn(shape)
        last, row = f(a)
        assert torch.equal(last, a[:, -1:] + 1) and torch.equal(row, a[-1])
    assert contiguous((A, B))[0] == B and View(0, torch.float32, (A,), (1,)).offset == 0

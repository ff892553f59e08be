"""Plans of constant shapes: kernels, matrix products, arena, outputs, errors."""

from __future__ import annotations

import gc
import sys

import pytest
import torch

from pellucid.ir.types import View
from pellucid.runtime.errors import StepFailed
from pellucid.runtime.native.runner import NativeRunner
from pellucid.schedule.types import NewOutput, Plan, ViewOfInput, ViewOfOutput

from .kernels import add_one_plan, buffer, contiguous, gemm_step, kernel_step, kernels, new_output, places, whole


@pytest.fixture(scope="module")
def runner() -> NativeRunner:
    return NativeRunner()


def test_one_kernel_one_output(runner):
    f = runner.make(add_one_plan(), kernels())
    x = torch.randn(8)
    (y,) = f(x)
    assert type(y) is torch.Tensor and torch.equal(y, x + 1) and y.data_ptr() != x.data_ptr() and not y.requires_grad
    view = torch.randn(32)[8:16]
    assert torch.equal(f(view)[0], view + 1)


def test_single_output_is_returned_itself(runner):
    f = runner.make(add_one_plan(), kernels(), single=True)
    x = torch.randn(8)
    assert torch.equal(f(x), x + 1)


@pytest.mark.parametrize("bad", [torch.randn(9), torch.randn(8).double(), torch.randn(16)[::2], torch.randn(1, 8), 3,
                                 None])
def test_wrong_input_is_refused(runner, bad):
    f = runner.make(add_one_plan(), kernels())
    with pytest.raises(TypeError, match="graph input 0"):
        f(bad)


def test_wrong_count_is_refused(runner):
    f = runner.make(add_one_plan(), kernels())
    with pytest.raises(TypeError, match="number of inputs"):
        f()
    with pytest.raises(TypeError, match="number of inputs"):
        f(torch.randn(8), torch.randn(8))


def test_missing_kernel_is_named(runner):
    with pytest.raises(ValueError, match="add_one"):
        runner.make(add_one_plan(), {})


@pytest.mark.parametrize("n", [100, 5000])
def test_arena_buffers_small_and_large(runner, n):
    """n = 100 lies on the stack, n = 5000 in the thread's region."""
    x, t, u, y = (buffer(0, (n,), "input", 0), buffer(1, (n,)), buffer(2, (n,)), buffer(3, (n,), "output", 0))
    where, total = places(3, t, u)
    plan = Plan((x, t, u, y), (kernel_step("add_one", x, t), kernel_step("double", t, u), kernel_step("add", t, u, y)),
                where, total, (new_output(y),))
    f = runner.make(plan, kernels())
    a = torch.randn(n)
    for _ in range(600):
        (out,) = f(a)
    assert torch.equal(out, (a + 1) + (a + 1) * 2)


def matrix(shape, how, dtype):
    """A matrix with rows contiguous ("n"), columns contiguous ("t"), or padded rows ("p")."""
    r, c = shape
    if how == "n":
        return torch.randn(r, c, dtype=dtype)
    if how == "t":
        return torch.randn(c, r, dtype=dtype).t()
    return torch.randn(r, c + 3, dtype=dtype)[:, :c]


@pytest.mark.parametrize("m", [1, 9])
@pytest.mark.parametrize("k", [1, 39])
@pytest.mark.parametrize("n", [1, 21])
@pytest.mark.parametrize("how", ["nn", "nt", "tn", "tt", "pp"])
@pytest.mark.parametrize("bias", ["none", "row", "full"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gemm(runner, m, n, k, how, bias, dtype):
    torch.manual_seed(0)
    a, b = matrix((m, k), how[0], dtype), matrix((k, n), how[1], dtype)
    A = buffer(0, a.shape, "input", 0, dtype, a.stride())
    B = buffer(1, b.shape, "input", 1, dtype, b.stride())
    C = buffer(2, (m, n), "output", 0, dtype)
    shapes = {"row": (n,), "column": (m, 1), "full": (m, n), "scalar": (1,)}
    inputs, buffers, bias_view = [a, b], [A, B, C], None
    expected = 0.5 * (a.double() @ b.double())
    if bias != "none":
        z = torch.randn(shapes[bias], dtype=dtype)
        Z = buffer(3, z.shape, "input", 2, dtype, z.stride())
        inputs.append(z)
        buffers.append(Z)
        bias_view = whole(Z)
        expected = expected + z.double()
    plan = Plan(tuple(buffers), (gemm_step(whole(A), whole(B), whole(C), bias_view, alpha=0.5),), (), 0,
                (new_output(C),))
    (c,) = runner.make(plan, {})(*inputs)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    torch.testing.assert_close(c.double(), expected, rtol=tolerance, atol=tolerance * k)


@pytest.mark.parametrize("layout", ["bmk", "broadcast", "heads"])
def test_batched_gemm(runner, layout):
    torch.manual_seed(0)
    batch, m, n, k = 6, 9, 11, 16
    if layout == "heads":
        a = torch.randn(m, batch, k).transpose(0, 1)
        b = torch.randn(n, batch, k).permute(1, 2, 0)
    else:
        a = torch.randn(batch, m, k)
        b = torch.randn(batch, k, n) if layout == "bmk" else torch.randn(k, n).expand(batch, k, n)
    A = buffer(0, a.shape, "input", 0, strides=a.stride())
    B = buffer(1, b.shape, "input", 1, strides=b.stride())
    C = buffer(2, (batch, m, n), "output", 0)
    plan = Plan((A, B, C), (gemm_step(whole(A), whole(B), whole(C)),), (), 0, (new_output(C),))
    (c,) = runner.make(plan, {})(a, b)
    torch.testing.assert_close(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transposed", [False, True])
def test_gemm_writes_transposed_result(runner, transposed):
    a, b = torch.randn(4, 5), torch.randn(5, 6)
    A, B = buffer(0, (4, 5), "input", 0), buffer(1, (5, 6), "input", 1)
    C = buffer(2, (4, 6), "output", 0, strides=(1, 4) if transposed else (6, 1))
    plan = Plan((A, B, C), (gemm_step(whole(A), whole(B), whole(C)),), (), 0, (new_output(C),))
    (c,) = runner.make(plan, {})(a, b)
    assert c.stride() == C.strides
    torch.testing.assert_close(c, a @ b, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int64])
@pytest.mark.parametrize("bias", [False, True])
def test_gemm_of_other_dtypes(runner, dtype, bias):
    torch.manual_seed(0)
    a, b, z = (torch.randint(-4, 4, s).to(dtype) for s in ((3, 8), (8, 5), (5,)))
    A, B, Z = (buffer(i, t.shape, "input", i, dtype) for i, t in enumerate((a, b, z)))
    C = buffer(3, (3, 5), "output", 0, dtype)
    plan = Plan((A, B, Z, C) if bias else (A, B, C),
                (gemm_step(whole(A), whole(B), whole(C), whole(Z) if bias else None),), (), 0, (new_output(C),))
    (c,) = runner.make(plan, {})(*((a, b, z) if bias else (a, b)))
    assert torch.equal(c, a @ b + z if bias else a @ b)


def test_gemm_of_odd_strides(runner):
    a = torch.randn(4, 10)[:, ::2]
    b = torch.randn(5, 6)
    A = buffer(0, a.shape, "input", 0, strides=a.stride())
    B, C = buffer(1, (5, 6), "input", 1), buffer(2, (4, 6), "output", 0)
    plan = Plan((A, B, C), (gemm_step(whole(A), whole(B), whole(C)),), (), 0, (new_output(C),))
    torch.testing.assert_close(runner.make(plan, {})(a, b)[0], a @ b)


def test_gemm_of_windows(runner):
    """Operands and result are windows of larger buffers."""
    x = torch.randn(6, 20)
    X, W = buffer(0, (6, 20), "input", 0), buffer(1, (8, 4), "input", 1)
    Y = buffer(2, (6, 10), "output", 0)
    w = torch.randn(8, 4)
    window = View(X.id, X.dtype, (6, 8), (20, 1), 5)
    steps = (gemm_step(window, whole(W), View(Y.id, Y.dtype, (6, 4), (10, 1), 3)),)
    (y,) = runner.make(Plan((X, W, Y), steps, (), 0, (new_output(Y),)), {})(x, w)
    torch.testing.assert_close(y[:, 3:7], x[:, 5:13] @ w)


def mlp(n=64, batch=1, layers=3):
    x = buffer(0, (batch, n), "input", 0)
    buffers, steps = [x], []
    arena, source, inputs = [], x, 1
    for i in range(layers):
        w = buffer(len(buffers), (n, n), "input", inputs)
        z = buffer(len(buffers) + 1, (n,), "input", inputs + 1)
        inputs += 2
        last = i == layers - 1
        h = buffer(len(buffers) + 2, (batch, n), "output" if last else "arena", 0 if last else None)
        buffers += [w, z, h]
        steps.append(gemm_step(whole(source), View(w.id, w.dtype, (n, n), (1, n)), whole(h), whole(z)))
        if not last:
            r = buffer(len(buffers), (batch, n))
            buffers.append(r)
            arena += [h, r]
            steps.append(kernel_step("relu", h, r))
            source = r
    where, total = places(len(steps), *arena)
    return Plan(tuple(buffers), tuple(steps), where, total, (new_output(buffers[-1]),))


def test_three_layers(runner):
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
                              torch.nn.Linear(64, 64))
    x = torch.randn(1, 64)
    f = runner.make(mlp(), kernels())
    with torch.no_grad():
        torch.testing.assert_close(f(x, *net.parameters())[0], net(x))


def test_outputs_that_are_views_and_the_same(runner):
    x, y = buffer(0, (4, 6), "input", 0), buffer(1, (4, 6), "output", 0)
    outputs = (
        new_output(y),
        ViewOfInput(0, (6, 4), (1, 6), 0),
        ViewOfInput(0, (4, 6), (6, 1), 0, whole=True),
        ViewOfOutput(0, (2, 6), (12, 1), 6),
        ViewOfOutput(0, (4, 6), (6, 1), 0, whole=True),
    )
    f = runner.make(Plan((x, y), (kernel_step("add_one", x, y),), (), 0, outputs), kernels())
    base = torch.randn(10, 6)
    a = base[3:7]
    with torch.no_grad():
        new, t, same, rows, again = f(a)
    assert torch.equal(new, a + 1) and again is new and same is a
    assert torch.equal(t, a.t()) and t.data_ptr() == a.data_ptr() and t._is_view()
    assert torch.equal(rows, new[1::2]) and rows._base is new
    rows.zero_()
    assert new[1].sum() == 0 and new[3].sum() == 0


def test_output_that_is_a_window_of_its_buffer(runner):
    x, y = buffer(0, (4, 6), "input", 0), buffer(1, (4, 6), "output", 0)
    out = NewOutput(1, torch.float32, (4, 3), (6, 1), 2)
    f = runner.make(Plan((x, y), (kernel_step("add_one", x, y),), (), 0, (out,)), kernels())
    a = torch.randn(4, 6)
    (w,) = f(a)
    assert torch.equal(w, (a + 1)[:, 2:5]) and w.stride() == (6, 1) and w.storage_offset() == 2


def test_index_error_raises_before_anything_is_returned(runner):
    f = runner.make(_check_plan(), kernels())
    good = torch.ones(8)
    assert torch.equal(f(good)[0], good)
    bad = -good
    with pytest.raises(StepFailed) as e:
        f(bad)
    assert e.value.step == 0 and e.value.origin == 4
    assert torch.equal(f(good)[0], good)


def _check_plan():
    x, y = buffer(0, (8,), "input", 0), buffer(1, (8,), "output", 0)
    return Plan((x, y), (kernel_step("check", x, y, can_raise=True),), (), 0, (new_output(y),))


def test_exception_of_torch_becomes_step_failed(runner):
    """An output of 2**58 elements cannot be allocated: torch throws a C++ exception."""
    n = 1 << 58
    x, y = buffer(0, (8,), "input", 0), buffer(1, (n,), "output", 0)
    f = runner.make(Plan((x, y), (), (), 0, (new_output(y),)), {})
    for _ in range(100):
        with pytest.raises(StepFailed, match="(?i)alloc|memory"):
            f(torch.ones(8))


def test_references_do_not_drift(runner):
    f = runner.make(add_one_plan(), kernels())
    g = runner.make(_check_plan(), kernels())
    x, bad = torch.randn(8), -torch.ones(8)
    f(x)
    gc.collect()
    before = (sys.getrefcount(x), sys.getrefcount(None), x._use_count(), x.untyped_storage()._use_count()
              if hasattr(x.untyped_storage(), "_use_count") else 0)
    for _ in range(300_000):
        f(x)
    for _ in range(2000):
        with pytest.raises(StepFailed):
            g(bad)
    gc.collect()
    after = (sys.getrefcount(x), sys.getrefcount(None), x._use_count(), x.untyped_storage()._use_count()
             if hasattr(x.untyped_storage(), "_use_count") else 0)
    assert abs(after[1] - before[1]) < 50 and after[0] == before[0] and after[2:] == before[2:]
    assert contiguous((2, 3)) == (3, 1)

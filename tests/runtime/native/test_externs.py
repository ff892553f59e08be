"""Extern steps through torch's C shim and through Python, against torch and with copies and adopted results."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from pellucid.ir.types import Extern
from pellucid.runtime import reference_externs
from pellucid.runtime.errors import StepFailed
from pellucid.runtime.native.runner import NativeRunner
from pellucid.schedule.types import ExternStep, Plan
from pellucid.torchdoor.symbols import Unavailable

from .kernels import buffer, kernel_step, kernels, new_output, places, whole


@pytest.fixture(scope="module")
def runner() -> NativeRunner:
    return NativeRunner()


def run(runner, kind, inputs, outputs, strides=None, through_arena=False, **params):
    """One extern step on `inputs`; outputs are (shape, dtype). With through_arena a kernel copies the first on."""
    ins = [buffer(i, t.shape, "input", i, t.dtype, t.stride()) for i, t in enumerate(inputs)]
    outs = [buffer(len(ins) + i, s, "arena" if through_arena else "output", None if through_arena else i, d,
                   None if strides is None else strides[i]) for i, (s, d) in enumerate(outputs)]
    steps = [ExternStep(Extern(kind, tuple(map(whole, ins)), tuple(map(whole, outs)), tuple(sorted(params.items())),
                               True),
                        can_raise=True)]
    buffers, results = [*ins, *outs], outs
    if through_arena:
        last = buffer(len(buffers), outs[0].shape, "output", 0)
        steps.append(kernel_step("add_one", outs[0], last))
        buffers.append(last)
        results = [last]
    where, total = places(len(steps), *(outs if through_arena else []))
    plan = Plan(tuple(buffers), tuple(steps), where, total, tuple(map(new_output, results)))
    f = runner.make(plan, kernels())
    with torch.no_grad():
        f(*inputs)
        return f(*inputs)


CONV = dict(stride=(2, 1), padding=(1, 0), dilation=(1, 1), transposed=False, output_padding=(0, 0), groups=1)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("through_arena", [False, True])
def test_convolution(runner, bias, through_arena):
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 9, 8), torch.randn(4, 3, 3, 3)
    inputs = [x, w] + ([torch.randn(4)] if bias else [])
    expected = F.conv2d(*inputs, stride=(2, 1), padding=(1, 0))
    got = run(runner, "convolution", inputs, [(expected.shape, x.dtype)], through_arena=through_arena, **CONV)
    torch.testing.assert_close(got[0], expected + int(through_arena))


def test_result_of_other_layout_is_copied(runner):
    torch.manual_seed(0)
    x, w = torch.randn(2, 3, 9, 8), torch.randn(4, 3, 3, 3)
    expected = F.conv2d(x, w, stride=(2, 1), padding=(1, 0))
    like = expected.contiguous(memory_format=torch.channels_last)
    assert like.stride() != expected.stride()
    got = run(runner, "convolution", [x, w], [(expected.shape, x.dtype)], [like.stride()], **CONV)
    assert got[0].stride() == like.stride()
    torch.testing.assert_close(got[0], expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("groups", [4, 2, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention(runner, causal, masked, groups, dtype):
    if causal and masked:
        return
    torch.manual_seed(0)
    b, h, s, e = 2, 4, 5, 16
    q = torch.randn(b, s, h, e, dtype=dtype).transpose(1, 2)
    k, v = (torch.randn(b, s, groups, e, dtype=dtype).transpose(1, 2) for _ in range(2))
    mask = torch.randn(b, 1, s, s, dtype=dtype).expand(b, h, s, s) if masked else None
    inputs = [q, k, v] + ([mask] if masked else [])
    expected = F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=0.3, enable_gqa=groups != h)
    got = run(runner, "sdpa", inputs, [(expected.shape, dtype)], [expected.stride()], is_causal=causal, scale=0.3)
    assert got[0].stride() == expected.stride()
    torch.testing.assert_close(got[0], expected)


@pytest.mark.parametrize("descending", [False, True])
def test_sort_and_topk(runner, descending):
    x = torch.randn(4, 9)
    v, i = torch.sort(x, stable=True, dim=0, descending=descending)
    got = run(runner, "sort", [x], [(v.shape, v.dtype), (i.shape, i.dtype)], dim=0, descending=descending, stable=True)
    assert torch.equal(got[0], v) and torch.equal(got[1], i)
    v, i = torch.topk(x, 3, 1, descending, True)
    got = run(runner, "topk", [x], [(v.shape, v.dtype), (i.shape, i.dtype)], k=3, dim=1, largest=descending,
              sorted=True)
    assert torch.equal(got[0], v) and torch.equal(got[1], i)


def test_error_of_the_shim_is_a_failed_step(runner):
    x, w = torch.randn(2, 3, 9, 8), torch.randn(4, 5, 3, 3)
    with pytest.raises(StepFailed, match="step 0") as e:
        run(runner, "convolution", [x, w], [((2, 4, 5, 6), x.dtype)], **CONV)
    assert e.value.step == 0


@pytest.fixture
def python_row(monkeypatch):
    def add_table_row(fn):
        monkeypatch.setitem(reference_externs.TABLE, "test_row", fn)
    return add_table_row


def test_python_extern(runner, python_row):
    python_row(lambda ins, outs, params: outs[0].copy_(ins[0] * params["factor"]))
    x = torch.randn(3, 5)
    for through_arena in (False, True):
        (y,) = run(runner, "test_row", [x], [((3, 5), x.dtype)], through_arena=through_arena, factor=3)
        assert torch.equal(y, x * 3 + int(through_arena))


def test_python_extern_that_calls_the_runner_again(runner, python_row):
    """Reentrant calls take their frames from the same region."""
    inner = {}

    def nested(ins, outs, params):
        if ins[0][0] < 3:
            (r,) = inner["f"](ins[0] + 1)
            outs[0].copy_(r)
        else:
            outs[0].copy_(ins[0])

    python_row(nested)
    n = 6000
    x, t, u, y = (buffer(0, (n,), "input", 0), buffer(1, (n,)), buffer(2, (n,)), buffer(3, (n,), "output", 0))
    steps = (kernel_step("add_one", x, t), ExternStep(Extern("test_row", (whole(x),), (whole(u),))),
             kernel_step("add", t, u, y))
    where, total = places(3, t, u)
    inner["f"] = f = runner.make(Plan((x, t, u, y), steps, where, total, (new_output(y),)), kernels())

    def expected(v):
        return v + 1 + (expected(v + 1) if v < 3 else v)

    (out,) = f(torch.zeros(n))
    assert torch.equal(out, torch.full((n,), float(expected(0.0))))


def test_python_error_passes_through(runner, python_row):
    def fail(ins, outs, params):
        raise KeyError("mine")

    python_row(fail)
    with pytest.raises(KeyError, match="mine"):
        run(runner, "test_row", [torch.randn(3)], [((3,), torch.float32)])


def test_unknown_kind(runner):
    with pytest.raises(Unavailable, match="no_such_kind"):
        run(runner, "no_such_kind", [torch.randn(3)], [((3,), torch.float32)])

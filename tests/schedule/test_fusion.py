"""What becomes one kernel, what does not and why, and that the numbers are eager's all the same."""

import torch
import torch.nn.functional as F

import pellucid
from pellucid.ir.types import Fold, For
from pellucid.schedule.text import kernel_text

from .differential import check, kernels


def rand(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def leading(kernel):
    """Sizes and modes of the nested loops down to the first body of several statements."""
    found, body = [], kernel.body
    while len(body) == 1 and isinstance(body[0], For):
        found.append((body[0].axis.size, body[0].mode))
        body = body[0].body
    return found


def test_pointwise_chain_is_one_flat_kernel():
    plan = check(lambda f, x, y: f(torch.relu, f(torch.add, f(torch.mul, x, 2.0), y)), rand(8, 4, 16), rand(8, 4, 16))
    (k,) = kernels(plan)
    assert leading(k) == [(512, "parallel")] and plan.arena_bytes == 0


def test_symbolic_pointwise_is_one_flat_axis_too():
    plan = check(lambda f, x, y: f(torch.add, x, y), rand(8, 16), rand(8, 16), dynamic=((0, 0), (1, 0)),
                 others=((rand(3, 16), rand(3, 16)),))
    (k,) = kernels(plan)
    assert len(leading(k)) == 1


def test_softmax_is_one_kernel_that_computes_exp_once():
    plan = check(lambda f, x: f(torch.softmax, x, -1), rand(4, 8, 33))
    (k,) = kernels(plan)
    assert leading(k) == [(32, "parallel")] and len(k.rows) == 1
    assert kernel_text(k).count("exp(") == 1


def test_layer_norm_with_residual_and_both_outputs():
    def fn(f, x, y, w, b):
        h = f(torch.add, x, y)
        return f(F.layer_norm, h, (48,), w, b), h
    plan = check(fn, rand(6, 5, 48), rand(6, 5, 48), rand(48), rand(48))
    (k,) = kernels(plan)
    assert leading(k) == [(30, "parallel")]
    assert sum(isinstance(s, Fold) for s in k.body[0].body) == 2


def test_rms_norm_written_out():
    def fn(f, x, w):
        v = f(torch.mean, f(torch.pow, x, 2), -1, True)
        return f(torch.mul, w, f(torch.mul, x, f(torch.rsqrt, f(torch.add, v, 1e-6))))
    assert len(kernels(check(fn, rand(3, 7, 32), rand(32)))) == 1


def test_masked_scaled_softmax_between_products():
    def fn(f, q, k, v, m):
        s = f(torch.add, f(torch.mul, f(torch.matmul, q, f(torch.transpose, k, -1, -2)), 0.25), m)
        return f(torch.matmul, f(torch.softmax, s, -1), v)
    plan = check(fn, rand(2, 3, 8, 16), rand(2, 3, 8, 16), rand(2, 3, 8, 16), rand(2, 1, 1, 8))
    assert len(plan.steps) == 3 and len(kernels(plan)) == 1
    assert (0, 1, "gemm is a call") in plan.not_fused


def test_reduction_over_the_first_dimension_is_vectorised_over_the_second():
    plan = check(lambda f, x: f(torch.sum, x, 0), rand(50, 64))
    (k,) = kernels(plan)
    assert [mode for _, mode in leading(k)] == ["vector"] and not k.body[0].body[0].vector


def test_softmax_over_a_middle_dimension():
    assert len(kernels(check(lambda f, x: f(torch.softmax, x, 1), rand(2, 9, 32)))) == 1


def test_full_reduction_of_much_data_is_not_one_row_with_its_consumer():
    plan = check(lambda f, x: f(torch.div, x, f(torch.sum, x)), rand(512, 512))
    assert len(kernels(plan)) >= 2
    assert any("too few rows" in why for _, _, why in plan.not_fused)


def test_full_reduction_of_much_data_has_two_stages_that_threads_can_share():
    plan = check(lambda f, x: f(torch.sum, f(torch.mul, x, x)), rand(512, 1024), rtol=1e-4, atol=0.0)
    first, second = [s for s in plan.steps]
    assert first.extent == 64 and first.grain < 32 and second.extent == 1


def test_outputs_that_read_the_same_data_share_a_kernel():
    plan = check(lambda f, x: (f(torch.sin, x), f(torch.cos, x)), rand(16, 16))
    assert len(kernels(plan)) == 1


def test_statistics_beside_each_other_share_a_pass():
    plan = check(lambda f, x: (f(torch.sum, x, -1), f(torch.amax, x, -1), f(torch.exp, x)), rand(16, 24))
    (k,) = kernels(plan)
    folds = [s for s in k.body[0].body if isinstance(s, Fold)]
    assert len(folds) == 1 and len(folds[0].accumulators) == 2


def test_pieces_of_cat_are_computed_in_place():
    plan = check(lambda f, x, y: f(torch.cat, (f(torch.relu, x), f(torch.neg, y)), 1), rand(4, 8), rand(4, 5))
    assert plan.arena_bytes == 0


def test_rotary_embedding():
    def fn(f, q, cos, sin):
        half = q.shape[-1] // 2
        a, b = f(torch.narrow, q, -1, 0, half), f(torch.narrow, q, -1, half, half)
        rotated = f(torch.cat, (f(torch.neg, b), a), -1)
        return f(torch.add, f(torch.mul, q, cos), f(torch.mul, rotated, sin))
    check(fn, rand(2, 4, 6, 16), rand(2, 1, 6, 16), rand(2, 1, 6, 16))


def test_flattened_view_of_a_pointwise_result_is_inlined():
    def fn(f, x, y):
        return f(torch.add, f(torch.reshape, f(torch.exp, f(torch.transpose, x, 0, 1)), (80,)), y)
    assert len(kernels(check(fn, rand(8, 10), rand(80)))) == 1


def test_a_dear_value_is_computed_once_for_several_readers_elsewhere():
    def fn(f, x, w):
        e = f(torch.exp, x)
        return f(torch.matmul, e, w), f(torch.neg, f(torch.transpose, e, 0, 1))
    plan = check(fn, rand(16, 16), rand(16, 16))
    assert sum("exp(" in kernel_text(k) for k in kernels(plan)) == 1


def test_argmax_keeps_the_first_of_equals_after_fusion():
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    check(lambda f, x: f(torch.argmax, f(torch.add, x, 1.0), -1), x, exact=True)


def test_cumulative_sum_and_its_consumer():
    check(lambda f, x: f(torch.mul, f(torch.cumsum, f(torch.add, x, 1.0), 1), 2.0), rand(3, 9))


def test_index_check_survives_a_slice_of_the_gather():
    """Eager checks every index, also of rows that are thrown away afterwards."""
    import pytest

    from pellucid.runtime.errors import StepFailed
    from pellucid.runtime.reference import ReferenceRunner

    def fn(f, table, ids):
        return f(torch.narrow, f(F.embedding, ids, table), 0, 0, 1)
    table, ids = rand(5, 4), torch.tensor([1, 2, 3])
    plan = check(fn, table, ids)
    with pytest.raises(StepFailed):
        ReferenceRunner().make(plan, None)(table, torch.tensor([1, 2, 7]))


def test_equal_layers_share_kernels():
    def fn(f, x, *ws):
        for w in ws:
            x = f(torch.tanh, f(torch.matmul, x, w))
        return x
    plan = check(fn, rand(8, 16), *[rand(16, 16) for _ in range(4)])
    names = [k.name for k in kernels(plan)]
    assert len(names) == 4 and len(set(names)) <= 2  # the last one writes an output


def test_whole_transformer_layer_with_symbolic_batch():
    from .models import encoder

    fn, xs, more = encoder(layers=2)
    plan = check(fn, *xs, dynamic=((0, 0), ), others=(more,), rtol=1e-4, atol=1e-5)
    assert len(plan.steps) < 40


def test_a_load_at_an_index_that_the_same_kernel_makes():
    """softmax gathered at the argmax of the same rows: the index in a read of a scratch row is a member's result."""
    def f(s):
        p = torch.softmax(s.masked_fill(s < 0, float("-inf")), -1)
        i = s.argmax(-1, keepdim=True)
        return p.gather(-1, i), torch.where(i > 1, p.gather(-1, i), p.gather(-1, (i + 1) % 4))
    torch.manual_seed(0)
    pellucid.reset()
    for n in (1, 5, 40):
        s = torch.randn(n, 4)
        s[:, 0] = s[:, 0].abs()
        fast = pellucid.compile(f, options={"strict": True})
        for _ in range(2):
            for a, b in zip(fast(s), f(s)):
                torch.testing.assert_close(a, b)
        assert pellucid.counters()["eager_fallback_count"] == 0

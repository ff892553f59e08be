"""The reference evaluation against eager, on programs, kernels and plans made by hand."""

import math

import pytest
import torch

from pellucid.graph.types import Graph, SymbolDef
from pellucid.ir.build import Lowering, broadcast_load, call, cast, load
from pellucid.ir.types import (
    Accumulator,
    Axis,
    Buffer,
    Call,
    Extern,
    Fold,
    For,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Map,
    Program,
    Reduce,
    Running,
    Scan,
    Scatter,
    SizeOf,
    Var,
    View,
    Write,
)
from pellucid.runtime.errors import IndexFailed, PreconditionFailed, StepFailed
from pellucid.runtime.evaluate import Memory, flat_of
from pellucid.runtime.reference import ReferenceRunner, run_kernel, run_program
from pellucid.schedule.types import Commit, ExternStep, KernelStep, NewOutput, Place, Plan, ViewOfInput, ViewOfOutput
from pellucid.shapes.dim import Dim, Sym
from pellucid.shapes.env import SizeGuard

F32, I64 = torch.float32, torch.int64


class Hand:
    """Buffers and axes for programs written by hand."""

    def __init__(self):
        self.buffers, self.axes = [], 0

    def buffer(self, shape, dtype=F32, strides=None, space="arena", index=None):
        if strides is None:
            strides, step = [], 1
            for n in reversed(shape):
                strides.insert(0, step)
                step = step * n
        self.buffers.append(Buffer(len(self.buffers), dtype, tuple(shape), tuple(strides), space, index))
        b = self.buffers[-1]
        return View(b.id, dtype, b.shape, b.strides, 0)

    def like(self, t, index):
        return self.buffer(t.shape, t.dtype, t.stride(), "input", index)

    def axis(self, n):
        self.axes += 1
        return Axis(self.axes, n)

    def program(self, loops, outputs):
        return Program(tuple(self.buffers), tuple(loops), (0,) * len(loops), tuple(outputs))


def idx(*axes):
    return tuple(Index(a) for a in axes)


def test_map_with_broadcast_transposed_and_negative_strides():
    a, b = torch.randn(5, 4).t(), torch.randn(5)
    h = Hand()
    va, vb, out = h.like(a, 0), h.like(b, 1), h.buffer((4, 5))
    i, j = h.axis(4), h.axis(5)
    flipped = call("sub", Literal(4, I64), Index(j))
    value = call("add", load(va, idx(i, j)), Load(vb, (flipped,)))
    (got,) = run_program(h.program([Map(out, (i, j), value)], [out]), [a, b])
    assert torch.equal(got, a + b.flip(0))


def test_gather_checks_its_index():
    table, ids = torch.randn(7, 3), torch.tensor([1, -1, 6, 0])
    h = Hand()
    vt, vi, out = h.like(table, 0), h.like(ids, 1), h.buffer((4, 3))
    i, j = h.axis(4), h.axis(3)
    at = call("check_index", load(vi, idx(i)), Literal(7, I64))
    p = h.program([Map(out, (i, j), Load(vt, (at, Index(j))))], [out])
    assert torch.equal(run_program(p, [table, ids])[0], table[ids])
    for bad in (7, -8):
        ids[2] = bad
        with pytest.raises(IndexFailed, match="size 7"):
            run_program(p, [table, ids])


def test_masked_load_does_not_touch_what_the_mask_excludes():
    x = torch.randn(3)
    h = Hand()
    vx, out = h.like(x, 0), h.buffer((8,))
    i = h.axis(8)
    inside = call("and", call("ge", Index(i), Literal(2, I64), dtype=torch.bool),
                  call("lt", Index(i), Literal(5, I64), dtype=torch.bool))
    value = Load(vx, (call("sub", Index(i), Literal(2, I64)),), inside, Literal(-1.0, F32))
    (got,) = run_program(h.program([Map(out, (i,), value)], [out]), [x])
    assert torch.equal(got, torch.nn.functional.pad(x, (2, 3), value=-1.0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_types_round_after_each_call(dtype):
    x, y = torch.randn(64, dtype=dtype), torch.randn(64, dtype=dtype)
    h = Hand()
    vx, vy, out = h.like(x, 0), h.like(y, 1), h.buffer((64,), dtype)
    i = h.axis(64)
    value = call("tanh", call("add", call("mul", load(vx, idx(i)), load(vy, idx(i))), load(vx, idx(i))))
    (got,) = run_program(h.program([Map(out, (i,), value)], [out]), [x, y])
    assert torch.equal(got, torch.tanh(x * y + x))


def test_integers_wrap_and_casts_truncate():
    x = torch.tensor([2**31 - 1, -5, 7], dtype=torch.int32)
    h = Hand()
    vx, out, out2 = h.like(x, 0), h.buffer((3,), torch.int32), h.buffer((3,), torch.int8)
    i = h.axis(3)
    loops = [Map(out, (i,), call("add", load(vx, idx(i)), Literal(1, torch.int32))),
             Map(out2, (i,), cast(call("mul", cast(load(vx, idx(i)), F32), Literal(0.5, F32)), torch.int8))]
    got, got2 = run_program(h.program(loops, [out, out2]), [x])
    assert got.tolist() == [-2**31, -4, 8]
    assert got2[1:].tolist() == [-2, 3]


@pytest.mark.parametrize("combiner, eager", [
    ("sum", lambda x: x.sum(1)), ("prod", lambda x: x.prod(1)), ("min", lambda x: x.amin(1)),
    ("max", lambda x: x.amax(1)), ("argmax", lambda x: x.argmax(1)), ("argmin", lambda x: x.argmin(1))])
def test_reductions(combiner, eager):
    x = torch.randn(4, 6, 3)
    x[1, 2, 0] = math.nan
    h = Hand()
    dtype = I64 if combiner.startswith("arg") else F32
    vx, out = h.like(x, 0), h.buffer((4, 3), dtype)
    i, k, r = h.axis(4), h.axis(3), h.axis(6)
    p = h.program([Reduce(out, (i, k), (r,), combiner, load(vx, idx(i, r, k)), dtype)], [out])
    torch.testing.assert_close(run_program(p, [x])[0], eager(x), equal_nan=True)


@pytest.mark.parametrize("combiner, expected", [("sum", 0.0), ("prod", 1.0), ("max", -math.inf), ("min", math.inf)])
def test_empty_reduction_is_neutral(combiner, expected):
    h = Hand()
    vx, out = h.like(torch.empty(2, 0), 0), h.buffer((2,))
    i, r = h.axis(2), h.axis(0)
    p = h.program([Reduce(out, (i,), (r,), combiner, load(vx, idx(i, r)), F32)], [out])
    assert run_program(p, [torch.empty(2, 0)])[0].tolist() == [expected] * 2


@pytest.mark.parametrize("combiner, eager", [("sum", torch.cumsum), ("prod", torch.cumprod)])
def test_scan(combiner, eager):
    x = torch.randn(3, 5)
    h = Hand()
    vx, out = h.like(x, 0), h.buffer((3, 5))
    i, j = h.axis(3), h.axis(5)
    p = h.program([Scan(out, (i, j), i, combiner, load(vx, idx(i, j)))], [out])
    torch.testing.assert_close(run_program(p, [x])[0], eager(x, 0))


def test_scatter_keeps_order_and_combines():
    at, x = torch.tensor([2, 0, 2, 1, 2]), torch.arange(1.0, 6.0)
    h = Hand()
    vat, vx, last, total = h.like(at, 0), h.like(x, 1), h.buffer((4,)), h.buffer((4,))
    i, j = h.axis(4), h.axis(5)
    zero = Literal(0.0, F32)
    p = h.program([Map(last, (i,), zero), Map(total, (i,), zero),
                   Scatter(last, (j,), (load(vat, idx(j)),), load(vx, idx(j))),
                   Scatter(total, (j,), (load(vat, idx(j)),), load(vx, idx(j)), "sum")], [last, total])
    got, got2 = run_program(p, [at, x])
    assert got.tolist() == [2, 4, 5, 0] and got2.tolist() == [2, 4, 9, 0]


def test_symbolic_sizes():
    s = Sym("s0")
    n = Dim.of(s)
    x = torch.randn(3, 7)
    h = Hand()
    vx, out = h.buffer((3, n), strides=(n, 1), space="input", index=0), h.buffer((n, 3))
    i, j = h.axis(n), h.axis(3)
    value = call("add", load(vx, idx(j, i)), cast(SizeOf(n), F32))
    (got,) = run_program(h.program([Map(out, (i, j), value)], [out]), [x], {s: 7})
    assert torch.equal(got, x.t() + 7)


def test_gemm_batched_with_alpha_and_broadcast_bias():
    a, b, bias = torch.randn(2, 3, 4), torch.randn(2, 5, 4).transpose(1, 2), torch.randn(5)
    h = Hand()
    ins = (h.like(a, 0), h.like(b, 1), h.like(bias, 2))
    out = h.buffer((2, 3, 5))
    (got,) = run_program(h.program([Extern("gemm", ins, (out,), (("alpha", 0.5),))], [out]), [a, b, bias])
    torch.testing.assert_close(got, bias + 0.5 * (a @ b))


def test_unknown_extern_names_the_kinds_there_are():
    with pytest.raises(NotImplementedError, match="gemm"):
        run_program(Program((), (Extern("telepathy", (), ()),), (0,), ()), [])


def softmax_kernel(rows, cols):
    """Row softmax with a scratch row that keeps exp."""
    x = Buffer(0, F32, (rows, cols), (cols, 1), "input", 0)
    y = Buffer(1, F32, (rows, cols), (cols, 1), "output", 0)
    row = Buffer(2, F32, (cols,), (1,), "row")
    vx, vy, vrow = (View(b.id, F32, b.shape, b.strides) for b in (x, y, row))
    i, r, s, t = Axis(0, rows), Axis(1, cols), Axis(2, cols), Axis(3, cols)
    top, total, e = Var(0, F32), Var(1, F32), Var(2, F32)
    body = (Fold((r,), (), (Accumulator(top, "max", Load(vx, idx(i, r))),)),
            Fold((s,), (Let(e, Call("exp", (Call("sub", (Load(vx, idx(i, s)), top), F32),), F32)),
                        Write(vrow, idx(s), e)), (Accumulator(total, "sum", e),)),
            For(t, (Write(vy, idx(i, t), Call("div", (Load(vrow, idx(t)), total), F32)),), "vector"))
    return Kernel("softmax", (For(i, body, "parallel"),), (x, y), (), (row,), (0,), (1,), (0,)), x, y


def test_kernel_with_folds_and_a_private_row():
    k, bx, by = softmax_kernel(4, 9)
    x, y = torch.randn(4, 9), torch.empty(4, 9)
    run_kernel(k, Memory({0: flat_of(x), 1: flat_of(y)}, {}))
    torch.testing.assert_close(y, x.softmax(1))


def test_kernel_in_place_and_running():
    x = torch.randn(3, 5)
    before = x.clone()
    b = Buffer(0, F32, (3, 5), (5, 1), "input", 0)
    v = View(0, F32, (3, 5), (5, 1))
    i, j, run, old = Axis(0, 3), Axis(1, 5), Var(0, F32), Var(1, F32)
    body = Running(j, run, "sum", Load(v, idx(i, j)),
                   (Let(old, Load(v, idx(i, j))), Write(v, idx(i, j), Call("add", (run, old), F32))))
    run_kernel(Kernel("k", (For(i, (body,), "parallel"),), (b,), (), (), (0,), (0,)), Memory({0: flat_of(x)}, {}))
    torch.testing.assert_close(x, before.cumsum(1) + before)


def test_serial_loop_with_a_dependence_between_iterations():
    x = torch.ones(6)
    v = View(0, F32, (6,), (1,))
    i = Axis(0, 5)
    nxt = Call("add", (Index(i), Literal(1, I64)), I64)
    body = For(i, (Write(v, (nxt,), Call("add", (Load(v, (nxt,)), Load(v, idx(i))), F32)),))
    run_kernel(Kernel("k", (body,), (Buffer(0, F32, (6,), (1,)),), (), (), (0,), (0,)), Memory({0: flat_of(x)}, {}))
    assert x.tolist() == [1, 2, 3, 4, 5, 6]


# ------------------------------------------------------------------ plans
def plan_of(**changes):
    """softmax(x) for x of [s0, 9]; then a view of the output, the input itself, and x committed to softmax(x)."""
    k, bx, by = softmax_kernel(Dim.of(S0), 9)
    fields = dict(buffers=(bx, by), steps=(KernelStep(k, Dim.of(S0), 1),), places=(), arena_bytes=0,
                  outputs=(NewOutput(1, F32, by.shape, by.strides), ViewOfOutput(0, (9,), (1,), 9),
                           ViewOfInput(0, bx.shape, bx.strides, 0, True)),
                  commits=(Commit(0, 1, by.shape, by.strides),), symbols=(SymbolDef(S0, 0, 0),))
    return Plan(**{**fields, **changes})


S0 = Sym("s0")


def test_plan_outputs_views_and_commit():
    x = torch.randn(4, 9)
    expected, version = x.softmax(1), x._version
    y, row, same = ReferenceRunner().make(plan_of(), None)(x)
    torch.testing.assert_close(y, expected)
    assert same is x and row.data_ptr() == y[1].data_ptr() and row.shape == (9,)
    torch.testing.assert_close(x, expected)
    assert x._version > version


def test_precondition_is_checked_before_anything_is_written():
    x = torch.randn(4, 9)
    before = x.clone()
    plan = plan_of(preconditions=(SizeGuard("<=", Dim.of(S0), 3),))
    with pytest.raises(PreconditionFailed, match="s0 <= 3.*s0 = 4"):
        ReferenceRunner().make(plan, None)(x)
    assert torch.equal(x, before)


def test_failing_step_leaves_inputs_untouched():
    x = torch.randn(4, 9)
    before = x.clone()
    bad = Buffer(7, I64, (1,), (1,), "arena")
    i = Axis(9, 1)
    check = Call("check_index", (Literal(5, I64), Literal(5, I64)), I64)
    k = Kernel("check", (For(i, (Write(View(7, I64, (1,), (1,)), idx(i), check),), "parallel"),), (bad,), (), (), (),
               (7,), (3,), True)
    plan = plan_of()
    plan = plan_of(buffers=plan.buffers + (bad,), steps=plan.steps + (KernelStep(k, 1, 1, can_raise=True),),
                   places=(Place(7, 0, 8, 1, 1),), arena_bytes=64)
    with pytest.raises(StepFailed) as e:
        ReferenceRunner().make(plan, None)(x)
    assert (e.value.step, e.value.origin) == (1, 3) and torch.equal(x, before)


def test_arena_is_shared_where_the_plan_says_so():
    """Two buffers at the same place whose lives overlap give wrong numbers: the runner takes the plan at its word."""
    def run(offset):
        x = torch.randn(8)
        bx, by = Buffer(0, F32, (8,), (1,), "input", 0), Buffer(3, F32, (8,), (1,), "output", 0)
        a, b = Buffer(1, F32, (8,), (1,)), Buffer(2, F32, (8,), (1,))
        v = {k.id: View(k.id, F32, (8,), (1,)) for k in (bx, a, b, by)}

        def step(n, out, value, reads):
            i = Axis(n, 8)
            w = For(i, (Write(v[out], idx(i), value(i)),), "parallel")
            return KernelStep(Kernel(f"k{n}", (w,), (bx, a, b, by), (), (), reads, (out,)), 8, 8)
        steps = (step(0, 1, lambda i: Call("neg", (Load(v[0], idx(i)),), F32), (0,)),
                 step(1, 2, lambda i: Call("mul", (Load(v[1], idx(i)), Literal(2.0, F32)), F32), (1,)),
                 step(2, 3, lambda i: Call("add", (Load(v[1], idx(i)), Load(v[2], idx(i))), F32), (1, 2)))
        plan = Plan((bx, a, b, by), steps, (Place(1, 0, 32, 0, 2), Place(2, offset, 32, 1, 2)), offset + 64,
                    (NewOutput(3, F32, (8,), (1,)),))
        return torch.equal(ReferenceRunner().make(plan, None)(x)[0], -3 * x)
    assert run(64) and not run(0)


def test_lowering_feeds_the_evaluator():
    """A graph with no nodes still lowers: its outputs are its inputs."""
    p = Lowering(Graph((), (), (), ())).program()
    assert run_program(p, []) == []


def test_extern_step_in_a_plan():
    a, b = torch.randn(3, 4), torch.randn(4, 2)
    ba, bb = Buffer(0, F32, (3, 4), (4, 1), "input", 0), Buffer(1, F32, (4, 2), (2, 1), "input", 1)
    bc = Buffer(2, F32, (3, 2), (2, 1), "output", 0)
    va, vb, vc = (View(x.id, F32, x.shape, x.strides) for x in (ba, bb, bc))
    steps = (ExternStep(Extern("gemm", (va, vb), (vc,))),)
    plan = Plan((ba, bb, bc), steps, (), 0, (NewOutput(2, F32, (3, 2), (2, 1)),))
    torch.testing.assert_close(ReferenceRunner().make(plan, None)(a, b)[0], a @ b)


def test_broadcast_load_reads_size_one_dimensions_at_zero():
    x, y = torch.randn(3, 1), torch.randn(4)
    h = Hand()
    vx, vy, out = h.like(x, 0), h.like(y, 1), h.buffer((3, 4))
    i, j = h.axis(3), h.axis(4)
    value = call("mul", broadcast_load(vx, idx(i, j)), broadcast_load(vy, idx(i, j)))
    assert torch.equal(run_program(h.program([Map(out, (i, j), value)], [out]), [x, y])[0], x * y)

"""The GraphModule view, replayed on real tensors, does what the calls did: writes, views, symbolic sizes, grad mode."""

import operator

import pytest
import torch

from pellucid.capture.torch_calls import load_catalogue
from pellucid.graph.build import GraphBuilder, Val
from pellucid.graph.to_fx import to_fx
from pellucid.graph.types import SymbolDef, TensorMeta
from pellucid.guards.types import Source
from pellucid.ops.registry import FUNCTIONS, METHODS
from pellucid.runtime.errors import StepFailed
from pellucid.runtime.runners import replay

load_catalogue()


class Recorder:
    """Records calls through the catalogue, as capture does."""

    def __init__(self, **inputs: torch.Tensor):
        self.b = GraphBuilder()
        self.inputs = {n: self.b.input(TensorMeta(t.dtype, tuple(t.shape), t.stride()), Source("arg", None, n))
                       for n, t in inputs.items()}

    def method(self, name, *args, grad=None, **kwargs):
        r = METHODS[name](self.b, *args, **kwargs)
        self.b.record("method", name, args, kwargs, r, (), (), () if grad is None else (grad,))
        return r

    def function(self, fn, *args, **kwargs):
        r = FUNCTIONS[fn](self.b, *args, **kwargs)
        self.b.record("function", fn, args, kwargs, r, ())
        return r


def test_names_and_order_of_inputs():
    x, y = torch.randn(2, 3), torch.randn(3)
    r = Recorder(x=x, y=y)
    out = r.function(torch.add, r.inputs["x"], r.inputs["y"])
    gm = to_fx(r.b.finish((out,)))
    assert [n.name for n in gm.graph.nodes if n.op == "placeholder"] == ["in0_x", "in1_y"]
    assert isinstance(gm(x, y), tuple)
    torch.testing.assert_close(gm(x, y)[0], x + y)


def test_in_place_calls_write_into_the_inputs():
    x = torch.randn(4)
    r = Recorder(x=x)
    v = r.inputs["x"]
    first = r.method("mul", v, 3)
    written = r.method("add_", v, 1)
    after = r.method("mul", v, 2)
    gm = to_fx(r.b.finish((first, written, after, v)))
    a, b = x.clone(), x.clone()
    want = (a * 3, a.add_(1), a * 2, a)
    got = gm(b)
    for w, g in zip(want, got):
        torch.testing.assert_close(g, w)
    assert got[1] is b and got[3] is b


def test_a_view_sees_a_later_write_to_its_base_and_the_base_one_to_the_view():
    x = torch.randn(2, 3)
    r = Recorder(x=x)
    v = r.inputs["x"]
    view = r.method("t", v) if "t" in METHODS else r.method("transpose", v, 0, 1)
    r.method("add_", v, 1)
    r.method("mul_", view, 2)
    out = r.method("clone", view)
    gm = to_fx(r.b.finish((view, out, v)))
    b = x.clone()
    got = gm(b)
    want = (x + 1) * 2
    torch.testing.assert_close(got[0], want.t())
    torch.testing.assert_close(got[1], want.t())
    assert got[2] is b and got[0].untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def test_symbolic_sizes_are_read_from_the_inputs():
    b = GraphBuilder()
    n = b.env.symbol(4)
    (sym,) = n.terms[0][0]
    v = b.input(TensorMeta(torch.float32, (n, 6), (6, 1)), Source("arg", None, "x"))
    b.symbols.append(SymbolDef(sym, 0, 0))
    half = METHODS["view"](b, v, n * 2, 3) if "view" in METHODS else METHODS["reshape"](b, v, n * 2, 3)
    b.record("method", "reshape", (v, n * 2, 3), {}, half, ())
    gm = to_fx(b.finish((half,)))
    for size in (2, 4, 7):
        x = torch.randn(size, 6)
        torch.testing.assert_close(gm(x)[0], x.reshape(size * 2, 3))


def test_several_outputs_are_taken_apart():
    x = torch.randn(6)
    r = Recorder(x=x)
    parts = r.method("chunk", r.inputs["x"], 3)
    assert all(isinstance(p, Val) for p in parts)
    gm = to_fx(r.b.finish((parts[2], parts[0])))
    assert [n.target for n in gm.graph.nodes if n.op == "call_function"] == [operator.getitem] * 3
    got = gm(x)
    torch.testing.assert_close(got[0], x[4:])
    torch.testing.assert_close(got[1], x[:2])


def test_grad_mode_is_switched_where_the_program_did():
    x = torch.randn(3, requires_grad=True)
    r = Recorder(x=x)
    with torch.enable_grad():
        a = r.method("mul", r.inputs["x"], 2, grad=True)
        b = r.method("mul", a, 3, grad=False)
        c = r.method("add", a, b, grad=True)
        gm = to_fx(r.b.finish((a, b, c)))
        ga, gb, gc = gm(x)
        assert ga.requires_grad and not gb.requires_grad and gc.requires_grad and torch.is_grad_enabled()
        gc.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 2.0))


def test_a_failed_replay_has_done_nothing():
    x, i = torch.randn(3), torch.tensor([7])
    r = Recorder(x=x, i=i)
    v = r.inputs["x"]
    r.method("add_", v, 1)
    out = r.method("index_select", v, 0, r.inputs["i"])
    graph = r.b.finish((out,))
    run = replay(graph, to_fx(graph))
    mine = x.clone()
    with pytest.raises(StepFailed, match="IndexError"):
        run(mine, i)
    assert torch.equal(mine, x)
    run(mine, torch.tensor([1]))
    assert torch.equal(mine, x + 1)


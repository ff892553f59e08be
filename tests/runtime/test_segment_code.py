"""Generated segments: effects in order, breaks with their two outcomes, frames that look like the user's."""

import inspect
import operator
import traceback
import warnings

import pytest
import torch

from pellucid.bytecode.decode import decode
from pellucid.capture.types import (
    Branch,
    Break,
    Build,
    Effect,
    FrameState,
    FromConst,
    FromGraph,
    FromNative,
    FromSource,
    Return,
    Segment,
    Shared,
)
from pellucid.events.record import record
from pellucid.events.types import UserFrame
from pellucid.graph.build import GraphBuilder
from pellucid.graph.types import TensorMeta
from pellucid.guards.types import Guard, Source
from pellucid.options import parse
from pellucid.runtime import frontend
from pellucid.runtime.compiled import Compiled
from pellucid.runtime.target import target

from .handmade import tensor_guard

X, OUT = Source("arg", None, "x"), Source("arg", None, "out")


def slot(n):
    return FromSource(Source("slot", None, n))


def twice(x, source):
    b = GraphBuilder()
    v = b.input(TensorMeta(x.dtype, tuple(x.shape), x.stride()), source)
    out = b._val(v.meta)
    b.record("function", operator.mul, (v, 2), {}, out, ())
    return b.finish((out,)), Guard("tensor", source, tensor_guard(x))


EMPTY = GraphBuilder().finish(())


def compiled(fn):
    return Compiled(target(fn), parse(backend="eager", options={"strict": True}))


def test_effects_are_built_before_the_first_write_and_written_in_order(monkeypatch):
    class Thing:
        a, b = 1, 2

    def swap(out, x): ...

    def capture(target, slots, dynamic, budget):
        graph, guard = twice(slots[1], X)
        a, b = (FromSource(Source("attr", OUT, n)) for n in "ab")
        effects = (Effect("setattr", FromSource(OUT), "a", b), Effect("setattr", FromSource(OUT), "b", a),
                   Effect("setattr", FromSource(OUT), "t", FromGraph(0)),
                   Effect("setattr", FromSource(OUT), "l", Shared(0)))
        value = Build("tuple", (Shared(0), FromSource(Source("attr", OUT, "a"))))
        return Segment(graph, (guard,), effects, Return(value), (Build("list", (FromGraph(0),)),))
    monkeypatch.setattr(frontend, "capture_call", capture)
    c, t, x = compiled(swap), Thing(), torch.ones(2)
    made, a = c.call(t, x)
    assert (t.a, t.b, a) == (2, 1, 1), "the value means the state before the effects"
    assert made is t.l and torch.equal(t.t, x * 2)
    c.call(t, x)
    assert (t.a, t.b) == (1, 2)


# ---------------------------------------------------------------- a break in a callee
seen = []


def probe(x):
    """A native operation that looks at its callers."""
    frame = inspect.currentframe().f_back
    seen.append([(f.f_code.co_name, f.f_lineno) for f in (frame, frame.f_back)])
    warnings.warn("from here", stacklevel=2)
    if float(x[0]) < 0:
        raise ValueError("negative")
    return x


def inner(x):
    try:
        return probe(x * 2)
    except ValueError:
        return None


def outer(x):
    return inner(x)


def position(fn, op="CALL"):
    """(index behind the last such instruction, the user's frame there)."""
    code = decode(fn.__code__)
    index = max(i for i, ins in enumerate(code.instrs) if ins.op == op)
    p = code.position(index)
    return code, index + 1, UserFrame(code.file, p.line, code.qualname, p.end_line, p.col, p.end_col)


def first_call(fn):
    code = decode(fn.__code__)
    index = next(i for i, ins in enumerate(code.instrs) if ins.op == "CALL")
    p = code.position(index)
    return code, index + 1, UserFrame(code.file, p.line, code.qualname, p.end_line, p.col, p.end_col)


def break_at_probe(target, slots, dynamic, budget):
    graph, guard = twice(slots[0], X)
    outer_code, outer_index, outer_frame = first_call(outer)
    inner_code, inner_index, inner_frame = first_call(inner)
    frames = (FrameState(outer_code, None, globals(), outer_index, (FromSource(X),), ()),
              FrameState(inner_code, None, globals(), inner_index, (FromConst(7),), ()))
    return Segment(graph, (guard,), (), Break(FromConst(probe), (FromGraph(0),), (), frames, "PB104", "probe", "none",
                                              (outer_frame, inner_frame)))


def return_slot(resume, slots, dynamic, budget):
    """Returns (outcome, the last slot)."""
    n = len(slots) - 1
    source = Source("slot", None, n)
    value = Build("tuple", (FromConst(resume.outcome), FromSource(source)))
    return Segment(EMPTY, (Guard("type", source, type(slots[n])),), (), Return(value))


@pytest.fixture
def broken(monkeypatch):
    seen.clear()
    record.clear()
    monkeypatch.setattr(frontend, "capture_call", break_at_probe)
    monkeypatch.setattr(frontend, "capture_continuation", return_slot)
    return compiled(outer)


def test_the_native_operation_sees_the_users_frames(broken):
    x = torch.ones(2)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        for _ in range(3):
            outcome, value = broken.call(x)
    assert outcome == "value" and torch.equal(value, x * 2)
    with warnings.catch_warnings(record=True) as eagers:
        warnings.simplefilter("always")
        outer(x)
    assert seen[0] == seen[-1], "the same functions and lines as in eager"
    assert (ours[0].filename, ours[0].lineno) == (eagers[0].filename, eagers[0].lineno)
    root, after, failed = broken.all_tables()
    assert (root.hits, root.misses, after.hits, after.misses, failed.misses) == (2, 1, 2, 1, 0)
    assert [e.message for e in record.events("graph_break")] == ["probe"]


def test_the_exception_outcome_has_a_table_of_its_own(broken):
    x = -torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            outcome, error = broken.call(x)
    assert outcome == "exception" and type(error) is ValueError
    names = [f.name for f in traceback.extract_tb(error.__traceback__)]
    assert names == ["inner", "probe"], "as eager's handler would see it"
    assert traceback.extract_tb(error.__traceback__)[0].line == "return probe(x * 2)"
    root, after, failed = broken.all_tables()
    assert (after.misses, failed.misses, failed.hits) == (0, 1, 1)


def test_a_break_that_nobody_catches_raises_through_the_users_frames(monkeypatch):
    def thrower(x):
        raise KeyError("mine")

    def user(x):
        return thrower(x)

    def capture(target, slots, dynamic, budget):
        code, index, frame = position(user)
        frames = (FrameState(code, None, globals(), index, (None, None), ()),)
        exit = Break(FromConst(thrower), (FromSource(X),), (), frames, "PB104", "", "", (frame,))
        return Segment(EMPTY, (), (), exit)
    monkeypatch.setattr(frontend, "capture_call", capture)
    with pytest.raises(KeyError) as e:
        compiled(user).call(3)
    frames = traceback.extract_tb(e.value.__traceback__)
    assert [f.name for f in frames] == ["test_a_break_that_nobody_catches_raises_through_the_users_frames", "user",
                                        "thrower"]
    assert frames[1].line == "return thrower(x)" and frames[1].lineno == user.__code__.co_firstlineno + 1


def test_a_branch_goes_to_one_of_two_tables(monkeypatch):
    def user(x):
        return 1 if x.sum() > 0 else 2

    def capture(target, slots, dynamic, budget):
        graph, guard = twice(slots[0], X)
        code, index, frame = first_call(user)

        def state(i):
            return (FrameState(code, None, globals(), i, (None,), ()),)
        exit = Branch(FromGraph(0), state(index), state(index + 1), "PB101", "", "", (frame,))
        return Segment(graph, (guard,), (), exit)

    def rest(resume, slots, dynamic, budget):
        return Segment(EMPTY, (), (), Return(FromConst(resume.frames[0].index)))
    monkeypatch.setattr(frontend, "capture_call", capture)
    monkeypatch.setattr(frontend, "capture_continuation", rest)
    c = compiled(user)
    _, index, _ = first_call(user)
    got = [c.call(torch.full((1,), v)) for v in (1.0, 0.0, 1.0, 0.0)]
    assert got == [index, index + 1, index, index + 1]
    with pytest.raises(RuntimeError) as e:
        c.call(torch.ones(2)) and c.call(torch.ones(2))
    assert traceback.extract_tb(e.value.__traceback__)[-1].name == "user"


def test_after_an_operation_that_may_change_it_global_state_is_checked_again(monkeypatch):
    def toggle(x):
        torch.set_grad_enabled(not torch.is_grad_enabled())

    def user(x):
        return toggle(x)

    def capture(target, slots, dynamic, budget):
        code, index, frame = position(user)
        frames = (FrameState(code, None, globals(), index, (None, None), ()),)
        return Segment(EMPTY, (), (), Break(FromConst(toggle), (FromSource(X),), (), frames, "PB104", "", "", (frame,)))

    def rest(resume, slots, dynamic, budget):
        return Segment(EMPTY, (), (), Return(FromConst(torch.is_grad_enabled())))
    monkeypatch.setattr(frontend, "capture_call", capture)
    monkeypatch.setattr(frontend, "capture_continuation", rest)
    c = compiled(user)
    with torch.enable_grad():
        assert [c.call(0) for _ in range(4)] == [False, True, False, True]
    (after,) = c.continuations.values()
    assert after.words is None and len(after.entries) == 2


def test_keys_of_continuations():
    from pellucid.runtime.continuation import resume_after
    code, index, frame = first_call(inner)

    def key(*locals_):
        f = FrameState(code, None, globals(), index, locals_, ())
        return resume_after(Break(FromConst(probe), (), (), (f,), "", "", "", ()), False)
    a, b = FromGraph(0), FromGraph(1)
    assert key(a, b).key == key(b, a).key, "slots are numbered by first use"
    assert key(a, a).key != key(a, b).key, "aliasing is part of the key"
    assert key(FromConst(1), a).key == key(FromConst(2), a).key, "numbers are slots"
    assert key(FromConst("1"), a).key != key(FromConst("2"), a).key
    assert key(FromConst(None), a).key != key(None, a).key
    assert key(FromConst(True), a).key != key(FromConst(False), a).key
    assert key(FromConst(1), FromConst(1.0)).slots[:2] == (FromConst(1), FromConst(1.0))
    assert key(FromConst(1), FromConst(1)).key == key(FromConst(1), FromConst(2)).key, "equal now, not always"
    t = Build("tuple", (a, FromConst("k")))
    other = Build("tuple", (b, FromConst("k")))
    assert key(t, None).slots == (a, FromNative()) and key(t, None).key == key(other, None).key

"""Decoding, the flow analyses and the text of canonical code."""

from __future__ import annotations

import dataclasses
import dis
import importlib
import sys

import pytest

from pellucid.bytecode import decode as decoding
from pellucid.bytecode.decode import decode
from pellucid.bytecode.effects import EFFECTS
from pellucid.bytecode.flow import depths, live_slots, loops, verify
from pellucid.bytecode.text import to_text
from pellucid.bytecode.types import CallArg, Handler, Instr


def ops(f):
    return [i.op for i in decode(f.__code__).instrs]


def test_every_opcode_is_listed_and_exists() -> None:
    version = importlib.import_module(f"pellucid.bytecode.py{sys.version_info[0]}{sys.version_info[1]}")
    assert set(dis.opmap) == set(version.RULES) | set(version.PSEUDO)


def test_unlisted_opcode_fails_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dis.opmap, "NEW_OPCODE", 250)
    with pytest.raises(ImportError, match="NEW_OPCODE"):
        decoding._load()


def test_unknown_version_names_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding.sys, "version_info", (3, 99, 0, "final", 0))
    with pytest.raises(ImportError, match=r"3\.11, 3\.12 and 3\.13, not 3\.99"):
        decoding._load()


def test_cached_by_identity() -> None:
    def f():
        return 1

    assert decode(f.__code__) is decode(f.__code__)
    assert decode(f.__code__.replace()) is not decode(f.__code__)


def test_call_has_a_fixed_operand_order() -> None:
    def f(g, x):
        return g(x, 1, k=2, l=x.m(3))

    d = decode(f.__code__)
    calls = [i.arg for i in d.instrs if i.op == "CALL"]
    assert calls == [CallArg(1, (), True), CallArg(2, ("k", "l"), False)]
    assert "PUSH_NULL" not in ops(f) and d.instrs[0] == Instr("LOAD_FAST", 0, None, d.instrs[0].offset)


def test_decorators_and_asserts_are_calls_with_one_argument() -> None:
    space: dict = {}          # from text: pytest rewrites assert statements
    exec("def f(d, x):\n  @d\n  def g(): pass\n  assert x, 'text'\n  return g\n", space)
    assert [i.arg.positional for i in decode(space["f"].__code__).instrs if i.op == "CALL"] == [1, 1]


def test_call_after_a_duplicated_return_block() -> None:
    """The compiler copies the end `CALL; RETURN_VALUE` into both branches; each is the same call."""

    def f(g, a, b):
        return g(a if b else 1)

    verify(decode(f.__code__))
    assert {i.arg for i in decode(f.__code__).instrs if i.op == "CALL"} == {CallArg(1, (), False)}


def test_handler_regions() -> None:
    def f(x):
        for y in x:
            try:
                y()
            except ValueError:
                return 1

    d = decode(f.__code__)
    call = next(i for i in d.instrs if i.op == "CALL")
    assert isinstance(call.handler, Handler)
    assert d.instrs[call.handler.target].op == "PUSH_EXC_INFO"
    assert call.handler.depth == 1 and not call.handler.push_lasti


def test_slots_in_one_index_space() -> None:
    def outer(free):
        def f(a, cell, *args, k=1, **kw):
            def g():
                return cell, other, free

            other = local = a
            return g, local

        return f

    d = decode(outer(1).__code__)
    assert d.slots == ("a", "cell", "k", "args", "kw", "g", "local", "other", "free")
    assert (d.argcount, d.kwonly, d.has_varargs, d.has_varkw, d.nlocals, d.nfree) == (2, 1, True, True, 7, 1)
    assert d.cells == {1, 7, 8}
    assert [d.original._varname_from_oparg(i) for i in range(len(d.slots))] == list(d.slots)


def test_positions() -> None:
    def f(x):
        return (x +
                x.attribute)

    d = decode(f.__code__)
    index = ops(f).index("LOAD_ATTR")
    assert d.line(index) == f.__code__.co_firstlineno + 2
    p = d.position(index)
    assert (p.end_line, p.end_col - p.col) == (p.line, len("x.attribute"))


def test_asynchronous_code_is_marked() -> None:
    async def f(x):
        await x

    d = decode(f.__code__)
    assert d.unsupported and all("asynchronous" in reason for _, _, reason in d.unsupported)


def test_extended_arguments() -> None:
    names = [f"v{i}" for i in range(300)]
    source = "def f():\n" + "".join(f"  {n} = {i} + g\n" for i, n in enumerate(names)) + f"  return {names[-1]}\n"
    space: dict = {}
    exec(source, space)
    d = decode(space["f"].__code__)
    verify(d)
    assert d.instrs[-2].op == "LOAD_FAST" and d.slots[d.instrs[-2].arg] == "v299"


# ------------------------------------------------------------------ flow
def test_live_slots() -> None:
    def f(a, b, c):
        x = a
        try:
            y = b()
        except ValueError:
            return c
        return x, y

    d = decode(f.__code__)
    a, b, c, x, y = (d.slot(n) for n in "abcxy")
    assert live_slots(d, 0) == {a, b, c}
    call = ops(f).index("CALL")
    assert live_slots(d, call + 1) == {x, c}
    assert live_slots(d, call + 2) == {x, y}


def test_live_slots_where_the_frame_may_be_read() -> None:
    class C:
        def f(self, a):
            a = 1
            return super().f(), a

        def g(self, a):
            b = a
            return locals(), b

    f, g = decode(C.f.__code__), decode(C.g.__code__)
    assert {f.slot("self"), f.slot("__class__")} <= live_slots(f, len(f.instrs) - 1)
    assert live_slots(g, len(g.instrs) - 1) == set(range(len(g.slots)))


def test_loops() -> None:
    def f(xs):
        for x in xs:
            while x:
                x -= 1
        return xs

    d = decode(f.__code__)
    outer, inner = loops(d)
    assert d.instrs[outer.head].op == "FOR_ITER"
    assert inner.body < outer.body
    assert not any(d.instrs[i].op == "RETURN_VALUE" for i in outer.body)
    assert loops(decode((lambda: 1).__code__)) == ()


def test_verify_refuses_wrong_code() -> None:
    def f(a, b):
        return a + b

    d = decode(f.__code__)
    dropped = dataclasses.replace(d, instrs=d.instrs[1:])
    with pytest.raises(ValueError, match="BINARY takes 2 values, 1 are there"):
        verify(dropped)
    jumps = (Instr("JUMP", 99, None, 0), *d.instrs)
    with pytest.raises(ValueError, match="out of range"):
        verify(dataclasses.replace(d, instrs=jumps))


def test_depths() -> None:
    def f(g):
        return g(1, [2])

    assert depths(decode(f.__code__))[-1] == 1


# ------------------------------------------------------------------ text
def test_text() -> None:
    def f(x, *, k=1):
        for y in x.items(k=k):
            k += y
        return k

    assert to_text(decode(f.__code__)).splitlines()[1:] == [
        "slots x k y",
        f"line {f.__code__.co_firstlineno + 1}",
        "   0  LOAD_FAST x",
        "   1  LOAD_ATTR items",
        "   2  LOAD_FAST k",
        "   3  CALL 0 k= method",
        "   4  GET_ITER",
        "   5  FOR_ITER -> 12",
        "   6  STORE_FAST y",
        f"line {f.__code__.co_firstlineno + 2}",
        "   7  LOAD_FAST k",
        "   8  LOAD_FAST y",
        "   9  BINARY iadd",
        "  10  STORE_FAST k",
        "  11  JUMP -> 5",
        f"line {f.__code__.co_firstlineno + 3}",
        "  12  LOAD_FAST k",
        "  13  RETURN_VALUE",
    ]


def test_text_has_no_addresses() -> None:
    def f():
        def g():
            pass

        return g, (lambda: (1, (2,)))

    assert "0x" not in to_text(decode(f.__code__))


def test_every_op_has_a_handler() -> None:
    from pellucid.capture.handlers.table import HANDLERS

    assert HANDLERS.keys() == EFFECTS.keys()

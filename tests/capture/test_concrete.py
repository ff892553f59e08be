"""The machine with the concrete domain: stopping, going on, frames as data, errors, positions."""

from __future__ import annotations

import sys
import traceback

import pytest

from pellucid.bytecode.decode import decode
from pellucid.bytecode.flow import live_slots
from pellucid.capture.concrete import Concrete, finish, interpret, start
from pellucid.capture.executor import (
    DROP,
    RETURNS,
    Budget,
    Machine,
    Returned,
    ReturnRule,
    Stopped,
    deliver,
    handled,
    skip,
    user_stack,
)
from pellucid.capture.frames import UNBOUND, Frame, Stop, Then, after, frames, freeze, thaw


class AtBreak(Stop):
    def __init__(self, args):
        self.args_ = args


def breaks(*args):
    raise AssertionError("never called by the machine")


class Breaking(Concrete):
    """Stops at calls of `breaks`, as a domain that meets what it cannot trace."""

    __slots__ = ()

    def call(self, f, function, args, keywords):
        if function is breaks:
            raise AtBreak(args)
        return super().call(f, function, args, keywords)


def drive(f, answers, *args):
    """Run f; at each call of `breaks` the stack becomes data, the call's answer is delivered, and new frames go on."""
    stops, dom = [], Breaking()
    outcome = Machine(dom).run(start(f, args, domain=dom))
    for answer in answers:
        assert type(outcome) is Stopped, outcome
        top = thaw(freeze(outcome.frame))
        stops.append(([g.code.name for g in frames(top)], outcome.stop.args_, list(top.stack)))
        skip(top)
        raising = None
        if isinstance(answer, BaseException):
            raising = answer
        else:
            top = deliver(None, top, None, answer)
        outcome = Machine(dom).run(top, raising)
    assert type(outcome) is Returned, outcome
    return outcome.value, stops


def test_a_stop_leaves_the_stack_before_the_instruction():
    def helper(x):
        return 10 + breaks(x, 1) * 2

    def f(x):
        return [helper(x), 5]

    value, stops = drive(f, [7], 3)
    assert value == [24, 5]
    names, args, stack = stops[0]
    assert names == ["f", "helper"] and args == [3, 1]
    assert stack == [10, breaks, 3, 1]


def test_breaks_inside_with_try_generator_and_init():
    log = []

    class Manager:
        def __enter__(self):
            log.append(breaks("enter"))
            return self

        def __exit__(self, *a):
            log.append(a[0])
            return breaks("exit")

    class Made:
        def __init__(self, x):
            self.x = breaks("init", x)

    def gen(n):
        for i in range(n):
            try:
                yield breaks("yield", i)
            finally:
                log.append(i)

    def f():
        out = []
        with Manager():
            for v in gen(2):
                try:
                    out.append(Made(v).x)
                except ValueError as e:
                    out.append((str(e), breaks("handler"), sys.exc_info()[1] is e))
            raise KeyError("k")
        return out

    answers = [1, "a", "A", "b", ValueError("no"), "h", True]
    value, stops = drive(f, answers)
    assert value == ["A", ("no", "h", True)]
    assert log == [1, 0, 1, KeyError]
    assert [s[1] for s in stops] == [["enter"], ["yield", 0], ["init", "a"], ["yield", 1], ["init", "b"], ["handler"],
                                     ["exit"]]
    assert stops[1][0] == ["f", "gen"] and stops[2][0] == ["f", "__init__"]


def test_an_exception_of_the_operation_is_raised_where_it_stands():
    def f():
        try:
            breaks()
        except ZeroDivisionError as e:
            return repr(e), e.__traceback__.tb_lineno

    value, _ = drive(f, [ZeroDivisionError("x")])
    assert value == ("ZeroDivisionError('x')", f.__code__.co_firstlineno + 2)


def test_budget_and_count():
    def f(n):
        total = 0
        for i in range(n):
            total += i
        return total

    m = Machine(Concrete())
    assert m.run(start(f, (10,))) == Returned(45)
    whole = m.instructions
    assert whole == 2 + 4 + 10 * 7 + 1 + 2       # total = 0; range(n) and its iterator; rounds; the end; return
    for budget in (0, 1, 7, whole - 1):
        m = Machine(Concrete(), budget)
        outcome = m.run(start(f, (10,)))
        assert type(outcome) is Stopped and type(outcome.stop) is Budget
        assert m.instructions == budget
        assert finish(outcome.frame) == 45


def test_only_live_slots_are_needed():
    def f(a, b):
        c = a + b
        d = c * 2
        breaks()
        return d

    dom = Breaking()
    outcome = Machine(dom).run(start(f, (1, 2), domain=dom))
    top = outcome.frame
    skip(top)
    live = live_slots(top.code, top.index)
    assert live == {top.code.slot("d")}
    top.locals = [v if i in live else UNBOUND for i, v in enumerate(top.locals)]
    assert finish(deliver(None, top, None, None)) == 6


def test_carried_on_frames_call_natively():
    seen = []

    def callee():
        seen.append(sys._getframe(0).f_code.co_name)
        return 1

    def f():
        breaks()
        return callee() + 1

    dom = Breaking()
    top = Machine(dom).run(start(f, domain=dom)).frame
    skip(top)
    m = Machine(Concrete(enter=False))
    assert m.run(deliver(None, top, None, None)) == Returned(2)
    instrs = decode(f.__code__).instrs
    assert m.instructions == len(instrs) - 3 == 6       # all of f but the free variable and the call of `breaks`
    assert seen == ["callee"]


def test_result_rules_are_data_and_can_be_added():
    def inner():
        return 5

    def f(x):
        return x + 1

    class Doubling(Concrete):
        __slots__ = ()

        def binary(self, g, fn, a, b):
            entered = self.call(g, inner, [], None)
            entered.then = Then("twice", a)
            return entered

    RETURNS["twice"] = ReturnRule(lambda m, below, v, detail, rest: deliver(m, below, rest, (v * 2, detail)))
    try:
        assert Machine(Doubling()).run(start(f, (3,))).value == (10, 3)
        assert after(Then("twice", 1), DROP) == Then("twice", 1, Then("drop"))
    finally:
        del RETURNS["twice"]


def test_truth_that_enters_a_frame_is_tested_again():
    class Entering(Concrete):
        __slots__ = ()

        def truth(self, f, a):
            if type(a) is bool:
                return a
            return self.call(f, type(a).__bool__, [a], None)

    class T:
        def __init__(self, v):
            self.v = v

        def __bool__(self):
            return self.v > 0

    def f(a, b):
        return not a, 1 if b else 2, (a or 3), [1 for x in (a, b) if x]

    dom = Entering()
    m = Machine(dom)
    a, b = T(1), T(0)
    assert m.run(start(f, (a, b), domain=dom)).value == (False, 2, a, [1])


def test_an_exception_made_by_an_interpreted_constructor():
    class Entering(Concrete):
        __slots__ = ()

        def raise_(self, f, exc, cause):
            if isinstance(exc, type):
                return self.call(f, make, [exc], None)
            return super().raise_(f, exc, cause)

    def make(kind):
        return kind("made")

    def f(from_cause):
        try:
            if from_cause:
                raise ValueError from KeyError("cause")
            raise ValueError
        except ValueError as e:
            return repr(e), repr(e.__cause__)

    dom = Entering()
    results = [Machine(dom).run(start(f, (k,), domain=dom)).value for k in (True, False)]
    assert results == [("ValueError('made')", "KeyError('cause')"), ("ValueError('made')", "None")]


def test_user_stack_names_lines_and_functions():
    def inner(x):
        return (x +
                breaks(x))

    def f():
        return inner(1)

    dom = Breaking()
    top = Machine(dom).run(start(f, domain=dom)).frame
    skip(top)
    stack = user_stack(top)
    assert [u.function.split(".")[-1] for u in stack] == ["f", "inner"]
    assert [u.line for u in stack] == [f.__code__.co_firstlineno + 1, inner.__code__.co_firstlineno + 2]
    assert all(u.file == __file__ for u in stack)
    assert stack[1].end_col - stack[1].col == len("breaks(x)")


def test_handled_exception_is_frame_state():
    def inner():
        breaks()

    def f():
        try:
            raise ValueError("v")
        except ValueError:
            inner()

    dom = Breaking()
    top = thaw(freeze(Machine(dom).run(start(f, domain=dom)).frame))
    assert repr(handled(top)) == "ValueError('v')"
    assert top.handled is None and repr(top.back.handled) == "ValueError('v')"


def test_traceback_leaves_the_machine_out():
    def inner(x):
        return 1 // x

    def f():
        return inner(0)

    with pytest.raises(ZeroDivisionError) as caught:
        interpret(f)
    lines = traceback.format_exception(caught.value)
    assert "return 1 // x" in lines[-2] and "~~^^~~" in lines[-2]
    names = [s.name for s in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["f", "inner"]


def test_what_cannot_be_interpreted():
    with pytest.raises(TypeError, match="fn: <built-in function len> has no Python code"):
        start(len, ([],))
    with pytest.raises(ValueError, match="thaw: frozen holds no frame"):
        thaw(())


def test_an_error_of_the_domain_itself_comes_out():
    """Not caught by the program's handlers, and not raised again and again."""

    class Broken(Concrete):
        __slots__ = ()

        def trace(self, f, exc):
            raise LookupError("a bug in trace")

    def f():
        try:
            return 1 / 0
        except Exception:
            return "caught"

    with pytest.raises(LookupError, match="a bug in trace"):
        Machine(Broken()).run(start(f))


def test_generators_of_native_code():
    def gen():
        got = yield 1
        while got:
            got = yield got * 2
        return "end"

    g = interpret(gen)
    assert [next(g), g.send(3), g.send(5)] == [1, 6, 10]
    with pytest.raises(StopIteration) as stop:
        g.send(0)
    assert stop.value.value == "end"
    assert list(g) == []


def test_frames_and_generators_are_freed():
    import gc
    import weakref

    class Token:
        pass

    def gen(token):
        yield token
        yield token

    def f():
        token = Token()
        seen.append(weakref.ref(token))
        g = gen(token)
        next(g)
        try:
            raise ValueError(token)
        except ValueError:
            pass
        for _ in gen(token):
            break

    seen: list = []
    interpret(f)
    gc.collect()
    assert seen[0]() is None


def test_frame_is_the_only_type_that_enters():
    assert type(start(lambda: 1)) is Frame

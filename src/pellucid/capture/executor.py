"""The machine: runs canonical code on an explicit frame stack, through a value domain."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from operator import length_hint
from typing import Any, NamedTuple, NoReturn

from ..bytecode.effects import EFFECTS
from ..bytecode.types import Code
from ..events.types import UserFrame, UserStack
from .domain import Domain, Value
from .frames import UNBOUND, Elsewhere, Escaped, Finished, Frame, Generator, Stop, Then, after
from .frames import frames as frames_of

Handler = Callable[["Machine", Frame, Any], "Frame | None"]


# ------------------------------------------------------------------ results of frames
class ReturnRule(NamedTuple):
    """What a Then kind does. Each gets (machine, frame below, value or exception, detail, rest of the Then).

    value    the frame returned (or a generator yielded): returns the frame to go on with
    stopped  a generator returned; None: treated as an exception StopIteration(value) in the frame below
    raised   the frame was left by an exception: returns the frame to go on with, or None to unwind further
    """

    value: Callable[[Machine, Frame, Value, Any, Then | None], Frame]
    stopped: Callable[[Machine, Frame, Value, Any, Then | None], Frame] | None = None
    raised: Callable[[Machine, Frame, Value, Any, Then | None], Frame | None] | None = None


RETURNS: dict[str, ReturnRule] = {}
"""Then kind -> rule. A domain adds its own kinds when its module is imported."""


def deliver(m: Machine, below: Frame, then: Then | None, value: Value) -> Frame:
    """Do what `then` says with a result in the frame below; returns the frame to go on with."""
    if then is None:
        below.stack.append(value)
        return below
    return RETURNS[then.kind].value(m, below, value, then.detail, then.rest)


# ------------------------------------------------------------------ frames
_programs: dict[int, tuple[Code, list[tuple[Handler, Any]]]] = {}


def program(code: Code) -> list[tuple[Handler, Any]]:
    """(handler, argument) of each instruction, made once."""
    p = _programs.get(id(code))
    if p is None:
        from .handlers.table import HANDLERS

        p = _programs[id(code)] = (code, [(HANDLERS[i.op], i.arg) for i in code.instrs])
    return p[1]


def link(f: Frame, pop: int, entered: Frame, then: Then | None = None) -> Frame:
    """Drop `pop` operands of f and put `entered` on top of it; `then` goes behind what the domain wants done."""
    if pop:
        del f.stack[-pop:]
    entered.back = f
    entered.depth = f.depth + 1
    if then is not None:
        entered.then = after(entered.then, then)
    return entered


def skip(f: Frame, then: str = "push") -> None:
    """Drop the operands of the instruction that f stands at and move behind it, for a result delivered later. What the
    instruction leaves below its result stays; it lies lowest."""
    instr = f.code.instrs[f.index]
    e = EFFECTS[instr.op]
    popped, pushed = e(instr.arg) if callable(e) else e
    stays = 0 if then == "again" else pushed if then == "drop" else max(pushed - 1, 0)
    if popped > stays:
        del f.stack[len(f.stack) - popped + stays:]
    f.index += 1


def handled(f: Frame | None) -> Value:
    """The exception being handled (what sys.exc_info() shows), or None."""
    while f is not None:
        if f.handled is not None:
            return f.handled
        f = f.back
    return None


def user_frame(f: Frame, index: int) -> UserFrame:
    p = f.code.position(index)
    line = p.line if p.line is not None else f.code.line(index)
    return UserFrame(f.code.file, line, f.code.qualname, p.end_line, p.col, p.end_col)


def user_stack(f: Frame | None) -> UserStack:
    """Where every frame stands, outermost first; for frames whose instruction is running (index already behind it)."""
    return tuple(user_frame(g, max(g.index - 1, 0)) for g in frames_of(f))


# ------------------------------------------------------------------ outcomes of a run
class Returned(NamedTuple):
    value: Value


class Yielded(NamedTuple):
    """The lowest frame is a generator and yielded."""

    value: Value


class Stopped(NamedTuple):
    """The domain stopped the machine: `frame` is the top of the stack, its index at the instruction not yet done."""

    frame: Frame
    stop: Stop


class Budget(Stop):
    """The machine has executed as many instructions as it was allowed."""


Outcome = Returned | Yielded | Stopped


class Machine:
    """Executes frames until the lowest one returns, an exception leaves it, or the domain stops.

    `instructions` counts what was executed; `budget` is the number allowed (all runs together, nested ones too).
    """

    def __init__(self, domain: Domain, budget: int = 1 << 60) -> None:
        self.domain = domain
        self.budget = budget
        self._ticks = repeat(None, budget)

    @property
    def instructions(self) -> int:
        return self.budget - length_hint(self._ticks)

    def run(self, f: Frame, raising: Value = None) -> Outcome:
        """Go on with the stack whose top is f; `raising` is an exception value to raise at its last instruction.

        Raises what `domain.uncaught` gives for an exception that leaves the lowest frame.
        """
        ticks, dom, traced = self._ticks, self.domain, False
        error: BaseException | None
        while True:
            if raising is not None:
                exc, raising, error = raising, None, None
                try:
                    f = self.unwind(f, exc, traced)
                except _Uncaught as e:
                    leaving = e.value
                    break
                except Stop as stop:
                    return Stopped(f, stop)
                except Elsewhere as e:
                    f, error = e.frame, e.error
                exc = None
                if error is not None:
                    traced = isinstance(error, Escaped)
                    raising = error.value if isinstance(error, Escaped) else dom.caught(f, error)
                    continue
            try:
                for _ in ticks:
                    index = f.index
                    f.index = index + 1
                    handler, arg = f.program[index]
                    f = handler(self, f, arg) or f
                f.index += 1
                raise Budget(f"{self.budget} instructions are done")
            except Finished as end:
                return Returned(end.value) if end.kind == "return" else Yielded(end.value)
            except Stop as stop:
                f.index -= 1
                return Stopped(f, stop)
            except Elsewhere as e:
                f, error = e.frame, e.error
                if error is None:
                    continue
            except BaseException as e:
                error = e
            # outside of the except blocks, so that CPython adds no context of its own
            traced = isinstance(error, Escaped)
            raising = error.value if isinstance(error, Escaped) else dom.caught(f, error)
            error = None
        raise dom.uncaught(leaving)

    def step(self, f: Frame, raising: Value = None) -> Frame | Outcome:
        """One instruction (and unwinding, if it raises). Returns the frame on top afterwards, or the outcome."""
        self._ticks, ticks = repeat(None, 1), self._ticks
        try:
            outcome = self.run(f, raising)
        finally:
            self._ticks = ticks
            next(ticks, None)
        if type(outcome) is Stopped and type(outcome.stop) is Budget:
            return outcome.frame
        return outcome

    def unwind(self, f: Frame, exc: Value, traced: bool = False) -> Frame:
        """The frame that handles exc, standing at its handler; _Uncaught if there is none. `traced`: exc was raised
        again, and knows f already."""
        while True:
            if not traced:
                self.domain.trace(f, exc)
            traced = False
            region = f.code.instrs[f.index - 1].handler if f.index else None
            if region is not None:
                del f.stack[region.depth :]
                if region.push_lasti:
                    f.stack.append(UNBOUND)
                f.stack.append(exc)
                f.index = region.target
                return f
            generator, then, below = f.generator, f.then, f.back
            if generator is not None:
                exc = self.domain.generator_stop(f, exc)
                generator.finish()
            if below is None:
                raise _Uncaught(exc)
            f = below
            while then is not None:
                rule = RETURNS[then.kind]
                if rule.raised is not None:
                    try:
                        went_on = rule.raised(self, f, exc, then.detail, then.rest)
                    except BaseException as e:
                        raise _elsewhere(f, e) from None
                    if went_on is not None:
                        return went_on
                then = then.rest


class _Uncaught(BaseException):
    """An exception value left the lowest frame."""

    def __init__(self, value: Value) -> None:
        self.value = value


def _elsewhere(frame: Frame, error: BaseException) -> BaseException:
    return error if isinstance(error, Stop | Finished | _Uncaught | Elsewhere) else Elsewhere(frame, error)


# ------------------------------------------------------------------ leaving frames
def raise_in(frame: Frame, value: Value) -> NoReturn:
    """For a domain: the exception `value` is raised in `frame`, which is on top of the stack from now on."""
    raise Elsewhere(frame, Escaped(value))


def return_value(m: Machine, f: Frame, value: Value) -> Frame:
    """f returns: hand the value to the frame below, which is the one to go on with."""
    below, then, generator = f.back, f.then, f.generator
    if below is None:
        if generator is not None:
            generator.finish()
        if then is not None and then.kind == "init":
            value = then.detail
        raise Finished("return", value)
    if generator is None and then is None:
        below.stack.append(value)
        return below
    try:
        if generator is None:
            return RETURNS[then.kind].value(m, below, value, then.detail, then.rest)  # type: ignore[union-attr]
        stopped, detail = None, None
        while then is not None and stopped is None:
            stopped, detail, then = RETURNS[then.kind].stopped, then.detail, then.rest
        if stopped is None:
            m.domain.stop_iteration(below, value)
        went_on = stopped(m, below, value, detail, then)
    except Stop:
        raise
    except BaseException as e:
        if generator is not None:
            generator.finish()
        raise _elsewhere(below, e) from None
    generator.finish()
    return went_on


def yield_value(m: Machine, f: Frame, value: Value) -> Frame:
    """The generator frame f yields: it is taken off the stack, and the value goes to the frame below."""
    below, then, generator = f.back, f.then, f.generator
    assert generator is not None
    error = None
    try:
        went_on = f if below is None else deliver(m, below, then, value)
    except Stop:
        raise
    except BaseException as e:
        error = e
    f.stack.pop()
    f.back, f.then, generator.state = None, None, "suspended"
    if below is None:
        raise Finished("yield", value)
    if error is not None:
        raise _elsewhere(below, error) from None
    return went_on


# ------------------------------------------------------------------ entering generators
SENDING = Then("send")


def resume(generator: Generator, value: Value) -> Frame:
    """The frame of an interpreted generator that has not begun (value UNBOUND) or is suspended; `value` is sent in.
    To be returned by the domain, which has checked the state."""
    f = generator.frame
    f.stack.append(value)
    f.then = None
    generator.state = "running"
    return f


def throw(m: Machine, below: Frame | None, generator: Generator, exc: Value, then: Then | None
          ) -> tuple[Frame, Value | None]:
    """Throw exc into a suspended interpreted generator, put on top of `below`: the frame to go on with, and what to
    raise there (None: nothing). A `yield from` passes it on to its receiver."""
    f = generator.frame
    f.back, f.then, generator.state = below, then, "running"
    f.depth = below.depth + 1 if below is not None else 0
    instr = f.code.instrs[f.index - 1]
    receiver = None
    if instr.op == "YIELD_VALUE" and instr.arg is not None:
        try:
            receiver = m.domain.throw_into(f, f.stack[-1], exc)
        except Stop:
            raise
        except Escaped as e:
            exc = e.value
        except BaseException as e:
            exc = m.domain.caught(f, e)
    if receiver is None:
        f.stack.append(UNBOUND)     # the place of the value that a resumed yield gives; a handler may count on it
        return f, exc
    if isinstance(receiver, Generator):
        return throw(m, f, receiver, exc, SENDING)
    yielded, value = receiver
    return (_sent if yielded else _send_stopped)(m, f, value, None, None), None


def _send_index(f: Frame) -> int:
    instr = f.code.instrs[f.index - 1]
    return f.index - 1 if instr.op == "SEND" else instr.arg


def _sent(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    """The receiver of a `yield from` has yielded: f yields it too."""
    f.index = _send_index(f) + 1
    f.stack.append(value)
    return f


def _send_stopped(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    """The receiver of a `yield from` has returned: its value takes the receiver's place."""
    f.index = f.code.instrs[_send_index(f)].arg
    f.stack[-1] = value
    return f


def _send_raised(m: Machine, f: Frame, exc: Value, detail: Any, rest: Then | None) -> Frame | None:
    value = m.domain.stop_iteration_value(f, exc)
    return None if value is UNBOUND else _send_stopped(m, f, value, None, None)


def _push(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    f.stack.append(value)
    return f


def _loop_ends(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    f.stack.pop()
    f.index = f.code.instrs[f.index - 1].arg
    return f


def _loop_raised(m: Machine, f: Frame, exc: Value, detail: Any, rest: Then | None) -> Frame | None:
    return None if m.domain.stop_iteration_value(f, exc) is UNBOUND else _loop_ends(m, f, exc, None, None)


def _drop(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    return f


def _again(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    f.stack.append(value)
    f.index -= 1
    return f


def _again_under(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    f.stack += value, detail
    f.index -= 1
    return f


def _instance(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    if not m.domain.is_none(f, value):
        m.domain.error(f, TypeError, f"__init__() should return None, not '{m.domain.type_name(f, value)}'")
    return deliver(m, f, rest, detail)


DROP, AGAIN, LOOP = Then("drop"), Then("again"), Then("for_iter")
RETURNS.update(
    push=ReturnRule(_push),
    drop=ReturnRule(_drop),
    again=ReturnRule(_again),
    again_under=ReturnRule(_again_under),
    init=ReturnRule(_instance),
    for_iter=ReturnRule(_push, _loop_ends, _loop_raised),
    send=ReturnRule(_sent, _send_stopped, _send_raised),
)
"""drop: forget the result. again: it takes the operand's place and the instruction runs again;
again_under: the same, with the operand in `detail` above it. init: an __init__
returned; the result is the instance in `detail`. for_iter, send: a step of a loop or of `yield from`."""

"""The explicit frame stack: frames of interpreted functions, what happens when one returns, and the stack as data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..bytecode.types import Code


class _Marker:
    """A value that no program can have; its name is all it has."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


UNBOUND = _Marker("UNBOUND")
"""In a slot of `locals`: the variable has no value. On the stack: a saved unbound variable, "no exception was being
handled", or the place of an instruction number that nobody reads. As an operand of the domain: not given."""
EXHAUSTED = _Marker("EXHAUSTED")
"""Result of `Domain.next`: the iterator has no more items."""


class Then(NamedTuple):
    """What is done with a frame's result, as data: `kind` names a rule in `executor.RETURNS`, `rest` is what follows.

    None in place of a Then means: push the result on the stack of the frame below.
    """

    kind: str
    detail: Any = None
    rest: Then | None = None


def after(then: Then | None, last: Then) -> Then:
    """`then`, and `last` at its end."""
    if then is None:
        return last
    return Then(then.kind, then.detail, after(then.rest, last))


class Generator:
    """The state of one interpreted generator. Its frame keeps index, locals and stack while it is suspended."""

    __slots__ = ("frame", "state")

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.state = "created"
        """created, suspended, running or done"""

    def finish(self) -> None:
        """The generator is done: its frame lets go of everything."""
        f = self.frame
        self.state = "done"
        f.back = f.then = f.generator = f.handled = None
        f.locals, f.stack = [], []


class Frame:
    """One interpreted function call.

    `index` is the next instruction; while an instruction runs it already points behind it. `locals` holds the code's
    slots (values, cells, UNBOUND). `handled` is the exception that this frame handles now, or None. `back` is the
    frame below, None in the lowest one and in a suspended generator. `namespace` is the mapping of a class body or
    module, None in functions. `globals` and `builtins` are whatever the domain put there.
    """

    __slots__ = ("code", "program", "function", "globals", "builtins", "index", "locals", "stack", "handled", "then",
                 "back", "depth", "generator", "namespace", "extra")

    def __init__(self, code: Code, program: list[Any], function: Any, globals: Any, builtins: Any, locals: list[Any],
                 then: Then | None = None, namespace: Any = None) -> None:
        self.code, self.program, self.function = code, program, function
        self.globals, self.builtins = globals, builtins
        self.index = 0
        self.locals = locals
        self.stack: list[Any] = []
        self.handled: Any = None
        self.then = then
        self.back: Frame | None = None
        self.depth = 0
        """Number of frames below, for the recursion limit."""
        self.generator: Generator | None = None
        self.namespace = namespace
        self.extra: Any = None
        """Free for the domain; not touched by the executor, copied by `freeze` and `thaw`."""

    def __repr__(self) -> str:
        return f"<Frame {self.code.qualname} at {self.index}>"


def frames(f: Frame | None) -> list[Frame]:
    """The frame stack whose top is f, outermost first."""
    out = []
    while f is not None:
        out.append(f)
        f = f.back
    return out[::-1]


class FrozenFrame(NamedTuple):
    """A frame as plain data. Values are the domain's; nothing refers to a live Frame but `generator` (its owner)."""

    code: Code
    function: Any
    globals: Any
    builtins: Any
    index: int  # type: ignore[assignment]
    locals: tuple[Any, ...]
    stack: tuple[Any, ...]
    handled: Any
    then: Then | None
    generator: Generator | None
    namespace: Any
    extra: Any


def freeze(f: Frame) -> tuple[FrozenFrame, ...]:
    """The frame stack whose top is f as data, outermost first."""
    return tuple(
        FrozenFrame(g.code, g.function, g.globals, g.builtins, g.index, tuple(g.locals), tuple(g.stack), g.handled,
                    g.then, g.generator, g.namespace, g.extra)
        for g in frames(f)
    )


def thaw(frozen: Sequence[FrozenFrame]) -> Frame:
    """New frames from data; returns the top one. A generator that is on the stack gets its new frame."""
    from .executor import program

    back = None
    for x in frozen:
        f = Frame(x.code, program(x.code), x.function, x.globals, x.builtins, list(x.locals), x.then, x.namespace)
        f.index, f.stack, f.handled, f.extra, f.back = x.index, list(x.stack), x.handled, x.extra, back
        f.depth = 0 if back is None else back.depth + 1
        if x.generator is not None:
            f.generator = x.generator
            x.generator.frame = f
        back = f
    if back is None:
        raise ValueError("thaw: frozen holds no frame; pass what freeze() returned")
    return back


class Stop(BaseException):
    """Raised by a domain to stop the machine. The frame stack is left as it was before the instruction.

    A domain may subclass it to carry its reason. Not an Exception, so that no handler of the program sees it.
    """


class Escaped(BaseException):
    """Raised by a domain for an exception of the interpreted program: `value` is the domain's value for it."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Finished(BaseException):
    """Ends `Machine.run`: the lowest frame has returned, or yielded, a value."""

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value


class Elsewhere(BaseException):
    """Raised by a domain or a rule for results: go on with `frame`, another one than that whose instruction runs, and
    raise `error` there (None: just go on). The domain has linked the frame and changed the stack as it must be."""

    def __init__(self, frame: Frame, error: BaseException | None) -> None:
        self.frame, self.error = frame, error

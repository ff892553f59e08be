"""What every symbolic value can be asked, and the signals by which it answers other than with a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors.breaks import BREAKS, UNSUPPORTED_OPERATION
from ...events.types import UserStack
from ..frames import Escaped as Raised
from ..frames import Stop
from ..types import Recipe

if TYPE_CHECKING:
    from ..state import Capture


class Value:
    """A value of the captured program. Methods return a Value or an `Invoke`, or raise `Raised` or `Broken`."""

    __slots__ = ()
    identity = True
    """Two values of this kind are the same object only if they are one value; False for immutable ones."""
    opaque = False
    """Nothing is known of how it iterates: each use is Python's own."""

    def pytype(self, cx: Capture) -> type:
        """type(v) in the program, guarded."""
        raise NotImplementedError(type(self).__name__)

    def attr(self, cx: Capture, name: str) -> Result:
        return _attributes.generic_attribute(cx, self, name)

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        raise unsupported(f"setting attribute {name!r} of a {describe(self)}")

    def delattr(self, cx: Capture, name: str) -> Result | None:
        raise unsupported(f"deleting attribute {name!r} of a {describe(self)}")

    def call(self, cx: Capture, args: list[Value], kwargs: dict[str, Value]) -> Result:
        raise cx.raised(TypeError, f"{self.pytype(cx).__name__!r} object is not callable")

    def truth(self, cx: Capture) -> bool | Invoke:
        return True

    def iterate(self, cx: Capture) -> Result:
        """iter(v)."""
        raise cx.raised(TypeError, f"{self.pytype(cx).__name__!r} object is not iterable")

    def elements(self, cx: Capture) -> list[Value] | None:
        """All that iterating would give, where that is known at once and has no effect; else None."""
        return None

    def length(self, cx: Capture) -> Result:
        raise cx.raised(TypeError, f"object of type {self.pytype(cx).__name__!r} has no len()")

    def getitem(self, cx: Capture, key: Value) -> Result:
        raise cx.raised(TypeError, f"{self.pytype(cx).__name__!r} object is not subscriptable")

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        raise cx.raised(TypeError, f"{self.pytype(cx).__name__!r} object does not support item assignment")

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        raise cx.raised(TypeError, f"{self.pytype(cx).__name__!r} object doesn't support item deletion")

    def contains(self, cx: Capture, item: Value) -> bool | Invoke:
        raise cx.raised(TypeError, f"argument of type {self.pytype(cx).__name__!r} is not iterable")

    def constant(self, cx: Capture) -> Any:
        """The Python object, where it is wholly known and may be handed to a pure function; raises NotConstant."""
        raise NotConstant(self)

    def key(self, cx: Capture) -> Any:
        """Something hashable that is equal for two values exactly when they are equal as dictionary keys."""
        return self

    def recipe(self, cx: Capture) -> Recipe:
        """How to build or load the object after the graph ran (call through `cx.recipe`)."""
        raise unsupported(f"keeping a {describe(self)} across the end of a captured part")


class Invoke:
    """Python code must be entered to get the result: call `fn` and do `then` with what it returns.

    then: push (it is the operation's result), truth (its truth is), and the kinds of `executor.RETURNS`, with `detail`.
    """

    __slots__ = ("fn", "args", "kwargs", "then", "detail")

    def __init__(self, fn: Value, args: list[Value], kwargs: dict[str, Value] | None = None, then: str = "push",
                 detail: Any = None):
        self.fn, self.args, self.kwargs, self.then, self.detail = fn, args, kwargs or {}, then, detail


Result = Value | Invoke


class NotConstant(Exception):
    """A value is not wholly known during capture."""

    def __init__(self, value: Value):
        self.value = value


class Broken(Stop):
    """Capture must end here with one native operation; passes by the program's own handlers. Without `function`, the
    operation is the instruction itself.

    then: push, drop, or retry (the same instruction again with the result on the stack in place of its operand).
    """

    def __init__(self, code: str, message: str, function: Any = None, args: tuple[Value, ...] | list[Value] = (),
                 kwargs: dict[str, Value] | None = None, remedy: str = "", then: str = "push"):
        self.code, self.message, self.function = code, message, function
        self.args_, self.kwargs, self.then = list(args), kwargs or {}, then
        self.remedy = remedy or BREAKS[code].remedy
        self.stack: UserStack = ()
        self.whole = False
        """There is no native operation that would do: the whole call must run natively."""
        super().__init__(f"{code}: {message}")


def unsupported(message: str, remedy: str = "") -> Broken:
    """A break without an operation of its own: the instruction being executed is done natively."""
    return Broken(UNSUPPORTED_OPERATION, message, remedy=remedy)


def give_up(message: str) -> Broken:
    """A break after which capture cannot go on: the operation looks at real frames, so the call must run natively."""
    stop = Broken(UNSUPPORTED_OPERATION, message)
    stop.whole = True
    return stop


def describe(v: Value) -> str:
    return type(v).__name__.removesuffix("Val").lower() or "value"


__all__ = ["Broken", "Invoke", "NotConstant", "Raised", "Result", "Value", "describe", "give_up", "unsupported"]

# Modules that need this one: bound when all are loaded.
from . import attributes as _attributes  # noqa: E402

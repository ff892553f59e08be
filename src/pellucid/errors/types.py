"""The base of every error that a user can meet: a code of the catalogue, a sentence, a place, and what to change."""

from __future__ import annotations

from ..events.types import UserStack


class PellucidError(RuntimeError):
    """Carries code, message, remedy and the user's stack (outermost first); its text says all four."""

    def __init__(self, code: str, message: str, remedy: str = "", stack: UserStack = ()):
        self.code, self.message, self.remedy, self.stack = code, message, remedy, stack
        path = "".join(f"\n    {frame}" for frame in stack)
        where = f"\n  at {stack[-1]}" if stack else ""
        way = f"\n  call path:{path}" if len(stack) > 1 else ""
        hint = f"\n  what to change: {remedy}" if remedy else ""
        super().__init__(f"{code}: {message}{where}{way}{hint}")


class GraphBreakError(PellucidError):
    """fullgraph=True met an operation that cannot be captured."""


class UnsupportedInput(PellucidError):
    """compile() was given something that it cannot wrap."""


class OptionError(PellucidError, ValueError):
    """An argument or option of compile() has a value that it cannot have."""


class ConstraintError(PellucidError):
    """The program fixes a size that the user marked as dynamic; names the operation, the line and the equation."""


class InternalError(PellucidError):
    """A fault inside pellucid; raised only under options={"strict": True}."""

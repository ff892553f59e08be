"""The two ways in which the catalogue declines a call: it cannot be expressed yet, or eager itself would refuse it."""

from __future__ import annotations


class OpError(Exception):
    """Base of both: what shape rules and expansions may raise besides programming errors."""


class Unsupported(OpError):
    """The call is valid, but the catalogue cannot express it. `reason` says what, `remedy` what the user can change.

    The caller breaks the graph here and runs the operation in Python, or reports both texts under fullgraph=True.
    """

    def __init__(self, reason: str, remedy: str = "run this operation outside the compiled function"):
        super().__init__(f"{reason}; {remedy}")
        self.reason, self.remedy = reason, remedy


class NeedsNumber(Unsupported):
    """A number is needed (a size, a bound) and a tensor was given, whose value only the run shows."""


class WouldRaise(OpError):
    """Eager refuses these operands (shapes, dtypes or values). The caller runs eager to get the exact exception."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason

"""What can go wrong while a plan runs; all of it before anything visible was written."""

from __future__ import annotations


class StepFailed(RuntimeError):
    """A step of a plan failed before any commit: the caller goes on in plain Python from the last commit.

    step    number of the step in the plan (None: before the first one)
    origin  number of the torch-level call that the failing step came from, in Graph.calls (None: not known)
    """

    def __init__(self, message: str, step: int | None = None, origin: int | None = None):
        super().__init__(message)
        self.step, self.origin = step, origin


class PreconditionFailed(StepFailed):
    """A condition on sizes that the plan was made under does not hold in this call."""


class IndexFailed(IndexError):
    """An index checked by `check_index` was out of range."""

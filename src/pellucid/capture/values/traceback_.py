"""The traceback of an exception: there, and passed on, but not looked into."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from ..types import Build, Recipe
from .base import Result, Value, give_up

if TYPE_CHECKING:
    from ..state import Capture


def traceback_of(error: BaseException) -> Any:
    return error.__traceback__


class TracebackVal(Value):
    __slots__ = ("exception",)

    def __init__(self, exception: Value):
        self.exception = exception

    def pytype(self, cx: Capture) -> type:
        return types.TracebackType

    def attr(self, cx: Capture, name: str) -> Result:
        raise give_up("the program reads a traceback")

    def recipe(self, cx: Capture) -> Recipe:
        return Build("call", (cx.recipe(self.exception),), traceback_of)

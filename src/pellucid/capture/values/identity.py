"""What id() gives: a number that is only good for telling objects apart, such as the keys of copy.deepcopy's memo."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from ..types import Build, Recipe
from .base import Value
from .constant import Const

if TYPE_CHECKING:
    from ..state import Capture


class IdVal(Value):
    __slots__ = ("of",)
    identity = False

    def __init__(self, of: Value):
        self.of = of

    def pytype(self, cx: Capture) -> type:
        return int

    def key(self, cx: Capture) -> Any:
        v = self.of
        return ("id", type(v.value), v.constant(cx)) if type(v) is Const else ("id", id(v))

    def recipe(self, cx: Capture) -> Recipe:
        return Build("call", (cx.recipe(self.of),), id)


class ThreadIdVal(Value):
    """threading.get_ident(): good for telling threads apart, so no call's own is built into code."""

    __slots__ = ()
    identity = False

    def pytype(self, cx: Capture) -> type:
        return int

    def key(self, cx: Capture) -> Any:
        return ("thread",)

    def recipe(self, cx: Capture) -> Recipe:
        return Build("call", (), threading.get_ident)

"""torch._check and its kin: a condition that holds costs nothing; what it says of sizes was guarded when it was asked,
and later questions follow from it. One that fails is left to torch's own code, which raises its error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...torchdoor.checks import CHECKS, IS_SIZE
from ..values.base import Value
from ..values.builtin import KNOWN
from ..values.constant import NONE, Const
from ..values.size import size_of

if TYPE_CHECKING:
    from ..state import Capture


def _holds(position: int) -> Any:
    def check(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
        condition = args[position] if len(args) > position else kw.get("cond")
        return NONE if type(condition) is Const and condition.constant(cx) is True else None
    return check


for _fn, _position in CHECKS.items():
    KNOWN[_fn] = _holds(_position)


def _is_size(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
    size = size_of(args[0]) if len(args) == 1 and not set(kw) - {"message", "max"} else None
    if size is None or not cx.env.decide(">=", size, 0):
        return None
    limit = size_of(kw["max"]) if "max" in kw else None
    if "max" in kw and (limit is None or not cx.env.decide("<=", size, limit)):
        return None
    return NONE


if IS_SIZE is not None:
    KNOWN[IS_SIZE] = _is_size

"""Built-ins and operators said in plain Python, interpreted like the program's own code."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from . import plain

if TYPE_CHECKING:
    from ..state import Capture
    from ..values.base import Value

POLYFILLS: dict[str, types.FunctionType] = {
    n.removesuffix("_"): f for n, f in vars(plain).items() if isinstance(f, types.FunctionType)}
POLYFILLS.update({n: f for n, f in vars(plain).items() if isinstance(f, types.FunctionType)})
FILES = frozenset((plain.__file__,))
"""Files whose frames are left out of what a user is shown."""


def polyfill(cx: Capture, name: str) -> Value:
    return cx.fixed(POLYFILLS[name], name)


def functions() -> dict[str, Any]:
    return dict(POLYFILLS)

"""Built-ins and operators said in plain Python, interpreted like the program's own code."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from . import dispatching, higher_order, iterators, ordering, plain

if TYPE_CHECKING:
    from ..state import Capture
    from ..values.base import Value

_MODULES = (plain, iterators, ordering, dispatching, higher_order)
POLYFILLS: dict[str, types.FunctionType] = {}
for _m in _MODULES:
    _found = {n: f for n, f in vars(_m).items() if isinstance(f, types.FunctionType) and f.__module__ == _m.__name__}
    POLYFILLS.update({n.removesuffix("_"): f for n, f in _found.items()})
    POLYFILLS.update(_found)
FILES = frozenset(str(m.__file__) for m in _MODULES)
"""Files whose frames are left out of what a user is shown."""


def polyfill(cx: Capture, name: str) -> Value:
    return cx.fixed(POLYFILLS[name], name)


def functions() -> dict[str, Any]:
    return dict(POLYFILLS)

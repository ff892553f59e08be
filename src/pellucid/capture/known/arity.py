"""Calls of C code with too many or too few arguments: found before the rules look at them, said as Python says it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

NONE, ONE = (0, 0), (1, 1)
_WITHOUT_SIGNATURE: dict[Any, tuple[int, int]] = {
    **dict.fromkeys((dict.clear, dict.copy, dict.items, dict.keys, dict.values, set.clear, set.copy, set.pop,
                     frozenset.copy), NONE),
    **dict.fromkeys((dict.__getitem__, list.__getitem__, set.add, set.discard, set.remove, set.isdisjoint, set.issubset,
                     set.issuperset, set.symmetric_difference, set.symmetric_difference_update, set.__contains__,
                     frozenset.isdisjoint, frozenset.issubset, frozenset.issuperset, frozenset.symmetric_difference,
                     frozenset.__contains__), ONE),
    dict.pop: (1, 2), bool: (0, 1), tuple: (0, 1), list: (0, 1), set: (0, 1), frozenset: (0, 1), getattr: (2, 3),
    next: (1, 2), iter: (1, 2),
}
"""Of what inspect.signature knows nothing: least and most arguments, none by keyword."""


@functools.cache
def misfit(fn: Callable[..., Any], owner: type | None, count: int, names: tuple[str, ...]) -> TypeError | None:
    """The error of fn(*count arguments, **names); None where they fit, or where that is not known. owner: of a method,
    whose instance is not counted."""
    bounds = _WITHOUT_SIGNATURE.get(fn)
    if bounds is not None:
        fits = bounds[0] <= count <= bounds[1] and not names
    else:
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):
            return None
        try:
            signature.bind(*[None] * (count + (owner is not None)), **dict.fromkeys(names))
            fits = True
        except TypeError:
            fits = False
    if fits:
        return None
    try:
        fn(*([owner()] if owner is not None else []), *[None] * count, **dict.fromkeys(names))
    except TypeError as e:
        return e.with_traceback(None)
    except Exception:
        return None             # it says something else of such arguments
    return None


CHECKED = frozenset((len, abs, any, all, callable, hasattr, setattr, delattr, isinstance, issubclass, id, hash, repr,
                     ord, chr, divmod, sorted, sum, reversed, enumerate, getattr, next, iter, bool, tuple, list, set,
                     frozenset))
"""Built-in functions and classes with rules that rely on the number of arguments."""

__all__ = ["CHECKED", "misfit"]

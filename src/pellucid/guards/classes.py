"""Whether classes are unchanged, at the cost of one word each: CPython's version tag, which any change resets.

`type.tp_version_tag` is 0 after a class or one of its bases was changed, and gets a new number, never used before, when
an attribute is next looked up. So while a class's tag is the one that was seen when its guard last held, nothing was
changed; else the guard is evaluated again. The tag's place in the type object is verified at import; where it is not as
expected, guards are always evaluated.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

_OFFSET = 384
"""Of tp_version_tag in PyTypeObject on 64-bit CPython 3.11 to 3.13."""


def _works() -> bool:
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    base = type("Base", (), {"a": 1})
    cls: Any = type("Probe", (base,), {"b": 1})
    tag = ctypes.c_uint.from_address(id(cls) + _OFFSET)
    seen = []
    changes = (lambda: None, lambda: setattr(cls, "b", 2), lambda: setattr(base, "a", 2), lambda: delattr(cls, "b"))
    for change in changes:
        change()
        after = tag.value
        _ = cls.a
        seen.append((after, tag.value))
    numbers = [n for _, n in seen]
    return all(after == 0 for after, _ in seen[1:]) and 0 not in numbers and len(set(numbers)) == len(numbers)


WORKS = _works()


def unchanged(versions: Sequence[Any]) -> Callable[[], bool]:
    """One check of several class versions (objects with `cls` and `unchanged()`), cheap while no class is touched."""
    if not WORKS:
        return lambda: all(v.unchanged() for v in versions)
    tags = [ctypes.c_uint.from_address(id(v.cls) + _OFFSET) for v in versions]
    seen: list[int] = [0] * len(tags)
    pairs = list(enumerate(tags))

    def check() -> bool:
        for i, tag in pairs:
            if tag.value != seen[i] or not seen[i]:
                if not versions[i].unchanged():
                    return False
                getattr(versions[i].cls, "__doc__", None)  # a look-up gives the class a tag
                seen[i] = tag.value
        return True
    return check

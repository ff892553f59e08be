"""What this Python says of attributes that are not there; the texts differ by version."""

from __future__ import annotations

from typing import Any


def _of_new_attribute() -> str:
    try:
        object().new = 0    # type: ignore[attr-defined]
    except AttributeError as e:
        return str(e)
    return ""


_NEW = _of_new_attribute() != "'object' object has no attribute 'new'"
"""From 3.13 on."""


def not_found(cls: type, name: Any) -> str:
    """Reading or deleting."""
    return f"{cls.__name__!r} object has no attribute {name!r}"


def empty_slot(cls: type, name: Any) -> str:
    """Reading a slot that nothing was put into."""
    if not _NEW or cls.__module__ in ("builtins", "__main__"):
        return f"'{cls.__qualname__ if _NEW else cls.__name__}' object has no attribute {name!r}"
    return f"'{cls.__module__}.{cls.__qualname__}' object has no attribute {name!r}"


def not_settable(cls: type, name: Any, of_class: bool) -> str:
    """Setting or deleting where there is no instance dictionary; of_class: the class has such an attribute."""
    if of_class:
        return f"{cls.__name__!r} object attribute {name!r} is read-only"
    return not_found(cls, name) + (" and no __dict__ for setting new attributes" if _NEW else "")

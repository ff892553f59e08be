"""Instances as dictionary keys: of dataclasses, which are equal where their compared fields are."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from .base import Value

if TYPE_CHECKING:
    from ..state import Capture


class DataclassKey:
    """Hashes and compares as the instance does that `value` stands for."""

    __slots__ = ("cls", "fields", "value", "names")

    def __init__(self, cls: type, names: tuple[str, ...], fields: tuple[Any, ...], value: Value):
        self.cls, self.names, self.fields, self.value = cls, names, fields, value

    def __hash__(self) -> int:
        return hash(self.fields)

    def __eq__(self, other: object) -> bool:
        if type(other) is DataclassKey:
            return self.cls is other.cls and self.fields == other.fields
        if type(other) is self.cls:
            return self.fields == tuple([getattr(other, n) for n in self.names])
        return NotImplemented

    def __repr__(self) -> str:
        return f"{self.cls.__qualname__}{self.fields}"


def dataclass_key(cx: Capture, v: Any) -> DataclassKey | None:
    """The key of an instance of a frozen dataclass whose __eq__ and __hash__ were made for it; else None."""
    cls = v.cls
    params = getattr(cls, "__dataclass_params__", None)
    if params is None or not (params.frozen and params.eq) or "__dataclass_fields__" not in cls.__dict__:
        return None
    for name in ("__eq__", "__hash__"):
        code = getattr(cls.__dict__.get(name), "__code__", None)
        if code is None or code.co_filename != "<string>":
            return None
        v.info.find(name)
    fields = dataclasses.fields(cls)
    if any(f.compare != (f.compare if f.hash is None else f.hash) for f in fields):
        return None
    names = tuple([f.name for f in fields if f.compare])
    values = []
    for n in names:
        value = v.attr(cx, n)
        if not isinstance(value, Value):
            return None
        values.append(value.key(cx))
    return DataclassKey(cls, names, tuple(values), v)

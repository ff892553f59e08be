"""A class as capture reads it: attributes found along the MRO, remembered, and guarded together as its version."""

from __future__ import annotations

import types
from typing import Any

import torch

MISSING: Any = type("Missing", (), {"__repr__": lambda s: "MISSING", "__slots__": ()})()

_UNREAD: Any = object()
_MODULE_GETATTR = torch.nn.Module.__getattr__
_MODULE_SETATTR = torch.nn.Module.__setattr__
_MODULE_DELATTR = torch.nn.Module.__delattr__


class ClassInfo:
    """reads   name -> raw attribute found (MISSING where there is none); what the version guard must find again."""

    __slots__ = ("cls", "reads", "custom_get", "custom_set", "custom_del", "getattr", "is_module", "mro_dicts",
                 "has_dict")

    def __init__(self, cls: type):
        self.cls = cls
        self.reads: dict[str, Any] = {}
        self.mro_dicts = [k.__dict__ for k in cls.__mro__]
        g = self.find("__getattribute__")
        self.custom_get = g if type(g) is types.FunctionType else None
        s = self.find("__setattr__")
        self.is_module = issubclass(cls, torch.nn.Module)
        self.custom_set = s if type(s) is types.FunctionType else None
        d = self.find("__delattr__")
        self.custom_del = d if type(d) is types.FunctionType else None
        self.getattr = self.find("__getattr__")
        # A class may have room for a dictionary and not show it (typing.TypeVar from 3.12 on).
        self.has_dict = cls.__dictoffset__ != 0 and any("__dict__" in k.__dict__ for k in cls.__mro__)

    def find(self, name: str) -> Any:
        """The raw attribute `name` of the class (no descriptor is called), or MISSING."""
        found = self.reads.get(name, _UNREAD)
        if found is not _UNREAD:
            return found
        for d in self.mro_dicts:
            if name in d:
                found = d[name]
                break
        else:
            found = MISSING
        self.reads[name] = found
        return found

    @property
    def module_getattr(self) -> bool:
        return self.getattr is _MODULE_GETATTR

    @property
    def module_setattr(self) -> bool:
        return self.custom_set is _MODULE_SETATTR


def find_after(cls: type, after: type, name: str) -> tuple[type | None, Any]:
    """The class and raw attribute that super(after, obj) finds for an obj of class `cls`."""
    mro = cls.__mro__
    for k in mro[mro.index(after) + 1:]:
        if name in k.__dict__:
            return k, k.__dict__[name]
    return None, MISSING

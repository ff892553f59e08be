"""Dictionaries of global variables: one value for each, shared by all functions of a module."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from .base import Value
from .mapping import DictVal

if TYPE_CHECKING:
    from ..state import Capture
    from .function import FunctionVal

BUILTINS = builtins.__dict__


class _Owner:
    """Names the sources of global variables."""

    __slots__ = ("globals", "module")

    def __init__(self, globals_: dict[str, Any], module: str):
        self.globals, self.module = globals_, module

    def attribute_source(self, cx: Capture, name: Any) -> Source:
        return Source("global", None, (self.module, name), self.globals)

    def guard_absent(self, cx: Capture, name: Any) -> None:
        if self.globals is not BUILTINS or name not in BUILTINS:
            cx.guard("missing_key", self.dict_source(), name, "global variable")

    def dict_source(self) -> Source:
        return Source("globals", None, self.module, self.globals)


def globals_dict(cx: Capture, globals_: dict[str, Any], module: str) -> DictVal:
    known = cx.ids.get(id(globals_))
    if known is None:
        owner = _Owner(globals_, module)
        known = cx.ids[id(globals_)] = DictVal(obj=globals_, source=owner.dict_source(), owner=owner)
        cx.keep.append(globals_)
    assert isinstance(known, DictVal)
    return known


def globals_value(cx: Capture, fn: FunctionVal) -> DictVal:
    return globals_dict(cx, fn.globals, fn.globals.get("__name__") or "")


def builtin_value(cx: Capture, name: str) -> Value | None:
    if name not in BUILTINS:
        return None
    return cx.fixed(BUILTINS[name], name)

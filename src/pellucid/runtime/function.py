"""What compile() returns for a function: an object whose class's `__call__` is the call path itself."""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .compiled import Compiled
from .fastpath import install
from .native.vectorcall import make_room


class CompiledFunction:
    """Behaves as the function it wraps: metadata, binding as a method, pickling by name.

    Each instance has a class of its own, whose `__call__` is the Python or the native call path (a static callable, so
    that nothing is bound a call) and whose `__pellucid__` is the Compiled.
    """

    __pellucid__: Compiled
    __wrapped__: Callable[..., Any]

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"<compiled {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """By name where the name leads to this object (a decorated function), else as a compile of the original."""
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__
        return rebuild, (self.__wrapped__, self.__pellucid__.options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def __copy__(self) -> Any:
        return self


def function_wrapper(fn: Callable[..., Any], compiled: Compiled) -> CompiledFunction:
    if compiled.options.buckets:
        return _bucketed(fn, compiled)
    cls = type("CompiledFunction", (CompiledFunction,), {
        "__call__": staticmethod(compiled.call), "__pellucid__": compiled, "__module__": CompiledFunction.__module__,
        "__doc__": getattr(fn, "__doc__", None)})
    make_room(cls)
    made: CompiledFunction = cls()
    install(compiled, made)
    functools.update_wrapper(made, fn)  # type: ignore[arg-type]
    return made


def _bucketed(fn: Callable[..., Any], compiled: Compiled) -> CompiledFunction:
    from .buckets import Bucketed

    plain = function_wrapper(fn, Compiled(compiled.target, replace(compiled.options, buckets=())))
    front = Bucketed(compiled.target, compiled.options, plain, lambda: True)  # type: ignore[arg-type]
    cls = type("CompiledFunction", (CompiledFunction,), {
        "__call__": staticmethod(front.call), "__pellucid__": front.compiled, "__module__": CompiledFunction.__module__,
        "__doc__": getattr(fn, "__doc__", None)})
    made: CompiledFunction = cls()
    functools.update_wrapper(made, fn)  # type: ignore[arg-type]
    return made


def rebuild(fn: Any, options: Any) -> Any:
    from ..api import _compile

    return _compile(options, fn)

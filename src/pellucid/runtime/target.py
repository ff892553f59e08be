"""What a compiled callable stands for: the function to capture, its bound object, and how arguments are bound."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_VARARGS, _VARKW = 0x04, 0x08


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<missing>"


MISSING: Any = _Missing()


@dataclass(frozen=True, slots=True)
class Target:
    """callee    what is captured: a Python function, or a bound method of one
    params       the parameters that a call binds, in order (a method's without its receiver)
    kinds        of each: positional, keyword (only by name), varargs (a tuple) or varkw (a dict)
    bind         (*args, **kwargs) -> the values of `params`, as a tuple; TypeError where Python would raise it
    call         calls the original natively with the call's own arguments
    name         for people
    """

    callee: types.FunctionType | types.MethodType
    params: tuple[str, ...]
    kinds: tuple[str, ...]
    bind: Callable[..., tuple[Any, ...]]
    call: Callable[..., Any]
    name: str


def call_object(callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What is captured for a callable that is no Python function: a call of it."""
    return callee(*args, **kwargs)


def target(fn: Callable[..., Any]) -> Target:
    """The target of any callable: functions and bound methods directly, all else through a call of the object."""
    if isinstance(fn, types.FunctionType):
        return _target(fn, fn)
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return _target(fn, fn)
    method = type(fn).__call__
    if isinstance(method, types.FunctionType) and not isinstance(fn, (type, functools.partial)):
        return _target(types.MethodType(method, fn), fn)
    return _target(types.MethodType(call_object, fn), fn)


def _target(callee: types.FunctionType | types.MethodType, call: Callable[..., Any]) -> Target:
    name = getattr(call, "__qualname__", None) or type(call).__qualname__
    return Target(callee, parameters(callee), kinds_of(callee), binder(callee), call, name)


def parameters(callee: types.FunctionType | types.MethodType) -> tuple[str, ...]:
    """Names of the parameters in the order of the frame's first slots: positional, keyword-only, *args, **kwargs; of a
    method without its first one."""
    code = callee.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKW)
    return code.co_varnames[int(isinstance(callee, types.MethodType) and code.co_argcount > 0):count]


def kinds_of(callee: types.FunctionType | types.MethodType) -> tuple[str, ...]:
    """The kind of each of `parameters(callee)`."""
    code = callee.__code__
    first = int(isinstance(callee, types.MethodType) and code.co_argcount > 0)
    return ("positional",) * (code.co_argcount - first) + ("keyword",) * code.co_kwonlyargcount + \
        ("varargs",) * bool(code.co_flags & _VARARGS) + ("varkw",) * bool(code.co_flags & _VARKW)


def binder(callee: types.FunctionType | types.MethodType) -> Callable[..., tuple[Any, ...]]:
    """A function of the callee's signature that returns the values of `parameters(callee)` as a tuple.

    Defaults are read from the function when they are needed, so that a changed `__defaults__` is seen.
    """
    function: Any = callee.__func__ if isinstance(callee, types.MethodType) else callee
    code = function.__code__
    names = code.co_varnames
    count, kwonly = code.co_argcount, code.co_kwonlyargcount
    first = int(function is not callee and count > 0)
    positional, keyword = names[first:count], names[count:count + kwonly]
    varargs = names[count + kwonly] if code.co_flags & _VARARGS else None
    varkw = names[count + kwonly + (varargs is not None)] if code.co_flags & _VARKW else None
    n_defaults = len(function.__defaults__ or ())
    fill: list[str] = []
    signature: list[str] = []
    for i, name in enumerate(positional, first):
        k = i - (count - n_defaults)
        signature.append(name if k < 0 else f"{name}=_missing_")
        if k >= 0:
            fill.append(f"    if {name} is _missing_: {name} = _function_.__defaults__[{k}]\n")
        if i + 1 == code.co_posonlyargcount:
            signature.append("/")
    if varargs:
        signature.append(f"*{varargs}")
    elif keyword:
        signature.append("*")
    for name in keyword:
        if name in (function.__kwdefaults__ or {}):
            signature.append(f"{name}=_missing_")
            fill.append(f"    if {name} is _missing_: {name} = _function_.__kwdefaults__[{name!r}]\n")
        else:
            signature.append(name)
    if varkw:
        signature.append(f"**{varkw}")
    values = [*positional, *keyword, *filter(None, (varargs, varkw))]
    text = f"def bind({', '.join(signature)}):\n{''.join(fill)}    return ({''.join(v + ', ' for v in values)})\n"
    namespace = {"_missing_": MISSING, "_function_": function}
    exec(compile(text, f"<pellucid bind {function.__qualname__}>", "exec"), namespace)
    made: Callable[..., tuple[Any, ...]] = namespace["bind"]
    return made

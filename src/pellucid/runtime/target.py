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
    """function  the Python function whose frame is captured
    receiver     what is passed as its first parameter before the call's own arguments; MISSING if nothing is
    params       its parameters in order, with the receiver's
    bind         (*args, **kwargs) -> the values of `params`, as a tuple; TypeError where Python would raise it
    call         calls the original natively with the call's own arguments
    name         for people
    """

    function: types.FunctionType
    receiver: Any
    params: tuple[str, ...]
    bind: Callable[..., tuple[Any, ...]]
    call: Callable[..., Any]
    name: str


def call_object(callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    """What is captured for a callable that is no Python function: a call of it."""
    return callee(*args, **kwargs)


def target(fn: Callable[..., Any]) -> Target:
    """The target of any callable: functions and bound methods directly, all else through a call of the object."""
    if isinstance(fn, types.FunctionType):
        return _target(fn, MISSING, fn)
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, types.FunctionType):
        return _target(fn.__func__, fn.__self__, fn)
    method = type(fn).__call__
    if isinstance(method, types.FunctionType) and not isinstance(fn, (type, functools.partial)):
        return _target(method, fn, fn)
    return _target(call_object, fn, fn)


def _target(function: types.FunctionType, receiver: Any, call: Callable[..., Any]) -> Target:
    name = getattr(call, "__qualname__", None) or type(call).__qualname__
    return Target(function, receiver, parameters(function), binder(function, receiver), call, name)


def parameters(function: types.FunctionType) -> tuple[str, ...]:
    """Names of the parameters in the order of the frame's first slots: positional, keyword-only, *args, **kwargs."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & _VARARGS) + bool(code.co_flags & _VARKW)
    return code.co_varnames[:count]


def binder(function: types.FunctionType, receiver: Any = MISSING) -> Callable[..., tuple[Any, ...]]:
    """A function of the same signature (less the receiver's parameter) that returns the bound values as a tuple.

    Defaults are read from the function when they are needed, so that a changed `__defaults__` is seen.
    """
    code = function.__code__
    names = code.co_varnames
    count, kwonly = code.co_argcount, code.co_kwonlyargcount
    positional, keyword = names[:count], names[count:count + kwonly]
    varargs = names[count + kwonly] if code.co_flags & _VARARGS else None
    varkw = names[count + kwonly + (varargs is not None)] if code.co_flags & _VARKW else None
    bound = receiver is not MISSING
    in_varargs = bound and count == 0
    """The receiver becomes the first item of *args."""
    first = 1 if bound and count else 0
    n_defaults = len(function.__defaults__ or ())
    fill: list[str] = []
    signature: list[str] = []
    for i, name in enumerate(positional[first:], first):
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
    values = ["_receiver_" if i < first else name for i, name in enumerate(positional)] + list(keyword)
    if varargs:
        values.append(f"(_receiver_, *{varargs})" if in_varargs else varargs)
    if varkw:
        values.append(varkw)
    text = f"def bind({', '.join(signature)}):\n{''.join(fill)}    return ({''.join(v + ', ' for v in values)})\n"
    namespace = {"_missing_": MISSING, "_function_": function, "_receiver_": receiver}
    exec(compile(text, f"<pellucid bind {function.__qualname__}>", "exec"), namespace)
    made: Callable[..., tuple[Any, ...]] = namespace["bind"]
    return made

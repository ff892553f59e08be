"""What others declare about callables: fixed answers, and bookkeeping of torch.compile's own."""

from __future__ import annotations

import functools
import logging
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from ...guards.types import Source
from ...torchdoor import stateful
from ..polyfills import polyfill
from ..values import instance as _instance
from ..values import opaque as _opaque_value
from ..values.base import Broken, Invoke, NotConstant, Value
from ..values.builtin import KNOWN, call_pure, check_identity
from ..values.constant import NONE
from .opaque import OPAQUE_ATTRIBUTES
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

_ANSWERS = (bool, int, float, complex, str, bytes, type, types.FunctionType, torch.dtype, torch.device)
"""Immutable answers, and callables, which are followed."""
CACHED = type(functools.lru_cache(len))
"""functools.lru_cache's class, implemented in C."""


def call_declared(cx: Capture, me: Value, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """The call of a function marked as torch.compiler.assume_constant_result marks it, bare or under lru_cache: made
    now, its answer a constant. None for others."""
    inner = getattr(obj, "__wrapped__", None) if type(obj) is CACHED else obj
    if inner is None:
        return None
    if stateful.declared_constant(inner):
        check_identity(cx, me)
        return call_pure(cx, me, obj, args, kwargs)
    return None if inner is obj else _cached_answer(cx, me, obj, args, kwargs)


class _Raised:
    """Stands for an lru_cache whose call during capture raised: the call of the program, which follows, has happened
    already; later ones are real."""

    def __init__(self, obj: Any, error: Exception):
        self.obj = obj
        self.error: Exception | None = error

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        error, self.error = self.error, None
        if error is not None:
            raise error.with_traceback(None)
        return self.obj(*args, **kwargs)


@dataclass(frozen=True)
class _Ask:
    """What an lru_cache has for these arguments."""

    obj: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]

    def __call__(self, _: Any) -> Any:
        return self.obj(*self.args, **dict(self.kwargs))

    @property
    def __name__(self) -> str:
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs)]
        return f"{self.obj.__qualname__}({', '.join(given)})"


class _StillCached:
    """The guard on an lru_cache's answer: the program's own call would find the same object (or make it, as it would
    anyway)."""

    def __init__(self, obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any], answer: Any):
        self.obj, self.args, self.kwargs, self.answer = obj, args, kwargs, answer

    def __call__(self, _: Any) -> bool:
        return self.obj(*self.args, **self.kwargs) is self.answer

    def __repr__(self) -> str:
        given = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        return f"{self.obj.__qualname__}({', '.join(given)}) is still {self.answer!r}"


def _cached_answer(cx: Capture, me: Value, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """The answer of an lru_cache for constant arguments: asked for now, as eager would, and again in each call, by a
    guard, since cache_clear() may change it. One that answers None is there to do something once, such as warning."""
    try:
        xs, ks = [_argument(cx, a) for a in args], {k: _argument(cx, a) for k, a in kwargs.items()}
        hash((*xs, *ks.values()))
    except (NotConstant, TypeError):
        return None
    unwritten = cx.dirty or any(n.op == "assign" for n in cx.builder.nodes)
    if unwritten and not (xs and isinstance(xs[0], logging.Logger)):        # it might read what is not yet written
        return None
    try:
        answer = obj(*xs, **ks)
    except Exception as e:          # not cached: each call of the program's raises anew
        raise Broken("PB104", f"{obj.__qualname__}(), which raises", cx.fixed(_Raised(obj, e)), args, kwargs) from None
    check_identity(cx, me)
    if answer is None:
        return NONE
    if type(answer).__module__ == "typing":           # forms such as Optional[int]: pure
        return cx.fixed(answer)
    assert isinstance(me, (_instance.InstanceVal, _opaque_value.OpaqueVal)) and me.source is not None
    if type(answer) not in _ANSWERS:
        if obj.cache_parameters()["maxsize"] == 0:
            return None
        ask = _Ask(obj, tuple(xs), tuple(ks.items()))
        return cx.wrap(answer, Source("call0", me.source, ask, ask))
    cx.guard("python", me.source, _StillCached(obj, tuple(xs), ks, answer), "lru_cache")
    return cx.fixed(answer)


def _argument(cx: Capture, a: Value) -> Any:
    """A constant, or an object from outside that an lru_cache knows by its identity, such as a logger."""
    if isinstance(a, _instance.InstanceVal) and a.obj is not None and type(a.obj).__hash__ is object.__hash__:
        check_identity(cx, a)
        return a.obj
    return a.constant(cx)


class _Dispatches:
    """The guard on functools.singledispatch: a class still finds the same implementation."""

    def __init__(self, cls: type, found: Any):
        self.cls, self.found = cls, found

    def __call__(self, dispatch: Any) -> bool:
        return dispatch(self.cls) is self.found

    def __repr__(self) -> str:
        return f"dispatch({self.cls.__qualname__}) is still {self.found!r}"


def _dispatch(cx: Capture, me: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """f.dispatch(cls) of a functools.singledispatch: asked for now, as eager would; what it caches is its own."""
    try:
        cls = args[0].constant(cx)
    except NotConstant:
        return None
    me.pytype(cx)
    found = me.obj(cls)
    cx.guard_once((me, cls, "dispatch"), "python", me.source, _Dispatches(cls, found), "singledispatch")
    return cx.fixed(found)


def _method_of_dispatch(cx: Capture, me: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """From 3.13 on singledispatchmethod keeps the methods that it makes in a dictionary with weak keys."""
    return Invoke(polyfill(cx, "single_dispatch_method"), args, kwargs)


BY_CODE: dict[int, Any] = {id(functools.singledispatch(len).dispatch.__code__): _dispatch}  # type: ignore[arg-type]
if hasattr(functools.singledispatchmethod(len), "_method_cache"):
    BY_CODE[id(functools.singledispatchmethod.__get__.__code__)] = _method_of_dispatch
"""Code of a function made anew each time by the standard library, by identity -> fn(cx, function, args, kwargs)."""


def know_torch_compile() -> None:
    """Once torch.compile was used, nn.Module.__init__ notes each new module in a table that only Dynamo reads."""
    module = sys.modules.get(stateful.GENERATIONS)
    if module is not None:
        KNOWN.setdefault(module.GenerationTracker.tag.__func__, lambda cx, args, kw: NONE)


@known(*stateful.UNWRAP_DEAD)
def _unwrap_dead(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
    """Wrappers of functorch's transforms: no tensor that capture accepts is one."""
    return args[0]


def _union_args(cx: Capture, v: Any) -> Value:
    check_identity(cx, v)
    return cx.fixed(v.obj.__args__, "__args__")


def _alias_origin(cx: Capture, v: Any) -> Value:
    check_identity(cx, v)
    return cx.fixed(v.obj.__origin__, "__origin__")


OPAQUE_ATTRIBUTES[types.UnionType, "__args__"] = _union_args
OPAQUE_ATTRIBUTES[types.GenericAlias, "__args__"] = _union_args
OPAQUE_ATTRIBUTES[types.GenericAlias, "__origin__"] = _alias_origin

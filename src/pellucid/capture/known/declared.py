"""What others declare about callables: fixed answers, and bookkeeping of torch.compile's own."""

from __future__ import annotations

import functools
import sys
import types
from typing import TYPE_CHECKING, Any

from ...torchdoor import stateful
from ..values import instance as _instance
from ..values.base import NotConstant, Value
from ..values.builtin import KNOWN, call_pure, check_identity
from ..values.constant import NONE
from .opaque import OPAQUE_ATTRIBUTES
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

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
    return None if inner is obj else _called_once(cx, me, obj, args, kwargs)


def _called_once(cx: Capture, me: Value, obj: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """An lru_cache that answers None is there to do something once, such as warning: done now, as eager would, and
    not again. Where it answers something else, that may be stale after cache_clear(), and the program's own call later
    finds the answer in the cache."""
    if cx.dirty or any(n.op == "assign" for n in cx.builder.nodes):      # it might read what is not yet written
        return None
    try:
        xs, ks = [_argument(cx, a) for a in args], {k: _argument(cx, a) for k, a in kwargs.items()}
        hash((*xs, *ks.values()))
    except (NotConstant, TypeError):
        return None
    if obj(*xs, **ks) is not None:
        return None
    check_identity(cx, me)
    return NONE


def _argument(cx: Capture, a: Value) -> Any:
    """A constant, or an object from outside that an lru_cache knows by its identity, such as a logger."""
    if isinstance(a, _instance.InstanceVal) and a.obj is not None and type(a.obj).__hash__ is object.__hash__:
        check_identity(cx, a)
        return a.obj
    return a.constant(cx)


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


OPAQUE_ATTRIBUTES[types.UnionType, "__args__"] = _union_args

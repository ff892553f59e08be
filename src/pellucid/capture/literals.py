"""Values for objects that pure code made during capture: containers are taken apart, long-lived objects kept."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import torch

from .values.base import Value
from .values.constant import Const
from .values.iterator import SequenceIter
from .values.mapping import DictVal
from .values.sequence import ListVal, RangeVal, SliceVal, TupleVal
from .values.sets import KeySet, SetVal
from .wrap import CONSTANTS

if TYPE_CHECKING:
    from .state import Capture


def literal(cx: Capture, obj: Any) -> Value:
    t = type(obj)
    if isinstance(obj, CONSTANTS):
        return Const(obj)
    if t is tuple or t is torch.Size:
        return TupleVal([cx.literal(x) for x in obj], t)
    if t is list:
        return ListVal([cx.literal(x) for x in obj])
    if t is dict:
        return DictVal(items={cx.literal(k).key(cx): cx.literal(v) for k, v in obj.items()})
    if t is set or t is frozenset:
        return SetVal(KeySet(obj, set(obj)), t)
    if t is slice:
        return SliceVal(*[cx.literal(x) for x in (obj.start, obj.stop, obj.step)])
    if t is range:
        return RangeVal(obj.start, obj.stop, obj.step)
    if isinstance(obj, (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType)):
        return cx.fixed(obj)
    if isinstance(obj, tuple):
        return TupleVal([cx.literal(x) for x in obj], t)
    if hasattr(t, "__next__"):
        return SequenceIter.over([cx.literal(x) for x in obj])
    if t is types.MappingProxyType:
        cx.keep.append(obj)
    return cx.fixed(obj)

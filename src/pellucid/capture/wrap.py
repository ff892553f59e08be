"""Which kind of value stands for an object of a given class."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import re
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend

from ..guards.types import Source
from . import generators
from .interpreted import InterpretedGenerator
from .values.builtin import wrap_builtin
from .values.constant import Const
from .values.deque import wrap_deque
from .values.function import CellVal, wrap_function, wrap_method, wrap_partial
from .values.instance import wrap_instance
from .values.iterator import wrap_range_iterator, wrap_sequence_iterator
from .values.klass import ClassVal, plain_named_tuple
from .values.mapping import DictVal
from .values.opaque import OpaqueVal
from .values.pymodule import wrap_module
from .values.sequence import ListVal, RangeVal, SliceVal, TupleVal
from .values.sets import SetVal
from .values.tensor import TENSOR_TYPES, wrap_tensor

Wrapper = Callable[[Any, Any, Source], Any]

HEAP_TYPE = 1 << 9

CONSTANTS = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis), type(NotImplemented), torch.dtype,
             torch.device, torch.layout, torch.memory_format, enum.Enum, torch.finfo, torch.iinfo, types.CodeType,
             type(torch.strided), re.Pattern, re.Match, datetime.date, datetime.time, datetime.timedelta,
             datetime.timezone, SDPBackend)


def _slice(cx: Any, obj: slice, source: Source) -> Any:
    if source.kind != "const":
        cx.guard("equal", source, obj, "slice")
    return SliceVal(*[cx.literal(x) for x in (obj.start, obj.stop, obj.step)])


def _range(cx: Any, obj: range, source: Source) -> Any:
    if source.kind != "const":
        cx.guard("equal", source, obj, "range")
    return RangeVal(obj.start, obj.stop, obj.step)


def _cell(cx: Any, obj: Any, source: Source) -> Any:
    return CellVal(None, obj, source)


def _mappingproxy(cx: Any, obj: Any, source: Source) -> Any:
    """A read-only view, taken as a dict that capture does not write to."""
    copy = dict(obj)
    v = DictVal(dict, obj=copy, source=source)
    cx.keep.append(copy)
    if source.kind == "const":
        v.items = {k: cx.fixed(x) for k, x in copy.items()}
        v.complete = True
    else:
        cx.guard("type", source, types.MappingProxyType, "type")
    v.typed = True
    return v


EXACT: dict[type, Wrapper] = {
    list: lambda cx, o, s: ListVal(None, list, o, s),
    tuple: lambda cx, o, s: TupleVal(None, tuple, o, s),
    torch.Size: lambda cx, o, s: TupleVal(None, torch.Size, o, s),
    dict: lambda cx, o, s: DictVal(dict, obj=o, source=s),
    collections.OrderedDict: lambda cx, o, s: DictVal(collections.OrderedDict, obj=o, source=s),
    collections.defaultdict: lambda cx, o, s: DictVal(collections.defaultdict, obj=o, source=s),
    collections.deque: wrap_deque,
    set: lambda cx, o, s: SetVal(None, set, o, s),
    frozenset: lambda cx, o, s: SetVal(None, frozenset, o, s),
    slice: _slice,
    range: _range,
    types.FunctionType: wrap_function,
    types.MethodType: wrap_method,
    types.BuiltinFunctionType: wrap_builtin,
    types.WrapperDescriptorType: wrap_builtin,
    types.MethodDescriptorType: wrap_builtin,
    types.MethodWrapperType: wrap_builtin,
    types.ClassMethodDescriptorType: wrap_builtin,
    types.GetSetDescriptorType: wrap_builtin,
    types.MemberDescriptorType: wrap_builtin,
    property: wrap_builtin,
    functools.cached_property: wrap_builtin,
    types.ModuleType: wrap_module,
    types.CellType: _cell,
    types.MappingProxyType: _mappingproxy,
    functools.partial: wrap_partial,
    type(iter(range(0))): wrap_range_iterator,
    type(iter([])): wrap_sequence_iterator,
    type(iter(())): wrap_sequence_iterator,
    InterpretedGenerator: lambda cx, o, s: generators.wrap_generator(cx, o, s),
    type: lambda cx, o, s: ClassVal(o, s),
}
for _t in TENSOR_TYPES:
    EXACT[_t] = wrap_tensor


def wrapper_of(t: type) -> Any:
    """The wrapper for objects of class t: called with (capture, object, source); or Const."""
    w = EXACT.get(t)
    if w is not None:
        return w
    if issubclass(t, CONSTANTS):
        return Const
    if issubclass(t, torch.Tensor):
        return wrap_tensor
    if issubclass(t, type):
        return EXACT[type]
    if issubclass(t, types.ModuleType):
        return wrap_module
    if issubclass(t, functools.partial):
        return wrap_partial
    if issubclass(t, tuple) and (plain_named_tuple(t) or hasattr(t, "n_sequence_fields")):
        return lambda cx, o, s: TupleVal(None, type(o), o, s)
    if t.__flags__ & HEAP_TYPE and not _foreign(t):
        return wrap_instance
    if issubclass(t, BaseException):
        return wrap_instance
    if t is object:
        return wrap_instance
    return OpaqueVal


def _foreign(t: type) -> bool:
    """Heap types whose state is not in Python (made by C code with PyType_FromSpec)."""
    if t.__module__.split(".")[0] in ("numpy",):
        return True
    base = t
    while base is not object:
        if not base.__flags__ & HEAP_TYPE:
            return not issubclass(base, (dict, list, tuple, set, frozenset, BaseException, object().__class__)) \
                or base not in (dict, list, tuple, set, frozenset, collections.OrderedDict) \
                and not issubclass(base, BaseException)
        if "__module__" not in base.__dict__:
            return True
        base = base.__base__  # type: ignore[assignment]
    return False

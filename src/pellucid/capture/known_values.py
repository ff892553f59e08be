"""Tensors whose values capture knows: computed from constants and from small integers of the module's state.

Asked for only where a break would be the alternative: a size, a branch or `.item()` that needs a tensor's value. The
torch calls that made the tensor are run again on the known operands, which are few and small. An integer of the state
(a buffer that holds a stride, say) is guarded like a Python integer at the same place; once it has changed between
calls it is unknown, or, where it is asked for by itself, a symbolic integer.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..graph.types import GraphInput, Ref, TensorMeta, TorchCall
from ..guards.types import Source
from ..shapes.dim import Dim
from .values.base import Value
from .values.constant import Const
from .values.sequence import ListVal, SliceVal, TupleVal
from .values.size import SizeVal
from .values.tensor import TensorVal

if TYPE_CHECKING:
    from .state import Capture

MOST = 64
"""Elements of a tensor, and calls, that are worth running during capture."""
_STEPS = ("attr", "dict", "cell", "global", "default", "kwdefault")

PURE = frozenset(
    "tensor scalar_tensor full zeros ones arange as_tensor add sub subtract mul multiply div divide truediv "
    "true_divide floordiv floor_divide mod remainder fmod pow neg abs absolute maximum minimum max min amax amin "
    "sum prod cumsum ceil floor round trunc sqrt eq ne lt le gt ge logical_and logical_or logical_not and_ or_ "
    "xor invert where clamp clamp_min clamp_max to long int float double bool type __getitem__ getitem select "
    "unbind squeeze unsqueeze view reshape flatten clone contiguous detach stack cat all any index_select rsub "
    "__radd__ __rsub__ __rmul__ __add__ __sub__ __mul__ __truediv__ __floordiv__ __rtruediv__ __rfloordiv__ "
    "__mod__ __neg__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ bitwise_and bitwise_or bitwise_not new_zeros "
    "new_ones new_full new_tensor zeros_like ones_like full_like diff flip repeat expand permute transpose "
    "bincount".split())
"""Names of the calls that are run again: they compute from their operands alone."""


@dataclass
class _Found:
    """What must be run, in order, and the inputs that are read."""

    calls: list[TorchCall] = field(default_factory=list)
    inputs: dict[int, torch.Tensor] = field(default_factory=dict)
    sources: list[tuple[torch.Tensor, Source]] = field(default_factory=list)


def known_value(cx: Capture, t: TensorVal) -> torch.Tensor | None:
    """The tensor that `t` will be in every call under the entry's guards, or None."""
    v = t.graph_value(cx)
    b = cx.builder
    # The first call that returns a value made it: later ones hand it through, as x.long() of integers does.
    made_by = {o: c for c in reversed(b.calls) for o in _ids(c.outs)}
    inputs = {g.value: (i, g) for i, g in enumerate(b.inputs)}
    found = _Found()
    if not _search(cx, v.id, made_by, inputs, found, set()):
        return None
    for x, source in found.sources:
        number = cx.wrap(x.item(), source)
        if type(number) is not Const:
            return None
        number.constant(cx)
    values: dict[int, torch.Tensor] = dict(found.inputs)
    cx.env.cause = cx.cause("the value of a tensor")
    with torch.no_grad():
        for c in found.calls:
            args, kwargs = _operand(cx, c.args, values), _operand(cx, c.kwargs, values)
            target = getattr(torch.Tensor, c.target) if isinstance(c.target, str) else c.target
            try:
                _bind(c.outs, target(*args, **kwargs), values)
            except (RuntimeError, TypeError, ValueError, IndexError):      # the program's own call raises it
                return None
    return values.get(v.id)


def number_of(cx: Capture, t: TensorVal) -> Value | None:
    """The Python number that `t.item()` gives, where it is known or can be read from the state; None elsewhere."""
    v = t.graph_value(cx)
    if t.obj is not None and t.source is not None and not cx.builder.is_written(v.id) and _readable(t.obj, t.source):
        return cx.wrap(t.obj.item(), _item(t.source))
    known = known_value(cx, t)
    return cx.literal(known.item()) if known is not None and known.numel() == 1 else None


_CONVERT: dict[str, Any] = {"__bool__": bool, "__int__": int, "__float__": float, "__index__": operator.index}


def handed(cx: Capture, t: TensorVal, method: str) -> Value | None:
    """What Tensor.item, tolist, __bool__, __int__, __float__ or __index__ hands to Python; None where it is unknown."""
    if method == "tolist":
        known = known_value(cx, t)
        return None if known is None else cx.literal(known.tolist())
    if method != "item" and method not in _CONVERT:
        return None
    n = number_of(cx, t)
    if n is None or method == "item" or (type(n) is SizeVal and method in ("__int__", "__index__")):
        return n
    if type(n) is not Const:
        return None
    try:
        return cx.literal(_CONVERT[method](n.constant(cx)))
    except (TypeError, ValueError, OverflowError):       # the program's own call raises it
        return None


def with_numbers(cx: Capture, args: list[Value],
                 kwargs: dict[str, Value]) -> tuple[list[Value], dict[str, Value]] | None:
    """The operands of a call that needs numbers, tensors of one known integer replaced by it; None if there is none."""
    changed = False

    def replace(v: Value) -> Value:
        nonlocal changed
        if type(v) is TensorVal:
            m = v.graph_value(cx).meta
            n = number_of(cx, v) if not m.shape and not m.dtype.is_floating_point and not m.dtype.is_complex else None
            changed = changed or n is not None
            return v if n is None else n
        if type(v) in (TupleVal, ListVal):
            items = [replace(x) for x in v.load(cx)]        # type: ignore[attr-defined]
            return TupleVal(items) if type(v) is TupleVal else ListVal(items)
        if type(v) is SliceVal:
            return SliceVal(*(replace(x) for x in (v.start, v.stop, v.step)))
        return v

    new = [replace(v) for v in args], {k: replace(v) for k, v in kwargs.items()}
    return new if changed else None


def _item_of(x: torch.Tensor) -> int | bool:
    return x.item()     # type: ignore[return-value]


def _item(source: Source) -> Source:
    return Source("call0", source, "item", _item_of)


def _readable(x: torch.Tensor, source: Source) -> bool:
    """One integer or truth value of the state: what calls hand over as an argument differs from call to call."""
    if x.numel() != 1 or x.dtype not in (torch.int64, torch.int32, torch.bool) or x.device.type != "cpu":
        return False
    step: Source | None = source
    while step is not None:
        if step.kind in _STEPS:
            return True
        step = step.base
    return False


def _search(cx: Capture, id: int, made_by: dict[int, TorchCall], inputs: dict[int, tuple[int, GraphInput]],
            found: _Found, seen: set[int]) -> bool:
    """Whether value `id` is known; the calls that make it are noted in order."""
    if id in seen:
        return True
    seen.add(id)
    b = cx.builder
    meta = b.metas[id]
    if not isinstance(meta, TensorMeta) or b.is_written(id) or len(found.calls) >= MOST:
        return False
    count = 1
    for s in meta.shape:
        count *= s if type(s) is int else MOST + 1
    if count > MOST:
        return False
    if id in inputs:
        index, g = inputs[id]
        if g.role == "constant":
            found.inputs[id] = g.source.obj
            return True
        outside = next((x for x in cx.tensors if x.input == index), None)
        if outside is None or not _readable(outside.obj, g.source):
            return False
        found.inputs[id] = outside.obj
        found.sources.append((outside.obj, _item(g.source)))
        return True
    c = made_by.get(id)
    if c is None or c.mutates or _name(c) not in PURE:
        return False
    for o in (*_ids(c.args), *_ids(c.kwargs)):
        if not _search(cx, o, made_by, inputs, found, seen):
            return False
    if c not in found.calls:
        found.calls.append(c)
    return True


def _name(c: TorchCall) -> str:
    return c.target if isinstance(c.target, str) else getattr(c.target, "__name__", "")


def _ids(x: Any) -> list[int]:
    if type(x) is Ref:
        return [x.value]
    if isinstance(x, (tuple, list)):
        return [i for y in x for i in _ids(y)]
    if isinstance(x, dict):
        return [i for y in x.values() for i in _ids(y)]
    if isinstance(x, slice):
        return [*_ids(x.start), *_ids(x.stop), *_ids(x.step)]
    return []


def _operand(cx: Capture, x: Any, values: dict[int, torch.Tensor]) -> Any:
    if type(x) is Ref:
        return values[x.value]
    if type(x) is Dim:
        return cx.env.concrete(x)
    if isinstance(x, (tuple, list)):
        items = [_operand(cx, y, values) for y in x]
        return items if isinstance(x, list) else tuple(items)
    if isinstance(x, dict):
        return {k: _operand(cx, y, values) for k, y in x.items()}
    if isinstance(x, slice):
        return slice(*(_operand(cx, y, values) for y in (x.start, x.stop, x.step)))
    return x


def _bind(outs: Any, result: Any, values: dict[int, torch.Tensor]) -> None:
    if type(outs) is Ref:
        values[outs.value] = result
    elif isinstance(outs, (tuple, list)):
        for o, r in zip(outs, result):
            _bind(o, r, values)


__all__ = ["handed", "known_value", "number_of", "with_numbers"]

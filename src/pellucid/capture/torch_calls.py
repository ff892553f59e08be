"""Calls of torch functions and tensor methods: operands for the catalogue's expansion, results, the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..graph.build import Val
from ..ops.errors import NeedsNumber, Unsupported, WouldRaise
from ..ops.registry import FUNCTIONS, METHODS
from ..shapes.dim import Dim, bounds, hint
from ..torchdoor import flags
from ..torchdoor.operators import OpOverload, OpOverloadPacket
from .values.base import Broken, Invoke, NotConstant, Value
from .values.constant import NONE, Const
from .values.mapping import DictVal
from .values.number import ARITHMETIC, FloatVal, as_operand
from .values.sequence import ListVal, RangeVal, SequenceVal, SliceVal, TupleVal
from .values.size import SizeVal
from .values.tensor import TensorVal

if TYPE_CHECKING:
    from .state import Capture


def _fields() -> dict[str, tuple[str, ...]]:
    return _torch_level.declare.RESULT_FIELDS


def load_catalogue() -> None:
    """Import the files that fill the catalogue's tables."""
    import importlib
    import pkgutil

    for package in ("pellucid.ops.core", "pellucid.ops.torch_level"):
        module = importlib.import_module(package)
        for info in pkgutil.iter_modules(module.__path__):
            importlib.import_module(f"{package}.{info.name}")


_INT64 = (-(1 << 63), (1 << 63) - 1)


class _NoOperand(Exception):
    """A value that cannot be an operand of a torch call; `value` says which."""

    def __init__(self, value: Value):
        self.value = value


_PLAIN = frozenset((int, float, bool, str, type(None), torch.dtype))


def _plain_number(value: Any) -> Any:
    """A number of a subclass (numpy.float64, an IntEnum) as torch takes it: by its value."""
    for plain in (int, float, complex):
        if isinstance(value, plain):
            return plain(value)
    return value


def operand(cx: Capture, v: Value) -> Any:
    """What the catalogue gets for a value: Val, size, number, dtype, tuple, slice ..."""
    t = type(v)
    if t is TensorVal:
        return v.val if v.val is not None else v.graph_value(cx)
    if t is Const:
        if v.pending is not None:
            cx.pin(v)
        value = v.value
        if type(value) is int and not _INT64[0] <= value <= _INT64[1]:
            raise _NoOperand(v)
        return value if type(value) in _PLAIN else _plain_number(value)
    if t is SizeVal:
        return not_negative(cx, v)
    if isinstance(v, SequenceVal):
        items = [operand(cx, x) for x in v.load(cx)]
        return items if t is ListVal else tuple(items)
    if t is SliceVal:
        return slice(operand(cx, v.start), operand(cx, v.stop), operand(cx, v.step))
    if t is RangeVal:
        return tuple(v.known(cx))
    if t is DictVal:
        return {k: operand(cx, x) for k, x in v.load(cx).items()}
    try:
        value = v.constant(cx)
    except NotConstant:
        raise _NoOperand(v) from None
    return _DTYPES.get(value, value) if type(value) is type else value


_DTYPES: dict[type, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
"""Python's classes that torch takes for a dtype."""


def not_negative(cx: Capture, v: SizeVal) -> Any:
    """A symbolic integer where a negative one means something else (a size, a dimension): it is 0 or more from here
    on, or else a constant."""
    low = bounds(v.dim)[0]
    if low is None or low < 0:
        cx.env.cause = cx.cause("integer used as a size")
        if hint(v.dim) < 0:
            return cx.env.concrete(v.dim)
        cx.env.decide(">=", v.dim, 0)
    return v.dim


def number_operand(cx: Capture, v: FloatVal | SizeVal, name: str, args: list[Value]) -> Any:
    if type(v) is SizeVal:
        return v.dim if name in ARITHMETIC else not_negative(cx, v)
    assert type(v) is FloatVal
    other = next((t for t in args if t is not v), None)
    if name in ARITHMETIC and len(args) == 2 and type(other) is TensorVal:
        made = as_operand(cx, v, other.graph_value(cx).meta)
        if made is not None:
            return made
    try:
        return v.constant(cx)
    except NotConstant:
        raise _NoOperand(v) from None


def has_tensor(v: Value) -> bool:
    t = type(v)
    if t is TensorVal:
        return True
    if isinstance(v, SequenceVal) and v.items:
        return any(has_tensor(x) for x in v.items)
    return False


def result(cx: Capture, r: Any, name: str, grad: bool, known: dict[int, TensorVal]) -> Value:
    """The program's value for what an expansion returned."""
    t = type(r)
    if t is Val:
        v = known.get(r.id)
        return (
            v
            if v is not None
            else TensorVal(r, grad=grad and (r.meta.dtype.is_floating_point or r.meta.dtype.is_complex))
        )
    if t is Dim:
        return SizeVal(r)
    if r is None:
        return NONE
    if t is tuple:
        cls = getattr(torch.return_types, name, None) if name in _fields() else None
        return TupleVal([result(cx, x, name, grad, known) for x in r], cls)
    if t is list:
        return ListVal([result(cx, x, name, grad, known) for x in r])
    if t is torch.Size:
        return TupleVal([result(cx, x, name, grad, known) for x in r], torch.Size)
    return cx.literal(r)


def _tensors(values: Any, out: list[TensorVal]) -> list[TensorVal]:
    for v in values:
        t = type(v)
        if t is TensorVal:
            out.append(v)
        elif isinstance(v, SequenceVal) and v.items:
            _tensors(v.items, out)
        elif t is DictVal:
            _tensors(v.items.values(), out)
    return out


def expand(cx: Capture, kind: str, target: Any, fn: Any, args: list[Value], kwargs: dict[str, Value], name: str,
           callee: Value) -> Value:
    """Run the expansion `fn` of a torch-level call and record the call."""
    b = cx.builder
    own = args[1:] if kind == "method" else args
    """A method's callee holds its tensor."""
    tensors = _tensors(args, [])
    if kwargs:
        _tensors(kwargs.values(), tensors)
    try:
        xs = [operand(cx, a) if type(a) not in (FloatVal, SizeVal) else number_operand(cx, a, name, args) for a in args]
        ks = {k: operand(cx, a) for k, a in kwargs.items()} if kwargs else {}
    except _NoOperand as e:
        if type(getattr(e.value, "obj", None)) is torch.Generator:
            raise Broken("PB119", f"{name} draws from a torch.Generator", callee, own, kwargs) from None
        raise Broken("PB106", f"{name} gets a {type(e.value).__name__.removesuffix('Val').lower()} argument", callee,
                     own, kwargs) from None
    stack = cx.stack()
    cx.env.cause = cx.cause(name)
    mark = len(b.nodes)
    writes = b.writes
    grad = cx.grad and any(t.grad for t in tensors) and name not in ("detach", "data")
    out = kwargs["out"] if ks and ks.get("out") is not None else None
    given = xs, ks
    try:
        try:
            if cx.autocast is not None and cx.autocast.enabled:
                fn, xs, ks = _autocasting.prepare(cx, target, name, fn, xs, ks)
            if cx.flags and flags.DEFAULT_DTYPE in cx.flags:
                fn = flags.under_default(cx.flags[flags.DEFAULT_DTYPE], fn)
            if out is None:
                r = fn(b, *xs, **ks)
            elif grad:
                raise WouldRaise("functions with out= arguments don't support automatic differentiation")
            elif name.endswith("_copy"):
                raise Unsupported("out= of an operator that returns None then", "assign the result")
            else:
                r = with_out(b, fn, xs, ks)
        except Unsupported as e:
            del b.nodes[mark:]
            if isinstance(e, NeedsNumber):
                raise
            if out is not None or b.writes != writes:
                raise
            r = instead(b, target, xs, ks, e)
    except Unsupported as e:
        del b.nodes[mark:]
        if isinstance(e, NeedsNumber) and b.writes == writes:
            numbers = _known_values.with_numbers(cx, args, kwargs)
            if numbers is not None:
                return expand(cx, kind, target, fn, *numbers, name, callee)
        raise Broken("PB106", f"{name}: {e.reason}", callee, own, kwargs, e.remedy) from None
    except WouldRaise as e:
        del b.nodes[mark:]
        raise Broken("PB115", f"{name}: {e.reason}", callee, own, kwargs) from None
    if grad:
        cx.uses_grad = True
    mutates: tuple[int, ...] = ()
    if out is not None:
        mutates = _written_outs(_tensors([out], []), r)
    elif b.writes != writes:
        mutates = _written(cx, target, tensors, r, grad)
    known = {t.val.id: t for t in tensors if t.val is not None}
    b.record(kind, target, tuple(given[0]), given[1], r, stack, mutates, (cx.grad, cx.autocast))
    return result(cx, r, name if out is None else f"{name}_out", grad, known)


def _written_outs(outs: list[TensorVal], r: Any) -> tuple[int, ...]:
    """After a call with out=: its tensors go on with what was written into them."""
    before = tuple([t.val.id for t in outs if t.val is not None])
    for t, new in zip(outs, r if type(r) is tuple else (r,)):
        t.val = new
    return before


def _written(cx: Capture, target: Any, tensors: list[TensorVal], r: Any, grad: bool) -> tuple[int, ...]:
    """After an in-place call: the tensor values that stand for the written argument go on with its new contents."""
    position = _declare.MUTATES.get(target)
    if position is None and tensors and cx.builder.storage(tensors[0].val) == cx.builder.written:
        position = 0
    if position is None or position >= len(tensors):
        return ()
    t = tensors[position]
    assert t.val is not None
    before = t.val.id
    if grad:
        t.grad = True
    if type(r) is Val and r.meta.shape == t.val.meta.shape:
        t.val = r
    else:
        t.val = cx.builder.fresh(t.val)
    return (before,)


def call_function(cx: Capture, target: Any, args: list[Value], kwargs: dict[str, Value], callee: Value) -> Value:
    return expand(
        cx, "function", target, FUNCTIONS[target], args, kwargs, getattr(target, "__name__", str(target)), callee
    )


OPERATORS = (OpOverload, OpOverloadPacket)
"""Classes of torch.ops.namespace.name and its overloads."""


def call_operator(cx: Capture, target: Any, args: list[Value], kwargs: dict[str, Value], callee: Value) -> Value | None:
    """torch.ops.namespace.name(...); None where torch says nothing about the operator."""
    known = _builtin.KNOWN.get(target)
    if known is not None:
        return known(cx, args, kwargs)  # type: ignore[no-any-return]
    fn = _lookup.expansion_of(target)
    if fn is None:
        return None
    _builtin.check_identity(cx, callee)
    return expand(cx, "function", target, fn, args, kwargs, str(target), callee)


_OWN_LAYOUT = frozenset(("unsqueeze_", "squeeze_", "transpose_", "t_", "swapaxes_", "swapdims_"))
"""Methods by which a tensor becomes another view of its storage: of one made in this segment, only the value moves."""


def call_method(cx: Capture, t: Value, name: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
    fn = METHODS.get(name)
    callee = _builtin.TensorMethod(t, name)
    if name in _OWN_LAYOUT and type(t) is TensorVal and t.obj is None:
        made = expand(cx, "method", name, METHODS[name[:-1]], [t, *args], kwargs, name, callee)
        t.val = made.val        # type: ignore[attr-defined]
        return t
    if fn is None:
        cx.missing(f"Tensor.{name}")
        raise Broken("PB105", f"Tensor.{name} has no entry in the operator catalogue", callee, args, kwargs)
    return expand(cx, "method", name, fn, [t, *args], kwargs, name, callee)


def call_property(cx: Capture, t: TensorVal, name: str) -> Value:
    fn = METHODS.get(name) or FUNCTIONS.get(getattr(torch.Tensor, name))
    if fn is None:
        cx.missing(f"Tensor.{name}")
        raise Broken(
            "PB105", f"Tensor.{name} has no entry in the operator catalogue", cx.fixed(getattr), [t, Const(name)]
        )
    return expand(cx, "function", getattr, lambda b, x, n: fn(b, x), [t, Const(name)], {}, name, cx.fixed(getattr))


__all__ = [
    "Invoke",
    "call_function",
    "call_method",
    "call_property",
    "expand",
    "has_tensor",
    "load_catalogue",
    "operand",
]

# Modules that need this one: bound when all are loaded.
from ..ops import torch_level as _torch_level  # noqa: E402
from ..ops.torch_level import declare as _declare  # noqa: E402
from ..ops.torch_level import lookup as _lookup  # noqa: E402
from ..ops.torch_level.opaque import instead  # noqa: E402
from ..ops.torch_level.out import with_out  # noqa: E402
from . import autocasting as _autocasting  # noqa: E402
from . import known_values as _known_values  # noqa: E402
from .values import builtin as _builtin  # noqa: E402

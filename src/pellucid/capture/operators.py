"""Operators on values: arithmetic, comparison, identity."""

from __future__ import annotations

import collections
import operator
import types
from typing import TYPE_CHECKING, Any

import torch

from ..ops.registry import FUNCTIONS, METHODS
from .classes import MISSING
from .values.base import Broken, Invoke, NotConstant, Result, Value
from .values.constant import FALSE, NONE, TRUE, Const
from .values.function import FunctionVal, MethodVal
from .values.identity import IdVal
from .values.instance import InstanceVal
from .values.klass import ClassVal
from .values.mapping import DictVal
from .values.number import FloatVal, calculation, is_number
from .values.opaque import OpaqueVal
from .values.sequence import ListVal, RangeVal, SequenceVal, SliceVal, TupleVal
from .values.sets import KeySet, SetVal
from .values.size import SizeVal, size_binary, size_unary
from .values.tensor import TensorVal

if TYPE_CHECKING:
    from .state import Capture

NAMES: dict[Any, tuple[str, str]] = {
    operator.add: ("__add__", "__radd__"), operator.sub: ("__sub__", "__rsub__"), operator.mul: ("__mul__", "__rmul__"),
    operator.truediv: ("__truediv__", "__rtruediv__"), operator.floordiv: ("__floordiv__", "__rfloordiv__"),
    operator.mod: ("__mod__", "__rmod__"), operator.pow: ("__pow__", "__rpow__"),
    operator.matmul: ("__matmul__", "__rmatmul__"), operator.and_: ("__and__", "__rand__"),
    operator.or_: ("__or__", "__ror__"), operator.xor: ("__xor__", "__rxor__"),
    operator.lshift: ("__lshift__", "__rlshift__"), operator.rshift: ("__rshift__", "__rrshift__"),
}
INPLACE: dict[Any, tuple[str, Any]] = {
    operator.iadd: ("__iadd__", operator.add), operator.isub: ("__isub__", operator.sub),
    operator.imul: ("__imul__", operator.mul), operator.itruediv: ("__itruediv__", operator.truediv),
    operator.ifloordiv: ("__ifloordiv__", operator.floordiv), operator.imod: ("__imod__", operator.mod),
    operator.ipow: ("__ipow__", operator.pow), operator.imatmul: ("__imatmul__", operator.matmul),
    operator.iand: ("__iand__", operator.and_), operator.ior: ("__ior__", operator.or_),
    operator.ixor: ("__ixor__", operator.xor), operator.ilshift: ("__ilshift__", operator.lshift),
    operator.irshift: ("__irshift__", operator.rshift),
}
COMPARE: dict[Any, tuple[str, str]] = {
    operator.lt: ("__lt__", "__gt__"), operator.le: ("__le__", "__ge__"), operator.gt: ("__gt__", "__lt__"),
    operator.ge: ("__ge__", "__le__"), operator.eq: ("__eq__", "__eq__"), operator.ne: ("__ne__", "__ne__"),
}
SYMBOLS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
           operator.mod: "%", operator.pow: "** or pow()", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
           operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>", operator.lt: "<", operator.le: "<=",
           operator.gt: ">", operator.ge: ">="}
UNARY = {operator.neg: "__neg__", operator.pos: "__pos__", operator.invert: "__invert__", abs: "__abs__"}


def binary(cx: Capture, op: Any, a: Value, b: Value) -> Result:
    """a op b, in-place operators included."""
    ta, tb = type(a), type(b)
    if ta is Const and tb is Const:
        if a.pending is not None:
            cx.pin(a)
        if b.pending is not None:
            cx.pin(b)
        try:
            r0 = op(a.value, b.value)
        except Exception as e:
            raise cx.reraise(e) from None
        return cx.literal(r0)
    if ta is FloatVal or tb is FloatVal:
        r = calculation(cx, op, [a, b])
        if r is not None:
            return r
        if ta is not TensorVal and tb is not TensorVal and is_number(a) and is_number(b):
            raise _native(cx, op, a, b)
    if (ta is OpaqueVal or tb is OpaqueVal) and not (isinstance(a, InstanceVal) or isinstance(b, InstanceVal)):
        raise _native(cx, op, a, b)
    if ta is Const and op is operator.mod and isinstance(b, InstanceVal) and isinstance(b.base, TupleVal) \
            and type(a.value) is str:
        b.pytype(cx)
        b = b.base              # a tuple's items, whatever is derived from it
    if ta is Const and type(a.value) in (str, bytes) and op in (operator.mod, operator.imod) and (
            tb is TensorVal or isinstance(b, InstanceVal)):
        raise _native(cx, op, a, b)          # the text of an object
    if ta is TensorVal or tb is TensorVal:
        if ta is not TensorVal and op in INPLACE:
            if ta is ListVal and op is operator.iadd:
                return _list_inplace(cx, op, a, b)
            op = INPLACE[op][1]
        return tensor_binary(cx, op, a, b)
    if ta is SizeVal or tb is SizeVal:
        r = size_binary(cx, op, a, b)
        if r is not None:
            return r
    if op in _OF_TEXT and {ta, tb} & _VARYING and any(
            type(v) is Const and type(v.value) in (str, bytes) for v in (a, b)):
        raise _native(cx, op, a, b)          # text made of a number that varies
    if op in INPLACE:
        name, plain = INPLACE[op]
        if ta is ListVal and op in (operator.iadd, operator.imul):
            return _list_inplace(cx, op, a, b)
        if ta is tb is SetVal and a.cls is set and op in (operator.ior, operator.iand, operator.isub, operator.ixor):
            r = _set_operation(cx, plain, a, b)
            if isinstance(r, SetVal):
                a.write(cx)
                if op is operator.ior:
                    a.load(cx).merge(b.load(cx))
                else:
                    a.items = r.items
                return a
        if ta is DictVal and op is operator.ior:
            made = _iteration_known.update_dict(cx, a, [b], {})
            if isinstance(made, Invoke):
                made.then, made.detail = "instead", a
                return made
            return a
        if isinstance(a, InstanceVal):
            r2 = a.invoke_special(cx, name, [b])
            if r2 is not None:
                return r2
        return binary(cx, plain, a, b)
    if isinstance(a, InstanceVal) or isinstance(b, InstanceVal):
        return _dunder(cx, op, a, b, *NAMES[op])
    r3 = _containers(cx, op, a, b)
    if r3 is not None:
        return r3
    try:
        return cx.literal(op(a.constant(cx), b.constant(cx)))
    except NotConstant:
        pass
    except Exception as e:
        raise cx.reraise(e) from None
    if ta is Const and type(a.constant(cx)) is str and op is operator.mod:
        return Invoke(_polyfills.polyfill(cx, "percent_format"), [a, b])
    raise _no_operator(cx, op, a, b)


_OF_TEXT = frozenset((operator.mul, operator.imul, operator.mod, operator.imod))
_VARYING = {SizeVal, FloatVal}


def _native(cx: Capture, op: Any, a: Value, b: Value) -> Broken:
    """An operator that an object in C defines (or a number that changes from call to call) is applied natively."""
    name = a.pytype(cx).__name__ if type(a) is OpaqueVal else b.pytype(cx).__name__
    return Broken("PB111", f"operator {SYMBOLS.get(op, op.__name__)} on a {name}", cx.fixed(op), [a, b])


def _no_operator(cx: Capture, op: Any, a: Value, b: Value) -> Any:
    return cx.raised(TypeError, f"unsupported operand type(s) for {SYMBOLS.get(op, op.__name__)}: "
                                f"{a.pytype(cx).__name__!r} and {b.pytype(cx).__name__!r}")


def tensor_binary(cx: Capture, op: Any, a: Value, b: Value) -> Result:
    """An operator with a tensor on one side."""
    if isinstance(b, InstanceVal) and type(a) is TensorVal and op in NAMES:
        right = b.special(cx, NAMES[op][1])
        if type(right) is types.FunctionType:
            return Invoke(cx.fixed(right), [b, a])
    if isinstance(a, InstanceVal) and a.base is None:
        left = a.special(cx, (NAMES.get(op) or INPLACE.get(op) or COMPARE[op])[0])
        if left is MISSING and op in INPLACE:
            left = a.special(cx, NAMES[INPLACE[op][1]][0])
        if type(left) is types.FunctionType:
            return Invoke(cx.fixed(left), [a, b])
    fn = FUNCTIONS.get(op)
    if fn is None:
        names = NAMES.get(op) or COMPARE.get(op)
        if names is None:
            inplace = INPLACE[op]
            names = (inplace[0], inplace[0])
        if type(a) is TensorVal:
            fn = METHODS.get(names[0])
        else:
            fn = METHODS.get(names[1])
            if fn is not None:
                return _torch_calls.expand(cx, "method", names[1], fn, [b, a], {}, names[1], cx.fixed(op))
    if fn is None:
        cx.missing(f"operator.{op.__name__}")
        raise Broken("PB105", f"operator {op.__name__} has no entry in the operator catalogue", cx.fixed(op), [a, b])
    return _torch_calls.expand(cx, "function", op, fn, [a, b], {}, op.__name__, cx.fixed(op))


def _dunder(cx: Capture, op: Any, a: Value, b: Value, left: str, right: str) -> Result:
    la = a.special(cx, left) if isinstance(a, InstanceVal) else MISSING
    rb = b.special(cx, right) if isinstance(b, InstanceVal) else MISSING
    python_left = type(la) is types.FunctionType
    python_right = type(rb) is types.FunctionType
    if python_left or python_right:
        same = a.pytype(cx) is b.pytype(cx)
        if python_left and (not python_right or same):
            return Invoke(_polyfill(cx, "binary_left"), [cx.fixed(la), a, b, Const(SYMBOLS.get(op, op.__name__))])
        if python_left:
            return Invoke(
                _polyfill(cx, "binary_both"), [cx.fixed(la), cx.fixed(rb), a, b, Const(SYMBOLS.get(op, op.__name__))]
            )
        base = a.base if isinstance(a, InstanceVal) else a
        if base is None or not isinstance(base, (SequenceVal, DictVal, SetVal)) or base is a:
            return Invoke(_polyfill(cx, "binary_right"), [cx.fixed(rb), a, b, Const(SYMBOLS.get(op, op.__name__))])
    if op is operator.or_ and isinstance(a, InstanceVal) and issubclass(a.cls, collections.OrderedDict):
        raise _native(cx, op, a, b)             # gives the same class
    xa = a.base if isinstance(a, InstanceVal) and a.base is not None else a
    xb = b.base if isinstance(b, InstanceVal) and b.base is not None else b
    if xa is not a or xb is not b:
        return binary(cx, op, xa, xb)
    raise _no_operator(cx, op, a, b)


def _polyfill(cx: Capture, name: str) -> Value:
    return _polyfills.polyfill(cx, name)


def _list_inplace(cx: Capture, op: Any, a: ListVal, b: Value) -> Result:
    items = a.write(cx)
    if op is operator.imul:
        n = b.concrete(cx) if type(b) is SizeVal else b.constant(cx)
        items[:] = items * n
        return a
    more = _iteration_known.all_of(cx, b)
    if more is None:
        return Invoke(_polyfill(cx, "list_extend"), [a, b], then="instead", detail=a)
    items.extend(more)
    return a


def _containers(cx: Capture, op: Any, a: Value, b: Value) -> Value | None:
    ta, tb = type(a), type(b)
    if op is operator.add:
        if isinstance(a, SequenceVal) and ta is tb:
            cls = torch.Size if torch.Size in (a.cls, b.cls) else None  # type: ignore[attr-defined]
            return ta([*a.load(cx), *b.load(cx)], cls)  # type: ignore[attr-defined, call-arg]
    elif op is operator.mul:
        s, n = (a, b) if isinstance(a, SequenceVal) else (b, a)
        if isinstance(s, SequenceVal) and type(n) in (Const, SizeVal):
            count = n.concrete(cx) if type(n) is SizeVal else n.constant(cx)
            if isinstance(count, int):
                if type(s) is TupleVal and s.cls is tuple and count == 1:
                    return s
                return type(s)(s.load(cx) * count, s.cls if s.cls.__name__ == "Size" else None)
    elif op in _SETS and (ta is SetVal or tb is SetVal or ta is ViewVal or tb is ViewVal):
        r = _set_operation(cx, op, a, b)
        if r is not None:
            return r
    elif op is operator.or_ and ta is DictVal and tb is DictVal:
        return DictVal(a.cls, {**a.load(cx), **b.load(cx)})
    return None


_SETS: dict[Any, Any] = {
    operator.or_: lambda x, y: [*x, *y],
    operator.and_: lambda x, y: [k for k in x if k in y],
    operator.sub: lambda x, y: [k for k in x if k not in y],
    operator.xor: lambda x, y: [*(k for k in x if k not in y), *(k for k in y if k not in x)],
}


def _set_operation(cx: Capture, op: Any, a: Value, b: Value) -> SetVal | None:
    """An operator on sets, or on the keys or items of a dict and what may be iterated."""
    fn = _SETS.get(op)
    if fn is None:
        return None
    view = _containers_known.is_set_view(a) or _containers_known.is_set_view(b)
    x, y = (_containers_known.as_set(cx, v) if view or type(v) is SetVal else None for v in (a, b))
    if x is None or y is None:
        return None
    p, q = x.load(cx), y.load(cx)
    real = op(p.real, q.real) if p.real is not None and q.real is not None else None
    return SetVal(KeySet(fn(p, q), real), set if view or type(a) is not SetVal else a.cls)


def _compare_sets(cx: Capture, op: Any, a: Value, b: Value) -> Value | None:
    """A comparison of sets, or of the keys or items of dicts; None where it is not one."""
    sets = [v for v in (a, b) if type(v) is SetVal or _containers_known.is_set_view(v)]
    if len(sets) != 2:
        return None
    x, y = (_containers_known.as_set(cx, v) for v in sets)
    return None if x is None or y is None else (TRUE if op(x.load(cx).keys(), y.load(cx).keys()) else FALSE)


# ------------------------------------------------------------------ unary
def unary(cx: Capture, op: Any, a: Value) -> Result:
    t = type(a)
    if t is Const:
        try:
            return Const(op(a.constant(cx)))
        except Exception as e:
            raise cx.reraise(e) from None
    if t is TensorVal:
        fn = FUNCTIONS.get(op) or METHODS.get(UNARY[op])
        if fn is None:
            cx.missing(f"operator.{op.__name__}")
            raise Broken("PB105", f"operator {op.__name__} has no entry in the operator catalogue", cx.fixed(op), [a])
        return _torch_calls.expand(cx, "function", op, fn, [a], {}, op.__name__, cx.fixed(op))
    if t is SizeVal:
        return size_unary(cx, op, a)
    if t is FloatVal and (made := calculation(cx, op, [a])) is not None:
        return made
    if isinstance(a, InstanceVal):
        r = a.invoke_special(cx, UNARY[op], [])
        if r is not None:
            return r
        if a.special(cx, UNARY[op]) is MISSING:
            sign = {operator.neg: "unary -", operator.pos: "unary +", operator.invert: "unary ~", abs: "abs()"}[op]
            raise cx.raised(TypeError, f"bad operand type for {sign}: {a.cls.__name__!r}")
    try:
        return cx.literal(op(a.constant(cx)))
    except NotConstant:
        raise Broken(
            "PB112", f"operator {op.__name__} of a {type(a).__name__[:-3].lower()}", cx.fixed(op), [a]
        ) from None
    except TypeError as e:
        raise cx.reraise(e) from None


# ------------------------------------------------------------------ comparison, identity
def identical(cx: Capture, a: Value, b: Value) -> bool:
    """a is b."""
    if a is b:
        return True
    ta, tb = type(a), type(b)
    if ta is Const or tb is Const:
        if ta is not tb:
            other, const = (a, b) if tb is Const else (b, a)
            if const.pending is not None:  # type: ignore[attr-defined]
                cx.pin(const)  # type: ignore[arg-type]
            other.pytype(cx)
            return False
        if a.pending is not None:
            cx.pin(a)
        if b.pending is not None:
            cx.pin(b)
        x, y = a.value, b.value
        if x is y:
            return True
        if type(x) is type(y) and type(x) in (int, str, bytes, float):
            return bool(x == y)
        return False
    if ta is MethodVal and tb is MethodVal:
        return False
    oa, ob = getattr(a, "obj", None), getattr(b, "obj", None)
    if oa is not None and oa is ob:
        return True
    if ta is tb is TupleVal and a.cls is b.cls is tuple and not a.load(cx) and not b.load(cx):
        return True             # there is one empty tuple
    if oa is not None and ob is not None:
        sa, sb = a.source, b.source  # type: ignore[attr-defined]
        if ta is not tb:
            a.pytype(cx)
            b.pytype(cx)
        elif sa is not None and sb is not None and (sa.kind != "const" or sb.kind != "const"):
            cx.guard_once((sa, sb, "distinct"), "distinct", sa, sb, "identity")
    elif a.identity or b.identity:
        pass
    return False


def compare(cx: Capture, op: Any, a: Value, b: Value) -> Result:
    ta, tb = type(a), type(b)
    if ta is Const and tb is Const:
        if a.pending is not None:
            cx.pin(a)
        if b.pending is not None:
            cx.pin(b)
        try:
            r = op(a.value, b.value)
        except Exception as e:
            raise cx.reraise(e) from None
        return TRUE if r is True else FALSE if r is False else cx.literal(r)
    if ta is FloatVal or tb is FloatVal:
        r = calculation(cx, op, [a, b])
        if r is not None:
            return r
    if any(type(v) is OpaqueVal and type(v.obj).__eq__ is not object.__eq__ for v in (a, b)):
        raise _native(cx, op, a, b)
    equality = op is operator.eq or op is operator.ne
    if ta is TensorVal or tb is TensorVal:
        if equality and not _number_like(b if ta is TensorVal else a):
            other = b if ta is TensorVal else a
            if type(other) is not TensorVal:
                if not isinstance(other, (InstanceVal, SequenceVal)):
                    return FALSE if op is operator.eq else TRUE
        return tensor_binary(cx, op, a, b)
    if ta is SizeVal or tb is SizeVal:
        r = size_binary(cx, op, a, b)
        if r is not None:
            return r
        if equality:
            return FALSE if op is operator.eq else TRUE
    if isinstance(a, InstanceVal) or isinstance(b, InstanceVal):
        return _compare_instances(cx, op, a, b, equality)
    if ta is SetVal or ta is ViewVal:
        found = _compare_sets(cx, op, a, b)
        if found is not None:
            return found
    if isinstance(a, SequenceVal) and isinstance(b, SequenceVal):
        if ta is not tb:
            if equality:
                return FALSE if op is operator.eq else TRUE
            raise _not_ordered(cx, op, a, b)
        return _compare_sequences(cx, op, a, b)
    if ta is IdVal and tb is IdVal and equality:
        return TRUE if identical(cx, a.of, b.of) is (op is operator.eq) else FALSE
    if equality:
        r2 = _equal(cx, a, b)
        if r2 is not None:
            return TRUE if r2 is (op is operator.eq) else FALSE
    try:
        return cx.literal(op(a.constant(cx), b.constant(cx)))
    except NotConstant:
        pass
    except TypeError as e:
        raise cx.reraise(e) from None
    raise Broken(
        "PB112", f"comparison of a {ta.__name__[:-3].lower()} and a {tb.__name__[:-3].lower()}", cx.fixed(op), [a, b]
    )


def _number_like(v: Value) -> bool:
    return type(v) is SizeVal or type(v) is Const and isinstance(v.value, (int, float, complex, bool))


def _not_ordered(cx: Capture, op: Any, a: Value, b: Value) -> Any:
    return cx.raised(TypeError, f"{SYMBOLS[op]!r} not supported between instances of {a.pytype(cx).__name__!r} and "
                                f"{b.pytype(cx).__name__!r}")


def _equal(cx: Capture, a: Value, b: Value) -> bool | None:
    """a == b for values whose equality is decided by kind, identity or contents; None where it is not known here."""
    ta, tb = type(a), type(b)
    if ta is Const or tb is Const:
        if ta is not tb:
            a.pytype(cx)
            b.pytype(cx)
            return False
        return None
    if ta is DictVal and tb is DictVal:
        x, y = a.load(cx), b.load(cx)
        if len(x) != len(y):
            return False
        if a.cls is b.cls is collections.OrderedDict and list(x) != list(y):
            return False
        for k, v in x.items():
            w = y.get(k)
            if w is None:
                return False
            if v is not w:
                try:
                    r = compare(cx, operator.eq, v, w)
                except Broken:
                    return None
                if not isinstance(r, Const):
                    return None
                if not r.truth(cx):
                    return False
        return True
    if ta is SetVal and tb is SetVal:
        return a.load(cx).keys() == b.load(cx).keys()
    if ta is SliceVal and tb is SliceVal or ta is RangeVal and tb is RangeVal:
        return None
    if ta is MethodVal and tb is MethodVal:
        return identical(cx, a.fn, b.fn) and identical(cx, a.self, b.self)
    if isinstance(a, (ClassVal, FunctionVal)) or isinstance(b, (ClassVal, FunctionVal)) or ta is not tb:
        return identical(cx, a, b)
    if getattr(a, "obj", None) is not None or getattr(b, "obj", None) is not None:
        return identical(cx, a, b)
    return None


def _compare_sequences(cx: Capture, op: Any, a: Any, b: Any) -> Result:
    x, y = a.load(cx), b.load(cx)
    if op in (operator.eq, operator.ne) and len(x) != len(y):
        return FALSE if op is operator.eq else TRUE
    for v, w in zip(x, y):
        if v is w and type(v) is not TensorVal:
            continue
        try:
            r = compare(cx, operator.eq, v, w)
        except Broken:
            r = NotImplemented          # a break belongs to the comparison of these two, in Python code
        if not isinstance(r, Const):
            return Invoke(_polyfill(cx, "compare_sequences"), [cx.fixed(op), a, b])
        if not r.truth(cx):
            if op is operator.eq:
                return FALSE
            if op is operator.ne:
                return TRUE
            return compare(cx, op, v, w)
    if op is operator.eq:
        return TRUE
    if op is operator.ne:
        return FALSE
    return TRUE if op(len(x), len(y)) else FALSE


def _compare_instances(cx: Capture, op: Any, a: Value, b: Value, equality: bool) -> Result:
    left, right = COMPARE[op]
    la = a.special(cx, left) if isinstance(a, InstanceVal) else MISSING
    rb = b.special(cx, right) if isinstance(b, InstanceVal) else MISSING
    if op is operator.ne and isinstance(a, InstanceVal) and type(la) is not types.FunctionType \
            and type(a.special(cx, "__eq__")) is types.FunctionType:
        return Invoke(_polyfill(cx, "not_equal"), [a, b])
    python_left, python_right = type(la) is types.FunctionType, type(rb) is types.FunctionType
    if python_left or python_right:
        nothing: Value = NONE
        below = not python_left and _below(a) is not None or not python_right and _below(b) is not None
        return Invoke(_polyfill(cx, "rich_compare"), [cx.fixed(la) if python_left else nothing,
                                                      cx.fixed(rb) if python_right else nothing, a, b, cx.fixed(op),
                                                      Const(SYMBOLS.get(op)), Const(below)])
    xa = a.base if isinstance(a, InstanceVal) and a.base is not None and not a.is_exception else a
    xb = b.base if isinstance(b, InstanceVal) and b.base is not None and not b.is_exception else b
    if xa is not a or xb is not b:
        return compare(cx, op, xa, xb)
    if _compared_by_c(la) or _compared_by_c(rb):
        raise _native(cx, op, a, b)
    if equality:
        return TRUE if identical(cx, a, b) is (op is operator.eq) else FALSE
    raise _not_ordered(cx, op, a, b)


def _below(v: Value) -> Value | None:
    """The container that v is, or that its class is derived from: what its comparison in C looks at."""
    if isinstance(v, InstanceVal):
        return v.base if not v.is_exception else None
    return v if isinstance(v, (SequenceVal, DictVal, SetVal)) else None


def compare_below(cx: Capture, op: Any, a: Value, b: Value) -> Result:
    """a op b as the containers that they are derived from."""
    return compare(cx, op, _below(a) or a, _below(b) or b)


def _compared_by_c(raw: Any) -> bool:
    """Whether a class's special method is C code of its own: decimal.Decimal's (a class in the heap from 3.13 on)."""
    return raw is not MISSING and getattr(raw, "__objclass__", type) not in (object, BaseException)

# Modules that need this one: bound when all are loaded.
from . import polyfills as _polyfills  # noqa: E402
from . import torch_calls as _torch_calls  # noqa: E402
from .known import containers as _containers_known  # noqa: E402
from .known import iteration as _iteration_known  # noqa: E402
from .values.view import ViewVal  # noqa: E402

"""Built-in functions that look at frames, keep state outside, or stand for operators."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import inspect
import logging
import operator
import sys
import types
import warnings
from typing import TYPE_CHECKING, Any

from ..operators import binary, compare, identical, unary
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, Value, give_up
from ..values.builtin import KNOWN
from ..values.constant import NONE, Const
from ..values.function import FunctionVal, MethodVal, PartialVal
from ..values.instance import InstanceVal
from ..values.klass import ClassVal
from ..values.mapping import DictVal
from ..values.sequence import ListVal, TupleVal
from .builtin_functions import _bool
from .register import boolean, known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


# ------------------------------------------------------------------ frames and the rest
@known(globals)
def _globals(cx: Capture, args: Args, kw: Kw) -> Any:
    return cx.machine.frame.globals


@known(locals)
def _locals(cx: Capture, args: Args, kw: Kw) -> Any:
    return locals_of(cx, cx.machine.frame)


def locals_of(cx: Capture, f: Any) -> Value:
    out: dict[Any, Value] = {}
    for name, v in zip(f.code.slots, f.locals):
        if type(v) is _function.CellVal:
            v = v.get(cx)
        if v is not _frames.UNBOUND and v is not None:
            out[name] = v
    return DictVal(items=out)


@known(vars)
def _vars(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        return locals_of(cx, cx.machine.frame)
    return args[0].attr(cx, "__dict__")


@known(dataclasses._process_class)  # type: ignore[attr-defined]
def _process_class(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB114", "a dataclass is made", cx.fixed(dataclasses._process_class), args, kw)  # type: ignore[attr-defined]


@known(warnings.warn)
def _warn(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "warnings.warn()", cx.fixed(warnings.warn), args, kw)


@known(logging.Logger._log)
def _log(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "a log message is written", cx.fixed(logging.Logger._log), args, kw)


def _enabled(level: int, expected: bool) -> Any:
    def check(logger: Any) -> bool:
        return logger.isEnabledFor(level) is expected
    check.__name__ = f"isEnabledFor({level}) is {expected}"
    return check


@known(logging.Logger.isEnabledFor)
def _is_enabled_for(cx: Capture, args: Args, kw: Kw) -> Any:
    logger, level = args[0], args[1].constant(cx)
    if not isinstance(logger, InstanceVal) or logger.obj is None:
        return None
    answer = logger.obj.isEnabledFor(level)
    assert logger.source is not None
    cx.guard_once((logger, level), "python", logger.source, _enabled(level, answer), "log level")
    return boolean(answer)


@known(print)
def _print(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "print()", cx.fixed(print), args, kw)


@known(open, input)
def _open(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "input or output", cx.fixed(open), args, kw)


@known(functools.partial)
def _partial(cx: Capture, args: Args, kw: Kw) -> Any:
    fn = args[0]
    if isinstance(fn, PartialVal) and fn.cls is functools.partial:
        return PartialVal(fn.fn, [*fn.args, *args[1:]], {**fn.kwargs, **kw})
    return PartialVal(fn, args[1:], kw)


@known(functools.reduce)
def _reduce(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "reduce"), args)


@known(types.MethodType)
def _method(cx: Capture, args: Args, kw: Kw) -> Any:
    return MethodVal(args[0], args[1])


@known(object)
def _object(cx: Capture, args: Args, kw: Kw) -> Any:
    if args or kw:
        raise cx.raised(TypeError, "object() takes no arguments")
    return InstanceVal(cx, object)


def _operator(op: Any) -> None:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return binary(cx, op, args[0], args[1])
    KNOWN[op] = call


def _compare(op: Any) -> None:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return compare(cx, op, args[0], args[1])
    KNOWN[op] = call


for _op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
            operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.iadd,
            operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.iand, operator.ior):
    _operator(_op)
for _op in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
    _compare(_op)
for _op in (operator.neg, operator.pos, operator.invert):
    KNOWN[_op] = lambda cx, args, kw, op=_op: unary(cx, op, args[0])


@known(operator.getitem)
def _getitem(cx: Capture, args: Args, kw: Kw) -> Any:
    return args[0].getitem(cx, args[1])


@known(operator.setitem)
def _setitem(cx: Capture, args: Args, kw: Kw) -> Any:
    r = args[0].setitem(cx, args[1], args[2])
    if isinstance(r, Invoke):
        r.then, r.detail = "instead", NONE
        return r
    return NONE


@known(operator.is_)
def _is(cx: Capture, args: Args, kw: Kw) -> Any:
    return boolean(identical(cx, args[0], args[1]))


@known(operator.is_not)
def _is_not(cx: Capture, args: Args, kw: Kw) -> Any:
    return boolean(not identical(cx, args[0], args[1]))


@known(operator.not_)
def _not(cx: Capture, args: Args, kw: Kw) -> Any:
    t = args[0].truth(cx)
    return Invoke(polyfill(cx, "not_"), args) if isinstance(t, Invoke) else boolean(not t)


@known(operator.truth)
def _truth(cx: Capture, args: Args, kw: Kw) -> Any:
    return _bool(cx, args, kw)


@known(operator.contains)
def _contains(cx: Capture, args: Args, kw: Kw) -> Any:
    t = args[0].contains(cx, args[1])
    return t if isinstance(t, Invoke) else boolean(t)


@known(eval, exec)
def _eval(cx: Capture, args: Args, kw: Kw) -> Any:
    if len(args) < 2:
        raise give_up("eval() or exec() in the frame that calls it")
    return None


@known(sys._getframe)
def _getframe(cx: Capture, args: Args, kw: Kw) -> Any:
    raise give_up("sys._getframe()")


@known(sys.exc_info)
def _exc_info(cx: Capture, args: Args, kw: Kw) -> Any:
    exc = cx.machine.handled_exception()
    if exc is None:
        return TupleVal([NONE, NONE, NONE])
    return TupleVal([cx.fixed(exc.cls), exc, _traceback.TracebackVal(exc)])


@known(sys.exception)
def _exception(cx: Capture, args: Args, kw: Kw) -> Any:
    return cx.machine.handled_exception() or NONE


@known(builtins.dir)
def _dir(cx: Capture, args: Args, kw: Kw) -> Any:
    if not args:
        names = locals_of(cx, cx.machine.frame)
        return ListVal([Const(n) for n in sorted(names.items)])  # type: ignore[attr-defined]
    if args and isinstance(args[0], ClassVal):
        return cx.literal(dir(args[0].constant(cx)))
    raise Broken("PB112", "dir()", cx.fixed(dir), args, kw)


@known(operator.attrgetter, operator.itemgetter, operator.methodcaller)
def _getter(cx: Capture, args: Args, kw: Kw) -> Any:
    return None


@known(inspect.signature)
def _signature(cx: Capture, args: Args, kw: Kw) -> Any:
    v = args[0]
    if isinstance(v, MethodVal) and isinstance(v.fn, FunctionVal) and v.fn.obj is not None:
        return _cached_signature(cx, v.fn, True)
    if isinstance(v, FunctionVal) and v.obj is not None:
        return _cached_signature(cx, v, False)
    return None


def _cached_signature(cx: Capture, fn: FunctionVal, bound: bool) -> Value:
    fn.pytype(cx)
    known_ = cx.signatures.get((fn, bound))
    if known_ is None:
        assert fn.obj is not None
        sig = inspect.signature(fn.obj)
        if bound:
            sig = sig.replace(parameters=list(sig.parameters.values())[1:])
        known_ = cx.signatures[fn, bound] = cx.fixed(sig)
    return known_


# Modules that need this one: bound when all are loaded.
from .. import frames as _frames  # noqa: E402
from ..values import function as _function  # noqa: E402
from ..values import traceback_ as _traceback  # noqa: E402

"""The symbolic domain's exceptions, with-statements and patterns."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, NoReturn

from ..events.types import UserStack
from .executor import handled
from .frames import UNBOUND, Frame
from .known.builtin_functions import instance_of
from .values.base import Broken, Invoke, NotConstant, Raised, Value
from .values.builtin import BuiltinMethod
from .values.constant import FALSE, NONE, TRUE, Const
from .values.function import MethodVal
from .values.instance import InstanceVal, exception_value
from .values.klass import ClassVal
from .values.opaque import OpaqueVal
from .values.sequence import TupleVal
from .values.traceback_ import TracebackVal

_IS_SEQUENCE, _IS_MAPPING = 1 << 5, 1 << 6
"""Type flags that the collection classes give to what is derived from them or registered."""


def _no_class() -> str:
    """What this Python says of a class pattern that names no class."""
    try:
        match 0:
            case _IS_SEQUENCE():    # type: ignore[misc]
                pass
    except TypeError as e:
        return str(e)
    return ""


_NO_CLASS = _no_class()

if TYPE_CHECKING:
    pass


class CaptureRaised(Exception):
    """The captured program raises; the caller runs it eagerly, so that the real exception appears."""

    def __init__(self, value: Any, stack: UserStack):
        self.value, self.stack = value, stack
        cls = getattr(value, "cls", None)
        args = [getattr(a, "value", a) for a in getattr(getattr(value, "base", None), "items", None) or ()]
        super().__init__(f"{cls.__name__ if cls else value}({', '.join(map(repr, args))})")


class Exceptions:
    """Mixed into `symbolic.Symbolic`."""

    cx: Any
    frame: Any
    enter: Any
    user_stack: Any
    value_of: Any

    # ---------------------------------------------------------------- exceptions, with
    def error(self, f: Frame | None, kind: type[BaseException], message: str) -> NoReturn:
        raise self.cx.raised(kind, message)

    def caught(self, f: Frame, error: BaseException) -> Any:
        if isinstance(error, Raised):
            return error.value
        if isinstance(error, NotConstant):
            raise Broken("PB112", f"this operation needs a value known during capture, not a {error.value!r}")
        raise error

    def trace(self, f: Frame, exc: Any) -> None:
        pass

    def uncaught(self, exc: Any) -> BaseException:
        return CaptureRaised(exc, self.user_stack())

    def stop_iteration(self, f: Frame, value: Value) -> NoReturn:
        none = type(value) is Const and value.value is None
        raise Raised(exception_value(self.cx, StopIteration, [] if none else [value]))

    def type_name(self, f: Frame, value: Value) -> str:
        return value.pytype(self.cx).__name__

    def raise_(self, f: Frame, exc: Any, cause: Any) -> Any:
        self.frame = f
        cx = self.cx
        current = handled(f)
        if exc is UNBOUND:
            if current is None:
                raise cx.raised(RuntimeError, "No active exception to reraise")
            raise Raised(current)
        if isinstance(exc, ClassVal):
            made = exc.call(cx, [], {})
            if type(made) is Invoke:
                entered = self.enter(f, made)
                if type(entered) is Frame:
                    return entered
                made = entered
            exc = made
        if not isinstance(exc, InstanceVal) or not exc.is_exception:
            raise cx.raised(TypeError, "exceptions must derive from BaseException")
        exc.pytype(cx)
        if cause is not UNBOUND and not (type(cause) is Const and cause.constant(cx) is None):
            if isinstance(cause, ClassVal):
                cause = self.value_of(cause.call(cx, [], {}))
            if not isinstance(cause, InstanceVal) or not cause.is_exception:
                raise cx.raised(TypeError, "exception causes must derive from BaseException")
            exc.cause = cause
        if cause is not UNBOUND:
            exc.suppress = True
        if current is not None and current is not exc:
            exc.context = current
        raise Raised(exc)

    def exc_matches(self, f: Frame, exc: Value, kind: Value) -> Any:
        self.frame = f
        cls = kind.constant(self.cx)
        for c in cls if type(cls) is tuple else (cls,):
            if not isinstance(c, type) or not issubclass(c, BaseException):
                raise self.cx.raised(
                    TypeError, "catching classes that do not inherit from BaseException is not allowed"
                )
        return TRUE if instance_of(self.cx, exc, cls) else FALSE

    def group_matches(self, f: Frame, exc: Value, kind: Value) -> tuple[Value, Value]:
        raise Broken("PB112", "except*")

    def prep_reraise_star(self, f: Frame, original: Value, excs: Value) -> Value:
        raise Broken("PB112", "except*")

    def stop_iteration_value(self, f: Frame, exc: Any) -> Any:
        if issubclass(exc.cls, StopIteration):
            return exc.base.items[0] if exc.base.items else NONE
        return UNBOUND

    def generator_stop(self, f: Frame, exc: Any) -> Any:
        if not issubclass(exc.cls, StopIteration):
            return exc
        error = self.cx.raised(RuntimeError, "generator raised StopIteration").value
        error.cause = error.context = exc
        return error

    def exc_info(self, f: Frame, exc: Any) -> list[Value]:
        return [self.cx.fixed(exc.cls), exc, TracebackVal(exc)]

    def with_parts(self, f: Frame, manager: Value) -> tuple[Value, Value]:
        self.frame = f
        if isinstance(manager, InstanceVal):
            out = []
            for name in ("__exit__", "__enter__"):
                raw = manager.special(self.cx, name)
                if type(raw) is not types.FunctionType:
                    break
                out.append(raw)
            else:
                return MethodVal(self.cx.fixed(out[0]), manager), MethodVal(
                    self.cx.fixed(out[1]), manager
                )
            if raw is NotImplemented or not hasattr(manager.cls, "__enter__"):
                raise self.cx.raised(
                    TypeError, f"'{manager.cls.__name__}' object does not support the context manager protocol"
                )
        cls = manager.pytype(self.cx)
        leave, enter = getattr(cls, "__exit__", None), getattr(cls, "__enter__", None)
        if leave is not None and enter is not None and type(manager) is OpaqueVal:
            return BuiltinMethod(manager, "__exit__", leave), BuiltinMethod(manager, "__enter__", enter)
        if leave is None or enter is None:
            text = f"'{cls.__name__}' object does not support the context manager protocol"
            raise self.cx.raised(TypeError, text + (" (missed __exit__ method)" if enter is not None else ""))
        raise Broken("PB112", f"a with-statement over a {manager.pytype(self.cx).__name__}")

    # ---------------------------------------------------------------- match, rest
    def len(self, f: Frame, value: Value) -> Any:
        self.frame = f
        r = value.length(self.cx)
        return self.enter(f, r) if type(r) is Invoke else r

    def match_sequence(self, f: Frame, value: Value) -> Value:
        self.frame = f
        return TRUE if value.pytype(self.cx).__flags__ & _IS_SEQUENCE else FALSE

    def match_mapping(self, f: Frame, value: Value) -> Value:
        return TRUE if value.pytype(self.cx).__flags__ & _IS_MAPPING else FALSE

    def match_keys(self, f: Frame, subject: Any, keys: Any) -> Value:
        self.frame = f
        d = subject.base if isinstance(subject, InstanceVal) else subject
        out = []
        for k in keys.load(self.cx):
            v = d.get(self.cx, k.key(self.cx))
            if v is None:
                return NONE
            out.append(v)
        return TupleVal(out)

    def match_class(self, f: Frame, subject: Value, cls: Value, positional: int, names: Any) -> Value:
        self.frame = f
        c = cls.constant(self.cx)
        if not isinstance(c, type):
            raise self.cx.raised(TypeError, _NO_CLASS)
        if not instance_of(self.cx, subject, c):
            return NONE
        attrs = [n.value for n in names.load(self.cx)]
        if positional:
            if c in (bool, bytes, dict, float, frozenset, int, list, set, str, tuple, bytearray):
                if positional > 1:
                    raise self.cx.raised(
                        TypeError, f"{c.__name__}() accepts 1 positional sub-pattern ({positional} given)"
                    )
                return TupleVal([subject])
            names_ = getattr(c, "__match_args__", ())
            if positional > len(names_):
                s = "" if len(names_) == 1 else "s"
                raise self.cx.raised(TypeError, f"{c.__name__}() accepts {len(names_)} positional sub-pattern{s} "
                                                f"({positional} given)")
            attrs = [*names_[:positional], *attrs]
        out = []
        for n in attrs:
            try:
                out.append(self.value_of(subject.attr(self.cx, n)))
            except Raised:
                return NONE
        return TupleVal(out)

    def setup_annotations(self, f: Frame) -> None:
        pass

    def intrinsic(self, f: Frame, name: str, args: list[Value]) -> Value:
        self.frame = f
        raise Broken("PB112", f"the intrinsic operation {name}")

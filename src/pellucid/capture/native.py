"""On plain objects: what CPython does inside one instruction, with its messages."""

from __future__ import annotations

import functools
import sys
import typing
import warnings
from collections.abc import Callable, Iterable
from typing import Any

# ------------------------------------------------------------------ small functions made for one shape of operands


def _make(source: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace["fn"]


@functools.cache
def unpacker(before: int, after: int | None) -> Callable[[Any], tuple[Any, ...]]:
    """v -> its `before` items; or, with `after`, the first items, a list, and the last `after`. CPython unpacks."""
    names = [f"a{i}" for i in range(before)]
    left = names if after is None else [*names, "*rest", *(f"b{i}" for i in range(after))]
    result = ", ".join(n.lstrip("*") for n in left)
    target = f"[{', '.join(left)}]"
    return _make(f"def fn(v):\n    {target} = v\n    return ({result}{',' if left else ''})\n")


@functools.cache
def class_matcher(positional: int, names: tuple[str, ...]) -> Callable[[Any, Any], Any]:
    """(subject, class) -> tuple of the attributes that a class pattern reads, or None. CPython matches."""
    patterns = [f"p{i}" for i in range(positional)] + [f"{n}=k{i}" for i, n in enumerate(names)]
    found = [f"p{i}" for i in range(positional)] + [f"k{i}" for i in range(len(names))]
    return _make("def fn(subject, cls):\n    match subject:\n"
                 f"        case cls({', '.join(patterns)}):\n"
                 f"            return ({', '.join(found)}{',' if found else ''})\n    return None\n")


is_sequence: Callable[[Any], bool] = _make(
    "def fn(v):\n    match v:\n        case [*_]:\n            return True\n    return False\n")
is_mapping: Callable[[Any], bool] = _make(
    "def fn(v):\n    match v:\n        case {}:\n            return True\n    return False\n")


def _close_returns() -> bool:
    def g() -> Any:
        try:
            yield
        except GeneratorExit:
            return 1

    it = g()
    next(it)
    return it.close() == 1  # type: ignore[func-returns-value]


def _throw_warns() -> str:
    def g() -> Any:
        yield

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            g().throw(ValueError, "", None)
        except ValueError:
            return "".join(str(w.message) for w in caught)
    return ""


THROW_WARNS = _throw_warns()
"""What generator.throw() with more than one argument warns of; empty where it does not (before Python 3.12)."""
CLOSE_RETURNS = _close_returns()
"""generator.close() gives the generator's return value (Python 3.13)."""


# ------------------------------------------------------------------ containers and calls
def list_extend(items: list[Any], iterable: Any) -> None:
    if not hasattr(type(iterable), "__iter__") and not hasattr(type(iterable), "__getitem__"):
        raise TypeError(f"Value after * must be an iterable, not {type(iterable).__name__}")
    items.extend(iterable)


def dict_update(mapping: dict[Any, Any], other: Any) -> None:
    if not isinstance(other, dict) and not hasattr(other, "keys"):
        raise TypeError(f"'{type(other).__name__}' object is not a mapping")
    mapping.update(other)


def function_text(function: Any) -> str:
    """How CPython names a callable in messages about its arguments."""
    qualname = getattr(function, "__qualname__", None)
    if qualname is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{module}.{qualname}()" if module is not None and module != "builtins" else f"{qualname}()"


def dict_merge(mapping: dict[Any, Any], other: Any, function: Any) -> None:
    if not isinstance(other, dict) and not hasattr(other, "keys"):
        raise TypeError(f"{function_text(function)} argument after ** must be a mapping, not {type(other).__name__}")
    for key in other.keys():
        if key in mapping:
            if not isinstance(key, str):
                raise TypeError(f"{function_text(function)} keywords must be strings")
            raise TypeError(f"{function_text(function)} got multiple values for keyword argument '{key}'")
        mapping[key] = other[key]


def star_args(function: Any, args: Any) -> tuple[Any, ...]:
    if not hasattr(type(args), "__iter__") and not hasattr(type(args), "__getitem__"):
        raise TypeError(f"{function_text(function)} argument after * must be an iterable, not {type(args).__name__}")
    return tuple(args)


# ------------------------------------------------------------------ imports
def import_from(module: Any, name: str) -> Any:
    try:
        return getattr(module, name)
    except AttributeError:
        pass
    package = getattr(module, "__name__", None)
    if isinstance(package, str) and f"{package}.{name}" in sys.modules:
        return sys.modules[f"{package}.{name}"]
    namespace: dict[str, Any] = {"__builtins__": {"__import__": lambda *a: module}}
    exec(f"from {package or '_'} import {name}", namespace)      # the message is CPython's
    return namespace[name]


def import_star(module: Any, namespace: Any) -> None:
    names: Iterable[str] | None = getattr(module, "__all__", None)
    if names is None:
        names = [n for n in module.__dict__ if not n.startswith("_")]
    for name in names:
        namespace[name] = getattr(module, name)


# ------------------------------------------------------------------ exceptions
def exception_of(exc: Any) -> BaseException:
    """What `raise exc` raises."""
    if isinstance(exc, type) and issubclass(exc, BaseException):
        made = exc()
        if not isinstance(made, BaseException):
            raise TypeError(f"calling {exc!r} should have returned an instance of BaseException, not {type(made)!r}")
        return made
    if not isinstance(exc, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    return exc


def cause_of(cause: Any) -> BaseException | None:
    if isinstance(cause, type) and issubclass(cause, BaseException):
        return cause()
    if cause is None or isinstance(cause, BaseException):
        return cause
    raise TypeError("exception causes must derive from BaseException")


def set_context(exc: BaseException, cur: BaseException) -> None:
    """As raising exc while cur is handled: exc.__context__ = cur, without making a cycle (_PyErr_SetObject)."""
    if cur is exc:
        return
    o: BaseException = cur
    seen = set()
    while (context := o.__context__) is not None and id(o) not in seen:
        seen.add(id(o))
        if context is exc:
            o.__context__ = None
            break
        o = context
    exc.__context__ = cur


def thrown(kind: Any, value: Any, tb: Any) -> BaseException:
    """The exception that generator.throw(kind, value, tb) raises."""
    if isinstance(kind, type) and issubclass(kind, BaseException):
        try:
            exc = value if isinstance(value, kind) else kind() if value is None else \
                kind(*value) if isinstance(value, tuple) else kind(value)
        except BaseException as e:          # is thrown into the generator instead
            exc = e.with_traceback(None)
        if not isinstance(exc, BaseException):
            exc = TypeError(f"calling {kind!r} should have returned an instance of BaseException, not {type(exc)!r}")
    elif isinstance(kind, BaseException):
        if value is not None:
            raise TypeError("instance exception may not have a separate value")
        exc = kind
    else:
        raise TypeError("exceptions must be classes or instances deriving from BaseException, not "
                        f"{type(kind).__name__}")
    return exc if tb is None else exc.with_traceback(tb)


def exception_matches(exc: BaseException, kind: Any) -> bool:
    """`except kind`: by inheritance alone, no __instancecheck__."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for k in kinds:
        if not (isinstance(k, type) and issubclass(k, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    mro = type(exc).__mro__
    return any(k in mro for k in kinds)


def group_matches(exc: BaseException, kind: Any) -> tuple[Any, Any]:
    """`except* kind`: (what is left, what matched), None for nothing."""
    for k in kind if isinstance(kind, tuple) else (kind,):
        if not (isinstance(k, type) and issubclass(k, BaseException)):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        if issubclass(k, BaseExceptionGroup):
            raise TypeError("catching ExceptionGroup with except* is not allowed. Use except instead.")
    if exc is None:
        return None, None
    if exception_matches(exc, kind):
        if isinstance(exc, BaseExceptionGroup):
            return None, exc
        group = BaseExceptionGroup("", (exc,))
        group.__traceback__ = exc.__traceback__
        return None, group
    if isinstance(exc, BaseExceptionGroup):
        match, rest = exc.split(kind)
        return rest, match
    return exc, None


def _leaves(exc: BaseException) -> list[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        return [leaf for e in exc.exceptions for leaf in _leaves(e)]
    return [exc]


def prep_reraise_star(original: BaseException, excs: list[Any]) -> BaseException | None:
    """What remains to be raised after the clauses of `except*`: new exceptions, and the unhandled part of the original
    in the original's shape (_PyExc_PrepReraiseStar)."""
    excs = [e for e in excs if e is not None]
    if not excs:
        return None
    if not isinstance(original, BaseExceptionGroup):
        return excs[0]

    def same(e: BaseException) -> bool:
        return (isinstance(e, BaseExceptionGroup) and e.__notes__ is original.__notes__
                if hasattr(e, "__notes__") and hasattr(original, "__notes__")
                else hasattr(e, "__notes__") == hasattr(original, "__notes__")
                ) and e.__traceback__ is original.__traceback__ and e.__cause__ is original.__cause__ \
            and e.__context__ is original.__context__

    raised = [e for e in excs if not same(e)]
    again = [e for e in excs if same(e)]
    rest = None
    if again:
        ids = {id(leaf) for e in again for leaf in _leaves(e)}
        rest = original.split(lambda e: id(e) in ids)[0]
    if not raised:
        return rest
    if rest is not None:
        raised.append(rest)
    return BaseExceptionGroup("", raised) if len(raised) > 1 else raised[0]


# ------------------------------------------------------------------ with, match, rest
def _on_type(obj: Any, name: str) -> Any:
    """Special method looked up on the type and bound, or None."""
    for c in type(obj).__mro__:
        if name in c.__dict__:
            v = c.__dict__[name]
            get = getattr(type(v), "__get__", None)
            return v if get is None else get(v, obj, type(obj))
    return None


def with_parts(manager: Any) -> tuple[Any, Any]:
    """(__exit__, __enter__), bound."""
    text = f"'{type(manager).__name__}' object does not support the context manager protocol"
    enter = _on_type(manager, "__enter__")
    if enter is None:
        raise TypeError(text)
    leave = _on_type(manager, "__exit__")
    if leave is None:
        raise TypeError(f"{text} (missed __exit__ method)")
    return leave, enter


def match_keys(subject: Any, keys: tuple[Any, ...]) -> tuple[Any, ...] | None:
    missing, seen, values = object(), set(), []
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = subject.get(key, missing)
        if value is missing:
            return None
        values.append(value)
    return tuple(values)


def intrinsic(name: str, args: list[Any], globals: dict[str, Any]) -> Any:
    """Rare helpers: PRINT (what the interactive prompt shows), TYPEALIAS (`type X = ...`)."""
    if name == "PRINT":
        return sys.displayhook(args[0])
    alias, parameters, compute = args[0]
    if parameters:
        return typing.TypeAliasType(alias, compute(), type_params=parameters)  # type: ignore[attr-defined]
    space: dict[str, Any] = {"__name__": globals.get("__name__")}
    exec(f"def make(compute):\n    type {alias} = compute()\n    return {alias}\n", space)
    return space["make"](compute)       # type: ignore[misc]  # evaluated when it is first looked at

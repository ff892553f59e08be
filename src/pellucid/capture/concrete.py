"""The concrete domain: values are plain Python objects. The reference in tests, and what carries begun frames on."""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from ..bytecode.decode import decode
from ..bytecode.types import NATIVE_FLAGS, Code
from . import native
from .binding import bind
from .caller import CALLER_READING
from .executor import Machine, Returned, handled, program
from .frames import EXHAUSTED, UNBOUND, Escaped, Frame, Generator, Then
from .interpreted import GLOBALS, InterpretedGenerator, enter
from .tracebacks import trace


class Concrete:
    """Plain objects. `enter`: calls of Python functions are interpreted too; without it only frames that have begun
    are, and their callees run natively."""

    __slots__ = ("enter", "settled")

    def __init__(self, enter: bool = True) -> None:
        self.enter = enter
        self.settled: BaseException | None = None
        """An error that came out of a native call made under the handled exception: CPython has set its context."""

    # ---------------------------------------------------------------- constants, variables
    def const(self, f: Frame | None, value: Any) -> Any:
        return value

    def closure(self, f: Frame) -> Sequence[Any]:
        return f.function.__closure__

    def make_cell(self, f: Frame, value: Any) -> Any:
        return types.CellType() if value is UNBOUND else types.CellType(value)

    def cell_get(self, f: Frame, cell: Any) -> Any:
        try:
            return cell.cell_contents
        except ValueError:
            return UNBOUND

    def cell_set(self, f: Frame, cell: Any, value: Any) -> None:
        if value is UNBOUND:
            del cell.cell_contents
        else:
            cell.cell_contents = value

    def load_global(self, f: Frame, name: str) -> Any:
        try:
            return f.globals[name]
        except KeyError:
            pass
        v = f.builtins.get(name, UNBOUND)
        if v is UNBOUND:
            raise _name_error(name)
        return v

    def store_global(self, f: Frame, name: str, value: Any) -> None:
        f.globals[name] = value

    def delete_global(self, f: Frame, name: str) -> None:
        if name not in f.globals:
            raise _name_error(name)
        del f.globals[name]

    def load_name(self, f: Frame, name: str) -> Any:
        try:
            return f.namespace[name]
        except KeyError:
            pass
        return self.load_global(f, name)

    def store_name(self, f: Frame, name: str, value: Any) -> None:
        f.namespace[name] = value

    def delete_name(self, f: Frame, name: str) -> None:
        if name not in f.namespace:
            raise _name_error(name)
        del f.namespace[name]

    def load_locals(self, f: Frame) -> Any:
        return f.namespace

    def load_from(self, f: Frame, mapping: Any, name: str) -> Any:
        try:
            return mapping[name]
        except KeyError:
            return UNBOUND

    def load_build_class(self, f: Frame) -> Any:
        if "__build_class__" not in f.builtins:
            raise NameError("__build_class__ not found")
        return f.builtins["__build_class__"]

    # ---------------------------------------------------------------- attributes, operators, items
    def getattr(self, f: Frame, obj: Any, name: str) -> Any:
        return getattr(obj, name)

    def setattr(self, f: Frame, obj: Any, name: str, value: Any) -> None:
        setattr(obj, name, value)

    def delattr(self, f: Frame, obj: Any, name: str) -> None:
        delattr(obj, name)

    def unary(self, f: Frame, fn: Callable[[Any], Any], a: Any) -> Any:
        return fn(a)

    def binary(self, f: Frame, fn: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return fn(a, b)

    def compare(self, f: Frame, fn: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        return fn(a, b)

    def is_(self, f: Frame, a: Any, b: Any, invert: int) -> bool:
        return (a is not b) if invert else (a is b)

    def is_none(self, f: Frame, a: Any) -> bool:
        return a is None

    def contains(self, f: Frame, item: Any, container: Any, invert: int) -> bool:
        return (item not in container) if invert else (item in container)

    def truth(self, f: Frame, a: Any) -> bool:
        return True if a else False

    def getitem(self, f: Frame, container: Any, index: Any) -> Any:
        return container[index]

    def setitem(self, f: Frame, container: Any, index: Any, value: Any) -> None:
        container[index] = value

    def delitem(self, f: Frame, container: Any, index: Any) -> None:
        del container[index]

    # ---------------------------------------------------------------- containers, strings
    def build_tuple(self, f: Frame | None, items: list[Any]) -> Any:
        return tuple(items)

    def build_list(self, f: Frame, items: list[Any]) -> Any:
        return items

    def build_set(self, f: Frame, items: list[Any]) -> Any:
        return set(items)

    def build_map(self, f: Frame | None, keys: list[Any], values: list[Any]) -> Any:
        return dict(zip(keys, values))

    def build_const_key_map(self, f: Frame, keys: Any, values: list[Any]) -> Any:
        return dict(zip(keys, values))

    def build_slice(self, f: Frame, parts: list[Any]) -> Any:
        return slice(*parts)

    def build_string(self, f: Frame, parts: list[Any]) -> Any:
        return "".join(parts)

    def convert(self, f: Frame, conversion: int, value: Any) -> Any:
        return (str, repr, ascii)[conversion - 1](value)

    def format(self, f: Frame, value: Any, spec: Any) -> Any:
        return format(value) if spec is UNBOUND else format(value, spec)

    def list_append(self, f: Frame, items: Any, value: Any) -> None:
        items.append(value)

    def set_add(self, f: Frame, items: Any, value: Any) -> None:
        items.add(value)

    def map_add(self, f: Frame, mapping: Any, key: Any, value: Any) -> None:
        mapping[key] = value

    def list_extend(self, f: Frame, items: Any, iterable: Any) -> None:
        native.list_extend(items, iterable)

    def set_update(self, f: Frame, items: Any, iterable: Any) -> None:
        items.update(iterable)

    def dict_update(self, f: Frame, mapping: Any, other: Any) -> None:
        native.dict_update(mapping, other)

    def dict_merge(self, f: Frame, mapping: Any, other: Any, function: Any) -> None:
        native.dict_merge(mapping, other, function)

    def list_to_tuple(self, f: Frame, items: Any) -> Any:
        return tuple(items)

    def unpack(self, f: Frame, value: Any, n: int) -> Sequence[Any]:
        return native.unpacker(n, None)(value)

    def unpack_ex(self, f: Frame, value: Any, before: int, after: int) -> Sequence[Any]:
        return native.unpacker(before, after)(value)

    # ---------------------------------------------------------------- iteration, generators
    def iter(self, f: Frame, value: Any) -> Any:
        return value if type(value) is InterpretedGenerator else iter(value)

    def yield_from_iter(self, f: Frame, value: Any) -> Any:
        return value if type(value) is InterpretedGenerator else iter(value)

    def next(self, f: Frame, iterator: Any) -> Any:
        if type(iterator) is InterpretedGenerator:
            return EXHAUSTED if iterator.record.state == "done" else enter(iterator.record, None)
        return next(iterator, EXHAUSTED)

    def send(self, f: Frame, receiver: Any, value: Any) -> tuple[bool, Any] | Frame:
        if type(receiver) is InterpretedGenerator:
            return (False, None) if receiver.record.state == "done" else enter(receiver.record, value)
        try:
            return True, (next(receiver) if value is None else receiver.send(value))
        except StopIteration as e:
            return False, e.value

    def generator(self, f: Frame, generator: Generator) -> Any:
        return InterpretedGenerator(self, generator)

    def throw_into(self, f: Frame, receiver: Any, exc: Any) -> Generator | tuple[bool, Any] | None:
        if isinstance(exc, GeneratorExit):
            close = getattr(receiver, "close", None)
            if close is not None:
                close()
            return None
        if type(receiver) is InterpretedGenerator:
            return None if receiver.record.state == "done" else receiver.record
        throw_method = getattr(receiver, "throw", None)
        if throw_method is None:
            return None
        try:
            return True, throw_method(exc)
        except StopIteration as e:
            return False, e.value

    # ---------------------------------------------------------------- calls, functions, imports
    def call(self, f: Frame, function: Any, args: list[Any], keywords: dict[str, Any] | None) -> Any:
        fn = function
        while True:
            t = type(fn)
            if t is types.FunctionType:
                if self.enter and fn.__globals__ is not GLOBALS and not fn.__code__.co_flags & NATIVE_FLAGS:
                    code = decode(fn.__code__)
                    if not code.unsupported:
                        return self.frame(f, fn, code, args, keywords)
                break
            if t is types.MethodType:
                args.insert(0, fn.__self__)
                fn = fn.__func__
                continue
            if not self.enter:
                break
            if t is functools.partial:
                args[:0] = fn.args
                keywords = {**fn.keywords, **(keywords or {})}
                fn = fn.func
                continue
            if t is type:
                if fn.__new__ is object.__new__ and type(fn.__init__) is types.FunctionType:
                    entered = self.call(f, fn.__init__, [instance := fn.__new__(fn), *args], keywords)
                    if type(entered) is Frame:
                        entered.then = Then("init", instance)
                        return entered
                    return instance
                break
            called = getattr(t, "__call__", None)  # noqa: B004
            if type(called) is not types.FunctionType:
                break
            args.insert(0, fn)
            fn = called
        special = CALLER_READING.get(id(fn))
        if special is not None:
            answer = special(self, f, args, keywords or {})
            if answer is not NotImplemented:
                return answer
        exc = handled(f)
        if exc is None:
            return fn(*args, **keywords) if keywords else fn(*args)
        try:
            return _under(exc, fn, args, keywords or {})
        except BaseException as e:
            self.settled = e
            raise

    def call_ex(self, f: Frame, function: Any, args: Any, keywords: Any) -> Any:
        if type(args) is not tuple:
            args = native.star_args(function, args)
        return self.call(f, function, list(args), None if keywords is UNBOUND else dict(keywords))

    def frame(self, f: Frame | None, fn: Any, code: Code, args: list[Any], keywords: dict[str, Any] | None) -> Frame:
        if f is not None and f.depth >= sys.getrecursionlimit() - 1:
            raise RecursionError("maximum recursion depth exceeded")
        slots = bind(self, f, code, fn, args, keywords, fn.__qualname__)
        return Frame(code, program(code), fn, fn.__globals__, fn.__builtins__, slots)

    def make_function(self, f: Frame, code: Any, defaults: Any, kwdefaults: Any, annotations: Any, closure: Any) -> Any:
        fn = types.FunctionType(code, f.globals, code.co_name, None if defaults is UNBOUND else defaults,
                                None if closure is UNBOUND else closure)
        if kwdefaults is not UNBOUND:
            fn.__kwdefaults__ = kwdefaults
        if annotations is not UNBOUND:
            fn.__annotations__ = dict(zip(annotations[::2], annotations[1::2]))
        return fn

    def defaults(self, function: Any) -> int:
        return len(function.__defaults__ or ())

    def default(self, function: Any, number: int) -> Any:
        return function.__defaults__[number]

    def kwdefault(self, function: Any, name: str) -> Any:
        return (function.__kwdefaults__ or {}).get(name, UNBOUND)

    def import_name(self, f: Frame, name: str, fromlist: Any, level: Any) -> Any:
        if "__import__" not in f.builtins:
            raise ImportError("__import__ not found")
        return f.builtins["__import__"](name, f.globals, f.namespace, fromlist, level)

    def import_from(self, f: Frame, module: Any, name: str) -> Any:
        return native.import_from(module, name)

    def import_star(self, f: Frame, module: Any) -> Any:
        native.import_star(module, f.namespace)
        return None

    # ---------------------------------------------------------------- exceptions, with
    def error(self, f: Frame | None, kind: type[BaseException], message: str) -> NoReturn:
        raise kind(message)

    def caught(self, f: Frame, error: BaseException) -> Any:
        if error is self.settled:
            self.settled = None
        elif error.__context__ is None:
            cur = _current(f)
            if cur is not None:
                native.set_context(error, cur)
        return error

    def trace(self, f: Frame, exc: Any) -> None:
        trace(f, exc)

    def uncaught(self, exc: Any) -> BaseException:
        return exc

    def stop_iteration(self, f: Frame, value: Any) -> NoReturn:
        raise StopIteration() if value is None else StopIteration(value)

    def type_name(self, f: Frame, value: Any) -> str:
        return type(value).__name__

    def raise_(self, f: Frame, exc: Any, cause: Any) -> None:
        cur = _current(f)
        if exc is UNBOUND:
            if cur is None:
                raise RuntimeError("No active exception to reraise")
            raise Escaped(cur)
        exc = native.exception_of(exc)
        if cause is not UNBOUND:
            exc.__cause__ = native.cause_of(cause)
        if cur is not None:
            native.set_context(exc, cur)
        trace(f, exc)
        raise Escaped(exc)

    def exc_matches(self, f: Frame, exc: Any, kind: Any) -> bool:
        return native.exception_matches(exc, kind)

    def group_matches(self, f: Frame, exc: Any, kind: Any) -> tuple[Any, Any]:
        return native.group_matches(exc, kind)

    def prep_reraise_star(self, f: Frame, original: Any, excs: Any) -> Any:
        return native.prep_reraise_star(original, excs)

    def stop_iteration_value(self, f: Frame, exc: Any) -> Any:
        return exc.value if isinstance(exc, StopIteration) else UNBOUND

    def generator_stop(self, f: Frame, exc: Any) -> Any:
        if not isinstance(exc, StopIteration):
            return exc
        error = RuntimeError("generator raised StopIteration")
        error.__cause__ = error.__context__ = exc
        return error

    def exc_info(self, f: Frame, exc: Any) -> list[Any]:
        return [type(exc), exc, exc.__traceback__]

    def with_parts(self, f: Frame, manager: Any) -> tuple[Any, Any]:
        return native.with_parts(manager)

    # ---------------------------------------------------------------- match, rest
    def len(self, f: Frame, value: Any) -> int:
        return len(value)

    def match_sequence(self, f: Frame, value: Any) -> bool:
        return native.is_sequence(value)

    def match_mapping(self, f: Frame, value: Any) -> bool:
        return native.is_mapping(value)

    def match_keys(self, f: Frame, subject: Any, keys: Any) -> Any:
        return native.match_keys(subject, keys)

    def match_class(self, f: Frame, subject: Any, cls: Any, positional: int, names: Any) -> Any:
        return native.class_matcher(positional, names)(subject, cls)

    def setup_annotations(self, f: Frame) -> None:
        if "__annotations__" not in f.namespace:
            f.namespace["__annotations__"] = {}

    def intrinsic(self, f: Frame, name: str, args: list[Any]) -> Any:
        return native.intrinsic(name, args, f.globals)


def _name_error(name: str) -> NameError:
    return NameError(f"name '{name}' is not defined", name=name)


def _current(f: Frame) -> BaseException | None:
    """The exception being handled, in interpreted frames or in the native ones below them."""
    exc = handled(f)
    return sys.exc_info()[1] if exc is None else exc


def _under(exc: BaseException, fn: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
    """fn(*args, **keywords) while exc is the exception being handled, so that native code sees it."""
    before = exc.__traceback__, exc.__context__
    try:
        raise exc
    except BaseException:
        exc.__traceback__, exc.__context__ = before
        return fn(*args, **keywords)


# ------------------------------------------------------------------ running
def start(fn: Any, args: Sequence[Any] = (), keywords: dict[str, Any] | None = None, domain: Concrete | None = None
          ) -> Frame:
    """The first frame of a call of fn; TypeError if fn is not a Python function, or an object or class that has one."""
    entered = (domain or Concrete()).call(_outside(), fn, list(args), dict(keywords or {}))
    if type(entered) is not Frame:
        raise TypeError(f"fn: {fn!r} has no Python code that could be interpreted; call it directly")
    return entered


def start_code(code: types.CodeType, globals: dict[str, Any], namespace: Any = None) -> Frame:
    """The frame of a module's, class body's or `exec`'s code."""
    c = decode(code)
    b = globals.setdefault("__builtins__", builtins)
    return Frame(c, program(c), None, globals, b if type(b) is dict else b.__dict__, [UNBOUND] * len(c.slots),
                 namespace=globals if namespace is None else namespace)


def _outside() -> Frame:
    code = decode((lambda: None).__code__)
    return Frame(code, program(code), None, {}, builtins.__dict__, [])


def interpret(fn: Any, *args: Any, **keywords: Any) -> Any:
    """fn(*args, **keywords), interpreted down to the native functions it calls."""
    entered = Concrete().call(_outside(), fn, list(args), dict(keywords))
    return finish(entered, enter=True) if type(entered) is Frame else entered


def finish(f: Frame, raising: BaseException | None = None, enter: bool = False) -> Any:
    """Carry the frame stack whose top is f on to its end: its result, or the exception that leaves it."""
    m = Machine(Concrete(enter))
    outcome = m.run(f, raising)
    if not isinstance(outcome, Returned):
        raise RuntimeError(f"the lowest frame is a generator that yielded; finish() needs a function's frame: {f!r}")
    return outcome.value

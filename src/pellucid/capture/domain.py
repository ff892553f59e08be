"""The value domain: what the executor's handlers may ask for. Symbolic (capture) and concrete (plain objects).

Conventions of all methods

- `f` is the frame whose instruction runs. `f.index - 1` is that instruction; its operands are still on `f.stack`.
  A handler changes the frame only after the domain has answered, so a domain that raises `Stop` leaves the whole frame
  stack as it was before the instruction; `Machine.run` then sets `f.index` back to it. `executor.skip(f)` drops the
  operands of that instruction and moves behind it, for a result that will be delivered later.
- "Value | Frame": a domain that enters a Python function to get the answer returns a new `Frame` (see
  `executor.enter`, `executor.bind`), not yet linked. Its `then` says what the domain does with the frame's result
  before the handler gets it (`None`: nothing). The handler links it and appends its own part, for example DROP for a
  store, AGAIN for a truth test (the result takes the operand's place and the instruction runs again).
- An exception of the interpreted program is raised as any Python exception; `caught` turns it into a value when a
  handler of the program, or the end of the frames, is reached. `Escaped(value)` raises a value directly.
- Rules for results of entered frames are data: `Then(kind, detail, rest)`; a domain adds kinds to `executor.RETURNS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, Union

from .frames import Frame, Generator

Value = Any
Entered = Union[Value, Frame]


class Domain(Protocol):
    """One method an operation. Values are opaque to the executor."""

    # ---------------------------------------------------------------- constants, variables
    def const(self, f: Frame | None, value: Any) -> Value:
        """A constant of the code (also code objects, AssertionError, None ...)."""

    def closure(self, f: Frame) -> Sequence[Value]:
        """Cells of f's function, one a free variable of the code."""

    def make_cell(self, f: Frame, value: Value) -> Value:
        """A new cell holding value, or empty if UNBOUND."""

    def cell_get(self, f: Frame, cell: Value) -> Value:
        """Contents, or UNBOUND."""

    def cell_set(self, f: Frame, cell: Value, value: Value) -> None:
        """Store value; UNBOUND empties the cell."""

    def load_global(self, f: Frame, name: str) -> Value:
        """From globals, then builtins; NameError if absent."""

    def store_global(self, f: Frame, name: str, value: Value) -> None: ...

    def delete_global(self, f: Frame, name: str) -> None: ...

    def load_name(self, f: Frame, name: str) -> Value:
        """From the frame's namespace, then as load_global (class bodies and modules)."""

    def store_name(self, f: Frame, name: str, value: Value) -> None: ...

    def delete_name(self, f: Frame, name: str) -> None: ...

    def load_locals(self, f: Frame) -> Value:
        """The frame's namespace as a value."""

    def load_from(self, f: Frame, mapping: Value, name: str) -> Value:
        """mapping[name], or UNBOUND if absent."""

    def load_build_class(self, f: Frame) -> Value: ...

    # ---------------------------------------------------------------- attributes, operators, items
    def getattr(self, f: Frame, obj: Value, name: str) -> Entered: ...

    def setattr(self, f: Frame, obj: Value, name: str, value: Value) -> Frame | None: ...

    def delattr(self, f: Frame, obj: Value, name: str) -> Frame | None: ...

    def unary(self, f: Frame, fn: Callable[[Any], Any], a: Value) -> Entered:
        """fn is operator.neg, pos or invert."""

    def binary(self, f: Frame, fn: Callable[[Any, Any], Any], a: Value, b: Value) -> Entered:
        """fn is the operator module's function, in-place ones included."""

    def compare(self, f: Frame, fn: Callable[[Any, Any], Any], a: Value, b: Value) -> Entered:
        """fn is operator.lt, le, eq, ne, gt or ge."""

    def is_(self, f: Frame, a: Value, b: Value, invert: int) -> Value:
        """`a is b`, or `a is not b`, as a value."""

    def is_none(self, f: Frame, a: Value) -> bool: ...

    def contains(self, f: Frame, item: Value, container: Value, invert: int) -> Entered:
        """`item in container`, or `not in`."""

    def truth(self, f: Frame, a: Value) -> bool | Frame:
        """Python's truth of a value. A Frame's result takes the value's place and is tested again."""

    def getitem(self, f: Frame, container: Value, index: Value) -> Entered: ...

    def setitem(self, f: Frame, container: Value, index: Value, value: Value) -> Frame | None: ...

    def delitem(self, f: Frame, container: Value, index: Value) -> Frame | None: ...

    # ---------------------------------------------------------------- containers, strings
    def build_tuple(self, f: Frame | None, items: list[Value]) -> Value: ...

    def build_list(self, f: Frame, items: list[Value]) -> Value:
        """The domain may keep the list `items`."""

    def build_set(self, f: Frame, items: list[Value]) -> Value: ...

    def build_map(self, f: Frame | None, keys: list[Value], values: list[Value]) -> Value: ...

    def build_const_key_map(self, f: Frame, keys: Value, values: list[Value]) -> Value: ...

    def build_slice(self, f: Frame, parts: list[Value]) -> Value:
        """Two or three parts."""

    def build_string(self, f: Frame, parts: list[Value]) -> Value: ...

    def convert(self, f: Frame, conversion: int, value: Value) -> Entered:
        """1 str, 2 repr, 3 ascii."""

    def format(self, f: Frame, value: Value, spec: Value) -> Entered:
        """spec is UNBOUND where none was given."""

    def list_append(self, f: Frame, items: Value, value: Value) -> None: ...

    def set_add(self, f: Frame, items: Value, value: Value) -> None: ...

    def map_add(self, f: Frame, mapping: Value, key: Value, value: Value) -> None: ...

    def list_extend(self, f: Frame, items: Value, iterable: Value) -> Frame | None: ...

    def set_update(self, f: Frame, items: Value, iterable: Value) -> Frame | None: ...

    def dict_update(self, f: Frame, mapping: Value, other: Value) -> Frame | None: ...

    def dict_merge(self, f: Frame, mapping: Value, other: Value, function: Value) -> Frame | None:
        """For f(**a, **b): equal keys are an error that names `function`."""

    def list_to_tuple(self, f: Frame, items: Value) -> Value: ...

    def unpack(self, f: Frame, value: Value, n: int) -> Sequence[Value] | Frame:
        """Exactly n items, or the ValueError of Python. A Frame's result takes value's place and is unpacked again."""

    def unpack_ex(self, f: Frame, value: Value, before: int, after: int) -> Sequence[Value] | Frame:
        """before items, a list value, after items."""

    # ---------------------------------------------------------------- iteration, generators
    def iter(self, f: Frame, value: Value) -> Entered: ...

    def yield_from_iter(self, f: Frame, value: Value) -> Entered:
        """iter(value), but a generator (or coroutine) is itself."""

    def next(self, f: Frame, iterator: Value) -> Entered:
        """Next item, or EXHAUSTED. To enter an interpreted generator: return `executor.resume(generator, value)`.
        A frame of a Python __next__ ends the loop when it raises StopIteration."""

    def send(self, f: Frame, receiver: Value, value: Value) -> tuple[bool, Value] | Frame:
        """For `yield from`: (True, item yielded) or (False, the receiver's return value)."""

    def generator(self, f: Frame, generator: Generator) -> Value:
        """The value of a generator just created; f is its frame."""

    def throw_into(self, f: Frame, receiver: Value, exc: Value) -> Generator | tuple[bool, Value] | None:
        """exc is thrown into f, which is suspended in `yield from receiver`. An interpreted receiver: its Generator
        record, so that it gets exc. Another one: what receiver.throw(exc) gave, as `send`. None: raise exc in f
        (a GeneratorExit, after receiver.close(), or a receiver without throw)."""

    # ---------------------------------------------------------------- calls, functions, imports
    def call(self, f: Frame, function: Value, args: list[Value], keywords: dict[str, Value] | None) -> Entered:
        """The domain may keep and change `args` and `keywords`. Calls that look at their caller's frame (super(),
        locals(), globals(), eval, exec, vars, dir, sys.exc_info, sys._getframe) find it in f."""

    def call_ex(self, f: Frame, function: Value, args: Value, keywords: Value) -> Entered:
        """function(*args, **keywords); keywords is UNBOUND where there are none."""

    def make_function(self, f: Frame, code: Value, defaults: Value, kwdefaults: Value, annotations: Value,
                      closure: Value) -> Value:
        """Parts not given are UNBOUND. annotations is a tuple of names and values in turn."""

    def defaults(self, function: Value) -> int:
        """Number of positional defaults."""

    def default(self, function: Value, number: int) -> Value: ...

    def kwdefault(self, function: Value, name: str) -> Value:
        """UNBOUND where there is none."""

    def import_name(self, f: Frame, name: str, fromlist: Value, level: Value) -> Entered: ...

    def import_from(self, f: Frame, module: Value, name: str) -> Entered: ...

    def import_star(self, f: Frame, module: Value) -> Value: ...

    # ---------------------------------------------------------------- exceptions, with
    def error(self, f: Frame | None, kind: type[BaseException], message: str) -> NoReturn:
        """Raise an exception that the interpreter itself raises (unbound variable, wrong arguments ...)."""

    def caught(self, f: Frame, error: BaseException) -> Value:
        """The value for an error that reached the machine, its __context__ set from `executor.handled(f)`. Raise it
        again if it is not the program's (a bug, or a signal that stops capture)."""

    def trace(self, f: Frame, exc: Value) -> None:
        """exc passes f (instruction `f.index - 1`): a line of its traceback. Called for each frame on the way, also
        for the one that handles it; not where it is raised again."""

    def uncaught(self, exc: Value) -> BaseException:
        """What `Machine.run` raises when exc leaves the lowest frame."""

    def stop_iteration(self, f: Frame, value: Value) -> NoReturn:
        """Raise StopIteration(value) in f: an interpreted generator has returned to a `next(g)`, `g.send(v)` ..."""

    def type_name(self, f: Frame, value: Value) -> str:
        """For messages."""

    def raise_(self, f: Frame, exc: Value, cause: Value) -> Frame | None:
        """`raise exc from cause`, each UNBOUND where not given (both: raise the handled exception again). Raises
        (`Escaped` if the exception is not to be traced in f once more); or
        returns the frame that makes the exception, whose result takes exc's place."""

    def exc_matches(self, f: Frame, exc: Value, kind: Value) -> Entered: ...

    def group_matches(self, f: Frame, exc: Value, kind: Value) -> tuple[Value, Value]:
        """`except*`: (what is left or None, what matched or None)."""

    def prep_reraise_star(self, f: Frame, original: Value, excs: Value) -> Value: ...

    def stop_iteration_value(self, f: Frame, exc: Value) -> Value:
        """`exc.value` if exc is a StopIteration, else UNBOUND."""

    def generator_stop(self, f: Frame, exc: Value) -> Value:
        """What leaves a generator instead of exc: RuntimeError from it if it is a StopIteration, else exc itself."""

    def exc_info(self, f: Frame, exc: Value) -> list[Value]:
        """Type, exception, traceback: the arguments of __exit__."""

    def with_parts(self, f: Frame, manager: Value) -> tuple[Value, Value]:
        """(__exit__ bound to manager, __enter__ bound to manager), looked up on the type."""

    # ---------------------------------------------------------------- match, rest
    def len(self, f: Frame, value: Value) -> Entered: ...

    def match_sequence(self, f: Frame, value: Value) -> Value: ...

    def match_mapping(self, f: Frame, value: Value) -> Value: ...

    def match_keys(self, f: Frame, subject: Value, keys: Value) -> Value:
        """Tuple of the values, or None."""

    def match_class(self, f: Frame, subject: Value, cls: Value, positional: int, names: Value) -> Value:
        """Tuple of the attributes, or None."""

    def setup_annotations(self, f: Frame) -> None: ...

    def intrinsic(self, f: Frame, name: str, args: list[Value]) -> Value:
        """Rare helpers by name: PRINT (value), TYPEALIAS (tuple of name, parameters or None, computing function)."""

"""The symbolic domain: the executor's questions answered by values, guards and the graph builder."""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..bytecode.decode import decode
from ..bytecode.types import NATIVE_FLAGS, Code
from ..events.types import UserFrame, UserStack
from ..torchdoor.functions import LAZILY_DISABLED, OPTIMIZER_STEP
from . import known  # noqa: F401  (fills the tables of what is known)
from .binding import bind
from .executor import RETURNS, Machine, ReturnRule, deliver, handled, program, user_frame
from .frames import UNBOUND, Frame, Generator, Then, after
from .known.builtin_functions import format_value, text_of
from .known.iteration import all_of
from .operators import binary, compare, identical, unary
from .polyfills import FILES, polyfill
from .symbolic_exceptions import CaptureRaised, Exceptions
from .symbolic_iteration import Iteration
from .torch_calls import load_catalogue
from .values.base import Broken, Invoke, NotConstant, Raised, Value
from .values.builtin import whole_call
from .values.constant import FALSE, NONE, TRUE, Const
from .values.function import CellVal, FunctionVal
from .values.globals_ import builtin_value, globals_value
from .values.instance import InstanceVal
from .values.iterator import GeneratorVal
from .values.mapping import ABSENT, DictVal, function_label, keyword_mapping
from .values.pymodule import ModuleVal
from .values.sequence import ListVal, SliceVal, TupleVal
from .values.sets import KeySet, SetVal
from .values.size import SizeVal

if TYPE_CHECKING:
    from .state import Capture

load_catalogue()

NOT_IMPLEMENTED = NotImplemented
_SHARED = {True: TRUE, False: FALSE, None: NONE}


class Symbolic(Iteration, Exceptions):
    """A `domain.Domain`. `frame` is the frame whose instruction runs; `cx` the capture that values act on."""

    def __init__(self, cx: Capture) -> None:
        self.cx = cx
        self.frame: Any = None
        self.recipes: Any = None
        self.running: Any = None
        """The executor's machine."""
        cx.machine = self
        self.generators: dict[Generator, GeneratorVal] = {}
        self.positions: dict[tuple[int, int], UserFrame | None] = {}

    # ---------------------------------------------------------------- where we are
    def user_stack(self) -> UserStack:
        f = self.frame
        return () if f is None else self._below(f.back) + self._here(f)

    def handled_exception(self) -> Any:
        return handled(self.frame)

    def _here(self, f: Frame) -> UserStack:
        index = f.index - 1 if f.index else 0
        key = (id(f.code), index)
        found = self.positions.get(key, UNBOUND)
        if found is UNBOUND:
            found = self.positions[key] = None if f.code.file in FILES else user_frame(f, index)
        return () if found is None else (found,)

    def _below(self, f: Frame | None) -> UserStack:
        if f is None:
            return ()
        found = f.extra
        if found is not None and found[0] == f.index and found[1] is f.back:
            return found[2]
        out = self._below(f.back) + self._here(f)
        f.extra = (f.index, f.back, out)
        return out

    # ---------------------------------------------------------------- entering Python code
    def enter(self, f: Frame, inv: Invoke) -> Any:
        """The frame (or at once the value) of an Invoke."""
        cx = self.cx
        fn, args, kwargs = inv.fn, inv.args, inv.kwargs
        then: Then | None = None
        if inv.then != "push":
            then = Then(inv.then, inv.detail)
        while True:
            if type(fn) is FunctionVal:
                frame = self.function_frame(f, fn, args, kwargs)
                if type(frame) is Frame:
                    frame.then = (
                        then if frame.then is None else after(frame.then, then) if then is not None else frame.then
                    )
                return frame
            r = fn.call(cx, args, kwargs)
            if type(r) is not Invoke:
                if type(r) is Frame:
                    r.then = then if r.then is None else r.then if then is None else after(r.then, then)
                    return r
                return self.now(then, r)
            fn, args, kwargs = r.fn, r.args, r.kwargs
            if r.then != "push":
                then = Then(r.then, r.detail, then)

    def now(self, then: Then | None, v: Value) -> Value:
        """What `then` makes of a value that is there at once."""
        while then is not None:
            if then.kind == "truth":
                t = v.truth(self.cx)
                if isinstance(t, Invoke):
                    raise Broken("PB112", "truth of an object with its own __bool__ here")
                v = (TRUE if t else FALSE) if not then.detail else (FALSE if t else TRUE)
            elif then.kind in ("instead", "init"):
                v = then.detail
            then = then.rest
        return v

    def function_frame(
        self, f: Frame | None, fn: FunctionVal, args: list[Value], kwargs: dict[str, Value] | None
    ) -> Frame:
        cx = self.cx
        if not fn.checked:
            fn.check(cx)
        code = decode(fn.code)
        if fn.code.co_flags & NATIVE_FLAGS or code.unsupported:
            raise Broken("PB109", f"{fn.qualname} is a kind of function that is not captured", fn, args, kwargs)
        disabled = fn.obj is not None and (fn.obj.__dict__ or None) and fn.obj.__dict__.get("_torchdynamo_disable")
        if disabled or fn.code is LAZILY_DISABLED:
            raise Broken("PB110", f"{fn.qualname} is disabled for compilation", fn, args, kwargs)
        if fn.code is OPTIMIZER_STEP and f is not None:
            raise Broken("PB110", f"{fn.qualname}: an optimizer's step runs in Python as a whole", fn, args, kwargs)
        if fn.obj is not None and "_torchdynamo_orig_callable" in fn.obj.__dict__:     # made by torch.compile: inlined
            inner = cx.fixed(fn.obj.__dict__["_torchdynamo_orig_callable"])
            if type(inner) is FunctionVal:
                return self.function_frame(f, inner, args, kwargs)
        if f is not None and f.depth >= sys.getrecursionlimit() - 1:
            raise cx.raised(RecursionError, "maximum recursion depth exceeded")
        cx.inlined[fn.code] = None
        return Frame(code, program(code), fn, globals_value(cx, fn), None, bind(self, f, code, fn, args, kwargs or None,
                     fn.obj.__qualname__ if fn.obj is not None else fn.qualname))  # type: ignore[arg-type]

    # ---------------------------------------------------------------- constants, variables
    def const(self, f: Frame, value: Any) -> Value:
        if value is True or value is False or value is None:
            return _SHARED[value]
        t = type(value)
        if t is tuple:
            return TupleVal([self.const(f, x) for x in value])
        if t is frozenset:
            return SetVal(KeySet(value, set(value)), frozenset)
        if isinstance(value, type):
            return self.cx.fixed(value)
        return Const(value)

    def closure(self, f: Frame) -> Sequence[Value]:
        self.frame = f
        return f.function.cell_values(self.cx)

    def make_cell(self, f: Frame, value: Any) -> Value:
        return CellVal(None if value is UNBOUND else value)

    def cell_get(self, f: Frame, cell: Any) -> Any:
        v = cell.value
        if v is None:
            self.frame = f
            v = cell.get(self.cx)
            if v is None:
                return UNBOUND
        return v

    def cell_set(self, f: Frame, cell: Any, value: Any) -> None:
        cell.set(self.cx, None if value is UNBOUND else value)

    def load_global(self, f: Frame, name: str) -> Value:
        v = f.globals.items.get(name)
        if v is not None and v is not ABSENT:
            return v
        self.frame = f
        v = f.globals.get(self.cx, name)
        if v is None:
            v = builtin_value(self.cx, name)
            if v is None:
                raised = self.cx.raised(NameError, f"name '{name}' is not defined")
                raised.value.slots = {"name": Const(name)}
                raise raised
        return v

    def store_global(self, f: Frame, name: str, value: Value) -> None:
        f.globals.put(self.cx, name, value)

    def delete_global(self, f: Frame, name: str) -> None:
        self.frame = f
        if f.globals.get(self.cx, name) is None:
            raise self.cx.raised(NameError, f"name '{name}' is not defined")
        f.globals.remove(self.cx, name)

    def load_name(self, f: Frame, name: str) -> Value:
        if f.namespace is not None:
            v = f.namespace.get(self.cx, name)
            if v is not None:
                return v
        return self.load_global(f, name)

    def store_name(self, f: Frame, name: str, value: Value) -> None:
        f.namespace.put(self.cx, name, value)

    def delete_name(self, f: Frame, name: str) -> None:
        f.namespace.remove(self.cx, name)

    def load_locals(self, f: Frame) -> Value:
        return f.namespace

    def load_from(self, f: Frame, mapping: Any, name: str) -> Any:
        v = mapping.get(self.cx, name)
        return UNBOUND if v is None else v

    def load_build_class(self, f: Frame) -> Value:
        return self.cx.fixed(builtins.__build_class__)

    # ---------------------------------------------------------------- attributes, operators, items
    def getattr(self, f: Frame, obj: Value, name: str) -> Any:
        self.frame = f
        r = obj.attr(self.cx, name)
        return self.enter(f, r) if type(r) is Invoke else r

    def setattr(self, f: Frame, obj: Value, name: str, value: Value) -> Frame | None:
        self.frame = f
        r = obj.setattr(self.cx, name, value)
        return None if r is None else self._effect(f, r)

    def _effect(self, f: Frame, r: Any) -> Frame | None:
        if type(r) is Invoke:
            r = self.enter(f, r)
            if type(r) is Frame:
                return r
        return None

    def delattr(self, f: Frame, obj: Value, name: str) -> Frame | None:
        self.frame = f
        r = obj.delattr(self.cx, name)
        return None if r is None else self._effect(f, r)

    def unary(self, f: Frame, fn: Any, a: Value) -> Any:
        self.frame = f
        r = unary(self.cx, fn, a)
        return self.enter(f, r) if type(r) is Invoke else r

    def binary(self, f: Frame, fn: Any, a: Value, b: Value) -> Any:
        self.frame = f
        r = binary(self.cx, fn, a, b)
        return self.enter(f, r) if type(r) is Invoke else r

    def compare(self, f: Frame, fn: Any, a: Value, b: Value) -> Any:
        self.frame = f
        r = compare(self.cx, fn, a, b)
        return self.enter(f, r) if type(r) is Invoke else r

    def is_(self, f: Frame, a: Value, b: Value, invert: int) -> Value:
        self.frame = f
        return TRUE if identical(self.cx, a, b) is not bool(invert) else FALSE

    def is_none(self, f: Frame, a: Any) -> bool:
        if a is NONE:
            return True
        self.frame = f
        if type(a) is Const:
            return a.constant(self.cx) is None
        if a.identity:
            a.pytype(self.cx)
        return False

    def contains(self, f: Frame, item: Value, container: Value, invert: int) -> Any:
        self.frame = f
        try:
            t = container.contains(self.cx, item)
        except NotConstant:
            raise Broken("PB112", "membership of a value that is only known at run time") from None
        if type(t) is Invoke:
            if t.then == "truth":
                t.detail = invert
            return self.enter(f, t)
        return TRUE if t is not bool(invert) else FALSE

    def truth(self, f: Frame, a: Value) -> Any:
        if type(a) is Const and a.pending is None:
            return True if a.value else False
        self.frame = f
        t = a.truth(self.cx)
        if type(t) is Invoke:
            r = self.enter(f, t)
            return r if type(r) is Frame else r.truth(self.cx)
        return t

    def getitem(self, f: Frame, container: Value, index: Value) -> Any:
        self.frame = f
        r = container.getitem(self.cx, index)
        return self.enter(f, r) if type(r) is Invoke else r

    def setitem(self, f: Frame, container: Value, index: Value, value: Value) -> Frame | None:
        self.frame = f
        r = container.setitem(self.cx, index, value)
        return None if r is None else self._effect(f, r)

    def delitem(self, f: Frame, container: Value, index: Value) -> Frame | None:
        self.frame = f
        r = container.delitem(self.cx, index)
        return None if r is None else self._effect(f, r)

    # ---------------------------------------------------------------- containers, strings
    def build_tuple(self, f: Frame | None, items: list[Any]) -> Value:
        return TupleVal(items)

    def build_list(self, f: Frame, items: list[Any]) -> Value:
        return ListVal(items)

    def build_set(self, f: Frame, items: list[Any]) -> Value:
        self.frame = f
        return SetVal(KeySet(x.key(self.cx) for x in items))

    def build_map(self, f: Frame | None, keys: list[Any], values: list[Any]) -> Value:
        cx = self.cx
        return DictVal(items={k.key(cx): v for k, v in zip(keys, values)})

    def build_const_key_map(self, f: Frame, keys: Any, values: list[Any]) -> Value:
        return DictVal(items={k.key(self.cx): v for k, v in zip(keys.items, values)})

    def build_slice(self, f: Frame, parts: list[Any]) -> Value:
        return SliceVal(*parts) if len(parts) == 3 else SliceVal(parts[0], parts[1], NONE)

    def build_string(self, f: Frame, parts: list[Any]) -> Value:
        self.frame = f
        return Const("".join([p.constant(self.cx) for p in parts]))

    def convert(self, f: Frame, conversion: int, value: Value) -> Any:
        self.frame = f
        if conversion == 3:
            r = Invoke(polyfill(self.cx, "ascii"), [value])
        else:
            r = text_of(self.cx, value, "__str__" if conversion == 1 else "__repr__")
        return self.enter(f, r) if type(r) is Invoke else r

    def format(self, f: Frame, value: Value, spec: Any) -> Any:
        self.frame = f
        r = format_value(self.cx, value, Const("") if spec is UNBOUND else spec)
        return self.enter(f, r) if type(r) is Invoke else r

    def list_append(self, f: Frame, items: Any, value: Value) -> None:
        self.frame = f
        items.append(self.cx, value)

    def set_add(self, f: Frame, items: Any, value: Value) -> None:
        self.frame = f
        items.write(self.cx)[value.key(self.cx)] = None

    def map_add(self, f: Frame, mapping: Any, key: Value, value: Value) -> None:
        self.frame = f
        mapping.put(self.cx, key.key(self.cx), value)

    def list_extend(self, f: Frame, items: Any, iterable: Value) -> Frame | None:
        self.frame = f
        more = self.all_items(iterable, "Value after * must be an iterable, not {}")
        if more is None:
            return self._effect(f, Invoke(polyfill(self.cx, "list_extend"), [items, iterable]))
        items.write(self.cx).extend(more)
        return None

    def all_items(self, iterable: Value, message: str) -> list[Value] | None:
        """all_of, with another message for what is not iterable."""
        try:
            return all_of(self.cx, iterable)
        except Raised as e:
            args = getattr(getattr(e.value, "base", None), "items", None)
            if args and type(args[0]) is Const and str(args[0].value).endswith("object is not iterable"):
                raise self.cx.raised(TypeError, message.format(iterable.pytype(self.cx).__name__)) from None
            raise

    def set_update(self, f: Frame, items: Any, iterable: Value) -> Frame | None:
        self.frame = f
        more = all_of(self.cx, iterable)
        if more is None:
            return self._effect(f, Invoke(polyfill(self.cx, "set_update"), [items, iterable]))
        target = items.write(self.cx)
        if type(iterable) is SetVal:
            target.merge(iterable.load(self.cx))
            return None
        for x in more:
            target[x.key(self.cx)] = None
        return None

    def dict_update(self, f: Frame, mapping: Any, other: Value) -> Frame | None:
        self.frame = f
        if not isinstance(other, (DictVal, InstanceVal)):
            raise self.cx.raised(TypeError, f"'{other.pytype(self.cx).__name__}' object is not a mapping")
        r = _iteration_known.update_dict(self.cx, mapping, [other], {})
        return None if r is None else self._effect(f, r)

    def dict_merge(self, f: Frame, mapping: Any, other: Value, function: Value) -> Frame | None:
        self.frame = f
        cx = self.cx
        for k, v in keyword_mapping(cx, other, function).items():
            if k in mapping.items:
                raise cx.raised(TypeError, f"{function_label(function)} got multiple values for keyword argument '{k}'")
            mapping.items[k] = v
        return None

    def list_to_tuple(self, f: Frame, items: Any) -> Value:
        return TupleVal(list(items.load(self.cx)))

    def unpack(self, f: Frame, value: Value, n: int) -> Any:
        self.frame = f
        items = self.all_items(value, "cannot unpack non-iterable {} object")
        if items is None:
            return self.enter(f, Invoke(polyfill(self.cx, "list"), [value]))
        if len(items) != n:
            if len(items) < n:
                raise self.cx.raised(ValueError, f"not enough values to unpack (expected {n}, got {len(items)})")
            raise self.cx.raised(ValueError, f"too many values to unpack (expected {n})")
        return items

    def unpack_ex(self, f: Frame, value: Value, before: int, after_: int) -> Any:
        self.frame = f
        items = self.all_items(value, "cannot unpack non-iterable {} object")
        if items is None:
            return self.enter(f, Invoke(polyfill(self.cx, "list"), [value]))
        if len(items) < before + after_:
            raise self.cx.raised(ValueError, f"not enough values to unpack (expected at least {before + after_}, "
                                             f"got {len(items)})")
        end = len(items) - after_
        return [*items[:before], ListVal(items[before:end]), *items[end:]]

    # ---------------------------------------------------------------- calls, functions, imports
    def call(self, f: Frame, function: Value, args: list[Any], keywords: dict[str, Any] | None) -> Any:
        self.frame = f
        keywords = keywords or {}
        try:
            r = function.call(self.cx, args, keywords)
        except Broken as e:
            raise whole_call(e, function, args, keywords) from None
        return self.enter(f, r) if type(r) is Invoke else r

    def call_ex(self, f: Frame, function: Value, args: Any, keywords: Any) -> Any:
        self.frame = f
        xs = self.all_items(args, function_label(function) + " argument after * must be an iterable, not {}")
        kw = {} if keywords is UNBOUND else keyword_mapping(self.cx, keywords, function)
        if xs is None:
            inv = Invoke(polyfill(self.cx, "call_with_items"), [function, args, DictVal(items=dict(kw))])
            return self.enter(f, inv)
        return self.call(f, function, list(xs), kw)

    def make_function(
        self, f: Frame, code: Any, defaults: Any, kwdefaults: Any, annotations: Any, closure: Any
    ) -> Value:
        fn = FunctionVal(code.value, f.globals.obj)
        fn.checked = True
        fn.module = f.globals.obj.get("__name__")
        fn.closure = [] if closure is UNBOUND else closure.items
        fn.defaults = None if defaults is UNBOUND else defaults
        fn.kwdefaults = None if kwdefaults is UNBOUND else kwdefaults
        if annotations is not UNBOUND:
            pairs = annotations.items
            fn.annotations = DictVal(items={k.value: v for k, v in zip(pairs[::2], pairs[1::2])})
        return fn

    def defaults(self, function: FunctionVal) -> int:
        return function.default_count(self.cx)

    def default(self, function: FunctionVal, number: int) -> Value:
        v = function.default(self.cx, number)
        assert v is not None
        return v

    def kwdefault(self, function: FunctionVal, name: str) -> Any:
        v = function.default(self.cx, name)
        return UNBOUND if v is None else v

    def import_name(self, f: Frame, name: str, fromlist: Value, level: Value) -> Any:
        self.frame = f
        cx = self.cx
        n = level.constant(cx)
        full = name
        if n:
            package = f.globals.obj.get("__package__") or f.globals.obj["__name__"].rpartition(".")[0]
            base = package.rsplit(".", n - 1)[0] if n > 1 else package
            full = f"{base}.{name}" if name else base
        module = sys.modules.get(full)
        if module is None:
            raise Broken("PB113", f"import of {full}, which is not loaded yet")
        names = fromlist.constant(cx)
        if not names and "." in name and not n:
            module = sys.modules[name.partition(".")[0]]
        return cx.fixed(module, module.__name__)

    def import_from(self, f: Frame, module: Any, name: str) -> Any:
        self.frame = f
        try:
            r = module.attr(self.cx, name)
        except Raised:
            full = f"{module.obj.__name__}.{name}"
            if full not in sys.modules:
                raise self.cx.raised(ImportError, f"cannot import name {name!r} from {module.obj.__name__!r}") from None
            return self.cx.fixed(sys.modules[full], full)
        return self.enter(f, r) if type(r) is Invoke else r

    def import_star(self, f: Frame, module: Any) -> Value:
        raise Broken("PB112", "import * inside a function")


# ------------------------------------------------------------------ results of frames
def _instead(m: Machine, f: Frame, value: Value, detail: Any, rest: Then | None) -> Frame:
    return deliver(m, f, rest, detail)


def _truth(m: Machine, f: Frame, value: Value, invert: Any, rest: Then | None) -> Frame:
    t = m.domain.truth(f, value)
    if type(t) is Frame:
        raise Broken("PB112", "truth of an object whose __bool__ is Python code, returned by a special method")
    return deliver(m, f, rest, m.domain.const(f, t is not bool(invert)))


RETURNS["instead"] = ReturnRule(_instead)
RETURNS["truth"] = ReturnRule(_truth)
"""instead: `detail` is the result. truth: the result's truth is (negated if `detail`)."""

__all__ = ["CaptureRaised", "Code", "ModuleVal", "SizeVal", "Symbolic", "operator"]

# Modules that need this one: bound when all are loaded.
from .known import iteration as _iteration_known  # noqa: E402

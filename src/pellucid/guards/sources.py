"""Sources at work: load the value a `Source` names, write that as Python source text, and name it to a person.

Besides the kinds listed at `guards.types.Source` these are used:

globals      the dictionary of a function's globals; key is the module's name, `obj` the function (or the dictionary)
kwdefault    keyword default `key` of a function
dictattr     the instance dictionary of an object, `vars(base)` without calling anything of the object's class
raw          item `key` of a dict, list or tuple read past any `__getitem__` of a subclass
mro          attribute `key[1]` found in the dictionary of class `base`
calc         a number computed in Python from several sources, see guards.calc
call0        the result of calling the pure function in `obj` on base (process-local)
"""

from __future__ import annotations

import builtins
import collections
import copy
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from ..shapes.dim import Dim, Sym, evaluate
from .calc import calculate, calculation_name, calculation_text
from .types import Source

_object_getattribute = object.__getattribute__


class Scope:
    """What sources are loaded from: the call's bound arguments, or a continuation's slots. Loads are remembered."""

    __slots__ = ("args", "slots", "native", "symbols", "memo")

    def __init__(self, args: Mapping[str, Any] | None = None, slots: tuple[Any, ...] = (), native: Any = None,
                 symbols: Mapping[Sym, int] | None = None):
        self.args = args or {}
        self.slots = slots
        self.native = native
        self.symbols = symbols or {}
        self.memo: dict[Source, Any] = {}


def _globals_of(source: Source) -> dict[str, Any]:
    obj = source.obj
    if type(obj) is dict:
        return obj
    return obj.__globals__


def _cell(function: Any, index: int) -> Any:
    return function.__closure__[index].cell_contents


def instance_dict(obj: Any) -> dict[str, Any]:
    """obj's instance dictionary, past any `__getattribute__` of its class."""
    return (
        _object_getattribute(obj, "__dict__") if not isinstance(obj, type) else type.__getattribute__(obj, "__dict__")
    )


def ordered_keys(obj: Any) -> list[Any]:
    """The keys of a dict in the order in which it iterates, past any override of its class. An OrderedDict keeps an
    order of its own, which the dict under it does not know."""
    return list(collections.OrderedDict.keys(obj) if isinstance(obj, collections.OrderedDict) else dict.keys(obj))


def raw_item(obj: Any, key: Any) -> Any:
    """obj[key] of a dict, list or tuple (or a subclass), past any `__getitem__` of the subclass."""
    if isinstance(obj, dict):
        return dict.__getitem__(obj, key)
    if isinstance(obj, list):
        return list.__getitem__(obj, key)
    if isinstance(obj, tuple):
        return tuple.__getitem__(obj, key)
    return obj[key]


def _peek(iterator: Any, index: int) -> Any:
    return next(itertools.islice(copy.copy(iterator), index, None))


_LOADERS: dict[str, Callable[[Source, Any, Scope], Any]] = {
    "arg": lambda s, b, c: c.args[s.key],
    "slot": lambda s, b, c: c.slots[s.key],
    "native": lambda s, b, c: c.native,
    "global": lambda s, b, c: _globals_of(s)[s.key[1]],
    "globals": lambda s, b, c: _globals_of(s),
    "builtin": lambda s, b, c: getattr(builtins, s.key),
    "const": lambda s, b, c: s.obj,
    "attr": lambda s, b, c: getattr(b, s.key),
    "dict": lambda s, b, c: instance_dict(b)[s.key],
    "dictattr": lambda s, b, c: instance_dict(b),
    "item": lambda s, b, c: b[_key(s.key, c)],
    "raw": lambda s, b, c: raw_item(b, _key(s.key, c)),
    "cell": lambda s, b, c: _cell(b, s.key),
    "contents": lambda s, b, c: b.cell_contents,
    "closure": lambda s, b, c: b.__closure__[s.key],
    "default": lambda s, b, c: b.__defaults__[s.key],
    "kwdefault": lambda s, b, c: b.__kwdefaults__[s.key],
    "type": lambda s, b, c: type(b),
    "mro": lambda s, b, c: b.__dict__[s.key],
    "func": lambda s, b, c: b.__func__,
    "self": lambda s, b, c: b.__self__,
    "code": lambda s, b, c: b.__code__,
    "iter": lambda s, b, c: _peek(b, s.key),
    "call0": lambda s, b, c: s.obj(b),
    "calc": lambda s, b, c: calculate(s.key, lambda x: load(x, c)),
}


def _key(key: Any, scope: Scope) -> Any:
    return evaluate(key, scope.symbols) if type(key) is Dim else key


def load(source: Source, scope: Scope) -> Any:
    """The object that `source` names, in `scope`. Raises what the access raises (a guard's evaluator takes that as
    'does not hold')."""
    memo = scope.memo
    if source in memo:
        return memo[source]
    base = load(source.base, scope) if source.base is not None else None
    value = memo[source] = _LOADERS[source.kind](source, base, scope)
    return value


# ------------------------------------------------------------------ as Python source text
class TextScope:
    """Names for generated Python: arguments by `arg`, slots as s0, s1 ..., held objects as names bound in `held`.

    Generated code runs with `held` in its globals, together with `HELPERS`.
    """

    def __init__(self, arg: Callable[[str], str] | None = None, slot: Callable[[int], str] | None = None,
                 native: str = "native", prefix: str = "k"):
        self.arg = arg or (lambda name: name)
        self.slot = slot or (lambda number: f"s{number}")
        self.native = native
        self.prefix = prefix
        self.held: dict[str, Any] = {}
        self.memo: dict[Source, str] = {}
        """Sources already in a local variable."""
        self._names: dict[int, str] = {}

    def hold(self, obj: Any) -> str:
        """A global name of the generated code that is bound to obj."""
        name = self._names.get(id(obj))
        if name is None:
            name = self._names[id(obj)] = f"{self.prefix}{len(self.held)}"
            self.held[name] = obj
        return name

    def constant(self, value: Any) -> str:
        """Text for a constant: its literal where that is exact, else a held name."""
        t = type(value)
        if t is str or t is int or t is bool or value is None or t is bytes:
            return repr(value)
        if t is tuple and all(type(v) in (str, int, bool, type(None)) for v in value):
            return repr(value)
        return self.hold(value)


HELPERS: dict[str, Any] = {"_vars": instance_dict, "_raw": raw_item, "_peek": _peek}
"""Must be in the globals of generated code that `text` writes."""


def _index(key: Any, scope: TextScope) -> str:
    return f"({key})" if type(key) is Dim else scope.constant(key)


_TEXTS: dict[str, Callable[[Source, str, TextScope], str]] = {
    "arg": lambda s, b, c: c.arg(s.key),
    "slot": lambda s, b, c: c.slot(s.key),
    "native": lambda s, b, c: c.native,
    "global": lambda s, b, c: f"{c.hold(_globals_of(s))}[{s.key[1]!r}]",
    "globals": lambda s, b, c: c.hold(_globals_of(s)),
    "builtin": lambda s, b, c: f"{c.hold(builtins)}.{s.key}",
    "const": lambda s, b, c: c.hold(s.obj),
    "attr": lambda s, b, c: f"{b}.{s.key}" if s.key.isidentifier() else f"getattr({b}, {s.key!r})",
    "dict": lambda s, b, c: f"_vars({b})[{s.key!r}]",
    "dictattr": lambda s, b, c: f"_vars({b})",
    "item": lambda s, b, c: f"{b}[{_index(s.key, c)}]",
    "raw": lambda s, b, c: f"_raw({b}, {_index(s.key, c)})",
    "cell": lambda s, b, c: f"{b}.__closure__[{s.key}].cell_contents",
    "contents": lambda s, b, c: f"{b}.cell_contents",
    "closure": lambda s, b, c: f"{b}.__closure__[{s.key}]",
    "default": lambda s, b, c: f"{b}.__defaults__[{s.key}]",
    "kwdefault": lambda s, b, c: f"{b}.__kwdefaults__[{s.key!r}]",
    "type": lambda s, b, c: f"type({b})",
    "mro": lambda s, b, c: f"{b}.__dict__[{s.key!r}]",
    "func": lambda s, b, c: f"{b}.__func__",
    "self": lambda s, b, c: f"{b}.__self__",
    "code": lambda s, b, c: f"{b}.__code__",
    "iter": lambda s, b, c: f"_peek({b}, {s.key})",
    "call0": lambda s, b, c: f"{c.hold(s.obj)}({b})",
    "calc": lambda s, b, c: calculation_text(s.key, lambda x: text(x, c), c.hold),
}


def text(source: Source, scope: TextScope) -> str:
    """A Python expression that loads `source`; names that it needs are bound in `scope.held` and `HELPERS`."""
    known = scope.memo.get(source)
    if known is not None:
        return known
    base = text(source.base, scope) if source.base is not None else ""
    return _TEXTS[source.kind](source, base, scope)


# ------------------------------------------------------------------ names for people
def name(source: Source | None) -> str:
    """How a person would write it: `self.encoder.layer[0].attention`, `x`, `args[1]`, `config.hidden_size`."""
    if source is None:
        return "global state"
    kind, base, key = source.kind, source.base, source.key
    if kind == "arg":
        return str(key)
    if kind == "slot":
        return f"slot {key}"
    if kind == "native":
        return "the result of the operation before"
    if kind == "global":
        return str(key[1])
    if kind == "globals":
        return f"globals of {key}"
    if kind in ("builtin", "const"):
        return str(key)
    assert base is not None
    if kind in ("item", "raw"):
        inner = base
        if inner.kind == "dict" and inner.base is not None and inner.key in ("_parameters", "_buffers", "_modules"):
            owner = name(inner.base)
            return f"{owner}[{key}]" if str(key).isdigit() else f"{owner}.{key}"
        return f"{name(base)}[{key!r}]" if not isinstance(key, Dim) else f"{name(base)}[{key}]"
    b = name(base)
    if kind in ("attr", "dict"):
        return f"{b}.{key}"
    if kind == "dictattr":
        return f"vars({b})"
    if kind == "cell":
        closure_of = getattr(source.obj, "co_freevars", None)
        return closure_of[key] if closure_of else f"closure cell {key} of {b}"
    if kind == "closure":
        return f"closure cell {key} of {b}"
    if kind == "contents":
        return f"contents of {b}"
    if kind == "default":
        return f"default {key} of {b}"
    if kind == "kwdefault":
        return f"default of {key} of {b}"
    if kind == "type":
        return f"type({b})"
    if kind == "mro":
        return f"{b}.{key}"
    if kind == "iter":
        return f"item {key} of {b}"
    if kind == "calc":
        return calculation_name(key, name)
    if kind == "call0":
        return f"{getattr(source.obj, '__name__', 'f')}({b})"
    return f"{b}.__{kind}__"

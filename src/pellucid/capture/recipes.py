"""Recipes at work: build the Python value that a `Recipe` describes, and write that as Python source text.

The layout of `Build(kind, parts, detail)`:

kind           parts                                     detail
tuple          elements                                  None, or the class (a named tuple, torch.Size ...)
list set frozenset  elements                             None
remade_set          elements, before them those gone     (how many more its table had room for, how many are gone)
dict           key, value, key, value ...                None, or the class (an OrderedDict)
defaultdict    factory, key, value, key, value ...       None
deque          elements                                  maxlen
slice          start, stop, step                         None
range          start, stop, step                         None
cell           contents, or nothing                      None
function       closure, defaults, kwdefaults, annotations, dict   (code, globals, name, qualname, module)
method         function, self                            None
builtin        self                                      name: a bound method of a built-in object
partial        function, args, keywords                  the class
super          class, self                               None
iterator       list or tuple, position                   "sequence"
               start, stop                               the step, an int: over a range
               iterator, count                           "enumerate"
               iterators                                 "zip"
instance       attribute values, then contents           (class, attribute names, base) with base None, "dict" (key,
                                                         value alternating), "list", "tuple", "set" or "exception"
                                                         (its args)
generator      variables, then the stack                 generators.GeneratorState
attr           object                                    name: the value of an attribute (a pure read)
call           arguments                                 a pure function
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..guards.sources import HELPERS, Scope, TextScope, load, ordered_keys
from ..guards.sources import text as source_text
from ..shapes.dim import Dim, evaluate
from .types import Effect, FromConst, FromGraph, FromNative, FromSize, FromSource, Recipe, Shared

_set_attribute = object.__setattr__


def _exact(cls: Any, base: type, parts: Sequence[Any]) -> Any:
    """A tuple, or an instance of a tuple subclass, made without running the subclass's own code where it has any."""
    if cls is None:
        return tuple(parts)
    if getattr(cls, "__new__", None) is tuple.__new__ or hasattr(cls, "_fields"):
        return tuple.__new__(cls, parts)
    return cls(parts)


def make_tuple(cls: Any, *parts: Any) -> Any:
    return _exact(cls, tuple, parts)


def make_dict(cls: Any, *parts: Any) -> Any:
    out = {} if cls is None else cls()
    for i in range(0, len(parts), 2):
        dict.__setitem__(out, parts[i], parts[i + 1]) if cls is None else out.__setitem__(parts[i], parts[i + 1])
    return out


def make_defaultdict(factory: Any, *parts: Any) -> Any:
    out: Any = collections.defaultdict(factory)
    for i in range(0, len(parts), 2):
        out[parts[i]] = parts[i + 1]
    return out


def make_cell(*parts: Any) -> Any:
    return types.CellType(*parts)


def make_function(detail: Any, closure: Any, defaults: Any, kwdefaults: Any, annotations: Any, attrs: Any) -> Any:
    code, globals_, name, qualname, module = detail
    f = types.FunctionType(code, globals_, name, defaults, closure)
    f.__qualname__ = qualname
    f.__module__ = module
    f.__kwdefaults__ = kwdefaults
    if annotations:
        f.__annotations__ = annotations
    for key, value in (attrs or {}).items():
        setattr(f, key, value)
    return f


def make_partial(cls: Any, function: Any, args: Any, keywords: Any, attributes: Any = None) -> Any:
    out = cls(function, *args, **keywords)
    for name, value in (attributes or {}).items():
        setattr(out, name, value)
    return out


def make_iterator(detail: str | int, *parts: Any) -> Any:
    if type(detail) is int:
        return iter(range(*parts, detail))
    if detail == "enumerate":
        return enumerate(*parts)
    if detail == "zip":
        return zip(*parts)
    items, position = parts
    it = iter(items)
    if position < 0:
        for _ in it:
            pass
    elif position:
        it.__setstate__(position)
    return it


def make_instance(detail: Any, *parts: Any) -> Any:
    cls, names, base = detail
    n = len(names)
    rest = parts[n:]
    if base is None:
        obj = cls.__new__(cls) if cls.__new__ is object.__new__ else object.__new__(cls)
    elif base == "dict":
        obj = cls.__new__(cls)
        put = collections.OrderedDict.__setitem__ if issubclass(cls, collections.OrderedDict) else dict.__setitem__
        for i in range(0, len(rest), 2):
            put(obj, rest[i], rest[i + 1])
    elif base == "list":
        obj = list.__new__(cls)
        list.extend(obj, rest)
    elif base == "tuple":
        obj = tuple.__new__(cls, rest)
    elif base == "set":
        obj = set.__new__(cls)
        set.update(obj, rest)
    else:
        obj = cls.__new__(cls, *rest)
        obj.args = tuple(rest)
    if names:
        d = getattr(obj, "__dict__", None)
        for key, value in zip(names, parts):
            if (
                d is not None
                and not isinstance(getattr(cls, key, None), types.MemberDescriptorType)
                and base != "exception"
            ):
                d[key] = value
            else:
                _set_attribute(obj, key, value) if base != "exception" else setattr(obj, key, value)
    return obj


@functools.lru_cache(maxsize=1024)
def instance_maker(cls: type, names: tuple[str, ...], base: str | None, count: int) -> Callable[..., Any] | None:
    """`make_instance` for one class and attributes, with nothing left to look up; None for the kinds it leaves alone.

    A model's output is built in every call: this takes a fifth of the general function's time.
    """
    if base not in (None, "dict") or any(isinstance(getattr(cls, n, None), types.MemberDescriptorType) for n in names):
        return None
    if not getattr(cls, "__dictoffset__", 0) and names:
        return None
    attributes = [f"a{i}" for i in range(len(names))]
    items = [f"b{i}" for i in range(count - len(names))]
    plain = base is None and cls.__new__ is object.__new__
    lines = [f"def make({', '.join([*attributes, *items])}):",
             f"    obj = {'new(cls)' if base == 'dict' or plain else 'base_new(cls)'}"]
    lines += [f"    put(obj, {items[i]}, {items[i + 1]})" for i in range(0, len(items), 2)]
    if names:
        lines.append("    d = obj.__dict__")
        lines += [f"    d[{name!r}] = {value}" for name, value in zip(names, attributes)]
    put = collections.OrderedDict.__setitem__ if issubclass(cls, collections.OrderedDict) else dict.__setitem__
    space = {"cls": cls, "new": cls.__new__, "base_new": object.__new__, "put": put}
    exec("\n".join([*lines, "    return obj"]), space)
    return space["make"]  # type: ignore[return-value]


def make_attributed(names: tuple[str, ...], obj: Any, *values: Any) -> Any:
    """obj with these attributes set."""
    for name, value in zip(names, values, strict=True):
        setattr(obj, name, value)
    return obj


ROOMS = (4, 16, 64, 256, 1024)
_NO_KEYS = range(1 << 40, (1 << 40) + ROOMS[-1])


def remade_set(history: tuple[int, int], *keys: Any) -> set[Any]:
    """A set as it iterates after changes. history: (room, gone), how many more its table had room for, and how many of
    the keys, the first ones, are taken out again."""
    room, gone = history
    made = set(keys)
    made.update(_NO_KEYS[:room])
    for k in (*_NO_KEYS[:room], *keys[:gone]):
        made.discard(k)
    return made


_MAKERS: dict[str, Callable[..., Any]] = {
    "tuple": make_tuple,
    "list": lambda d, *p: list(p),
    "set": lambda d, *p: set(p),
    "frozenset": lambda d, *p: frozenset(p),
    "remade_set": remade_set,
    "dict": make_dict,
    "attributed": make_attributed,
    "defaultdict": lambda d, *p: make_defaultdict(*p),
    "deque": lambda d, *p: collections.deque(p, d),
    "slice": lambda d, *p: slice(*p),
    "range": lambda d, *p: range(*p),
    "cell": lambda d, *p: make_cell(*p),
    "function": make_function,
    "method": lambda d, f, s: types.MethodType(f, s),
    "builtin": lambda d, s: getattr(s, d),
    "partial": make_partial,
    "super": lambda d, c, s: super(c, s),
    "iterator": make_iterator,
    "instance": make_instance,
    "generator": lambda d, *p: _generators.make_generator(d, *p),
    "attr": lambda d, o: getattr(o, d),
    "call": lambda d, *p: d(*p),
}


def build(recipe: Recipe, outputs: Sequence[Any], scope: Scope, shared: Sequence[Any] = ()) -> Any:
    """The value of `recipe`. `outputs` are the graph's; `scope` loads sources (before any effect is committed) and
    gives symbols and the native result; `shared` are the segment's shared values built so far."""
    t = type(recipe)
    if t is FromGraph:
        return outputs[recipe.index]
    if t is FromConst:
        return recipe.value
    if t is FromSource:
        return load(recipe.source, scope)
    if t is FromSize:
        return evaluate(recipe.size, scope.symbols)
    if t is Shared:
        return shared[recipe.number]
    if t is FromNative:
        return scope.native
    return _MAKERS[recipe.kind](recipe.detail, *[build(p, outputs, scope, shared) for p in recipe.parts])


def build_shared(recipes: Sequence[Recipe], outputs: Sequence[Any], scope: Scope) -> list[Any]:
    """All of `Segment.shared`, in order."""
    out: list[Any] = []
    for r in recipes:
        out.append(build(r, outputs, scope, out))
    return out


# ------------------------------------------------------------------ effects
def _whole_list(target: Any, key: Any, value: Any) -> None:
    list.__setitem__(target, slice(None), value)


def _whole_dict(target: Any, key: Any, value: Any) -> None:
    """The dict's contents and order become those of `value`, keeping what need not move."""
    if ordered_keys(target) == list(value) or not target:
        dict.update(target, value)
        return
    common = [k for k in ordered_keys(target) if k in value]
    if len(common) == len(target) and list(value)[:len(common)] == common:
        dict.update(target, value)
        return
    plain = _plain(target)
    plain.clear(target)
    for k, v in value.items():
        plain.__setitem__(target, k, v)


def _plain(target: Any) -> Any:
    """The class in C whose methods change the contents alone: code of a derived class has been captured already."""
    if isinstance(target, collections.OrderedDict):
        return collections.OrderedDict
    return dict if isinstance(target, dict) else type(target)


def change_set(target: Any, changes: Any) -> None:
    """Add to and discard from a set one by one, so that its order is the program's."""
    for change, key in zip(*changes):
        (set.add if change == "add" else set.discard)(target, key)


def _whole_set(target: Any, key: Any, value: Any) -> None:
    set.clear(target)
    set.update(target, value)


def _delete_dict(target: Any, key: Any, value: Any) -> None:
    del HELPERS["_vars"](target)[key]


def _dict_entry(target: Any, key: Any, value: Any) -> None:
    HELPERS["_vars"](target)[key] = value


def _global(target: Any, key: Any, value: Any) -> None:
    target[key] = value


def _deque(target: Any, key: Any, value: Any) -> None:
    collections.deque.clear(target)
    collections.deque.extend(target, value)


def _cell(target: Any, key: Any, value: Any) -> None:
    target.cell_contents = value


def _del_cell(target: Any, key: Any, value: Any) -> None:
    del target.cell_contents


def _advance(target: Any, key: Any, value: Any) -> None:
    for _ in range(key):
        next(target, None)


COMMIT: dict[str, Callable[[Any, Any, Any], None]] = {
    "setattr": lambda t, k, v: object.__setattr__(t, k, v) if not isinstance(t, type) else setattr(t, k, v),
    "delattr": lambda t, k, v: object.__delattr__(t, k),
    "dict": _dict_entry,
    "deldict": _delete_dict,
    "setitem": lambda t, k, v: _plain(t).__setitem__(t, k, v),
    "delitem": lambda t, k, v: _plain(t).__delitem__(t, k),
    "list": _whole_list,
    "extend": lambda t, k, v: list.extend(t, v),
    "update": _whole_dict,
    "set": _whole_set,
    "deque": _deque,
    "global": _global,
    "delglobal": lambda t, k, v: t.__delitem__(k),
    "cell": _cell,
    "delcell": _del_cell,
    "next": _advance,
    "python": lambda t, k, v: k(t, v),
}
"""Effect kind -> commit(target, key, value). Beside those listed at `Effect`: extend, deldict, delglobal,
delcell; `next`
advances the target iterator `key` times; `python` calls the pure helper `key` with target and value. The target of
`global` is the dictionary of globals; `setattr` writes past any `__setattr__` of the class (its code was captured)."""


def commit(effects: Sequence[Effect], outputs: Sequence[Any], scope: Scope, shared: Sequence[Any]) -> None:
    """Do the effects in order. Every recipe is built before the first write, so that sources mean the state before."""
    ready = [(COMMIT[e.kind], build(e.target, outputs, scope, shared), e.key,
              None if e.value is None else build(e.value, outputs, scope, shared)) for e in effects]
    for do, target, key, value in ready:
        do(target, key, value)


# ------------------------------------------------------------------ as Python source text
MAKERS: dict[str, Callable[..., Any]] = {f"_make_{k}": v for k, v in _MAKERS.items()}
"""Must be in the globals of generated code that `text` writes, with `guards.sources.HELPERS`."""


class RecipeText:
    """What a recipe's text refers to: graph outputs o0 ..., shared values h0 ..., sizes as symbol expressions."""

    def __init__(self, sources: TextScope, output: Callable[[int], str] | None = None,
                 shared: Callable[[int], str] | None = None, size: Callable[[Dim], str] | None = None):
        self.sources = sources
        self.output = output or (lambda i: f"o{i}")
        self.shared = shared or (lambda i: f"h{i}")
        self.size = size or (lambda d: f"({d})")


def text(recipe: Recipe, names: RecipeText) -> str:
    """A Python expression whose value is that of `recipe`."""
    t = type(recipe)
    if t is FromGraph:
        return names.output(recipe.index)
    if t is FromConst:
        return names.sources.constant(recipe.value)
    if t is FromSource:
        return source_text(recipe.source, names.sources)
    if t is FromSize:
        return str(recipe.size) if type(recipe.size) is int else names.size(recipe.size)
    if t is Shared:
        return names.shared(recipe.number)
    if t is FromNative:
        return names.sources.native
    parts = [text(p, names) for p in recipe.parts]
    kind, detail = recipe.kind, recipe.detail
    if kind == "tuple" and detail is None:
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
    if kind == "list":
        return f"[{', '.join(parts)}]"
    if kind == "set" and parts:
        return f"{{{', '.join(parts)}}}"
    if kind == "dict" and detail is None:
        return "{" + ", ".join(f"{k}: {v}" for k, v in zip(parts[::2], parts[1::2])) + "}"
    if kind == "attr":
        return f"{parts[0]}.{detail}"
    if kind == "instance" and (made := instance_maker(*detail, len(parts))) is not None:
        return f"{names.sources.hold(made)}({', '.join(parts)})"
    held = names.sources.hold(detail) if detail is not None else "None"
    return f"_make_{kind}({', '.join([held, *parts])})"


from . import generators as _generators  # noqa: E402

"""Dicts: made inside, or existing outside and read key by key with writes kept in an overlay."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from ...guards.sources import ordered_keys
from ...guards.types import Source
from ..types import Build, FromSource, Recipe
from .base import Broken, Invoke, NotConstant, Result, Value
from .constant import NONE, Const

if TYPE_CHECKING:
    from ..state import Capture


class _Absent(Value):
    """In an overlay: the key is not there."""

    __slots__ = ()


ABSENT = _Absent()
_PLAIN = (dict, collections.OrderedDict, collections.defaultdict)
"""Classes of dicts whose items are what `obj[key]` gives; a subclass may have a __getitem__ of its own."""


class DictVal(Value):
    """obj, source   the dict outside (None: made inside)
    cls          dict, collections.OrderedDict or collections.defaultdict
    items        key -> value as far as known; holds ABSENT only while not complete
    complete     items are all there is, in order
    changed      keys written or deleted, in order (None: no write)
    owner        the instance whose `__dict__` this is, or None; function for a dict of globals
    """

    __slots__ = ("obj", "source", "cls", "items", "complete", "changed", "restructured", "owner", "factory", "typed")

    def __init__(self, cls: type = dict, items: dict[Any, Value] | None = None, obj: Any = None,
                 source: Source | None = None, owner: Any = None, factory: Value | None = None):
        self.cls, self.obj, self.source, self.owner, self.factory = cls, obj, source, owner, factory
        self.items: dict[Any, Value] = {} if items is None else items
        self.complete = obj is None
        self.changed: dict[Any, None] | None = None
        self.restructured = False
        self.typed = obj is None or owner is not None

    def __repr__(self) -> str:
        return f"DictVal({self.items!r})"

    def pytype(self, cx: Capture) -> type:
        if not self.typed:
            self.typed = True
            cx.guard("type", self.source, self.cls, "type")
        return self.cls

    def attr(self, cx: Capture, name: str) -> Result:
        own = cx.attributes.get(self) if cx.attributes else None
        if own is not None and name in own:
            return own[name]
        if name == "default_factory" and self.cls is collections.defaultdict:
            return self.default_factory(cx) or NONE
        return Value.attr(self, cx, name)

    # ---------------------------------------------------------------- reading
    def item_source(self, cx: Capture, key: Any) -> Source:
        owner = self.owner
        if owner is not None:
            return owner.attribute_source(cx, key)
        return Source("item" if type(self.obj) in _PLAIN else "raw", self.source, key)

    def get(self, cx: Capture, key: Any) -> Value | None:
        """The value under a key (in the form that `Value.key` gives), or None; guarded."""
        v = self.items.get(key)
        if v is not None:
            return None if v is ABSENT else v
        if self.complete:
            return None
        if not self.typed:
            self.pytype(cx)
        obj = self.obj
        if key in obj:
            v = cx.wrap(dict.__getitem__(obj, key), self.item_source(cx, key))
            self.items[key] = v
            return v
        self.items[key] = ABSENT
        self.guard_missing(cx, key)
        return None

    def guard_missing(self, cx: Capture, key: Any) -> None:
        owner = self.owner
        if owner is not None:
            owner.guard_absent(cx, key)
        elif not self.obj:
            cx.guard_once((self, "len"), "len", self.source, 0, "key lookup")
        else:
            cx.guard("missing_key", self.source, key, "key lookup")

    def load(self, cx: Capture) -> dict[Any, Value]:
        """All items in order, with the keys guarded."""
        if self.complete:
            return self.items
        self.pytype(cx)
        obj, known = self.obj, self.items
        source = self.source if self.owner is None else self.owner.dict_source()
        keys = ordered_keys(obj)
        cx.guard("keys", source, tuple(keys), "iteration over keys")
        out: dict[Any, Value] = {}
        for k in keys:
            v = known.get(k)
            if v is None:
                v = cx.wrap(dict.__getitem__(obj, k), self.item_source(cx, k))
            if v is not ABSENT:
                out[k] = v
        for k in self.changed or ():
            v = known[k]
            if v is not ABSENT and k not in out:
                out[k] = v
        self.items = out
        self.complete = True
        return out

    # ---------------------------------------------------------------- writing
    def put(self, cx: Capture, key: Any, value: Value) -> None:
        if self.obj is not None:
            self._touch(cx, key)
        self.items[key] = value

    def remove(self, cx: Capture, key: Any) -> None:
        """Delete a key that is present."""
        if self.obj is not None:
            self._touch(cx, key)
            if self.complete:
                del self.items[key]
            else:
                self.items[key] = ABSENT
            self.restructured = self.restructured or self.owner is None
        else:
            del self.items[key]

    def clear(self, cx: Capture) -> None:
        self.load(cx)
        for k in list(self.items):
            self.remove(cx, k)

    def _touch(self, cx: Capture, key: Any) -> None:
        if self.changed is None:
            self.pytype(cx)
            self.changed = {}
            cx.wrote(self)
        elif self.restructured:
            self.load(cx)
        self.changed[key] = None

    # ---------------------------------------------------------------- the protocol
    def truth(self, cx: Capture) -> bool:
        if not self.complete and self.changed is None:
            self.pytype(cx)
            if self.items and any(v is not ABSENT for v in self.items.values()):
                return True
            n = len(self.obj)
            if n == 0:
                cx.guard_once((self, "len"), "len", self.source, 0, "truth")
                return False
        return bool(self.load(cx))

    def length(self, cx: Capture) -> Result:
        return Const(len(self.load(cx)))

    def elements(self, cx: Capture) -> list[Value] | None:
        return [key_value(cx, k) for k in self.load(cx)]

    def iterate(self, cx: Capture) -> Result:
        return _iterator.KeysIter(_sequence.TupleVal(self.elements(cx) or []), self)

    def getitem(self, cx: Capture, key: Value) -> Result:
        k = key.key(cx)
        v = self.get(cx, k)
        if v is not None:
            return v
        if self.cls is collections.defaultdict and self.default_factory(cx) is not None:
            factory = self.default_factory(cx)
            assert factory is not None
            made = factory.call(cx, [], {})
            if isinstance(made, Invoke):
                return Invoke(_polyfills.polyfill(cx, "defaultdict_missing"), [self, key, factory])
            self.put(cx, k, made)
            return made
        raise cx.raised(KeyError, _plain(k))

    def default_factory(self, cx: Capture) -> Value | None:
        if self.factory is None and self.obj is not None:
            assert self.source is not None
            self.factory = cx.wrap(self.obj.default_factory, Source("attr", self.source, "default_factory"))
        f = self.factory
        return None if f is None or (type(f) is Const and f.constant(cx) is None) else f

    def setitem(self, cx: Capture, key: Value, value: Value) -> Result | None:
        self.put(cx, key.key(cx), value)
        return None

    def delitem(self, cx: Capture, key: Value) -> Result | None:
        k = key.key(cx)
        if self.get(cx, k) is None:
            raise cx.raised(KeyError, _plain(k))
        self.remove(cx, k)
        return None

    def contains(self, cx: Capture, item: Value) -> bool:
        key = item.key(cx)
        known = self.items.get(key)
        if self.get(cx, key) is None:
            return False
        if known is None and not self.complete:
            self.guard_present(cx, key)
        return True

    def guard_present(self, cx: Capture, key: Any) -> None:
        """The program asked whether the key is there, and may use nothing of its value."""
        source = self.owner.dict_source() if self.owner is not None else self.source
        if source is not None and source.kind != "const":
            cx.guard_once((source, key, "present"), "has_key", source, key, "key test")

    def constant(self, cx: Capture) -> Any:
        if self.cls is not dict or (self.obj is not None and self.changed is not None):
            raise NotConstant(self)
        return {key_value(cx, k).constant(cx): v.constant(cx) for k, v in self.load(cx).items()}

    def key(self, cx: Capture) -> Any:
        raise cx.raised(TypeError, f"unhashable type: '{self.cls.__name__}'")

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        parts: list[Recipe] = []
        for k, v in self.items.items():
            parts.append(cx.recipe(key_value(cx, k)))
            parts.append(cx.recipe(v))
        if self.cls is collections.defaultdict:
            return Build("defaultdict", (cx.recipe(self.factory or NONE), *parts))
        made = Build("dict", tuple(parts), None if self.cls is dict else self.cls)
        own = cx.attributes.get(self)
        return made if own is None else Build("attributed", (made, *[cx.recipe(v) for v in own.values()]), tuple(own))

    def setattr(self, cx: Capture, name: str, value: Value) -> Result | None:
        """An OrderedDict has attributes of its own: nn.Module.state_dict() uses one."""
        if self.obj is not None or self.cls is not collections.OrderedDict or hasattr(self.cls, name):
            return Value.setattr(self, cx, name, value)
        cx.attributes.setdefault(self, {})[name] = value
        return None


def key_value(cx: Capture, k: Any) -> Value:
    """The value of a dictionary key in the form that `Value.key` gives."""
    if isinstance(k, Value):
        return k
    if type(k) is _keys.DataclassKey:
        return k.value
    if type(k) is tuple and len(k) > 1 and k[0] == "id" and k[1] is not None:
        raise Broken("PB112", "iteration over a dict whose keys are id()s")
    if type(k) is tuple:
        return _sequence.TupleVal([key_value(cx, x) for x in k])
    return cx.fixed(k)


def _plain(k: Any) -> Any:
    return str(k) if isinstance(k, Value) else k


def keyword_mapping(cx: Capture, v: Value, function: Value | None = None) -> dict[str, Value]:
    """The keyword arguments that **v stands for."""
    if isinstance(v, _instance.InstanceVal) and isinstance(v.base, DictVal):
        v = v.base
    if not isinstance(v, DictVal):
        if isinstance(v, _instance.InstanceVal):
            raise Broken("PB112", f"** of a {v.cls.__name__}, which is no dict")
        raise cx.raised(TypeError, f"{function_label(function)} argument after ** must be a mapping, "
                                   f"not {v.pytype(cx).__name__}")
    out: dict[str, Value] = {}
    for k, x in v.load(cx).items():
        if type(k) is not str:
            raise cx.raised(TypeError, "keywords must be strings")
        out[k] = x
    return out


def function_label(function: Any) -> str:
    """How CPython names a callable in messages about * and **: module.qualname()."""
    obj = getattr(function, "obj", None)
    if obj is None:
        qualname, module = getattr(function, "qualname", None), getattr(function, "module", None)
    else:
        qualname, module = getattr(obj, "__qualname__", None), getattr(obj, "__module__", None)
    if not qualname:
        return f"{type(function).__name__.removesuffix('Val').lower()} object"
    return f"{module}.{qualname}()" if module and module != "builtins" else f"{qualname}()"

# Modules that need this one: bound when all are loaded.
from .. import polyfills as _polyfills  # noqa: E402
from . import instance as _instance  # noqa: E402
from . import iterator as _iterator  # noqa: E402
from . import keys as _keys  # noqa: E402
from . import sequence as _sequence  # noqa: E402

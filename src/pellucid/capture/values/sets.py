"""Sets and frozensets, which iterate in the order that Python's own would."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ...guards.types import Source
from ..recipes import ROOMS, remade_set
from ..types import Build, FromSource, Recipe
from .base import Broken, NotConstant, Result, Value
from .constant import Const
from .keys import DataclassKey
from .mapping import key_value

if TYPE_CHECKING:
    from ..state import Capture


def _is_set_of(expected: frozenset[Any]) -> Any:
    def equals(value: Any) -> bool:
        return value == expected
    return equals


def _iterates_as(expected: list[Any]) -> Any:
    def in_order(value: Any) -> bool:
        return list(value) == expected
    return in_order


def plain(key: Any) -> bool:
    """Whether a key is the object itself, and so hashes as it does in the program."""
    if isinstance(key, (tuple, frozenset)):
        return all(map(plain, key))
    return not isinstance(key, (Value, DataclassKey))


_FEW = 6
"""So many keys are tried in each order."""


def _remade(items: KeySet) -> tuple[tuple[int, int], list[Any]]:
    """(history, order of insertion) by which `recipes.remade_set` gives the program's order. Where none is found the
    order is that of hashes which differ from process to process, or the capture breaks."""
    assert items.real is not None
    keys, wanted = list(items), list(items.real)
    gone = [k for k in items.gone if k not in items]
    for room in (0, *ROOMS):
        for first in ([], gone) if gone else ([],):
            for order in (keys, wanted):
                history = room, len(first)
                if list(remade_set(history, *first, *order)) == wanted:
                    return history, [*first, *order]
    if len(keys) <= _FEW:
        for chance in itertools.permutations(keys):
            if list(set(chance)) == wanted:
                return (0, 0), list(chance)
    if any(isinstance(k, (str, bytes)) for k in keys):
        return (0, 0), keys
    raise Broken("PB112", "a set in an order that making it anew does not give")


class KeySet(dict[Any, None]):
    """The keys in the order they came, for building the set again; and `real`, a Python set to which the same was done,
    whose order is the program's. None where a key stands for an object, whose address Python's order depends on."""

    __slots__ = ("changes", "gone", "real")

    def __init__(self, keys: Iterable[Any] = (), real: set[Any] | None = None) -> None:
        super().__init__(dict.fromkeys(keys))
        self.real: set[Any] | None = real
        self.changes: list[tuple[str, Any]] | None = []
        """What was done since, one key at a time ("add", "discard", with the key); None after anything else."""
        self.gone: dict[Any, None] = {}
        """Keys that were taken out one by one: where they lay, others had to make way."""
        if real is None and all(map(plain, self)):
            self.real = set()
            for k in self:
                self.real.add(k)

    def __setitem__(self, key: Any, value: None) -> None:
        super().__setitem__(key, value)
        self._note("add", key)
        if self.real is not None:
            if plain(key):
                self.real.add(key)
            else:
                self.real = None

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        self._note("discard", key)
        if self.real is not None:
            self.real.discard(key)
            self.gone[key] = None

    def _note(self, change: str, key: Any) -> None:
        if self.changes is not None:
            self.changes.append((change, key))

    def pop(self, key: Any, default: Any = None) -> Any:
        self._note("discard", key)
        if self.real is not None:
            self.real.discard(key)
            self.gone[key] = None
        return super().pop(key, default)

    def clear(self) -> None:
        super().clear()
        self.real, self.gone, self.changes = set(), {}, None

    def duplicate(self) -> KeySet:
        return KeySet(self, None if self.real is None else self.real.copy())

    def merge(self, other: KeySet) -> None:
        """set.update(other), another set."""
        if self.real is not None and other.real is not None:
            self.changes = None
            self.real.update(other.real)
            dict.update(self, other)
        else:
            for k in other:
                self[k] = None

    def order(self) -> list[Any]:
        return list(self) if self.real is None else list(self.real)


def sought(cx: Capture, item: Value) -> Any:
    """The key that a search in a set looks for; a set stands for the frozenset of its items."""
    return frozenset(item.load(cx)) if type(item) is SetVal else item.key(cx)


class SetVal(Value):
    """`items`: the keys; None until the set outside is first looked into."""

    __slots__ = ("cls", "obj", "source", "items", "written", "ordered", "lost")

    def __init__(self, items: KeySet | None, cls: type = set, obj: Any = None, source: Source | None = None):
        self.items, self.cls, self.obj, self.source = items, cls, obj, source
        self.written = self.ordered = False
        self.lost = False
        """Whether a copy is not laid out as the set outside: changes would not come out in its order."""

    def load(self, cx: Capture) -> KeySet:
        items = self.items
        if items is None:
            obj = self.obj
            assert self.source is not None
            if self.source.kind != "const":
                cx.guard("type", self.source, type(obj), "type")
            if self.source.kind != "const" or self.cls is not frozenset:
                cx.guard("python", self.source, _is_set_of(frozenset(obj)), "set contents")
            copy = set(obj)
            items = self.items = KeySet(obj, copy)
            self.lost = list(copy) != list(obj) or type(obj) is set and sys.getsizeof(copy) != sys.getsizeof(obj)
        return items

    def write(self, cx: Capture) -> KeySet:
        items = self.load(cx)
        if self.obj is not None and not self.written:
            self.written = True
            cx.wrote(self)
        return items

    def pytype(self, cx: Capture) -> type:
        self.load(cx)
        return self.cls

    def truth(self, cx: Capture) -> bool:
        return bool(self.load(cx))

    def length(self, cx: Capture) -> Result:
        return Const(len(self.load(cx)))

    def elements(self, cx: Capture) -> list[Value] | None:
        items = self.load(cx)
        if self.obj is not None and not self.written:
            keys = list(self.obj)
            if not self.ordered and len(keys) > 1:
                self.ordered = True
                assert self.source is not None
                cx.guard("python", self.source, _iterates_as(keys), "order of a set")
        elif self.lost and len(items) > 1:
            raise Broken("PB112", "the order of a set that was changed here")
        else:
            keys = items.order()
        return [key_value(cx, k) for k in keys]

    def iterate(self, cx: Capture) -> Result:
        return _iterator.KeysIter(_iterator.TupleVal(self.elements(cx) or []), self)

    def contains(self, cx: Capture, item: Value) -> bool:
        return sought(cx, item) in self.load(cx)

    def constant(self, cx: Capture) -> Any:
        if self.obj is not None and self.written:
            raise NotConstant(self)
        items = [key_value(cx, k).constant(cx) for k in self.load(cx)]
        return frozenset(items) if self.cls is frozenset else set(items)

    def key(self, cx: Capture) -> Any:
        if self.cls is frozenset:
            return frozenset(self.load(cx))
        raise cx.raised(TypeError, "unhashable type: 'set'")

    def recipe(self, cx: Capture) -> Recipe:
        if self.obj is not None:
            assert self.source is not None
            return FromSource(self.source)
        assert self.items is not None
        keys, real = list(self.items), self.items.real
        history = 0, 0
        if real is not None and self.cls is set:
            history, keys = _remade(self.items)
        parts = tuple([cx.recipe(key_value(cx, k)) for k in keys])
        if history != (0, 0):
            return Build("remade_set", parts, history)
        return Build("frozenset" if self.cls is frozenset else "set", parts)

# Modules that need this one: bound when all are loaded.
from . import iterator as _iterator  # noqa: E402

"""Words of state that native code polls: for each kind of object, which addresses to compare with what.

Everything here reads objects as they are now; a `Watch` holds what must stay alive for its addresses to be valid.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from ...torchdoor.layout import INLINE_DIMS, byte, layout, word
from ...torchdoor.symbols import Unavailable
from . import records as R
from .pylayout import dict_slot, half_word, pylayout, type_tag
from .setters import setters
from .watcher import watcher

FULL = (1 << 64) - 1
ABSENT, ANY = 0, 1


@dataclass(slots=True)
class DictWatch:
    """A dictionary, found through the `slot` of an object if that is not 0; key -> id of the value it must have,
    ABSENT, or ANY."""

    slot: int
    owner: dict[Any, Any]
    keys: dict[Any, int] = field(default_factory=dict)
    used: int = -1
    ordered: bool = False
    tag: int = 0
    """The version tag before the first key was read."""

    def __post_init__(self) -> None:
        watcher().watch(self.owner, detach=self.slot != 0)
        self.tag = word(id(self.owner) + pylayout().dict_tag)


@dataclass(slots=True)
class Watch:
    """words: (address, mask) -> expected, compared in order; owned: address -> expected, compared only after somewhere
    an object's class or dictionary was replaced; blocks: tensors' TensorImpl and LAYOUT
    by identity."""

    words: dict[tuple[int, int], int] = field(default_factory=dict)
    owned: dict[int, int] = field(default_factory=dict)
    blocks: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    dicts: list[DictWatch] = field(default_factory=list)
    held: list[Any] = field(default_factory=list)
    owners: dict[int, DictWatch] = field(default_factory=dict)
    """By id of the object asked for (which is held)."""

    def add(self, address: int, mask: int = FULL, expected: int | None = None) -> None:
        self.words.setdefault((address, mask), (word(address) if expected is None else expected) & mask)

    def hold(self, *objects: Any) -> None:
        self.held.extend(objects)


def state_words_for_type(w: Watch, cls: type) -> None:
    """The class and its bases are unchanged: no attribute set or deleted."""
    if cls.__flags__ & (1 << 8):
        return
    tag = type_tag(cls)
    w.hold(cls)
    w.add(id(cls) + pylayout().type_tag, 0xFFFFFFFF, tag)


def state_words_for_class_of(w: Watch, obj: Any) -> None:
    """obj's class is the one that it is now (`__class__` was not assigned)."""
    w.hold(obj)
    at = id(obj) + pylayout().type
    if at not in w.owned:
        w.owned[at] = word(at)


def state_words_for_dict(w: Watch, owner: Any) -> DictWatch:
    """The dictionary `owner`, or the instance dictionary of an object: unchanged as far as the keys asked for go."""
    pylayout()
    known = w.owners.get(id(owner))
    if known is not None:
        return known
    w.hold(owner)
    if isinstance(owner, dict):
        made = DictWatch(0, owner)
    else:
        slot = dict_slot(owner)
        if slot is None or isinstance(owner, type):
            raise Unavailable(f"a {type(owner).__name__} has no instance dictionary")
        made = DictWatch(slot, object.__getattribute__(owner, "__dict__"))
        if word(slot) != id(made.owner):
            raise Unavailable(f"the instance dictionary of a {type(owner).__name__} is not where it should be")
        if not setters().dict_is_counted(type(owner)):
            w.add(slot)
    w.owners[id(owner)] = made
    w.dicts.append(made)
    return made


_PLAIN_KEYS = (str, int, bytes, bool, type(None), type, types.FunctionType)


def plain_key(key: Any) -> None:
    """Raise Unavailable for a dictionary key whose hash or equality may run code."""
    if type(key) not in _PLAIN_KEYS:
        raise Unavailable(f"a dictionary key of type {type(key).__name__} is looked up in Python")


def state_words_for_order(w: Watch, d: collections.OrderedDict[Any, Any]) -> None:
    """The order of an OrderedDict, which it keeps in words behind the dict's own."""
    first, last = pylayout().order
    w.hold(d)
    for k in range(first, last, 8):
        w.add(id(d) + k)


def watch_key(w: Watch, d: DictWatch, key: Any, value: int | None = None) -> None:
    """`key` must have the value that it has now (or `value`: ABSENT, ANY)."""
    plain_key(key)
    if value is None:
        value = id(d.owner[key])
        w.hold(d.owner[key])
    w.hold(key)
    if d.keys.get(key, ANY) == ANY:
        d.keys[key] = value


def state_words_for_list(w: Watch, items: list[Any], indices: Iterable[int] = (), length: bool = False) -> None:
    """The list's items at `indices` are the objects that they are now; with `length`, so is its length."""
    o = pylayout()
    w.hold(items)
    w.add(id(items) + o.length)
    for i in indices:
        w.add(id(items) + o.list_items)
        w.hold(items[i])
        w.add(word(id(items) + o.list_items) + 8 * (i % len(items)))
    del length  # the length is always compared: it says that the indices exist


def state_words_for_cell(w: Watch, cell: types.CellType) -> None:
    w.hold(cell)
    try:
        w.hold(cell.cell_contents)
    except ValueError:
        pass
    w.add(id(cell) + pylayout().cell_contents)


def state_words_for_function(w: Watch, f: types.FunctionType, *fields: str) -> None:
    """`fields`, of code, defaults, kwdefaults: the objects that they are now."""
    o = pylayout()
    w.hold(f, f.__code__, f.__defaults__, f.__kwdefaults__)
    for name in fields or ("code", "defaults", "kwdefaults"):
        w.add(id(f) + getattr(o, name))


def state_words_for_slot(w: Watch, obj: Any, member: types.MemberDescriptorType, value: Any) -> None:
    """The contents of a `__slots__` member of obj. Its offset stands in the descriptor's PyMemberDef."""
    offset = word(word(id(member) + 40) + 16)
    if not 16 <= offset < type(obj).__basicsize__ or word(id(obj) + offset) != id(value):
        raise Unavailable(f"slot {member.__name__} of a {type(obj).__name__} is not where it should be")
    w.hold(obj, value)
    w.add(id(obj) + offset)


def state_words_for_tensor(w: Watch, t: torch.Tensor, requires_grad: bool = True) -> None:
    """The tensor's class, sizes, strides, offset, dtype, device, dispatch keys, and requires_grad if asked for."""
    if t.dim() > INLINE_DIMS:
        raise Unavailable(f"a tensor of {t.dim()} dimensions keeps its sizes elsewhere")
    o = layout()
    w.hold(t)
    state_words_for_class_of(w, t)
    impl = word(id(t) + o.handle)
    meta = word(impl + o.autograd_meta)
    grad = byte(meta + o.meta_requires_grad) if meta else 0
    known = w.blocks.get(id(t))
    if known is not None:
        if requires_grad:
            words = known[1]
            w.blocks[id(t)] = (known[0], (*words[:R.BLOCK_WORDS], grad, *words[R.BLOCK_WORDS + 1:]))
        return
    first = o.keyset + 8 - 8 * R.BLOCK_WORDS
    if not (first <= o.ndim and o.dtype >= first):
        raise Unavailable("the words of a tensor do not lie together")
    unused = {at + 8 * d - first for at in (o.sizes, o.strides) for d in range(t.dim(), INLINE_DIMS)}
    masks = [0 if 8 * k in unused else (1 << 64) - 1 for k in range(R.BLOCK_WORDS)]
    values = [word(impl + first + 8 * k) & m for k, m in enumerate(masks)]
    w.blocks[id(t)] = (impl, (*values, grad if requires_grad else 2, *masks))


__all__ = ["ABSENT", "ANY", "DictWatch", "Watch", "half_word", "plain_key", "state_words_for_cell",
           "state_words_for_class_of",
           "state_words_for_dict", "state_words_for_function", "state_words_for_list", "state_words_for_order",
           "state_words_for_slot",
           "state_words_for_tensor", "state_words_for_type", "watch_key"]

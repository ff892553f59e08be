"""From guards to an entry's table: what native code can check, and which guards are left to a Python function.

A source is *given* (it hangs on a call's argument: loaded natively in each call) or *state* (it hangs on a constant, a
global or the receiver). State is pinned: the objects on its path are looked up now and what could make another look-up
give something else is polled. A pinned source that changes in each call can be made *live*: then it is loaded natively
like a given one.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...graph.types import Graph, ScalarMeta
from ...guards.evaluate import CHECKS, LOAD_ERRORS
from ...guards.sources import Scope, load, name
from ...guards.types import Guard, Source, TensorGuard
from ...torchdoor import threadstate
from ...torchdoor.layout import dtype_code
from ...torchdoor.symbols import Unavailable
from ...torchdoor.threadstate import any_autocast
from . import records as R
from . import state as S
from .call import REQUIRED, EntryTable, Signature
from .pins import PINS, DoesNotHold, NotNative, behind
from .runner import NativePlan
from .table import bits

_IMMUTABLE = (int, float, bool, str, bytes, complex, type(None), torch.dtype, torch.device, torch.Size)
_UNCHECKED = 2


@dataclass(slots=True)
class Translated:
    """table: ready to publish, but for its result. python: guards that a Python function checks. pinned: sources and
    the objects that they were when the table was made."""

    table: EntryTable
    python: list[tuple[Guard, str]]
    pinned: dict[Source, Any]


class Translator:
    def __init__(self, signature: Signature, graph: Graph, scope: Scope, live: frozenset[Source] = frozenset()):
        self.signature, self.graph, self.scope, self.live = signature, graph, scope, live
        self.table = EntryTable(registers=len(signature.names))
        self.watch = self.table.watch
        self.registers: dict[Source, int] = {}
        self.pinned: dict[Source, Any] = {}
        self.checked: set[Source] = set()
        """Given sources whose tensor guard is among the native checks."""

    # ---------------------------------------------------------------- sources
    def is_state(self, source: Source) -> bool:
        root = source
        while root.base is not None:
            root = root.base
        if root.kind == "arg":
            return self.signature.receiver is not REQUIRED and root.key == self.signature.names[0]
        if root.kind in ("const", "global", "globals", "builtin"):
            return True
        raise NotNative(f"sources of kind {root.kind} are loaded in Python")

    def is_state_or_python(self, source: Source) -> bool:
        try:
            return self.is_state(source)
        except NotNative:
            return True

    def is_live(self, source: Source) -> bool:
        if not self.live:
            return False
        return source in self.live or (source.base is not None and self.is_live(source.base))

    def now(self, source: Source) -> Any:
        return load(source, self.scope)

    def pin(self, source: Source) -> Any:
        """The object that a state source is, with watches on everything that makes it so."""
        if source in self.pinned:
            return self.pinned[source]
        base = self.pin(source.base) if source.base is not None else None
        rule = PINS.get(source.kind)
        if rule is None:
            raise NotNative(f"sources of kind {source.kind} are not watched")
        value = self.now(source)
        rule(self, source, base, value)
        self.watch.hold(value)
        self.pinned[source] = value
        return value

    def register(self, source: Source) -> int:
        """The register that holds a given (or live) source, loaded by checks."""
        if source in self.registers:
            return self.registers[source]
        if self.is_state(source) and not self.is_live(source):
            value = self.pin(source)
            return self._put(source, lambda r: self.check(R.CHECK_CONSTANT, 0, r, id(value)))
        if source.base is None:
            if source.kind != "arg":
                raise NotNative(f"{source.kind} sources cannot be loaded natively")
            at = self.registers[source] = self.signature.names.index(source.key)
            return at
        rule = _LOADS.get(source.kind)
        if rule is None:
            raise NotNative(f"sources of kind {source.kind} are loaded in Python")
        return rule(self, source, self.register(source.base), self.now(source.base))

    def register_dict(self, owner: Source, base: int, value: Any) -> int:
        """The register of the instance dictionary of `value`, which is owner's and in register `base`."""
        source = Source("dictattr", owner)
        return self.registers[source] if source in self.registers else _load_instance_dict(self, source, base, value)

    def _put(self, source: Source | None, write: Callable[[int], None]) -> int:
        at = self.table.registers
        self.table.registers += 1
        write(at)
        if source is not None:
            self.registers[source] = at
        return at

    # ---------------------------------------------------------------- checks
    def check(self, op: int, register: int, a: int = 0, b: int = 0, c: int = 0, more: Sequence[int] = ()) -> None:
        self.table.checks += [op, R.CHECK.size // 8 + len(more), register, a, b, c, *more]

    def hold(self, obj: Any) -> int:
        self.table.held.append(obj)
        return id(obj)

    def key(self, key: Any, of: type) -> int:
        """Address of (key, hash, type of the dictionary)."""
        import ctypes

        S.plain_key(key)
        words = (ctypes.c_int64 * 3)(self.hold(key), hash(key), self.hold(of))
        self.table.held.append(words)
        return ctypes.addressof(words)

    def guard(self, g: Guard) -> None:
        """Add the guard's condition, or raise NotNative."""
        if g.source is None:
            _GLOBAL_RULES[g.kind](self, g) if g.kind in _GLOBAL_RULES else _refuse(g)
        elif self.is_state(g.source) and not self.is_live(g.source):
            if g.kind not in _STATE_RULES:
                _refuse(g)
            _STATE_RULES[g.kind](self, g)
            if g.kind in CHECKS and not CHECKS[g.kind](self.pin(g.source), g.expected):
                raise DoesNotHold(f"{name(g.source)}: {g.kind}")
        else:
            _GIVEN_RULES[g.kind](self, g) if g.kind in _GIVEN_RULES else _refuse(g)


def _refuse(g: Guard) -> None:
    raise NotNative(f"guards of kind {g.kind} are checked in Python")


# ------------------------------------------------------------------ loading what is given
def _load_item(t: Translator, s: Source, base: int, value: Any) -> int:
    cls, key = type(value), s.key
    plain = s.kind == "raw"
    if isinstance(value, (tuple, list)) and type(key) is int and key >= 0:
        kind = tuple if isinstance(value, tuple) else list
        if plain or cls.__getitem__ is kind.__getitem__:
            op = R.CHECK_ITEM if kind is tuple else R.CHECK_LIST_ITEM
            return t._put(s, lambda r: t.check(op, base, r, key, t.hold(cls)))
    if isinstance(value, dict) and (plain or cls.__getitem__ is dict.__getitem__):
        return t._put(s, lambda r: t.check(R.CHECK_DICT_ITEM, base, r, t.key(key, cls)))
    raise NotNative(f"item {key!r} of a {cls.__name__} is loaded in Python")


def _load_instance_dict(t: Translator, s: Source | None, base: int, value: Any) -> int:
    if isinstance(value, type) or S.dict_slot(value) is None:
        raise NotNative(f"the instance dictionary of a {type(value).__name__} is loaded in Python")
    return t._put(s, lambda r: t.check(R.CHECK_INSTANCE_DICT, base, r, 0, t.hold(type(value))))


def _load_dict(t: Translator, s: Source, base: int, value: Any) -> int:
    assert s.base is not None
    owner = t.register_dict(s.base, base, value)
    return t._put(s, lambda r: t.check(R.CHECK_DICT_ITEM, owner, r, t.key(s.key, dict)))


def _load_attr(t: Translator, s: Source, base: int, value: Any) -> int:
    cls = type(value)
    own = getattr(value, "__dict__", None)
    found = next((k.__dict__[s.key] for k in cls.__mro__ if s.key in k.__dict__), REQUIRED)
    if (isinstance(value,
                   type) or cls.__getattribute__ is not object.__getattribute__ or own is None or s.key not in own
            or (found is not REQUIRED and hasattr(type(found), "__set__"))):
        raise NotNative(f"attribute {s.key} of a {cls.__name__} is loaded in Python")
    S.state_words_for_type(t.watch, cls)
    return _load_dict(t, s, base, value)


_LOADS: dict[str, Callable[[Translator, Source, int, Any], int]] = {
    "item": _load_item, "raw": _load_item, "dict": _load_dict, "dictattr": _load_instance_dict, "attr": _load_attr,
}




# ------------------------------------------------------------------ guards on what is given
def _given_tensor(t: Translator, g: Guard) -> None:
    assert g.source is not None
    e: TensorGuard = g.expected
    if e.device.type != "cpu":
        raise NotNative(f"tensors on {e.device}")
    n = len(e.shape)
    sizes = [-1 if s is None else s for s in e.shape]
    strides = [-1] * n if e.strides is None else [-1 if s is None else s for s in e.strides]
    register = t.register(g.source)
    grad = _UNCHECKED if e.requires_grad is None else int(e.requires_grad)
    keys = e.dispatch_keys & S.FULL
    t.table.checks += [R.CHECK_TENSOR, R.TENSOR_CHECK.size // 8 + 2 * n, register, t.hold(e.tensor_type), keys,
                       dtype_code(e.dtype), n, grad, int(e.contiguous), *sizes, *strides]
    t.checked.add(g.source)


def _given_type(t: Translator, g: Guard) -> None:
    t.check(R.CHECK_TYPE, t.register(g.source), t.hold(g.expected))  # type: ignore[arg-type]


def _given_is(t: Translator, g: Guard) -> None:
    t.check(R.CHECK_IS, t.register(g.source), t.hold(g.expected))  # type: ignore[arg-type]


def _given_equal(t: Translator, g: Guard) -> None:
    e, r = g.expected, t.register(g.source)  # type: ignore[arg-type]
    if e is None or e is True or e is False or isinstance(e, (torch.dtype, torch.layout)):
        t.check(R.CHECK_IS, r, t.hold(e))
    elif type(e) is int and abs(e) < 1 << 62:
        t.check(R.CHECK_INT, r, e)
    elif type(e) is float:
        t.check(R.CHECK_FLOAT, r, bits(e), t.hold(float))
    elif type(e) is str:
        t.check(R.CHECK_TEXT, r, t.hold(e), t.hold(str))
    else:
        raise NotNative(f"equality of a {type(e).__name__} is checked in Python")


def _given_int(t: Translator, g: Guard) -> None:
    lo, hi = g.expected[1]
    t.check(R.CHECK_RANGE, t.register(g.source), -(1 << 62) if lo is None else lo,  # type: ignore[arg-type]
            (1 << 62) if hi is None else hi)


def _given_len(t: Translator, g: Guard) -> None:
    value = t.now(g.source)  # type: ignore[arg-type]
    cls = type(value)
    base = next((k for k in (tuple, list, dict) if isinstance(value, k)), None)
    if base is None or cls.__len__ is not base.__len__:
        raise NotNative(f"the length of a {cls.__name__} is checked in Python")
    t.check(R.CHECK_LENGTH, t.register(g.source), g.expected, 0, t.hold(cls))  # type: ignore[arg-type]


def _given_keys(t: Translator, g: Guard) -> None:
    import ctypes

    value = t.now(g.source)  # type: ignore[arg-type]
    if not isinstance(value, dict) or isinstance(value, collections.OrderedDict):
        raise NotNative(f"the keys of a {type(value).__name__} are checked in Python")
    own = {k: k for k in value}
    if any(type(k) is not str for k in own):
        raise NotNative("keys that are not strings are checked in Python")
    # The keys' own objects are compared: strings that name parameters are interned.
    keys = [x for k in g.expected for x in (t.hold(own[k]), hash(k), S.ANY)]
    body = (ctypes.c_int64 * max(len(keys), 1))(*keys)
    record = (ctypes.c_int64 * (R.DICT.size // 8))(0, len(keys) // 3, ctypes.addressof(body), len(keys) // 3, 1)
    t.table.held += [body, record]
    t.check(R.CHECK_KEYS, t.register(g.source), ctypes.addressof(record), t.hold(type(value)))  # type: ignore[arg-type]


def _given_absent(t: Translator, g: Guard) -> None:
    assert g.source is not None
    base = t.register_dict(g.source, t.register(g.source), t.now(g.source))
    t.check(R.CHECK_DICT_ABSENT, base, 0, t.key(g.expected, dict))


def _given_missing(t: Translator, g: Guard) -> None:
    value = t.now(g.source)  # type: ignore[arg-type]
    if not isinstance(value, dict) or type(value).__contains__ is not dict.__contains__:
        raise NotNative(f"membership in a {type(value).__name__} is checked in Python")
    t.check(R.CHECK_DICT_ABSENT, t.register(g.source), 0, t.key(g.expected, type(value)))  # type: ignore[arg-type]


def _given_has_key(t: Translator, g: Guard) -> None:
    value = t.now(g.source)  # type: ignore[arg-type]
    if not isinstance(value, dict) or type(value).__contains__ is not dict.__contains__:
        raise NotNative(f"membership in a {type(value).__name__} is checked in Python")
    base = t.register(g.source)  # type: ignore[arg-type]
    t._put(None, lambda r: t.check(R.CHECK_DICT_ITEM, base, r, t.key(g.expected, type(value))))


def _given_has(t: Translator, g: Guard) -> None:
    assert g.source is not None
    base = t.register_dict(g.source, t.register(g.source), t.now(g.source))
    t._put(None, lambda r: t.check(R.CHECK_DICT_ITEM, base, r, t.key(g.expected, dict)))


def _given_same(t: Translator, g: Guard) -> None:
    t.check(R.CHECK_SAME, t.register(g.source), t.register(g.expected))  # type: ignore[arg-type]


_GIVEN_RULES: dict[str, Callable[[Translator, Guard], None]] = {
    "tensor": _given_tensor, "type": _given_type, "is": _given_is, "equal": _given_equal, "int": _given_int,
    "len": _given_len, "keys": _given_keys, "absent": _given_absent, "missing_key": _given_missing,
    "has_key": _given_has_key, "has": _given_has,
    "same": _given_same,
}


# ------------------------------------------------------------------ guards on state
def _state_tensor(t: Translator, g: Guard) -> None:
    e: TensorGuard = g.expected
    value = t.pin(g.source)  # type: ignore[arg-type]
    if not isinstance(value, torch.Tensor):
        raise NotNative("a tensor guard on something that is no tensor now")
    if e.strides is None or None in e.shape or None in e.strides or value.dim() > 5:
        _given_tensor(t, g)
    else:
        S.state_words_for_tensor(t.watch, value, e.requires_grad is not None)


def _state_type(t: Translator, g: Guard) -> None:
    S.state_words_for_class_of(t.watch, t.pin(g.source))  # type: ignore[arg-type]


def _state_is(t: Translator, g: Guard) -> None:
    t.pin(g.source)  # type: ignore[arg-type]


def _state_equal(t: Translator, g: Guard) -> None:
    value = t.pin(g.source)  # type: ignore[arg-type]
    if not _immutable(value):
        raise NotNative(f"equality of a {type(value).__name__} is checked in Python")


def _immutable(value: Any) -> bool:
    return type(value) in _IMMUTABLE or (type(value) is tuple and all(map(_immutable, value)))


def _state_len(t: Translator, g: Guard) -> None:
    value = t.pin(g.source)  # type: ignore[arg-type]
    if type(value) in (tuple, str, bytes, torch.Size):
        return
    if type(value) is list:
        S.state_words_for_list(t.watch, value, (), True)
    elif isinstance(value := behind(value), dict) and type(value).__len__ is dict.__len__:
        S.state_words_for_dict(t.watch, value).used = len(value)
    else:
        raise NotNative(f"the length of a {type(value).__name__} is checked in Python")


def _state_keys(t: Translator, g: Guard) -> None:
    value = behind(t.pin(g.source))  # type: ignore[arg-type]
    if not isinstance(value, dict) or len(value) != len(g.expected):
        raise NotNative(f"the keys of a {type(value).__name__} are checked in Python")
    if type(value) is collections.OrderedDict:
        S.state_words_for_order(t.watch, value)
    elif type(value).__iter__ is not dict.__iter__:  # type: ignore[attr-defined]
        raise NotNative(f"the keys of a {type(value).__name__} are checked in Python")
    d = S.state_words_for_dict(t.watch, value)
    known, d.keys = d.keys, {}
    for k in value:
        S.plain_key(k)
        t.watch.hold(k)
        d.keys[k] = known.get(k, S.ANY)
    d.used, d.ordered = len(value), True


def _state_absent(t: Translator, g: Guard) -> None:
    d = S.state_words_for_dict(t.watch, t.pin(g.source))  # type: ignore[arg-type]
    if not d.ordered:
        S.watch_key(t.watch, d, g.expected, S.ABSENT)


def _state_missing(t: Translator, g: Guard) -> None:
    value = behind(t.pin(g.source))  # type: ignore[arg-type]
    if not isinstance(value, dict) or type(value).__contains__ is not dict.__contains__:
        raise NotNative(f"membership in a {type(value).__name__} is checked in Python")
    d = S.state_words_for_dict(t.watch, value)
    if not d.ordered:
        S.watch_key(t.watch, d, g.expected, S.ABSENT)


def _state_has_key(t: Translator, g: Guard) -> None:
    value = behind(t.pin(g.source))  # type: ignore[arg-type]
    if not isinstance(value, dict) or type(value).__contains__ is not dict.__contains__:
        raise NotNative(f"membership in a {type(value).__name__} is checked in Python")
    if g.expected not in value:
        raise DoesNotHold("a key is absent")
    d = S.state_words_for_dict(t.watch, value)
    if not d.ordered:
        S.watch_key(t.watch, d, g.expected, S.ANY)


def _state_has(t: Translator, g: Guard) -> None:
    S.watch_key(t.watch, S.state_words_for_dict(t.watch, t.pin(g.source)), g.expected, S.ANY)  # type: ignore[arg-type]


def _state_code(t: Translator, g: Guard) -> None:
    value = t.pin(g.source)  # type: ignore[arg-type]
    if not isinstance(value, types.FunctionType):
        raise NotNative(f"the code of a {type(value).__name__}")
    S.state_words_for_function(t.watch, value, "code")


def _state_version(t: Translator, g: Guard) -> None:
    value = t.pin(g.source)  # type: ignore[arg-type]
    S.state_words_for_type(t.watch, value if isinstance(value, type) else type(value))


def _state_same(t: Translator, g: Guard) -> None:
    if t.is_state(g.expected) and not t.is_live(g.expected):
        if t.pin(g.source) is not t.pin(g.expected):  # type: ignore[arg-type]
            raise DoesNotHold("two objects are not the same")
    else:
        _given_same(t, g)


def _state_int(t: Translator, g: Guard) -> None:
    raise NotNative("a symbolic integer in state is read in Python unless it is live")


_STATE_RULES: dict[str, Callable[[Translator, Guard], None]] = {
    "tensor": _state_tensor, "type": _state_type, "is": _state_is, "equal": _state_equal, "len": _state_len,
    "keys": _state_keys, "absent": _state_absent, "missing_key": _state_missing,
    "has_key": _state_has_key, "has": _state_has, "code": _state_code,
    "version": _state_version, "same": _state_same, "int": _state_int,
}


# ------------------------------------------------------------------ guards without a source
def _global(t: Translator, g: Guard) -> None:
    """The thread's state is what it is now (the caller has checked that the guard holds now). Left out is what cannot
    matter to this entry: autocast's dtype where it is off, the choice of attention kernels where there is none."""
    if t.table.probes:
        return
    unused: tuple[str, ...] = () if any_autocast() else threadstate.AUTOCAST
    if not any(n.op == "scaled_dot_product_attention" for n in t.graph.nodes):
        unused += threadstate.ATTENTION
    t.table.probes = [(p, p.read()) for p in threadstate.probes() if p.name not in unused]


def _overlap(t: Translator, g: Guard) -> None:
    pairs: list[int] = []
    for i in g.expected:
        item = t.graph.inputs[i]
        pairs += [t.register(item.source), item.meta.dtype.itemsize]  # type: ignore[union-attr]
    t.check(R.CHECK_OVERLAP, 0, len(g.expected), 0, 0, pairs)


_GLOBAL_RULES: dict[str, Callable[[Translator, Guard], None]] = {
    "global": _global, "overlap": _overlap,
    "size": lambda t, g: None,  # the plan's conditions, see translate()
}


# ------------------------------------------------------------------ all together
def translate(guards: Sequence[Guard], signature: Signature, graph: Graph, scope: Scope, plan: NativePlan | None,
              live: frozenset[Source] = frozenset()) -> Translated:
    """The entry's table, from the values in `scope`; its `result` and `python_check` are for the caller to set.

    Guards on state are compared here, those on what is given when the table is used. The thread's state is taken as it
    is now. Raises DoesNotHold where a guard on state does not hold, and NotNative where an input of the graph can be
    loaded only in Python.
    """
    numbers = [g.source for g in guards if g.kind == "int" and g.source is not None]
    t = Translator(signature, graph, scope)
    t.live = live | frozenset(s for s in numbers if t.is_state_or_python(s))
    python: list[tuple[Guard, str]] = []
    sizes = [g.expected for g in guards if g.kind == "size"]
    # Exact types first: what follows may read an object by its layout.
    order = sorted(guards, key=lambda g: (g.kind == "overlap", g.kind == "same"))
    for g in order:
        try:
            t.guard(g)
        except (NotNative, Unavailable) as e:
            python.append((g, str(e)))
        except LOAD_ERRORS as e:
            raise DoesNotHold(f"{name(g.source)} cannot be read: {e}") from e
    _global(t, guards[0] if guards else None)  # type: ignore[arg-type]
    if plan is not None:
        try:
            _inputs(t, graph)
        except Unavailable as e:
            raise NotNative(str(e)) from e
        missing = [s for s in sizes if s not in plan.plan.preconditions]
        if missing or plan.field("inputs") != len(graph.inputs):
            plan = NativePlan(plan.plan, plan.kernels, inputs=len(graph.inputs), guards=missing, code=plan.held)
    elif sizes:
        python += [(g, "there is no plan to check sizes") for g in guards if g.kind == "size"]
    t.table.plan = plan
    t.table.held.append((plan, graph))
    return Translated(t.table, python, t.pinned)


def _inputs(t: Translator, graph: Graph) -> None:
    for item in graph.inputs:
        if t.is_state(item.source) and not t.is_live(item.source):
            value = t.pin(item.source)
            if isinstance(item.meta, ScalarMeta):
                raise NotNative("a scalar input in state is read in Python")
            t.table.inputs.append(("object", value))
            continue
        register = t.register(item.source)
        if not isinstance(item.meta, ScalarMeta) and item.source not in t.checked:
            raise NotNative("a tensor input has no native guard")
        t.table.inputs.append(("register", register))

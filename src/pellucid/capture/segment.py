"""A finished run of the symbolic machine as a `Segment`: outputs, recipes, effects, the exit and its frames."""

from __future__ import annotations

import collections
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..bytecode.flow import live_slots
from ..guards.evaluate import same
from ..guards.types import Guard, Source
from ..ops.torch_level import complex_views
from ..torchdoor import autocast
from .executor import Machine, Returned, Stopped, skip
from .frames import UNBOUND, Frame, Then
from .frames import frames as frames_of
from .generators import closing_is_seen, generator_effect
from .known import applied
from .native_ops import CannotContinue, native_operation
from .recipes import change_set
from .symbolic import Symbolic
from .types import Break, Build, Effect, FrameState, FromConst, FromNative, FromSource, Recipe, Return, Segment, Shared
from .values.base import Broken, Value
from .values.constant import Const
from .values.deque import DequeVal
from .values.function import CellVal
from .values.globals_ import _Owner
from .values.instance import InstanceVal
from .values.iterator import GeneratorVal, RealIter
from .values.keys import DataclassKey
from .values.mapping import ABSENT, DictVal, key_value
from .values.sequence import ListVal, SequenceVal
from .values.sets import SetVal

if TYPE_CHECKING:
    from .state import Capture

_SIMPLE = (FromConst, FromNative, FromSource, Shared)


class NativeVal(Value):
    """Stands for the result of the segment's native operation."""

    __slots__ = ()

    def recipe(self, cx: Capture) -> Recipe:
        return FromNative()


NATIVE = NativeVal()


class Recipes:
    """Recipes of values: graph outputs are numbered, objects made inside are built once."""

    def __init__(self, cx: Capture):
        self.cx = cx
        self.outputs: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.memo: dict[Value, Recipe] = {}
        self.shared: list[Recipe] = []
        self.building: set[Value] = set()
        self.late: list[Effect] = []

    def output(self, val: Any) -> int:
        """The number of a graph value among the outputs."""
        val = self.cx.builder.fresh(val)
        if val.id in self.cx.hidden:
            raise Broken("PB112", "a tensor made in the forward of an autograd.Function is used outside of it")
        n = self.numbers.get(val.id)
        if n is None:
            n = self.numbers[val.id] = len(self.outputs)
            self.outputs.append(val)
        return n

    def of(self, v: Value) -> Recipe:
        if not v.identity:
            return v.recipe(self.cx)
        known = self.memo.get(v)
        if known is not None:
            return known
        if v in self.building:
            raise Broken("PB112", "an object made inside that contains itself leaves the captured part")
        self.building.add(v)
        r = v.recipe(self.cx)
        self.building.discard(v)
        if type(r) is Build:
            self.shared.append(r)
            r = Shared(len(self.shared) - 1)
        self.memo[v] = r
        return r


def inline_once(segment_parts: Any, shared: list[Recipe]) -> tuple[Any, list[Recipe]]:
    """Objects referred to once are built in place; the others stay shared, renumbered."""
    uses: collections.Counter[int] = collections.Counter()

    def count(r: Any) -> None:
        t = type(r)
        if t is Shared:
            uses[r.number] += 1
        elif t is Build:
            for p in r.parts:
                count(p)

    for r in shared:
        count(r)
    walk(segment_parts, count)
    renumber: dict[int, int] = {}
    kept: list[Recipe] = []

    def rewrite(r: Any) -> Any:
        t = type(r)
        if t is Shared:
            if uses[r.number] == 1:
                return rewrite(shared[r.number])
            return Shared(renumber[r.number])
        if t is Build:
            return Build(r.kind, tuple([rewrite(p) for p in r.parts]), r.detail)
        return r

    for i, r in enumerate(shared):
        if uses[i] > 1:
            new = rewrite(r)
            renumber[i] = len(kept)
            kept.append(new)
    return rebuild(segment_parts, rewrite), kept


def walk(x: Any, fn: Any) -> None:
    """fn on every recipe in a structure of tuples, lists, effects, exits and frames."""
    t = type(x)
    if t in (list, tuple):
        for y in x:
            walk(y, fn)
    elif t in (Effect, Return, Break, FrameState):
        for n in t.__slots__:
            walk(getattr(x, n), fn)
    else:
        fn(x)


def rebuild(x: Any, fn: Any) -> Any:
    t = type(x)
    if t in (list, tuple):
        return t([rebuild(y, fn) for y in x])
    if t in (Effect, Return, Break, FrameState):
        return t(*[rebuild(getattr(x, n), fn) for n in t.__slots__])
    return fn(x)


# ------------------------------------------------------------------ effects
def effects_of(cx: Capture) -> list[Effect]:
    """The state that outside objects must get, in the order of their first write."""
    out: list[Effect] = []
    for v in list(cx.dirty):
        out += _effects(cx, v)
    if cx.grad is not cx.entry_grad:
        out.append(Effect("python", FromConst(None), _set_grad, FromConst(cx.grad)))
    if cx.autocast is not None and not autocast.same(cx.autocast, cx.entry_autocast):
        out.append(Effect("python", FromConst(None), _leave_at, FromConst(cx.autocast)))
    return out


def _set_grad(target: Any, value: bool) -> None:
    import torch

    torch.set_grad_enabled(value)


def _leave_at(target: Any, value: autocast.State) -> None:
    autocast.leave_at(value)


def _effects(cx: Capture, v: Value) -> list[Effect]:
    t = type(v)
    if t is DictVal:
        return _dict_effects(cx, v)
    if t is ListVal:
        if v.items is None:
            return [Effect("extend", v.recipe(cx), None, Build("list", tuple([cx.recipe(x) for x in v.tail or ()])))]
        return [Effect("list", v.recipe(cx), None, Build("list", tuple([cx.recipe(x) for x in v.items])))]
    if t is DequeVal:
        return [Effect("deque", v.recipe(cx), None, Build("list", tuple([cx.recipe(x) for x in v.items or ()])))]
    if t is SetVal:
        assert v.items is not None
        changes = v.items.changes
        if changes is not None and all(k in v.items or v.obj is not None and k in v.obj for _, k in changes):
            keys = Build("tuple", tuple([cx.recipe(key_value(cx, k)) for _, k in changes]))
            return [Effect("python", v.recipe(cx), change_set,
                           Build("tuple", (FromConst(tuple(change for change, _ in changes)), keys)))]
        return [Effect("set", v.recipe(cx), None, Build("set", tuple([cx.recipe(key_value(cx, k)) for k in v.items])))]
    if t is CellVal:
        if v.value is None:
            return [Effect("delcell", v.recipe(cx), None, None)]
        return [Effect("cell", v.recipe(cx), None, cx.recipe(v.value))]
    if isinstance(v, RealIter):
        return [Effect("next", v.recipe(cx), v.taken, None)]
    if t is GeneratorVal:
        return [generator_effect(cx, v)]
    if isinstance(v, InstanceVal):
        assert v.source is not None
        return [Effect("setattr", v.recipe(cx), k, cx.recipe(x)) for k, x in (v.slots or {}).items()
                if cx.recipe(x) != FromSource(Source("attr", v.source, k))]      # what was only read
    raise Broken("PB112", f"a change of a {t.__name__}")


def _dict_effects(cx: Capture, d: DictVal) -> list[Effect]:
    owner = d.owner
    changed = d.changed or {}
    if isinstance(owner, _Owner):
        target: Recipe = FromSource(owner.dict_source())
        kinds = ("global", "delglobal")
    elif isinstance(owner, InstanceVal):
        target, kinds = owner.recipe(cx), ("dict", "deldict")
    elif d.restructured:
        parts: list[Recipe] = []
        for k, v in d.load(cx).items():
            parts += [cx.recipe(key_value(cx, k)), cx.recipe(v)]
        return [Effect("update", d.recipe(cx), None, Build("dict", tuple(parts)))]
    else:
        target, kinds = d.recipe(cx), ("setitem", "delitem")
    out = []
    for k in changed:
        v = d.items.get(k, ABSENT)
        key = k if not isinstance(k, (Value, DataclassKey)) else cx.recipe(key_value(cx, k))
        if v is ABSENT:
            if k in d.obj:
                out.append(Effect(kinds[1], target, key, None))
        elif not _unchanged(cx, d, k, v):
            out.append(Effect(kinds[0], target, key, cx.recipe(v)))
    return out


def _unchanged(cx: Capture, d: DictVal, k: Any, v: Value) -> bool:
    """The entry ends up as it was: a guard on that is better than an effect."""
    if type(v) is not Const:
        return False
    old = d.obj.get(k, ABSENT) if type(d.obj) is dict else dict.get(d.obj, k, ABSENT)
    if type(old) is not type(v.value) or not same(old, v.value):
        return False
    cx.pin(Const(old, d.item_source(cx, k)))
    if v.pending is not None:
        cx.pin(v)
    return True


# ------------------------------------------------------------------ guards made at the end
def _whatever_grad(g: Guard) -> Guard:
    return replace(g, expected=replace(g.expected, requires_grad=None)) if g.kind == "tensor" else g


class ClassVersion:
    """Check of a class: the attributes that capture looked up are found again."""

    def __init__(self, cls: type, reads: dict[str, Any]):
        self.cls, self.reads = cls, reads

    def unchanged(self) -> bool:
        for name, raw in self.reads.items():
            found = _classes.MISSING
            for k in self.cls.__mro__:
                if name in k.__dict__:
                    found = k.__dict__[name]
                    break
            if found is not raw:
                return False
        return True

    def __repr__(self) -> str:
        return f"<class {self.cls.__name__}: {len(self.reads)} attributes>"


def final_guards(cx: Capture) -> list[Guard]:
    out = [Guard("global", None, cx.global_key, cx.cause("global state"))]
    for cls, info in cx.classes.items():
        if cls.__flags__ & (1 << 8):         # an immutable class needs no guard
            continue
        out.append(Guard("version", Source("const", None, cls.__qualname__, cls), ClassVersion(cls, dict(info.reads)),
                         cx.cause("class attributes")))
    return out


def presence_guards(cx: Capture) -> list[Guard]:
    """Entries of dictionaries that were read though nothing was done with their values: they must be there again."""
    out = []
    for d in cx.ids.values():
        if isinstance(d, InstanceVal):
            d = d.dict
        if not isinstance(d, DictVal) or d.obj is None or d.complete:
            continue
        for v in d.items.values():
            source = v.pending if type(v) is Const else None
            if source is None or (source, "=") in cx.once or source.base is None:
                continue
            kind = {"item": "has_key", "raw": "has_key", "dict": "has", "attr": "has"}.get(source.kind)
            if kind is not None and source.key in d.obj and (source.base, source.key, "present") not in cx.once:
                out.append(Guard(kind, source.base, source.key, cx.cause("read")))
    return out


def distinct_guards(cx: Capture) -> list[Guard]:
    """A written container is another object than every other one of its class that was reached: a later call in which
    they are one must not be served by this segment."""
    out = []
    reached = [v for v in cx.ids.values() if getattr(v, "obj", None) is not None]
    for w in cx.dirty:
        if isinstance(w, DictVal) and w.owner is not None:
            w = w.owner
        obj, source = getattr(w, "obj", None), getattr(w, "source", None)
        if obj is None or source is None:
            continue
        for v in reached:
            other = getattr(v, "source", None)
            if (
                v.obj is obj
                or type(v.obj) is not type(obj)
                or other is None
                or (other.kind == "const" and source.kind == "const")
            ):  # type: ignore[attr-defined]
                continue
            key = frozenset((source, other, "distinct"))
            if key not in cx.once:
                cx.once.add(key)
                out.append(Guard("distinct", source, other, cx.cause("a write to one of two objects")))
    return out


# ------------------------------------------------------------------ the segment
def finish(cx: Capture, domain: Symbolic, machine: Machine, outcome: Any) -> Segment:
    if cx.applying:
        applied.refuse(cx, f"the forward of {cx.applying[-1][0].__qualname__} is left before its end")
    recipes = domain.recipes = Recipes(cx)
    exit_: Any
    if type(outcome) is Returned:
        value = recipes.of(outcome.value)
        effects = effects_of(cx)
        exit_ = Return(value)
    else:
        assert type(outcome) is Stopped, outcome
        stop = outcome.stop
        if not isinstance(stop, Broken):
            stop = Broken("PB116", str(stop))
        f = outcome.frame
        domain.frame = f
        f.index += 1
        stop.stack = domain.user_stack()
        f.index -= 1
        try:
            exit_ = break_exit(cx, recipes, f, stop)
            effects = effects_of(cx)
        except Broken as e:
            raise CannotContinue(stop, str(e)) from None
    for g, v in domain.generators.items():
        if g.state == "suspended" and v not in recipes.memo and closing_is_seen(g.frame.code, g.frame.index - 1):
            # nobody refers to it: Python would run its finally-clauses as soon as that is so
            raise CannotContinue(Broken("PB108", f"the generator {g.frame.code.qualname} is given up half-way"),
                                 "its cleanup must run at that moment")
    (exit_, effects), shared = inline_once((exit_, effects), recipes.shared)
    if left := cx.builder.left_together(tuple(recipes.outputs)):
        complex_views.apart.update(left)
        raise applied.again("a complex view whose tensor also leaves")
    graph = cx.builder.finish(tuple(recipes.outputs))
    guards = (cx.guards if cx.asks_grad else [_whatever_grad(g) for g in cx.guards]) + final_guards(cx)
    guards += distinct_guards(cx)
    guards += presence_guards(cx)
    mutated = {m.input for m in graph.mutations}
    if mutated and len(graph.inputs) > 1:
        tensors = tuple(i for i, g in enumerate(graph.inputs) if g.role not in ("scalar", "number"))
        if len(tensors) > 1:
            guards.append(Guard("overlap", None, tensors, cx.cause("an input is written")))
    return Segment(graph, tuple(guards), tuple(effects), exit_, tuple(shared), machine.instructions,
                   tuple(cx.inlined), cx.uses_grad)


def break_exit(cx: Capture, recipes: Recipes, f: Frame, stop: Broken) -> Break:
    """The exit of a segment that ends with a native operation at the instruction where f stands."""
    function, args, kwargs, then = native_operation(cx, f, stop)
    fn = recipes.of(function)
    xs = tuple([recipes.of(a) for a in args])
    ks = tuple([(k, recipes.of(a)) for k, a in kwargs.items()])
    if then == "for_iter":
        f.index += 1
    else:
        skip(f, then)
    passed = frozenset(id(a) for a in (*args, *kwargs.values()))
    frames = tuple([frame_state(cx, recipes, g, passed) for g in frames_of(f)])
    return Break(fn, xs, ks, frames, stop.code, stop.message, stop.remedy, stop.stack, then)


def frame_state(cx: Capture, recipes: Recipes, f: Frame, passed: frozenset[int] = frozenset()) -> FrameState:
    """passed: values (by id) that the native operation gets. A variable that is not read again still keeps its object
    alive, where somebody else may know it."""
    def slot(v: Any) -> Any:
        return None if v is UNBOUND else recipes.of(v)

    live = live_slots(f.code, f.index)
    if f.index:       # the instruction that runs may also raise, or end its loop
        live |= live_slots(f.code, f.index - 1)
    def held(v: Any) -> bool:
        return isinstance(v, InstanceVal) and (v.obj is not None or id(v) in passed)

    local = tuple([slot(v) if i in live or held(v) else None for i, v in enumerate(f.locals)])
    stack = tuple([slot(v) for v in f.stack])
    handled = recipes.of(f.handled) if f.handled is not None else None
    return FrameState(f.code, None, f.globals.obj, f.index, local, stack, handled, *then_data(recipes, f.then),
                      None if f.generator is None else recipes.of(cx.machine.generators[f.generator]))


def then_data(recipes: Recipes, then: Then | None) -> tuple[str, Any]:
    """(on_return, detail): "push", or the kinds in order with their details as recipes or plain data."""
    if then is None:
        return "push", None
    chain = []
    t: Then | None = then
    while t is not None:
        chain.append((t.kind, recipes.of(t.detail) if isinstance(t.detail, Value) else t.detail))
        t = t.rest
    return "then", tuple(chain)


__all__ = ["Recipes", "SequenceVal", "finish"]

# Modules that need this one: bound when all are loaded.
from . import classes as _classes  # noqa: E402

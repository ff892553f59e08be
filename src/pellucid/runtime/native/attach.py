"""The native fast path of a compiled callable: entries that fit are run by one built-in, all else by Compiled.call.

An entry is translated at the first call after the one that made it, from the values of that call, and again when state
that it polls has changed but its guards hold: what changes often is then loaded in each call instead of pinned. The
translation compares state with the guards itself, and the native call the rest: no check is run in Python.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from torch import nn

from ... import forking
from ...capture.types import Branch, Break, Build, FromConst, FromGraph, FromSource, Recipe, Return
from ...errors.types import PellucidError
from ...guards import globalkey
from ...guards.generate import check as make_check
from ...guards.generate import compile_text
from ...guards.sources import Scope, load
from ...guards.types import Source
from ...torchdoor.modules import GLOBAL_HOOKS
from ...torchdoor.symbols import Unavailable
from .. import stance, trial
from ..compiled import Compiled, may_change_state
from ..segment_code import _Text
from ..table import Table
from ..traceback import users_only
from ..types import Entry
from . import records as R
from .call import REQUIRED, EntryTable, NativeCallable, Signature
from .jit import Self
from .pins import DoesNotHold, NotNative
from .runner import NativePlan
from .state import ABSENT, Watch, state_words_for_dict, state_words_for_function, state_words_for_type, watch_key
from .translate import Translator, translate

MOST_MISSES = 8
"""An entry whose polled state keeps changing is left to Python after this many translations with few hits between."""
FEW_HITS = 16


_every: weakref.WeakSet[Fast] = weakref.WeakSet()
"""All fast paths that exist, for a stance under which none may be taken."""


def _stance_changed(down: bool) -> None:
    for fast in list(_every):
        if down:
            fast.take_down()
        else:
            fast.hang()


stance.on_change.append(_stance_changed)


class NativeEntry:
    """What is kept for one Entry: its table, and why it has none."""

    __slots__ = ("entry", "table", "words", "native", "pinned", "live", "made", "hits", "why", "counted", "__weakref__")

    def __init__(self, entry: Entry, table: Table):
        self.entry, self.table, self.words = entry, table, table.words
        self.native: EntryTable | None = None
        self.pinned: dict[Source, Any] = {}
        self.live: frozenset[Source] = frozenset()
        self.made = 0
        self.hits = 0
        self.counted = 0
        self.why: str | None = None

    @property
    def waiting(self) -> bool:
        """Whether it should be translated (again) when its guards hold in a call."""
        trial = self.entry.trial
        return self.why is None and (self.native is None or self.native.stale) and (trial is None or not trial.timing)

    def drop(self) -> None:
        """Give up the table, whose hits are kept."""
        self.sync()
        if self.native is not None:
            self.hits += self.native.hits
            self.native = None

    def sync(self) -> None:
        """Add the native hits since the last time to the entry's own."""
        if self.native is not None:
            new = self.hits + self.native.hits
            self.entry.hits += new - self.counted
            self.counted = new


class Fast:
    """`function` is what users call. slow: the whole call in Python (Compiled.call unless told otherwise). watch: adds
    state that must be unchanged for every entry (a module's hooks)."""

    def __init__(self, compiled: Compiled, slow: Callable[..., Any] | None = None,
                 watch: Callable[[Watch], None] | None = None):
        self.compiled = weakref.ref(compiled)
        self.call = slow if slow is not None else compiled.call
        self.watch = watch
        self.entries: list[NativeEntry] = []
        self.lock = forking.short(threading.Lock())
        self.bound_by = _bound_by(compiled)
        self.native = NativeCallable(_signature(compiled), self.slow, compiled.target.name)
        self.function = self.native.function
        _every.add(self)
        compiled.on_publish.append(self.published)
        compiled.on_clear.append(self.cleared)

    # ---------------------------------------------------------------- hooks
    def published(self, compiled: Compiled, table: Table, entry: Entry) -> None:
        if table.resume is not None or table.words is None:
            return
        made = NativeEntry(entry, table)
        made.why = _impossible(entry)
        entry.native = made
        self.entries = [made, *self.entries]

    def dropped(self, entry: Entry) -> None:
        """An entry is no longer in its table."""
        self.sync()
        self.entries = [e for e in self.entries if e.entry is not entry]
        self.hang()

    def cleared(self, compiled: Compiled) -> None:
        self.entries = []
        self.native.publish(())

    def sync(self) -> None:
        for e in self.entries:
            e.sync()

    def pause(self, entry: Entry) -> None:
        """No native calls of `entry` for now: its NativeEntry says when it is waiting again."""
        for e in self.entries:
            if e.entry is entry:
                e.drop()
        self.hang()

    def hang(self) -> None:
        """Make the native entries callable, unless a stance forbids all."""
        if not stance.forced_anywhere():
            self.native.publish([e.native for e in self.entries if e.native is not None])

    def take_down(self) -> None:
        """No native entry from the next call on."""
        self.native.publish(())

    # ---------------------------------------------------------------- the slow way
    def slow(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            if any(e.waiting for e in self.entries) and not stance.forced_anywhere() \
                    and self._translate_some(args, kwargs):
                return self.function(*args, **kwargs)
            return self.call(*args, **kwargs)
        except PellucidError:
            raise
        except BaseException as error:
            error.__traceback__ = users_only(error.__traceback__)
            raise

    def _translate_some(self, args: Any, kwargs: Any) -> bool:
        """Translate the waiting entries whose guards on state hold; whether there were any. While another thread does
        so, this call goes the way through Python."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            with forking.compiling():
                return self._translate_waiting(args, kwargs)
        finally:
            self.lock.release()

    def _translate_waiting(self, args: Any, kwargs: Any) -> bool:
        compiled = self.compiled()
        if compiled is None:
            return False
        bound_by = _bound_by(compiled)
        if len(bound_by) != len(self.bound_by) or any(a is not b for a, b in zip(bound_by, self.bound_by)):
            self.bound_by = bound_by
            for e in self.entries:
                e.drop()
            self.native.change_signature(_signature(compiled))
        try:
            slots = compiled.bind(*args, **kwargs)
        except TypeError:
            return False
        words = globalkey.words()
        waiting = [e for e in self.entries if e.waiting and e.words == words]
        for e in waiting:
            self._translate(compiled, e, slots)
        if any(e.native is not None for e in waiting):
            self.hang()
            return True
        return False

    def _translate(self, compiled: Compiled, e: NativeEntry, slots: Sequence[Any]) -> None:
        scope = e.table.scope(slots)
        if e.native is not None:
            e.made = e.made + 1 if e.native.hits < FEW_HITS else 0
            e.live |= _changed(e.pinned, scope)
            e.drop()
            if e.made > MOST_MISSES:
                e.why = "state that it reads changes in each call"
                return
        try:
            e.native, e.pinned = self._table(compiled, e, scope)
        except (NotNative, Unavailable) as why:
            e.why = str(why)
        except DoesNotHold:
            e.native = None

    def _table(self, compiled: Compiled, e: NativeEntry, scope: Scope) -> tuple[EntryTable, dict[Source, Any]]:
        entry, signature = e.entry, self.native.signature
        graph = entry.segment.graph
        by_python = entry.trial is not None and entry.trial.python
        made = translate(entry.guards, signature, graph, scope, None if by_python else _plan(entry), e.live)
        table = made.table
        if made.python:
            rest = make_check([g for g, _ in made.python], graph, entry.params, f"rest of the check of #{entry.number}")
            table.python_check = lambda args: rest(*args)
        fn: Any = getattr(compiled.target.callee, "__func__", compiled.target.callee)
        if any(d is not REQUIRED for d in signature.defaults):
            state_words_for_function(table.watch, fn, "defaults", "kwdefaults")
            if fn.__kwdefaults__:
                kept = state_words_for_dict(table.watch, fn.__kwdefaults__)
                for key in fn.__kwdefaults__:
                    watch_key(table.watch, kept, key)
        if self.watch is not None:
            self.watch(table.watch)
        translator = Translator(signature, graph, scope)
        translator.table, translator.watch, translator.pinned = table, table.watch, made.pinned
        table.result = ("finish", _left_to_python(compiled, entry, signature)) if by_python else result_of(
            compiled, e, translator)
        return table, made.pinned


def _signature(compiled: Compiled) -> Signature:
    return Signature.of(compiled.target.callee)


def _bound_by(compiled: Compiled) -> tuple[Any, ...]:
    """What the signature is read from."""
    callee: Any = compiled.target.callee
    function: Any = getattr(callee, "__func__", callee)
    return callee, function.__code__, function.__defaults__, *(function.__kwdefaults__ or {}).values()


def _plan(entry: Entry) -> NativePlan | None:
    """The plan that the entry's generated function calls; None where its graph does nothing."""
    run = entry.run.__globals__.get("graph")
    me = getattr(run, "__self__", None)
    return me.data if type(me) is Self and isinstance(me.data, NativePlan) else None


def _impossible(entry: Entry) -> str | None:
    """Why an entry can never run natively."""
    if "graph" in entry.run.__globals__ and _plan(entry) is None:
        return f"its graph runs by {entry.code.backend}"
    return None


def _changed(pinned: dict[Source, Any], scope: Scope) -> frozenset[Source]:
    """Pinned sources that are another object now."""
    out = []
    for source, value in pinned.items():
        try:
            if source.base is not None and load(source, scope) is not value:
                out.append(source)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            continue
    return frozenset(out)


# ------------------------------------------------------------------ results
def result_of(compiled: Compiled, e: NativeEntry, t: Translator) -> tuple[Any, ...]:
    """EntryTable.result: natively where the segment returns containers of outputs, arguments and constants; else by a
    generated function of (outputs, arguments)."""
    segment = e.entry.segment
    if isinstance(segment.exit, Return) and not segment.effects and not segment.shared:
        value = segment.exit.value
        if isinstance(value, FromGraph) and len(segment.graph.outputs) == 1 and t.table.plan is not None:
            return ("output",)
        if isinstance(value, FromConst) and value.value is None:
            return ("none",)
        words: list[int] = []
        depth = _recipe(value, t, words, 0)
        if depth is not None:
            return "recipe", words, depth
    return "finish", finish_function(compiled, e)


def _recipe(r: Recipe, t: Translator, words: list[int], at: int) -> int | None:
    """Append BUILD words for the value at stack depth `at`; the greatest depth, or None where Python must do it."""
    if isinstance(r, FromGraph):
        words += [R.PUSH_OUTPUT, r.index]
        return at + 1
    if isinstance(r, FromConst):
        words += [R.PUSH_CONSTANT, t.hold(r.value)]
        return at + 1
    if isinstance(r, FromSource):
        if r.source.kind == "arg" and r.source.base is None:
            words += [R.PUSH_REGISTER, t.signature.names.index(r.source.key)]
            return at + 1
        try:
            if not t.is_state(r.source) or t.is_live(r.source):
                return None
            words += [R.PUSH_CONSTANT, t.hold(t.pin(r.source))]
        except (NotNative, Unavailable):
            return None
        return at + 1
    if isinstance(r, Build) and r.detail is None and r.kind in ("tuple", "list", "dict"):
        deepest = at + 1
        for k, part in enumerate(r.parts):
            deep = _recipe(part, t, words, at + k)
            if deep is None:
                return None
            deepest = max(deepest, deep)
        n = len(r.parts)
        op = {"tuple": R.MAKE_TUPLE, "list": R.MAKE_LIST, "dict": R.MAKE_DICT}[r.kind]
        words += [op, n // 2 if r.kind == "dict" else n]
        return deepest
    return None


def finish_function(compiled: Compiled, e: NativeEntry) -> Callable[[tuple[Any, ...], tuple[Any, ...]], Any]:
    """What is left of the segment after its graph ran: effects, the value, or the break and all that follows it."""
    segment, params = e.entry.segment, e.entry.params
    t = _Text(segment, params, None)
    t.graph()
    if segment.graph.outputs:
        t.add("".join(f"o{i}, " for i in range(len(segment.graph.outputs))) + "= outputs")
    t.shared()
    exit = segment.exit
    if isinstance(exit, Return):
        t.exit_return(exit)
    else:
        recheck = may_change_state(segment)
        words = None if recheck else e.words

        def table_of(point: Any) -> Table:
            return compiled.continuation(point, words)

        if isinstance(exit, Break):
            t.exit_break(exit, table_of, recheck)
        else:
            assert isinstance(exit, Branch)
            t.exit_branch(exit, table_of, recheck)
    names = "".join(f"p{i}, " for i in range(len(params)))
    head = f"    {names}= arguments\n" if params else ""
    body = "".join(f"    {line}\n" for line in t.lines)
    source = f"def finish(outputs, arguments):\n{head}{body}"
    made = compile_text(source, {**t.globals, **t.scope.held}, "finish",
                        f"end of {compiled.target.name} #{e.entry.number}")
    if e.entry.final:
        return made
    owner, first = weakref.ref(compiled), e.entry

    def go_on(outputs: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        me = owner()
        assert me is not None
        try:
            table, slots = made(outputs, arguments)
            return me.drive(table, slots, (), {}, first)
        except BaseException as error:
            error.__traceback__ = users_only(error.__traceback__)
            raise
    return go_on


def _left_to_python(compiled: Compiled, entry: Entry,
                    s: Signature) -> Callable[[tuple[Any, ...], tuple[Any, ...]], Any]:
    """What runs, counted, in place of an entry that is left to Python (trial.py)."""
    owner, end = weakref.ref(compiled), len(s.names)
    by_name = [(n, k) for k, n in enumerate(s.names[:end - (s.varargs is not None) - (s.varkw is not None)])][s.limit:]

    def by_python(outputs: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        me = owner()
        assert me is not None
        try:
            more = arguments[s.varargs] if s.varargs is not None else ()
            named = arguments[s.varkw] if s.varkw is not None else {}
            return trial.by_python(me, entry, (*arguments[s.first:s.limit], *more),
                                   {**{n: arguments[k] for n, k in by_name}, **named})
        except BaseException as error:
            error.__traceback__ = users_only(error.__traceback__)
            raise
    return by_python


def watch_module(module: nn.Module) -> Callable[[Watch], None]:
    """State under which a call of the module is a call of its forward, and that forward the one that was captured."""
    def watch(w: Watch) -> None:
        state = module.__dict__
        own = state_words_for_dict(w, module)
        for name in ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks"):
            watch_key(w, own, name)
            _empty(w, state[name])
        for hooks in GLOBAL_HOOKS:
            _empty(w, hooks)
        watch_key(w, own, "forward", None if "forward" in state else ABSENT)
        state_words_for_type(w, type(module))
    return watch


def _empty(w: Watch, hooks: dict[Any, Any]) -> None:
    if hooks:
        raise DoesNotHold("the module has hooks")
    state_words_for_dict(w, hooks).used = 0


def attach(compiled: Compiled, slow: Callable[..., Any] | None = None,
           watch: Callable[[Watch], None] | None = None) -> Fast | None:
    """The native fast path for `compiled`, or None where native code is unavailable or its signature does not allow
    it."""
    try:
        return Fast(compiled, slow, watch)
    except (Unavailable, ValueError):
        return None

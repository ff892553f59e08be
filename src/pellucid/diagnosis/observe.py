"""observe(): makes calls one after another and writes down, from the event record, what happened in each."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import re
import sys
import sysconfig
import time
from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ..capture.types import Branch
from ..capture.types import Break as BreakExit
from ..events.record import record
from ..events.types import Event, UserFrame, UserStack
from ..guards import globalkey
from ..guards.explain import FailedGuard, short
from ..runtime.compiled import Compiled as Tables
from ..runtime.compiled import live
from ..torchdoor import dynamo
from . import guardtext
from .calls import Call
from .observation import Break, Compiled, Failed, Made, Observation

KINDS = ("capture", "graph_break", "entry_published", "recompile", "cache_miss", "eager_fallback", "internal_error",
         "limit_reached", "storm")
SYSTEMS = ("pellucid", "torch.compile", "as-is")
FAILED_KINDS = {"int": "equal", "size": "size", "equal": "equal", "type": "type", "is": "identity", "len": "len",
                "keys": "keys", "missing_key": "keys", "has_key": "keys", "has": "keys", "absent": "keys",
                "code": "code", "same": "identity", "distinct": "identity", "overlap": "overlap"}
"""Kind of a pellucid guard -> observation.Failed.kind."""


def system_of(fn: Any) -> str | None:
    """Which compiler made `fn`: pellucid, torch.compile, or None."""
    if isinstance(getattr(type(fn), "__pellucid__", None), Tables):
        return "pellucid"
    return "torch.compile" if dynamo.original(fn) is not None else None


def original(fn: Any) -> Any:
    """The plain callable behind something compiled, or itself."""
    made = system_of(fn)
    return fn if made is None else fn.__wrapped__ if made == "pellucid" else dynamo.original(fn)


def compiled(fn: Any, system: str) -> Any:
    """`fn` by that system: itself where it is that already, or for "as-is"."""
    if system == "as-is" or system_of(fn) == system:
        return fn
    if system == "pellucid":
        from ..api import compile
        return compile(original(fn))
    return torch.compile(original(fn))


def name_of(fn: Any) -> str:
    """A name for people."""
    plain = original(fn)
    return type(plain).__qualname__ if isinstance(plain, nn.Module) else getattr(plain, "__qualname__", repr(plain))


def observe(fn: Any, calls: Iterable[Call], system: str) -> Observation:
    """Make the calls, in order, from an empty table. fn: compiled by `system`, or for "as-is" any program that uses
    compiled functions inside: then all of them, of both compilers, are watched. An exception that a call raises comes
    through."""
    if system_of(fn) == "pellucid":
        fn_tables = type(fn).__pellucid__
        fn_tables.clear()
    watches_dynamo = system == "torch.compile" or (system == "as-is" and "torch._dynamo" in sys.modules)
    collector = _Collector()
    with contextlib.ExitStack() as stack:
        watch = stack.enter_context(dynamo.watching()) if watches_dynamo else None
        stack.callback(record.subscribe(collector.heard, KINDS))
        for number, call in enumerate(calls, 1):
            collector.begin(number)
            start = time.perf_counter()
            call.make(fn)
            seconds = time.perf_counter() - start
            if watch is not None:
                collector.take(watch)
            collector.end(call, seconds)
        collector.crossings()
    notes = ("shape memory on disk (automatic_dynamic_local_pgo) was switched off, and what torch.compile had compiled "
             "before was forgotten: from its second process on it would hide recompiles",) if watches_dynamo else ()
    return collector.observation(system, name_of(fn), notes)


class _Collector:
    """Turns events of both compilers into compiles, breaks and calls."""

    def __init__(self) -> None:
        self.number = 0
        self.made: list[Made] = []
        self.compiles: list[Compiled] = []
        self.breaks: dict[tuple[str, int], Break] = {}
        self.eager: collections.Counter[str] = collections.Counter()
        self.limits: list[str] = []
        self.limited: set[str] = set()
        self.pending: dict[tuple[int | None, int | None], tuple[Failed, ...]] = {}
        self.now: list[Compiled] = []
        self.why: list[str] = []
        self.hits_before: dict[int, int] = {}
        self.held: list[Tables] = []
        self.words: dict[int, tuple[Any, ...]] = {}
        """Callable -> global state at its first compile: pellucid keeps a table for each."""

    def begin(self, number: int) -> None:
        self.number, self.now, self.why = number, [], []

    def tables(self, callable_id: int | None) -> Tables | None:
        found = next((c for c in list(live) if c.id == callable_id), None)
        if found is not None and found not in self.held:
            self.held.append(found)        # so that one made anew in each call can still be asked at the end
        return found

    def heard(self, e: Event) -> None:
        key = (e.callable_id, e.continuation_id)
        if e.kind == "cache_miss":
            owner = self.tables(e.callable_id)
            code = getattr(owner.target.callee, "__code__", None) if owner is not None else None
            self.pending[key] = _nearest(e.data.get("cells", ()), code.co_filename if code is not None else "")
        elif e.kind == "entry_published":
            owner = self.tables(e.callable_id)
            failed = self.pending.pop(key, ())
            if e.continuation_id is None and e.callable_id is not None:
                now = globalkey.words()
                before = self.words.setdefault(e.callable_id, now)
                if not failed and before != now:
                    failed = _state(before, now)
            region, code = _region(owner, e)
            self.now.append(Compiled(self.number, region, code, float(e.data.get("seconds", 0.0)), failed,  # type: ignore[arg-type]
                                     not failed))
        elif e.kind == "graph_break":
            self.broke(e)
        elif e.kind in ("eager_fallback", "internal_error"):
            why = str(e.message).split("; newest:")[0]
            self.why.append(why)
            self.eager[why] += 1
        elif e.kind in ("limit_reached", "storm"):
            self.limits.append(str(e.message))

    def broke(self, e: Event) -> None:
        stack = e.cause.stack if e.cause else ()
        where = users_frame(stack)
        file, line, function = (where.file, where.line, where.function) if where else ("", 0, "")
        self.add_break((stack[-1].file, stack[-1].line) if stack else ("", 0),
                       Break(file, line, function, str(e.message), str(e.data.get("code", "")),
                             str(e.data.get("remedy", "")), 0, (self.number,)))

    def add_break(self, key: tuple[str, int], b: Break) -> None:
        old = self.breaks.get(key)
        if old is not None:
            b = dataclasses.replace(old, calls=tuple(sorted({*old.calls, *b.calls})),
                                    function=old.function or b.function)
        self.breaks[key] = b

    def take(self, watch: dynamo.Watch) -> None:
        """What torch.compile did in this call."""
        compiles, breaks, limits = watch.take()
        for b in breaks:
            first, _, rest = b.reason.partition("\n")
            if first.startswith("Encountered graph break when attempting to trace"):
                first = rest.strip().partition("\n")[0] or first
            told = next((line.split(":", 1)[1].strip() for line in b.reason.splitlines()
                         if line.strip().startswith("Explanation:")), "")
            hint = next((line.split(":", 1)[1].strip() for line in b.reason.splitlines()
                         if line.strip().startswith("Hint:")), "")
            self.add_break((b.file, b.line), Break(b.file, b.line, b.function, f"{first}: {told}" if told else first,
                                                   "dynamo", hint, None, (self.number,)))
        for c in compiles:
            failed = guardtext.failed(c.reason or "", c.file)
            if c.failure is not None and "limit" in c.failure.lower():
                continue
            self.now.append(Compiled(self.number, f"{c.file}:{c.line} in {c.function}", _user_function(c.function),
                                     c.seconds, failed, not failed and c.version == 0))
        for text in limits:
            self.limits.append(dynamo.limit_of(text))
            self.why.append(self.limits[-1])
            self.limited.add(text)

    def end(self, call: Call, seconds: float) -> None:
        if not self.now and not self.why and self.limited:
            self.why = ["the limit of compiled versions was reached before: this call hit a version or ran in Python "
                        "(torch.compile does not say which)"]
        if self.why and self.limited and not self.now:
            self.eager[self.limits[-1]] += 1
        outcome = "compile" if self.now else "eager" if self.why else "hit"
        self.compiles += self.now
        reason = "; ".join(dict.fromkeys(self.why)) if self.why else "; ".join(
            f.text for c in self.now for f in c.failed[:1])
        self.made.append(Made(self.number, call.signature(), call.label, seconds, outcome,
                              sum(c.seconds for c in self.now), reason))

    def crossings(self) -> None:
        """How often each break of pellucid's tables was crossed: the hits of entries that end there, and the call that
        compiled each."""
        seen: collections.Counter[tuple[str, int]] = collections.Counter()
        for tables in self.held:
            for t in tables.all_tables():
                for e in t.entries:
                    x = e.segment.exit
                    if isinstance(x, (BreakExit, Branch)) and x.stack:
                        seen[x.stack[-1].file, x.stack[-1].line] += e.hits + 1
        for key, n in seen.items():
            if key in self.breaks:
                self.breaks[key] = dataclasses.replace(self.breaks[key], crossed=n)

    def observation(self, system: str, name: str, notes: tuple[str, ...]) -> Observation:
        return Observation(system, name, tuple(self.made), tuple(self.compiles), tuple(self.breaks.values()),
                           tuple(self.eager.items()), tuple(dict.fromkeys(self.limits)), notes)


LIBRARY = tuple(sorted({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")}))


def users_frame(stack: UserStack) -> UserFrame | None:
    """The innermost frame in a file of the user's: not of the standard library or an installed package, if there is
    one that is not."""
    return next((f for f in reversed(stack) if not f.file.startswith(LIBRARY)), stack[-1] if stack else None)


def _nearest(cells: Any, file: str) -> tuple[Failed, ...]:
    """The failed guards of the version that fewest failed in."""
    rows = [row for _, _, row in cells if row]
    return tuple(_failed(g, file) for g in min(rows, key=len)) if rows else ()


def _state(before: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[Failed, ...]:
    """The parts of global state that differ from those of the first compile, as failed guards."""
    return tuple(Failed("global state", "grad_mode" if "grad" in n else "global", short(a), short(b),
                        f"global state: {n} was {short(a)}, is {short(b)}")
                 for n, a, b in globalkey.differences(globalkey.named(before), globalkey.named(now)))


def _failed(g: FailedGuard, file: str = "") -> Failed:
    """A failed guard of the record; its line where the operation that needed it is in `file`."""
    at = re.search(r" at (.*):(\d+) in ", g.cause)
    made = _in_words(g)
    return dataclasses.replace(made, line=int(at[2])) if at is not None and at[1] == file else made


def _in_words(g: FailedGuard) -> Failed:
    if g.kind == "tensor":
        return _tensor(g)
    if g.kind == "global":
        return Failed("global state", "grad_mode" if "grad" in g.text else "global", g.expected, g.actual, g.text)
    if g.kind == "size":            # `s0 == 7 where s0 = i`
        return Failed(g.condition.partition(" where ")[2].rpartition("= ")[2] or g.source, "size", g.expected, g.actual,
                      g.text)
    return Failed(g.source, FAILED_KINDS.get(g.kind, "other"), g.expected, g.actual, g.text)


DIFFERENCES = (("size ", "size"), ("stride ", "stride"), ("contiguous expected", "stride"), ("dtype ", "dtype"),
               ("device ", "device"), ("requires_grad ", "requires_grad"), ("dimensions expected", "rank"),
               ("class ", "type"))
"""What guards.explain says of two tensors that differ -> kind."""


def _tensor(g: FailedGuard) -> Failed:
    told = g.text.removeprefix(f"{g.source}: ")
    kind = next((kind for words, kind in DIFFERENCES if words in told), "other")
    if kind == "size" and "was" in told:
        changed = re.findall(r"size (\d+) was (\S+), is (\d+)", told)
        where = ", ".join(f"{g.source}.shape[{index}]" for index, _, _ in changed)
        return Failed(where, kind, ", ".join(c[1] for c in changed), ", ".join(c[2] for c in changed), g.text)
    return Failed(g.source, kind, g.expected, g.actual, g.text)


def _region(owner: Tables | None, e: Event) -> tuple[str, str]:
    if owner is None:
        return f"callable {e.callable_id}", f"callable {e.callable_id}"
    code = getattr(owner.target.callee, "__code__", None)
    name = owner.target.name
    start = f"{code.co_filename}:{code.co_firstlineno} in {name}" if code is not None else name
    if e.continuation_id is None:
        return start, name
    point = next((t for t in owner.all_tables() if t.number == e.continuation_id), None)
    if point is None or point.resume is None:
        return start, name
    frame = point.resume.frames[-1]
    line = frame.code.line(max(frame.index - 1, 0))
    return f"{frame.code.original.co_filename}:{line} in {frame.code.qualname} (after a break)", name


def _user_function(name: str) -> str:
    """`torch_dynamo_resume_in_f_at_12` -> `f`."""
    if name.startswith("torch_dynamo_resume_in_"):
        return name.removeprefix("torch_dynamo_resume_in_").rsplit("_at_", 1)[0]
    return name


def copied(fn: Any) -> Any:
    """A copy of a module (its state is the copy's own); a function as it is."""
    plain = original(fn)
    return copy.deepcopy(plain) if isinstance(plain, nn.Module) else plain

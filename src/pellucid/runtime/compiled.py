"""A compiled callable: its tables, the call through them, what happens on a miss, and the way back to plain Python."""

from __future__ import annotations

import itertools
import threading
import time
import types
import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import forking
from ..capture.types import Branch, Break, Build, FromConst, Return, Segment
from ..errors.types import ConstraintError, GraphBreakError, InternalError, PellucidError
from ..events.record import record
from ..events.types import Cause
from ..graph.text import to_text
from ..guards import globalkey
from ..guards.conditions import conditions
from ..guards.evaluate import Outcome, disjoint, holds_all
from ..guards.explain import condition, failed_guards, failure
from ..guards.generate import check as make_check
from ..guards.generate import forget
from ..guards.sources import Scope, load
from ..guards.sources import name as source_name
from ..guards.types import Guard, Source
from ..options import Options
from . import frontend, resume, stance, trial
from .background import Background, working_here
from .collector import resting
from .continuation import Resume
from .dynamics import Dynamics, fixed_symbols
from .errors import StepFailed
from .limits import LimitError
from .runners import Runner, make_runner, replay_runner, static_only
from .segment_code import segment_function
from .stance import RecompileError
from .table import ROWS, MissRow, Table, lazy_check, outcomes
from .target import Target
from .traceback import users_only
from .types import Binding, Code, Entry

_words = globalkey.words
_ids = itertools.count(1)
live: weakref.WeakSet[Compiled] = weakref.WeakSet()
"""All compiled callables that exist, for counters and reset."""

ASKED = 64
"""Hits before the order of entries is looked at."""
WARM = 32
"""Hits of an entry from which a callable without any native plan has native calls too."""
MOST_CONTINUATIONS = 1000
"""Continuations of one callable; where there are more, what follows runs in plain Python."""
MOST_REASONS = 500
"""Reasons of eager calls that are told apart for one callable."""
FAILURES = 3
"""Compilations of one table that may fail before it is left to plain Python."""


class Compiled:
    """The tables of one callable. `call(*args, **kwargs)` is the always-correct path in Python."""

    def __init__(self, target: Target, options: Options):
        self.id = next(_ids)
        self.target, self.options = target, options
        self.bind = target.bind
        self.original: Any = target.callee
        """What an enclosing capture inlines in place of a call of this."""
        self.roots: dict[tuple[Any, ...], Table] = {}
        """Global state -> the table of calls under it."""
        self.continuations: dict[tuple[Any, ...], Table] = {}
        self.lock = forking.short(threading.RLock())
        self.tables_lock = forking.short(threading.RLock())
        """Held for a moment where a table is made; `lock` as long as something is compiled."""
        self.background = Background(self) if options.stall == "never" else None
        self.compiling = False
        self.entries = itertools.count()
        self.tables = itertools.count()
        self.dynamics = Dynamics(options.dynamic, options.fullgraph, options.wishes, static_only(options))
        self.on_publish: list[Callable[[Compiled, Table, Entry], None]] = []
        """Called after an entry was published (the native fast path hangs here)."""
        self.fast: Any = None
        """The native fast path, once there is one."""
        self.on_warm: Callable[[Compiled], None] | None = None
        """Called once, at an entry's WARMth hit."""
        self.reasons: Counter[str] = Counter()
        """Why calls, or what followed a break, ran in plain Python, and how often."""
        self.notes: Counter[str] = Counter()
        """Reasons why calls went another way than was asked for (no padding), and how often."""
        self.on_clear: list[Callable[[Compiled], None]] = []
        live.add(self)

    # ---------------------------------------------------------------- the call
    def call(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            slots = self.bind(*args, **kwargs)
        except TypeError:
            return self.target.call(*args, **kwargs)
        if stance.current() == "force_eager":
            return self.eagerly(FORCED, args, kwargs)
        words = _words()
        table = self.roots.get(words)
        if table is None:
            why = globalkey.unusual(words)
            if why is not None:
                return self.eagerly(why, args, kwargs)
            table = self.root(words)
        try:
            return self.drive(table, slots, args, kwargs)
        except PellucidError:
            raise
        except BaseException as e:
            e.__traceback__ = users_only(e.__traceback__)
            raise

    def drive(self, table: Table, slots: Sequence[Any], args: Any, kwargs: Any, first: Entry | None = None) -> Any:
        """From table to table until a segment returns. first: the entry that the call began with, where it has run."""
        crossed, compiled, start = int(first is not None), False, time.perf_counter()
        while True:
            for entry in table.entries:
                if entry.check(*slots):
                    entry.hits += 1
                    if entry.hits == WARM and self.on_warm is not None:
                        self.on_warm(self)
                    if entry.hits > ASKED and entry is not table.entries[0]:
                        self.favour(table, entry)
                    break
            else:
                found = self.miss(table, slots)
                if isinstance(found, str):
                    return self.leave(table, slots, args, kwargs, found)
                entry, compiled = found, True
            if first is None:
                first = entry
                if entry.trial is not None and entry.trial.python:
                    return trial.by_python(self, entry, args, kwargs)
            try:
                result = entry.run(*slots)
            except StepFailed as e:
                return self.leave(table, slots, args, kwargs, f"a step failed: {e}")
            if entry.final:
                if crossed >= trial.OFTEN and not compiled:
                    trial.crossed_often(self, first, crossed, time.perf_counter() - start)
                return result
            table, slots = result
            crossed += 1

    def favour(self, table: Table, entry: Entry) -> None:
        """Ask the entry that is hit most first."""
        if entry.hits > 2 * table.entries[0].hits + ASKED and self.lock.acquire(blocking=False):
            try:
                if entry in table.entries:
                    table.entries = (entry, *(e for e in table.entries if e is not entry))
            finally:
                self.lock.release()

    def leave(self, table: Table, slots: Sequence[Any], args: Any, kwargs: Any, why: str) -> Any:
        """Go on in plain Python from the last commit: the original call, or the frames of the continuation."""
        table.eager += 1
        if table.resume is None:
            return self.eagerly(why, args, kwargs, table)
        self.fell_back(why, continuation_id=table.number)
        return resume.run(table.resume, slots)

    def eagerly(self, why: str, args: Any, kwargs: Any, table: Table | None = None) -> Any:
        self.fell_back(why, table=table.number if table else None)
        result = self.target.call(*args, **kwargs)
        if isinstance(why, MayRaise):
            raise broken(why.exit)          # the program itself catches what is raised there
        if isinstance(why, Raises):
            fault = f"{why}, but eager does not raise: capture took the program for one that fails"
            record.emit("internal_error", callable_id=self.id, message=fault)
            if self.options.strict or self.options.fullgraph:
                raise InternalError("internal-error", f"{self.target.name} ran eagerly, not compiled: {fault}",
                                    "report this; without fullgraph=True and strict the call gives eager's result")
        return result

    def fell_back(self, why: str, **where: Any) -> None:
        """One more call, or what followed a break, ran in plain Python for this reason: counted, and an event too for
        the first KEPT_FALLBACKS of a reason and while somebody listens."""
        reason = str(why)
        if reason not in self.reasons and len(self.reasons) >= MOST_REASONS:
            reason = "other reasons"
        self.reasons[reason] += 1
        if self.reasons[reason] <= KEPT_FALLBACKS or record.wanted("eager_fallback"):
            record.emit("eager_fallback", callable_id=self.id, message=why, **where)
        else:
            record.repeat("eager_fallback")

    # ---------------------------------------------------------------- tables
    def root(self, words: tuple[Any, ...]) -> Table:
        with self.tables_lock:
            table = self.roots.get(words)
            if table is None:
                table = Table(next(self.tables), self.target.params, words, self.dynamics)
                self.roots = {**self.roots, words: table}
            return table

    def continuation(self, point: Resume, words: tuple[Any, ...] | None, before: Table | None = None,
                     segment: Segment | None = None) -> Table:
        """The table of a resume point; made when it is first asked for. What is known to vary in
        the `segment` (of table `before`) that leads there varies there too."""
        with self.tables_lock:
            key = (words, *point.key)
            table = self.continuations.get(key)
            if table is None:
                params = tuple(f"slot {i}" for i in range(len(point.slots)))
                table = Table(next(self.tables), params, words, self.dynamics.after_break(), point)
                if len(self.continuations) >= MOST_CONTINUATIONS:
                    table.blocked = f"the function has more than {MOST_CONTINUATIONS} places to go on after a break"
                    if len(self.continuations) == MOST_CONTINUATIONS:
                        record.emit("storm", callable_id=self.id, message=f"{self.target.name}: {table.blocked}")
                self.continuations[key] = table
                if before is not None and segment is not None:
                    table.dynamics.inherit(before.dynamics, point.slots, segment.graph)
            return table

    def all_tables(self) -> list[Table]:
        """The tables with their counters up to date."""
        if self.fast is not None:
            self.fast.sync()
        with self.tables_lock:
            return [*self.roots.values(), *self.continuations.values()]

    def clear(self) -> None:
        """Drop all entries, continuations and what was learnt about sizes."""
        with self.lock:
            for t in (*self.roots.values(), *self.continuations.values()):
                t.clear()
            with self.tables_lock:
                self.roots, self.continuations = {}, {}
            self.dynamics.clear()
            for hook in self.on_clear:
                hook(self)

    def retarget(self, target: Target) -> None:
        """Stand for another function from now on (a module's forward was replaced)."""
        with self.lock:
            self.clear()
            self.target, self.bind = target, target.bind

    # ---------------------------------------------------------------- a miss
    def miss(self, table: Table, slots: Sequence[Any]) -> Entry | str:
        """The entry for a call that no entry fits, newly compiled; or why the call goes on in plain Python."""
        if table.blocked is not None:
            return table.blocked
        if table.words is None:
            why = globalkey.unusual(_words())
            if why is not None:
                return why
        if self.background is not None and not working_here() and stance.current() == "default":
            return self.background.ask(table, slots)
        with forking.compiling():
            if not self.lock.acquire(blocking=table.resume is not None):
                return "another thread is compiling this function"
            return self.locked_miss(table, slots)

    def locked_miss(self, table: Table, slots: Sequence[Any]) -> Entry | str:
        """The rest of `miss`, under the lock that it took."""
        try:
            if self.compiling:
                return "called while it is being compiled"
            for entry in table.entries:
                if entry.check(*slots):
                    entry.hits += 1
                    return entry
            self.compiling = True
            try:
                with resting():
                    return self.compile(table, slots)
            finally:
                self.compiling = False
        finally:
            self.lock.release()

    def compile(self, table: Table, slots: Sequence[Any]) -> Entry | str:
        """Explain the miss, then capture, compile and publish a new entry, unless the table is full."""
        start = time.perf_counter()
        if table.limit_reported and len(table.rows) == ROWS:      # the matrix is full: the call is only counted
            table.misses += 1
            return self.full(table, [])
        scope = table.scope(slots)
        cells = tuple((e.number, tuple(outcomes(e, scope))) for e in table.entries)
        table.misses += 1
        reasons = [first_failure(list(c), e) for e, (_, c) in zip(table.entries, cells)]
        told = stance.current()
        record.emit("cache_miss", callable_id=self.id, continuation_id=_continuation(table),
                    message="; ".join(f"entry {e.number}: {r}" for e, r in zip(table.entries, reasons)) or "first call",
                    cells=tuple((number, len(row), failed_guards(row, e.segment.graph))
                                for (number, row), e in zip(cells, table.entries)))
        outcome: Entry | str
        if told == "fail_on_recompile":
            raise RecompileError("recompile", f"{self.target.name} would compile: "
                                 + ("; ".join(reasons) or "there is no version yet"),
                                 "call it once before set_stance('fail_on_recompile'), with what varies marked as "
                                 "dynamic")
        if told == "eager_on_recompile":
            outcome = f"set_stance('eager_on_recompile'): {reasons[0] if reasons else 'there is no version yet'}"
        elif len(table.entries) >= self.options.recompile_limit and not self.promoted(table):
            outcome = self.full(table, reasons)
        elif any(self.overlap(sources, scope) for sources in table.overlapping):
            outcome = OVERLAP
        else:
            table.dynamics.learn((e.guards for e in table.entries), table.scope(slots), self.id)
            if table.entries:
                record.emit("recompile", callable_id=self.id, continuation_id=_continuation(table),
                            message="; ".join(f"entry {e.number}: {r}" for e, r in zip(table.entries, reasons)),
                            entries=len(table.entries))
            outcome = self.build(table, slots, start)
        done = (outcome, None) if isinstance(outcome, str) else ("compiled", outcome.number)
        table.rows.append(MissRow(time.time(), cells, *done))
        return outcome

    def promoted(self, table: Table) -> bool:
        """Under at_limit="promote", once a table: room for one version in which every size and number of the arguments
        is symbolic, in place of the one that was hit least."""
        if self.options.at_limit != "promote" or table.promoted:
            return False
        table.promoted = True
        table.dynamics.mode = True
        last = min(table.entries, key=lambda e: e.hits)
        table.entries = tuple(e for e in table.entries if e is not last)
        if self.fast is not None:
            self.fast.dropped(last)
        record.emit("limit_reached", callable_id=self.id, continuation_id=_continuation(table),
                    message=f"the limit of {self.options.recompile_limit} compiled versions is reached: one for all "
                            f"sizes takes the place of entry {last.number}")
        return True

    def full(self, table: Table, reasons: list[str]) -> str:
        limit = self.options.recompile_limit
        why = f"the limit of {limit} compiled versions is reached"
        if reasons:
            why += f"; newest: {reasons[0]}"
        if self.options.at_limit == "raise":
            raise LimitError("recompile-limit", f"{self.target.name}: {why}",
                             "raise options={'recompile_limit': ...}, or keep what varies constant")
        if not table.limit_reported:
            table.limit_reported = True
            record.emit("limit_reached", callable_id=self.id, continuation_id=_continuation(table), message=why)
        return why

    def build(self, table: Table, slots: Sequence[Any], start: float) -> Entry | str:
        number = next(self.entries)
        try:
            segment = self.capture(table, slots)
            if self.options.fullgraph and not isinstance(segment.exit, Return):
                if segment.exit.code == WOULD_RAISE:
                    return MayRaise(f"eager raises here: {segment.exit.message}", segment.exit)
                raise broken(segment.exit)
            scope = table.scope(slots)
            promised(table, segment, scope)
            table.dynamics.keep(segment.graph)
            for g in segment.guards:
                if g.kind == "overlap":
                    sources = tuple(segment.graph.inputs[i].source for i in g.expected)
                    if self.overlap(sources, scope):
                        table.overlapping = (*table.overlapping, sources)
                        return OVERLAP
            entry = self.entry(table, slots, segment, number)
        except frontend.Refused as e:
            return self.refused(table, e)
        except PellucidError:
            raise
        except Exception as e:
            return self.fault(table, number, e)
        entry.compile_seconds = time.perf_counter() - start
        if self.options.strict:
            self.verify(table, entry, slots)
        table.publish(entry)
        record.emit("entry_published", callable_id=self.id, entry_id=number, continuation_id=_continuation(table),
                    message=f"{self.target.name}: {len(segment.graph.nodes)} nodes, {len(entry.guards)} guards, "
                            f"{entry.code.backend}", seconds=entry.compile_seconds, instructions=segment.instructions)
        if record.wanted("guard"):
            for g in entry.guards:
                record.emit("guard", callable_id=self.id, entry_id=number, continuation_id=_continuation(table),
                            cause=g.cause, message=condition(g, segment.graph))
        if not isinstance(segment.exit, Return):
            exit = segment.exit
            record.emit("graph_break", callable_id=self.id, entry_id=number, continuation_id=_continuation(table),
                        cause=Cause(exit.message, exit.stack), message=exit.message, code=exit.code, remedy=exit.remedy)
        for hook in tuple(self.on_publish):
            hook(self, table, entry)
        return entry

    def overlap(self, sources: tuple[Source, ...], scope: Scope) -> bool:
        """Whether the tensors that these sources give in a call share memory; False where they give no tensors."""
        try:
            tensors = [load(s, scope) for s in sources]
        except (LookupError, AttributeError, TypeError):
            return False
        return all(isinstance(t, torch.Tensor) for t in tensors) and not disjoint(tensors)

    def capture(self, table: Table, slots: Sequence[Any]) -> Segment:
        start = time.perf_counter()
        segment = self.captured(table, slots)
        text = (f"{self.target.name}: {segment.instructions} instructions, {len(segment.graph.calls)} torch calls, "
                f"{len(segment.guards)} guards")
        seconds = time.perf_counter() - start
        details: dict[str, Any] = {"text": to_text(segment.graph)} if record.wanted("capture") else {}
        record.emit("capture", callable_id=self.id, continuation_id=_continuation(table), message=text, seconds=seconds,
                    **details)
        return segment

    def captured(self, table: Table, slots: Sequence[Any]) -> Segment:
        """The segment of a call. Where a float that changes would break the graph, and has had few values yet, it is a
        constant once more."""
        def once(without: frozenset[Any]) -> Segment:
            policy = table.dynamics.policy(table.scope(slots), without)
            if table.resume is None:
                return frontend.capture_call(self.target, slots, policy, self.options.budget)
            return frontend.capture_continuation(table.resume, slots, policy, self.options.budget)
        doubtful = table.dynamics.doubtful()
        segment = once(frozenset())
        if doubtful and not isinstance(segment.exit, Return):
            fixed = once(doubtful)
            if isinstance(fixed.exit, Return) or fixed.instructions > segment.instructions:
                return fixed
        return segment

    def entry(self, table: Table, slots: Sequence[Any], segment: Segment, number: int) -> Entry:
        words = table.words if table.words is not None else _words()
        inputs = [load(i.source, scope) for scope in (table.scope(slots),) for i in segment.graph.inputs]
        runner = self.runner(segment, inputs, number)
        recheck = not isinstance(segment.exit, Return) and may_change_state(segment)
        label = f"{self.target.name} #{number}" + (f" after break {table.number}" if table.resume else "")
        made = segment_function(segment, table.params, runner.run,
                                lambda point: self.continuation(point, None if recheck else words, table, segment),
                                f"segment {label}", recheck)
        guards = conditions(segment.guards, segment.graph)
        checked = guards
        if table.words is not None:
            checked = tuple(g for g in guards if g.kind != "global")
        elif not any(g.kind == "global" for g in guards):
            state = Guard("global", None, globalkey.named(words), Cause("a native operation ran before"))
            guards = checked = (state, *guards)
        code = Code(segment, runner.plan, runner.unit, runner.backend)
        holder: list[Entry] = []
        check = lazy_check(checked, segment.graph, table.params, label, table.scope, holder)
        entry = Entry(number, code, Binding(getattr(self.target.callee, "__self__", None)), guards, table.params, check,
                      made.run, made.final, made.source)
        holder.append(entry)
        if runner.plan is not None:
            entry.plans["forward"] = runner.plan
        return entry

    def runner(self, segment: Segment, inputs: Sequence[Any], number: int) -> Runner:
        """The compiled graph; where compiling it fails, torch's own operators, counted as a fault of ours."""
        try:
            return make_runner(segment.graph, self.options, segment.grad, inputs, self.id, number)
        except PellucidError:
            raise
        except Exception as e:
            if self.options.backend != "llvm":
                raise
            self.report(number, e)
            return replay_runner(segment.graph)

    def report(self, number: int, e: Exception) -> None:
        """A fault inside pellucid: an error under strict, else one counted event with its traceback."""
        import traceback

        if self.options.strict:
            raise InternalError("internal-error", f"{type(e).__name__}: {e}",
                                "report this with the traceback above; without options={'strict': True} the call "
                                "would have gone on eagerly") from e
        record.emit("internal_error", callable_id=self.id, entry_id=number, message=f"{type(e).__name__}: {e}",
                    traceback=traceback.format_exc())

    def fault(self, table: Table, number: int, e: Exception) -> str:
        self.report(number, e)
        table.failures += 1
        why = f"compiling failed ({type(e).__name__}: {e})"
        if table.failures >= FAILURES:
            table.blocked = why
        return why

    def background_fault(self, table: Table, e: Exception) -> None:
        """A compile in the background failed otherwise than by a refusal: counted, and after FAILURES not tried again
        (an object that the program changed while it was read may be the reason, so that once is no verdict)."""
        record.emit("internal_error", callable_id=self.id, message=f"in the background: {type(e).__name__}: {e}")
        table.failures += 1
        if table.failures >= FAILURES:
            table.blocked = f"compiling failed ({type(e).__name__}: {e})"

    def refused(self, table: Table, e: frontend.Refused) -> str:
        """Capture declined. Where that was a break that cannot be carried out, the same would happen again."""
        if e.stop is not None:
            if self.options.fullgraph and e.stop.code != WOULD_RAISE:
                raise GraphBreakError(e.stop.code, f"fullgraph=True, but the graph breaks here: {e.stop.message}",
                                      e.stop.remedy)
            table.failures += 1
            if table.failures >= FAILURES:
                table.blocked = str(e)
        return Raises(e) if isinstance(e, frontend.RefusedRaise) else str(e)

    def changed_since(self, table: Table, slots: Sequence[Any]) -> bool:
        """Whether another thread changed what was read: then the guards of a new capture hold sooner or later."""
        return any(_holds(self.captured(table, slots), table.scope(slots)) for _ in range(5))

    def verify(self, table: Table, entry: Entry, slots: Sequence[Any]) -> None:
        """An entry must be valid for the call that it was made from."""
        wrong = [o for o in outcomes(entry, table.scope(slots)) if not o.ok]
        generated = make_check(entry.guards, entry.segment.graph, entry.params)
        fits = generated(*slots)
        forget(generated)
        if (wrong or not fits) and not self.changed_since(table, slots):
            text = "; ".join(failure(o, entry.segment.graph) for o in wrong) or "generated and slow check disagree"
            raise InternalError("internal-error", f"a new entry's guards do not hold for its own call: {text}",
                                "report this")


def _holds(segment: Segment, scope: Scope) -> bool:
    return holds_all(conditions(segment.guards, segment.graph), segment.graph, scope)


class Raises(str):
    """The reason of an eager call that capture expects to end in an exception."""


class MayRaise(str):
    """The reason of an eager call under fullgraph that torch is expected to refuse, as it should be the one to say."""

    exit: Break | Branch

    def __new__(cls, text: str, exit: Break | Branch) -> "MayRaise":
        made = super().__new__(cls, text)
        made.exit = exit
        return made


KEPT_FALLBACKS = 64
"""Eager calls for one reason that are events of their own; later ones are only counted."""
FORCED = "set_stance('force_eager')"
WOULD_RAISE = "PB115"
OVERLAP = "a tensor that is written shares memory with another input"


def broken(exit: Break | Branch) -> GraphBreakError:
    return GraphBreakError(exit.code, f"fullgraph=True, but the graph breaks here: {exit.message}", exit.remedy,
                           exit.stack)


def promised(table: Table, segment: Segment, scope: Scope) -> None:
    """An error where the program fixes a size that the user promised to vary."""
    demands = table.dynamics.demands(segment.graph, scope)
    if not demands:
        return
    for where, (value, guard) in fixed_symbols(segment.graph).items():
        if where in demands:
            source, dim = where
            what = f"size {dim} of {source_name(source)}" if dim is not None else source_name(source)
            because = guard.cause if isinstance(guard.cause, Cause) else Cause("an equation of sizes")
            equation = condition(Guard("size", None, guard), segment.graph)
            raise ConstraintError("size-fixed", f"{what} is marked dynamic, but {because.operation} fixes it to "
                                  f"{value}: {equation}", "write the operation so that it holds for every size, or use "
                                  "maybe_mark_dynamic or 'maybe'", because.stack)


def first_failure(cells: list[Outcome], entry: Entry) -> str:
    """Why an entry did not fit, in words."""
    for o in cells:
        if not o.ok:
            return failure(o, entry.segment.graph)
    return "all guards hold"


def _continuation(table: Table) -> int | None:
    return None if table.resume is None else table.number


_HARMLESS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)


def may_change_state(segment: Segment) -> bool:
    """Whether global torch state may differ after the exit's native operation (or the segment's effects)."""
    if any(e.kind == "python" for e in segment.effects):
        return True
    exit = segment.exit
    if not isinstance(exit, Break):
        return False
    function = exit.function
    if isinstance(function, Build) and function.kind == "builtin":
        return False
    if isinstance(function, FromConst) and type(function.value) in _HARMLESS:
        where = getattr(function.value, "__module__", None) or "builtins"
        return where.startswith("torch") and not hasattr(function.value, "__objclass__")
    return True

"""A segment as straight-line Python: load the graph's inputs, run it, do the effects in order, build the exit's value.

The generated function takes the values of the call's parameters (or of the continuation's slots) by position. A segment
that returns gives the value itself; a segment that breaks does its one native operation in frames that look like the
user's, and gives (next table, slots). The text is in linecache, so that it can be read, stepped through and explained.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..capture.recipes import COMMIT, MAKERS, RecipeText, text
from ..capture.types import Branch, Break, Build, FrameState, FromNative, FromSource, Recipe, Return, Segment
from ..events.types import UserStack
from ..guards.generate import compile_text
from ..guards.sources import HELPERS, TextScope
from ..guards.sources import text as source_text
from .continuation import Resume, resume_after, resume_branch, resume_exception
from .stubs import stubs

TableOf = Callable[[Resume], Any]
"""The continuation table for a resume point."""


@dataclass(frozen=True, slots=True)
class SegmentFunction:
    run: Callable[..., Any]
    source: str
    final: bool
    """It returns the call's value, rather than (table, slots)."""


class _Text:
    def __init__(self, segment: Segment, params: Sequence[str], runner: Callable[..., Any] | None):
        self.segment, self.runner = segment, runner
        names = {p: f"p{i}" for i, p in enumerate(params)}
        self.scope = TextScope(arg=names.__getitem__, slot=lambda i: f"p{i}", native="native", prefix="k")
        self.recipes = RecipeText(self.scope)
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {**HELPERS, **MAKERS}
        self.params = params
        self.early = 0

    def add(self, line: str) -> None:
        self.lines.append(line)

    def bind(self, name: str, obj: Any) -> str:
        self.globals[name] = obj
        return name

    def recipe(self, r: Recipe) -> str:
        return text(r, self.recipes)

    def graph(self) -> None:
        """Read the symbols, run the graph, name its outputs."""
        g = self.segment.graph
        locals_: dict[int, str] = {}
        for d in g.symbols:
            v = locals_.get(d.input)
            if v is None:
                v = locals_[d.input] = f"i{d.input}"
                self.add(f"{v} = {source_text(g.inputs[d.input].source, self.scope)}")
                self.scope.memo[g.inputs[d.input].source] = v
            self.add(f"{d.sym.name} = {v}" + d.access)
        if self.runner is None:
            return
        self.bind("graph", self.runner)
        arguments = ", ".join(source_text(i.source, self.scope) for i in g.inputs)
        outs = ", ".join(f"o{i}" for i in range(len(g.outputs)))
        self.add(f"{outs}{',' if len(g.outputs) == 1 else ''}{' = ' if outs else ''}graph({arguments})")

    def shared(self) -> None:
        for i, r in enumerate(self.segment.shared):
            self.add(f"h{i} = {self.recipe(r)}")

    def before_effects(self, recipes: Sequence[Recipe]) -> dict[int, str]:
        """Local variables for recipes that read sources: these mean the state before the effects."""
        ready: dict[int, str] = {}
        if not self.segment.effects:
            return ready
        for r in recipes:
            if id(r) not in ready and reads(r) and not waits(r):
                ready[id(r)] = f"b{self.early}"
                self.add(f"b{self.early} = {self.recipe(r)}")
                self.early += 1
        return ready

    def effects(self) -> None:
        """Build every target and value, then write in order."""
        writes = []
        for i, e in enumerate(self.segment.effects):
            target = f"t{i}"
            self.add(f"{target} = {self.recipe(e.target)}")
            value = "None"
            if e.value is not None:
                value = f"w{i}"
                self.add(f"{value} = {self.recipe(e.value)}")
            writes.append((e, target, value))
        for e, target, value in writes:
            do = self.bind(f"commit_{e.kind}", COMMIT[e.kind])
            self.add(f"{do}({target}, {self.scope.constant(e.key)}, {value})")

    def slots(self, recipes: Sequence[Recipe], ready: dict[int, str]) -> str:
        return f"({''.join(self._ready(r, ready) + ', ' for r in recipes)})"

    def _ready(self, r: Recipe, ready: dict[int, str]) -> str:
        return ready.get(id(r)) or self.recipe(r)

    # ---------------------------------------------------------------- exits
    def native_call(self, stack: UserStack, places: Sequence[int], frames: Sequence[FrameState],
                    arguments: Sequence[str], keywords: bool) -> str:
        """Text of the native operation (arguments[0]) called through stubs for the user's frames."""
        made = stubs(stack, [frames[p].globals_of for p in places], keywords)
        if not made:
            return f"{arguments[0]}({', '.join(arguments[1:])})"
        heads = [self.bind(f"at_{re.sub(r'[^0-9a-zA-Z]+', '_', f.function)}_{f.line}_{i}", s)
                 for i, (f, s) in enumerate(zip(stack, made))]
        return f"{heads[0]}({', '.join([*heads[1:], *arguments])})"

    def exit_return(self, exit: Return) -> None:
        ready = self.before_effects([exit.value])
        self.effects()
        self.add(f"return {self._ready(exit.value, ready)}")

    def exit_break(self, exit: Break, table_of: TableOf, recheck: bool) -> None:
        after, failed = resume_after(exit, recheck), resume_exception(exit, recheck)
        operands = [exit.function, *exit.args, *(r for _, r in exit.kwargs)]
        handled = next((f.handled for f in reversed(exit.frames) if f.handled is not None), None)
        ready = self.before_effects([*operands, *after.slots, *(failed.slots if failed else ()),
                                     *([handled] if handled is not None else ())])
        self.effects()
        arguments = [self._ready(exit.function, ready), *(self._ready(r, ready) for r in exit.args),
                     *(f"{k}={self._ready(r, ready)}" for k, r in exit.kwargs)]
        places = places_of(exit.stack, exit.frames)
        call = self.native_call(exit.stack, places, exit.frames, arguments, bool(exit.kwargs))
        self.bind("next_table", table_of(after))
        if failed is None and handled is None:
            self.add(f"native = {call}")
        else:
            self.add("try:")
            self.add(f"    native = {call}")
            self.add("except BaseException as error:")
            if handled is not None:
                self.bind("in_context", _in_context)
                self.add(f"    in_context(error, {self._ready(handled, ready)})")
            if failed is None:
                self.add("    raise")
            else:
                self.bind("failed_table", table_of(failed))
                self.add("    native = trim(error)")
                self.bind("trim", _trim(sum(p < failed.handler_frame for p in places)))
                self.add(f"    return failed_table, {self.slots(failed.slots, ready)}")
        self.add(f"return next_table, {self.slots(after.slots, ready)}")

    def exit_branch(self, exit: Branch, table_of: TableOf, recheck: bool) -> None:
        yes, no = resume_branch(exit, True, recheck), resume_branch(exit, False, recheck)
        ready = self.before_effects([exit.condition, *yes.slots, *no.slots])
        self.effects()
        self.bind("yes_table", table_of(yes))
        self.bind("no_table", table_of(no))
        places = places_of(exit.stack, exit.if_true)
        arguments = ["bool", self._ready(exit.condition, ready)]
        self.add(f"if {self.native_call(exit.stack, places, exit.if_true, arguments, False)}:")
        self.add(f"    return yes_table, {self.slots(yes.slots, ready)}")
        self.add(f"return no_table, {self.slots(no.slots, ready)}")


def reads(r: Recipe | None) -> bool:
    """Whether the recipe loads something that an effect could change."""
    if type(r) is FromSource:
        return r.source.base is not None or r.source.kind == "global"
    return type(r) is Build and any(map(reads, r.parts))


def waits(r: Recipe | None) -> bool:
    """Whether the recipe needs the native operation's result."""
    return type(r) is FromNative or (type(r) is Build and any(map(waits, r.parts)))


def places_of(stack: UserStack, frames: Sequence[FrameState]) -> list[int]:
    """For each user position the number of its frame; frames of pellucid's own Python code have no user position."""
    places: list[int] = []
    at = 0
    for user in stack:
        while at < len(frames) - 1 and (frames[at].code.file, frames[at].code.qualname) != (user.file, user.function):
            at += 1
        places.append(at)
        at = min(at + 1, len(frames) - 1)
    return places


def _in_context(error: BaseException, handled: BaseException | None) -> None:
    """An exception of an operation that stands in a handler has what is handled there as the end of its context."""
    seen: set[int] = set()
    while error is not handled and error.__context__ is not None and id(error) not in seen:
        seen.add(id(error))
        error = error.__context__
    if error is not handled and error.__context__ is None:
        error.__context__ = handled


def _trim(outer: int) -> Callable[[BaseException], BaseException]:
    """Drop from a caught exception's traceback the generated frame, and the stubs of the `outer` frames above the
    handler's."""
    def trim(error: BaseException) -> BaseException:
        tb = error.__traceback__
        for _ in range(1 + outer):
            if tb is not None:
                tb = tb.tb_next
        return error.with_traceback(tb)
    return trim


def segment_function(segment: Segment, params: Sequence[str], runner: Callable[..., Any] | None, table_of: TableOf,
                     label: str = "segment", recheck: bool = False) -> SegmentFunction:
    """The generated function of a segment. `params` name the positions of its arguments; `recheck` says that the
    global state must be compared again after the exit's native operation."""
    t = _Text(segment, params, runner)
    t.graph()
    t.shared()
    exit = segment.exit
    if isinstance(exit, Return):
        t.exit_return(exit)
    elif isinstance(exit, Break):
        t.exit_break(exit, table_of, recheck)
    else:
        t.exit_branch(exit, table_of, recheck)
    header = "".join(f"    # p{i}: {p}\n" for i, p in enumerate(params))
    arguments = ", ".join(f"p{i}" for i in range(len(params)))
    source = f"def run({arguments}):\n{header}{''.join(f'    {line}' + chr(10) for line in t.lines)}"
    run = compile_text(source, {**t.globals, **t.scope.held}, "run", label)
    return SegmentFunction(run, source, isinstance(exit, Return))


"""explain(): reads the tables of a compiled callable, and the event record, into an Explanation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from ..capture.types import Branch, Break
from ..graph.types import Graph, TorchCall
from ..guards.explain import condition, failure
from ..guards.sources import name as source_name
from ..runtime.compiled import Compiled
from ..runtime.table import MissRow, Table
from ..runtime.types import Entry
from ..schedule.types import ExternStep, KernelStep, Plan
from .fixed import fixed_sizes
from .report import BreakReport, EntryReport, Explanation, GuardReport, MissReport, StepReport, TableReport


def explain(fn: Callable[..., Any], *args: Any, dynamic: bool | Mapping[str, Any] | None = None,
            **kwargs: Any) -> Explanation:
    """What pellucid did with `fn`: something that compile() returned, or a plain callable, which is then compiled.

    With example arguments the function is called once with them first. A plain callable needs them. With `dynamic` (as
    compile's) it is compiled anew, apart from what there is, and sizes that cannot vary are shown with the operation,
    line and equation that fixed them.
    """
    from ..api import _compile as function_or_module
    from ..api import compile, compiled_of
    from ..errors.types import UnsupportedInput

    compiled = fn if isinstance(getattr(type(fn), "__pellucid__", None), Compiled) else None
    if compiled is None:
        if not args and not kwargs:
            brief = f"a module {type(fn).__qualname__}" if isinstance(fn, nn.Module) else repr(fn)
            raise UnsupportedInput("bad-argument", f"explain(): fn={brief} was not made by compile(), and there are no "
                                   "example arguments to compile it with", "pass what compile() returned, or example "
                                   "arguments after the function")
        compiled = compile(fn, dynamic=dynamic)
    elif dynamic is not None:
        if not args and not kwargs:
            raise UnsupportedInput("bad-argument", f"explain(): dynamic={dynamic!r} without example arguments",
                                   "pass the arguments of a call after the function")
        made = compiled_of(compiled)
        compiled = function_or_module(made.options.with_dynamic(dynamic), fn)
    if args or kwargs:
        compiled(*args, **kwargs)
    return explanation(compiled_of(compiled))


def explanation(compiled: Compiled) -> Explanation:
    """The same for the tables themselves."""
    return Explanation(compiled.target.name, tuple(_table(t) for t in compiled.all_tables()),
                       tuple(compiled.reasons.items()), tuple(compiled.notes.items()))


def _table(t: Table) -> TableReport:
    where = None if t.resume is None else _resume_point(t)
    return TableReport(t.number, where, t.hits, t.misses, t.eager, t.blocked, tuple(_entry(e) for e in t.entries),
                       tuple(_missed(r, t) for r in t.rows))


def _resume_point(t: Table) -> str:
    assert t.resume is not None
    frame = t.resume.frames[-1]
    code = frame.code
    return f"{code.qualname} at {code.original.co_filename}:{code.line(max(frame.index - 1, 0))}"


def _missed(r: MissRow, t: Table) -> MissReport:
    failed = []
    by_number = {e.number: e for e in t.entries}
    for number, outcomes in r.cells:
        entry = by_number.get(number)
        first = next((o for o in outcomes if not o.ok), None)
        failed.append((number, "all guards hold" if first is None
                       else failure(first, entry.segment.graph if entry else None)))
    return MissReport(tuple(failed), r.outcome, r.entry)


def _entry(e: Entry) -> EntryReport:
    s, plan = e.segment, e.code.plan
    graph = s.graph
    symbols = tuple(f"{d.sym} = {source_name(graph.inputs[d.input].source)}"
                    + d.access for d in graph.symbols)
    guards = tuple(GuardReport(condition(g, graph), g.cause.operation if g.cause else "",
                               str(g.cause.where) if g.cause and g.cause.where else "") for g in e.guards)
    note = "grad mode with inputs that require grad: the graph runs through torch's own operators" if s.grad else ""
    return EntryReport(e.number, e.hits, e.compile_seconds, e.code.backend, len(graph.calls), len(graph.nodes), symbols,
                       guards, steps(plan, graph) if plan else (), str(plan.arena_bytes) if plan else "0",
                       tuple(f"{x.kind} {x.key}" for x in s.effects), _break(e), note, fixed_sizes(graph))


def _break(e: Entry) -> BreakReport | None:
    x = e.segment.exit
    if not isinstance(x, (Break, Branch)):
        return None
    path = tuple(str(f) for f in x.stack)
    return BreakReport(x.code, x.message, path[-1] if path else "", path, x.remedy, e.hits + 1)


def call_name(call: TorchCall) -> str:
    """A torch-level call in words: `linear`, `Tensor.view`."""
    if call.kind == "method" or isinstance(call.target, str):
        return f"Tensor.{call.target}"
    return getattr(call.target, "__name__", str(call.target))


def steps(plan: Plan, graph: Graph) -> tuple[StepReport, ...]:
    """The plan's steps in order, each with the torch calls it came from."""
    out = []
    for step in plan.steps:
        if isinstance(step, KernelStep):
            calls = [graph.calls[i] for i in step.kernel.origins if i < len(graph.calls)]
            where = str(calls[-1].stack[-1]) if calls and calls[-1].stack else ""
            out.append(StepReport("kernel", step.kernel.name, tuple(map(call_name, calls)), where))
        elif isinstance(step, ExternStep):
            shape = " ".join("[" + ", ".join(map(str, v.shape)) + "]" for v in step.extern.ins)
            out.append(StepReport("extern", step.extern.kind, (shape,), ""))
    return tuple(out)

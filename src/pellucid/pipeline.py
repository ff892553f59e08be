"""From a captured graph to something that runs it: passes, lowering, schedule, code, runner. Stage by stage, timed."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .codegen.types import Unit
from .errors.types import OptionError
from .events.record import record
from .graph.types import Graph
from .ir.types import Kernel, Program
from .options import RUNNERS
from .schedule.types import KernelStep, Plan


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """What the pipeline makes of a graph. `run(*inputs)` gives the tuple of outputs; seconds are by stage."""

    graph: Graph
    program: Program
    plan: Plan
    unit: Unit | None
    run: Callable[..., Any]
    runner: str
    native: Any
    """The plan's native table (runtime.native.NativePlan), for entries of the native call path; None otherwise."""
    seconds: dict[str, float]


def kernels_of(plan: Plan) -> tuple[Kernel, ...]:
    """The distinct kernels of a plan, in order of their first step."""
    seen: dict[str, Kernel] = {}
    for step in plan.steps:
        if isinstance(step, KernelStep):
            seen.setdefault(step.kernel.name, step.kernel)
    return tuple(seen.values())


def compile_graph(graph: Graph, *, runner: str = "auto", callable_id: int | None = None,
                  entry_id: int | None = None) -> CompiledGraph:
    """Compile `graph` for the CPU. runner: "native", "reference", or "auto" (native where its pieces are available)."""
    from .graph.passes import run_passes
    from .ir.lower import lower
    from .schedule import schedule

    seconds: dict[str, float] = {}

    def timed(stage: str, work: Callable[..., Any], *args: Any) -> Any:
        start = time.perf_counter()
        result = work(*args)
        seconds[stage] = time.perf_counter() - start
        return result

    graph = timed("passes", run_passes, graph)
    program = timed("lower", lower, graph)
    plan: Plan = timed("schedule", schedule, program, graph)
    describe(program, plan, callable_id, entry_id)
    chosen = choose_runner(runner)
    unit: Unit | None = None
    native: Any = None
    if chosen == "native":
        from .codegen.llvm import LlvmTarget
        from .codegen.llvm.jit import load

        unit = timed("codegen", LlvmTarget().compile, kernels_of(plan))
        loaded = timed("link", load, unit)
        native = timed("runner", functools.partial(_native().prepare, inputs=len(graph.inputs)), plan,
                       loaded.addresses)
        native.held += (loaded,)
        run = _native().function(native)
    else:
        from .runtime.reference import ReferenceRunner

        run = timed("runner", ReferenceRunner().make, plan, None)
    record.emit("plan", callable_id=callable_id, entry_id=entry_id,
                message=f"{len(plan.steps)} steps, {len(kernels_of(plan))} kernels, arena {plan.arena_bytes} bytes, "
                        f"runner {chosen}; " + ", ".join(f"{stage} {1e3 * s:.1f} ms" for stage, s in seconds.items()),
                seconds=seconds, runner=chosen)
    return CompiledGraph(graph, program, plan, unit, run, chosen, native, seconds)


def describe(program: Program, plan: Plan, callable_id: int | None, entry_id: int | None) -> None:
    """The stages in words, for those who subscribed to them."""
    if record.wanted("ir"):
        from .ir.text import to_text as program_text

        record.emit("ir", callable_id=callable_id, entry_id=entry_id, message=f"{len(program.loops)} loops",
                    text=program_text(program))
    if record.wanted("schedule"):
        from .schedule.text import to_text as plan_text

        record.emit("schedule", callable_id=callable_id, entry_id=entry_id, message=f"{len(plan.steps)} steps",
                    text=plan_text(plan))
    if record.wanted("kernel"):
        from .schedule.text import kernel_text

        for kernel in kernels_of(plan):
            record.emit("kernel", callable_id=callable_id, entry_id=entry_id, message=kernel.name,
                        text=kernel_text(kernel))


def choose_runner(wanted: str) -> str:
    """"native" or "reference". Asking for "native" where it is unavailable raises with the reason."""
    if wanted == "auto":
        wanted = os.environ.get("PELLUCID_RUNNER", "auto")
    if wanted == "reference":
        return "reference"
    if wanted not in RUNNERS:
        raise OptionError("bad-argument", f"runner={wanted!r} is not acceptable",
                          f"give {', '.join(map(repr, RUNNERS))}")
    reason = unavailable_reason()
    if reason is None:
        return "native"
    if wanted == "native":
        raise OptionError("bad-argument", f"runner='native' cannot be used here: {reason}",
                          "use runner='reference' or 'auto'")
    _notice_once(reason)
    return "reference"


@functools.cache
def _native() -> Any:
    from .runtime.native.runner import NativeRunner

    return NativeRunner()


@functools.cache
def unavailable_reason() -> str | None:
    """Why the native runner cannot be used in this process, or None."""
    from .torchdoor.symbols import Unavailable

    try:
        _native()
    except (Unavailable, ImportError) as e:
        return str(e)
    return None


_noticed: set[str] = set()


def _notice_once(reason: str) -> None:
    if reason not in _noticed:
        _noticed.add(reason)
        record.emit("notice", message=f"the native runner is unavailable ({reason}); using the Python reference runner")

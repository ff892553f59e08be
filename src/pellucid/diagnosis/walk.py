"""One call of a pellucid function, segment by segment, and its plan's steps one by one, each timed apart."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..capture.types import Branch
from ..capture.types import Break as BreakExit
from ..guards import globalkey
from ..guards.sources import load as load_source
from ..runtime.compiled import Compiled
from ..runtime.evaluate import Memory
from ..runtime.reference import ReferenceRunner, read_symbols
from ..runtime.reference_externs import run_extern
from ..runtime.table import Table
from ..runtime.types import Entry
from ..schedule.types import KernelStep
from .calls import Call, cloned
from .explain import call_name


@dataclass(frozen=True, slots=True)
class StepTime:
    """A kernel or library call of a plan: seconds for one run alone, bytes of its buffers, the torch calls it does."""

    segment: int
    kind: str
    """kernel or library"""
    name: str
    seconds: float
    bytes: int
    origins: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True)
class SegmentTime:
    """A graph and, where it ends at a break, the operation there. seconds: of the whole segment; steps_seconds: of its
    kernels and library calls alone; ends: what ends it, "" for the last."""

    number: int
    table: int
    entry: int
    seconds: float
    steps_seconds: float
    ends: str
    where: str


@dataclass(frozen=True, slots=True)
class Walk:
    segments: tuple[SegmentTime, ...]
    steps: tuple[StepTime, ...]
    note: str = ""


def walk(compiled: Compiled, call: Call, repeats: int = 7) -> Walk:
    """Follow a warm call through its tables. The call is made `repeats` times on copies of its inputs; segments get the
    median. A call that would compile or run in Python gives a note instead."""
    times: list[list[float]] = []
    path: list[tuple[Table, Entry, Sequence[Any]]] = []
    for _ in range(repeats):
        fresh = cloned(call)
        spent: list[float] = []
        path = []
        note = _run(compiled, fresh, spent, path)
        if note:
            return Walk((), (), note)
        times.append(spent)
    if len({len(t) for t in times}) > 1:
        shortest = min(map(len, times))
        times, path = [t[:shortest] for t in times], path[:shortest]
    segments, steps = [], []
    for i, (table, entry, slots) in enumerate(path):
        mine, note = _steps(i, table, entry, slots)
        steps += mine
        x = entry.segment.exit
        ends, where = (x.message, str(x.stack[-1])) if isinstance(x, (BreakExit, Branch)) and x.stack else ("", "")
        segments.append(SegmentTime(i, table.number, entry.number, statistics.median(t[i] for t in times),
                                    sum(s.seconds for s in mine), ends, where))
    return Walk(tuple(segments), tuple(steps))


def _run(compiled: Compiled, call: Call, spent: list[float], path: list[tuple[Table, Entry, Sequence[Any]]]) -> str:
    out: list[str] = []

    def through(*args: Any, **kwargs: Any) -> None:
        slots: Sequence[Any] = compiled.bind(*args, **kwargs)
        table = compiled.roots.get(globalkey.words())
        while True:
            entry = next((e for e in table.entries if e.check(*slots)), None) if table is not None else None
            if table is None or entry is None:
                out.append("the call is not served by compiled versions alone, so it was not followed")
                return
            path.append((table, entry, tuple(slots)))
            start = time.perf_counter()
            result = entry.run(*slots)
            spent.append(time.perf_counter() - start)
            if entry.final:
                return
            table, slots = result
    call.make(through)
    return out[0] if out else ""


def _steps(number: int, table: Table, entry: Entry, slots: Sequence[Any]) -> tuple[list[StepTime], str]:
    plan, unit, graph = entry.code.plan, entry.code.unit, entry.segment.graph
    if plan is None:
        return [], "the graph runs through torch's own operators"
    scope = table.scope(slots)
    inputs = [load_source(g.source, scope) for g in graph.inputs]
    symbols = read_symbols(plan.symbols, inputs)
    with torch.no_grad():
        memory, _ = ReferenceRunner().make(plan)._memory(inputs, symbols)  # type: ignore[attr-defined]
        addresses: dict[str, int] = {}
        linked = None
        if unit is not None and unit.entries:
            from ..codegen.llvm import jit
            linked = jit.load(unit)
            addresses = linked.addresses
        out = []
        for step in plan.steps:
            if isinstance(step, KernelStep):
                kernel = step.kernel
                address = addresses.get(kernel.name)
                if address is None:
                    continue
                seconds = _timed(_native(address, step, memory))
                calls = [graph.calls[i] for i in kernel.origins if i < len(graph.calls)]
                where = str(calls[-1].stack[-1]) if calls and calls[-1].stack else ""
                used = {*kernel.reads, *kernel.writes}
                size = sum(_bytes(memory, b.id) for b in kernel.buffers if b.id in used)
                out.append(StepTime(number, "kernel", kernel.name, seconds, size, tuple(map(call_name, calls)), where))
            else:
                extern = step.extern
                seconds = _timed(lambda e=extern: run_extern(e, memory))  # type: ignore[misc]
                size = sum(_bytes(memory, v.buffer) for v in (*extern.ins, *extern.outs))
                out.append(StepTime(number, "library", extern.kind, seconds, size, (), ""))
        del linked
    return out, ""


def _bytes(memory: Memory, buffer: Any) -> int:
    flat = memory.flats.get(buffer)
    return flat.numel() * flat.element_size() if flat is not None else 0


def _native(address: int, step: KernelStep, memory: Memory) -> Callable[[], None]:
    kernel = step.kernel
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)(
        address)
    flats = [memory.flats[b.id] for b in kernel.buffers]
    pointers = (ctypes.c_void_p * max(1, len(flats)))(*(f.data_ptr() for f in flats))
    sizes = (ctypes.c_int64 * max(1, len(kernel.symbols)))(*(memory.size(s) for s in kernel.symbols))
    status, extent = ctypes.c_int32(0), memory.size(step.extent)

    def run() -> None:
        entry(ctypes.addressof(pointers), ctypes.addressof(sizes), 0, extent, ctypes.addressof(status))
    return run


def _timed(run: Callable[[], Any], least: int = 5, total: float = 2e-3) -> float:
    run()
    times: list[float] = []
    end = time.perf_counter() + total
    while len(times) < least or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)

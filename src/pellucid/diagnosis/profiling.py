"""profile(): where a call's time goes: operators in eager, kernels and segments compiled, and what is outside both."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..api import compiled_of
from ..torchdoor.census import census
from .bench_report import seconds as in_words
from .calls import Call, cloned, parse
from .machine import Machine, machine
from .observe import compiled, copied, name_of, system_of
from .walk import SegmentTime, StepTime, walk


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """An operator as eager runs it, over all its calls in one call of the function. kind: see torchdoor.census."""

    name: str
    kind: str
    calls: int
    seconds: float
    bytes: int
    flops: int
    where: tuple[str, int] | None = None
    """File and line that first asks for it (of transfers)."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Of one call. seconds: the compiled call, eager_seconds: the plain one (medians, nothing watching).

    operators have the profiler's own cost in their times, so read them as shares. outside: the share of the compiled
    call that is in no kernel or library call, None where it cannot be told.
    """

    name: str
    system: str
    call: str
    seconds: float
    eager_seconds: float
    operators: tuple[OperatorTime, ...]
    segments: tuple[SegmentTime, ...]
    steps: tuple[StepTime, ...]
    outside: float | None
    machine: Machine
    notes: tuple[str, ...]

    def share(self, kind: str) -> float:
        """Share of eager's operator time that operators of the kind take, 0 to 1."""
        total = sum(o.seconds for o in self.operators)
        return sum(o.seconds for o in self.operators if o.kind == kind) / total if total else 0.0

    @property
    def bytes(self) -> int:
        return sum(o.bytes for o in self.operators)

    @property
    def flops(self) -> int:
        return sum(o.flops for o in self.operators)

    @property
    def eager_outside(self) -> float:
        """Share of the plain call outside torch's operators: Python, and what calls nothing of torch."""
        return max(0.0, 1.0 - sum(o.seconds for o in self.operators) / self.eager_seconds) if self.operators else 1.0

    def json(self) -> dict[str, Any]:
        return {"schema": "pellucid.profile/1", **asdict(self)}

    def text(self) -> str:
        lines = [f"{self.name}({self.call}) by {self.system}: {in_words(self.seconds)} a call, eager "
                 f"{in_words(self.eager_seconds)}"]
        if self.outside is not None:
            lines.append(f"  {100 * self.outside:.0f} % of the compiled call is outside kernels and library calls")
        total = sum(o.seconds for o in self.operators) or 1.0
        lines.append("  operators in eager (share of operator time, with the profiler's own cost):")
        for o in sorted(self.operators, key=lambda o: -o.seconds)[:12]:
            lines.append(f"    {100 * o.seconds / total:5.1f} %  {o.calls:4d} x {o.name:28s} {o.kind:9s} "
                         f"{o.bytes / 1e6:9.3g} MB {o.flops / 1e6:9.3g} Mflop")
        for s in self.segments:
            end = f", then {s.ends} at {s.where}" if s.ends else ""
            lines.append(f"  segment {s.number} (table {s.table}, entry {s.entry}): {in_words(s.seconds)}, of which "
                         f"kernels and library calls {in_words(s.steps_seconds)}{end}")
        for t in sorted(self.steps, key=lambda t: -t.seconds)[:12]:
            speed = t.bytes / t.seconds if t.seconds else 0.0
            rate = f"{speed / 1e9:.3g} GB/s, {100 * speed / self.machine.bandwidth:.0f} % " \
                   "of a copy from memory" if t.seconds else ""
            lines.append(f"    {in_words(t.seconds):>9s}  {t.kind} {t.name}: {' + '.join(t.origins)} {rate}")
        lines.append(f"  this machine: copy {self.machine.bandwidth / 1e9:.3g} GB/s, product "
                     f"{self.machine.flops / 1e9:.3g} Gflop/s, {self.machine.threads} threads")
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])

    __str__ = text


def profile(fn: Any, calls: Any, *, eager: Any = None, repeats: int = 15) -> Profile:
    """Where the time of the first of `calls` goes, once warm.

    fn: what pellucid.compile or torch.compile returned, or a plain callable, which pellucid compiles. eager: the plain
    program that fn stands for, where fn compiles inside itself. Times in seconds, sizes in bytes.
    """
    mixture = parse(calls)
    call, plain = mixture[0], copied(fn) if eager is None else eager
    kind = system_of(fn) or ("as-is" if eager is not None else "pellucid")
    made = fn if eager is not None else compiled(fn, kind)
    for _ in range(3):
        for c in mixture:
            cloned(c).make(made)
    mine = cloned(call)
    ours, theirs = _median(lambda: mine.make(made), repeats), _median(lambda: mine.make(plain), repeats)
    notes: list[str] = []
    operators = _operators(plain, call)
    segments: tuple[SegmentTime, ...] = ()
    steps: tuple[StepTime, ...] = ()
    outside: float | None = None
    if kind == "pellucid":
        found = walk(compiled_of(made), call)
        segments, steps = found.segments, found.steps
        if found.note:
            notes.append(found.note)
        elif steps and sum(s.seconds for s in steps) <= ours:
            outside = 1.0 - sum(s.seconds for s in steps) / ours
        if any(s.kind == "library" for s in steps):
            notes.append("library calls are timed through torch, which costs tens of microseconds more than the "
                         "library function that the plan calls: for small ones the share outside cannot be told")
    elif kind == "torch.compile":
        notes.append("torch.compile's kernels are not told apart here: run it under torch.profiler with "
                     "TORCHINDUCTOR_UNIQUE_KERNEL_NAMES=1 for that")
    return Profile(name_of(fn), kind, call.signature(), ours, theirs, operators, segments, steps, outside, machine(),
                   tuple(notes))


def _median(run: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def _operators(plain: Any, call: Call, repeats: int = 5) -> tuple[OperatorTime, ...]:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    watched = cloned(call)
    counted = census(lambda: watched.make(plain))
    fresh = [cloned(call) for _ in range(repeats)]
    with torch_profile(activities=[ProfilerActivity.CPU], acc_events=True) as p:
        for again in fresh:
            again.make(plain)
    spent: dict[str, float] = {}
    for row in p.key_averages():
        if row.key.startswith("aten::"):
            name = row.key.removeprefix("aten::")
            spent[name] = spent.get(name, 0.0) + row.self_cpu_time_total * 1e-6 / repeats
    names = {*spent, *counted.counts}
    out = []
    for name in sorted(names):
        c = counted.counts.get(name)
        # a conversion's time is in the copy_ that it ends in
        kind = c.kind if c else "transfer" if name == "copy_" and "_to_copy" in counted.counts else "dispatch"
        out.append(OperatorTime(name, kind, c.calls if c else 0, spent.get(name, 0.0),
                                c.bytes if c else 0, c.flops if c else 0, c.where if c else None))
    return tuple(out)

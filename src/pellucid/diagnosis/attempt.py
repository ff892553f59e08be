"""attempt(): two versions with one thing changed, watched and timed over the same calls in one run, in one table."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from . import correctness, stats
from .bench import bench
from .bench_report import seconds
from .calls import cloned, parse
from .observation import Observation
from .observe import compiled, name_of, observe, original, system_of

TOLERATED = 1.25
"""A first call or compile time that grows by less than this factor is not called a regression: it was seen once."""


@dataclass(frozen=True, slots=True)
class Side:
    """One version. seconds: compile_seconds over all calls, first and slowest call, warm p50 (None: never warm)."""

    name: str
    breaks: int
    compiles: int
    eager_calls: int
    compile_seconds: float
    first_call: float
    total: float
    warm: float | None
    refused: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """regressions and improvements, in words; ratio: before's warm time over after's."""

    before: Side
    after: Side
    same: correctness.Correctness
    ratio: stats.Ratio | None
    improvements: tuple[str, ...]
    regressions: tuple[str, ...]

    @property
    def verdict(self) -> str:
        if not self.same.ok:
            return "regression: the results differ"
        if self.regressions:
            return "regression" + (" (with improvements)" if self.improvements else "") + ": " + "; ".join(
                self.regressions)
        return "improvement: " + "; ".join(self.improvements) if self.improvements else "no difference shown"

    def json(self) -> dict[str, Any]:
        return {"schema": "pellucid.attempt/1", **asdict(self), "verdict": self.verdict}

    def text(self) -> str:
        a, b = self.before, self.after
        rows = [("", "before", "after"), ("breaks", str(a.breaks), str(b.breaks)),
                ("compiles", str(a.compiles), str(b.compiles)),
                ("calls in plain Python", str(a.eager_calls), str(b.eager_calls)),
                ("compile time", seconds(a.compile_seconds), seconds(b.compile_seconds)),
                ("first call", seconds(a.first_call), seconds(b.first_call)),
                ("all calls", seconds(a.total), seconds(b.total)),
                ("warm p50", *(seconds(s.warm) if s.warm is not None else "not warm" for s in (a, b))),
                ("results", "", "the same" if self.same.ok else f"DIFFER: {self.same.problem}")]
        lines = [f"{n:22s} {x:>12s} {y:>12s}" for n, x, y in rows]
        if self.ratio is not None:
            r = self.ratio
            lines.append(f"after is {r.value:.2f} times as fast (95 % interval {r.low:.2f} to {r.high:.2f})")
        return "\n".join([*lines, self.verdict])

    __str__ = text


def attempt(before: Any, after: Any, calls: Any, *, system: str | None = None, calls_after: Any = None,
            seconds: float = 1.0, progress: Callable[[str], None] | None = None) -> Attempt:
    """Change one thing and look again: both versions are watched and timed over the same calls.

    before, after  compiled, or plain callables that `system` ("pellucid", "torch.compile", "as-is") compiles
    calls_after    where what was changed is how the function is called: the same calls in their new form
    """
    one = parse(calls)
    two = parse(calls_after) if calls_after is not None else one
    kind = system or system_of(before) or "pellucid"
    tell = progress or (lambda text: None)
    a, b = (x if kind == "as-is" else compiled(x, kind) for x in (before, after))
    tell("watching both versions")
    seen = [observe(fn, tuple(map(cloned, c)), kind) for fn, c in ((a, one), (b, two))]
    same = correctness.Correctness(True, 0.0, 0.0, None, None, 1)
    ratio: stats.Ratio | None = None
    warm: list[tuple[float | None, str]]
    if calls_after is None:
        pair = bench(b, one, against=[("before", a)], seconds=seconds, fresh=False, progress=tell,
                     eager=original(before) if kind != "as-is" else before, exact=False)
        same = _same(before, after, one)
        first, second = pair.system("before"), pair.subject
        warm = [(s.warm.all.p50 if s.warm else None, s.refused) for s in (first, second)]
        ratio = first.against if first.warm is not None and second.warm is not None else None
    else:
        both = [bench(fn, c, seconds=seconds / 2, fresh=False, progress=tell, exact=False,
                      eager=original(x) if kind != "as-is" else x) for fn, c, x in ((a, one, before), (b, two, after))]
        warm = [(r.subject.warm.all.p50 if r.subject.warm else None, r.subject.refused) for r in both]
        same = both[1].subject.correctness or same
    sides = tuple(_side(o, w) for o, w in zip(seen, warm))
    better, worse = _compared(sides[0], sides[1], ratio)
    return Attempt(sides[0], sides[1], same, ratio, better, worse)


def _same(before: Any, after: Any, calls: tuple[Any, ...]) -> correctness.Correctness:
    x, y = (original(f) for f in (before, after))
    if isinstance(y, nn.Module):
        y = copy.deepcopy(y)
    return correctness.compare(y, x, calls, exact=False)


def _side(o: Observation, warm: tuple[float | None, str]) -> Side:
    return Side(o.name, len(o.breaks), len(o.compiles), sum(c.outcome == "eager" for c in o.calls),
                sum(c.seconds for c in o.compiles), o.calls[0].seconds, sum(c.seconds for c in o.calls), *warm)


def _compared(a: Side, b: Side, ratio: stats.Ratio | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    better: list[str] = []
    worse: list[str] = []
    for what, x, y in (("breaks", a.breaks, b.breaks), ("compiles", a.compiles, b.compiles),
                       ("calls in plain Python", a.eager_calls, b.eager_calls)):
        if x != y:
            (better if y < x else worse).append(f"{what} {x} -> {y}")
    for what, s, t in (("first call", a.first_call, b.first_call), ("all calls", a.total, b.total)):
        if t > TOLERATED * s and t - s > 5e-3:
            worse.append(f"{what} {seconds(s)} -> {seconds(t)}")
        elif s > TOLERATED * t and s - t > 5e-3:
            better.append(f"{what} {seconds(s)} -> {seconds(t)}")
    if a.warm is None and b.warm is not None:
        better.append("calls are warm now")
    elif a.warm is not None and b.warm is None:
        worse.append(f"calls are no longer warm: {b.refused}")
    if ratio is not None and ratio.verdict != "no difference shown":
        (better if ratio.low > 1 else worse).append(f"warm calls {ratio.value:.2f} times as fast")
    return tuple(better), tuple(worse)


__all__ = ["Attempt", "Side", "attempt", "name_of"]

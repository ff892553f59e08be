"""What a benchmark found: frozen records with `text()` for people and `json()` for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .cold import Cold
from .correctness import Correctness
from .stats import Distribution, Ratio


@dataclass(frozen=True, slots=True)
class Warm:
    """Times of warm calls. `calls`: for each call of the mixture its own distribution, in order."""

    all: Distribution
    calls: tuple[Distribution, ...]
    per_second: float
    """Calls a second over the mixture, end to end."""
    meets: float | None
    """Share of calls within the objective."""


@dataclass(frozen=True, slots=True)
class SystemReport:
    """One system. refused: why its times are not called warm (then warm is None). speedup: eager's time over its."""

    name: str
    correctness: Correctness | None
    cold: tuple[Cold, ...]
    warm: Warm | None
    refused: str
    speedup: Ratio | None
    against: Ratio | None
    """Its time over the time of the system under test."""
    payback: int | None
    """Calls after which the first call's cost is won back against eager; None: never, or not shown."""
    peak_bytes: int | None
    warmup_calls: int


@dataclass(frozen=True, slots=True)
class BenchReport:
    """The first system is the one under test; "eager" is always among them."""

    name: str
    calls: tuple[str, ...]
    systems: tuple[SystemReport, ...]
    rounds: int
    threads: int
    device: str
    slo: float | None
    notes: tuple[str, ...]

    def system(self, name: str) -> SystemReport:
        """The report of a system by its name."""
        return next(s for s in self.systems if s.name == name)

    @property
    def subject(self) -> SystemReport:
        return self.systems[0]

    @property
    def ok(self) -> bool:
        """The system under test is correct and its times are warm times."""
        return self.subject.warm is not None and self.subject.correctness is not None and self.subject.correctness.ok

    def json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers; times in seconds, sizes in bytes."""
        return {"schema": "pellucid.bench/1", **asdict(self)}

    def text(self) -> str:
        head = f"{self.name}: {len(self.calls)} calls a round, {self.rounds} rounds interleaved, " \
               f"{self.threads} threads, {self.device}"
        lines = [head]
        for s in self.systems:
            lines += [f"  {line}" for line in _system(s, self.slo)]
        return "\n".join([*lines, *(f"note: {n}" for n in self.notes)])

    __str__ = text


def seconds(t: float) -> str:
    """`1.23 ms`, `4.5 us`, `2.1 s`."""
    return f"{t:.2f} s" if t >= 1 else f"{1e3 * t:.3g} ms" if t >= 1e-3 else f"{1e6 * t:.3g} us"


def _system(s: SystemReport, slo: float | None) -> list[str]:
    lines = [s.name]
    c = s.correctness
    if c is not None:
        told = "agrees with eager" if c.ok else f"DIFFERS from eager: {c.problem}"
        exact = f"; error against float64 {c.error:.1e}, eager's {c.eager_error:.1e}" if c.error is not None and \
            c.eager_error is not None else f"; {c.note}" if c.note else ""
        lines.append(f"  {told} (difference {c.difference:.1e}, limit {c.limit:.1e}{exact})")
    for cold in s.cold:
        parts = [f"first call {seconds(cold.first_call)} in {'a' if cold.where[0] == 'f' else ''} {cold.where}".replace(
            "  ", " ")]
        if cold.cache != "none":
            parts.append(f"{cold.cache} cache")
        if cold.import_seconds is not None:
            parts.append(f"imports {seconds(cold.import_seconds)}")
        if cold.peak_bytes is not None:
            parts.append(f"peak {cold.peak_bytes / 2 ** 20:.0f} MiB")
        lines.append("  " + ", ".join(parts))
    if s.warm is None:
        lines.append(f"  not warm: {s.refused}")
        return lines
    d = s.warm.all
    lines.append(f"  warm p50 {seconds(d.p50)}, p95 {seconds(d.p95)}, p99 {seconds(d.p99)}; "
                 f"{s.warm.per_second:.4g} calls/s")
    if s.speedup is not None:
        r = s.speedup
        lines.append(f"  {r.value:.2f} times eager's speed, 95 % interval {r.low:.2f} to {r.high:.2f}: {r.verdict}")
        if s.cold:
            lines.append(f"  pays back its first call after {s.payback} calls" if s.payback is not None
                         else "  never pays back its first call in this mixture")
    if s.warm.meets is not None and slo is not None:
        lines.append(f"  {100 * s.warm.meets:.1f} % of calls within {seconds(slo)}")
    return lines

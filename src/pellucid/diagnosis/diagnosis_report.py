"""What diagnose() hands back: findings with their evidence, the story that leads, and when to stop."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from .bench_report import BenchReport, seconds
from .causes import CAUSES, STORIES
from .edits import Edit
from .observation import Observation
from .profiling import Profile


@dataclass(frozen=True, slots=True)
class Evidence:
    """One line: what was seen, what it supports, and what it does not show."""

    seen: str
    supports: str
    not_shown: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One cause in one region. cost: seconds in the observed calls (compiles), or a warm call (breaks and the rest), as
    `cost_of` says; None where it was not measured. settled: it happened, and the later calls did not suffer from it.
    relation: how it stands to another finding (amplifies, isolates, apart)."""

    cause: str
    story: str
    region: str
    file: str
    line: int
    title: str
    evidence: tuple[Evidence, ...]
    remedy: str
    measure: str
    edit: Edit | None
    cost: float | None
    cost_of: str
    settled: bool = False
    relation: str = ""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.region


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """findings: the one to begin with first. story: of the leading one. stop: when to stop, in words; most: the largest
    speed-up of a warm call that any mending of this function can bring, None where it was not measured."""

    name: str
    system: str
    story: str
    findings: tuple[Finding, ...]
    stop: str
    most: float | None
    observation: Observation
    bench: BenchReport | None
    profile: Profile | None
    notes: tuple[str, ...]

    @property
    def leading(self) -> Finding:
        return self.findings[0]

    @property
    def stories(self) -> tuple[str, ...]:
        """Each story that is there and not settled, the leading one first."""
        return tuple(dict.fromkeys(f.story for f in self.findings if not f.settled))

    def json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        out = {"schema": "pellucid.diagnosis/1", "name": self.name, "system": self.system, "story": self.story,
               "stories": list(self.stories), "stop": self.stop, "most": self.most, "notes": list(self.notes),
               "findings": [{**asdict(f), "edit": None if f.edit is None else
                             {"file": f.edit.file, "line": f.edit.line, "diff": f.edit.diff, "changes": f.edit.changes}}
                            for f in self.findings],
               "observation": self.observation.json(),
               "bench": self.bench.json() if self.bench else None,
               "profile": self.profile.json() if self.profile else None}
        return out

    def text(self) -> str:
        lines = [f"{self.name} by {self.system}: {self.story}: {STORIES[self.story]}", _calls(self.observation)]
        if self.bench is not None and self.bench.subject.speedup is not None:
            r = self.bench.subject.speedup
            lines.append(f"warm: {r.value:.2f} times eager's speed (95 % interval {r.low:.2f} to {r.high:.2f})")
        elif self.bench is not None and self.bench.subject.refused:
            lines.append(f"warm: no figure, {self.bench.subject.refused}")
        for i, f in enumerate(self.findings, 1):
            lines += ["", *_finding(i, f)]
        lines += ["", f"when to stop: {self.stop}", *(f"note: {n}" for n in self.notes)]
        return "\n".join(lines)

    __str__ = text

    def _repr_html_(self) -> str:
        from .tables import diagnosis_html
        return diagnosis_html(self)


def _calls(o: Observation) -> str:
    kinds = {k: sum(c.outcome == k for c in o.calls) for k in ("hit", "compile", "eager")}
    compiling = sum(c.compile_seconds for c in o.calls)
    return (f"{len(o.calls)} calls: {kinds['hit']} hits, {kinds['compile']} compiled, {kinds['eager']} in plain "
            f"Python; {len(o.compiles)} compiles in {seconds(compiling)}, {len(o.breaks)} places of breaks")


def _finding(number: int, f: Finding) -> list[str]:
    state = " (settled: later calls do not pay it)" if f.settled else ""
    lines = [f"{number}. {f.title}{state}", f"   story: {f.story}; cause: {f.cause}; at {f.where}"]
    if f.region and f.region not in f.where:
        lines.append(f"   region: {f.region}")
    if f.cost is not None:
        lines.append(f"   cost: {seconds(f.cost)} {f.cost_of}")
    for e in f.evidence:
        lines.append(f"   - {e.seen}")
        lines.append(f"     supports: {e.supports}; does not show: {e.not_shown}")
    if f.relation:
        lines.append(f"   relation: {f.relation}")
    lines.append(f"   what to change: {f.remedy}")
    if f.edit is not None:
        lines += [f"   edit ({f.edit.changes}):", *(f"     {s}" for s in f.edit.diff.splitlines())]
    lines.append(f"   measure next: {f.measure}")
    return lines


def title_of(cause: str) -> str:
    return CAUSES[cause].title

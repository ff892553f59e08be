"""diagnose(): watches calls, times them, and says which of the three stories it is, by what evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch

from ..errors.types import UnsupportedInput
from ..runtime.stance import set_stance
from .bench import bench, compiles
from .bench_report import BenchReport, seconds
from .bound import bound_findings, place
from .calls import Call, cloned, parse
from .causes import BREAK, CAUSES, CHURN, STABLE
from .diagnosis_report import Diagnosis, Evidence, Finding
from .hot import hottest
from .observation import Observation
from .observe import LIBRARY, compiled, copied, observe, system_of
from .profiling import Profile, profile
from .stories import break_findings, churn_findings, related
from .walk import walk

SYSTEMS = ("pellucid", "torch.compile", "as-is")


def diagnose(fn: Any, calls: Any, *, system: str | None = None, eager: Any = None, lifetime: int | None = None,
             share: float | None = None, seconds: float = 1.0, target: str | None = None, timed: bool = True,
             progress: Callable[[str], None] | None = None) -> Diagnosis:
    """Which of the three stories it is that `fn` is slow when compiled: a break, a guard failure (recompiles), or a
    stable graph that something else bounds.

    fn        what pellucid.compile or torch.compile returned; a plain callable, which `system` compiles; or a program
              that uses compiled functions inside (found by watching its first call, or system="as-is")
    calls     as for pellucid.bench, in the order in which they are made: shapes and values as in production
    eager     the plain program that a program of the third kind stands for
    lifetime  calls that one process makes: is the first call's cost won back?
    share     share of end-to-end time that this function is, 0 to 1, if it is known
    timed     False: only watch, do not time
    """
    mixture = parse(calls)
    if system is not None and system not in SYSTEMS:
        raise UnsupportedInput("bad-argument", f"diagnose(): system={system!r}", f"give one of {', '.join(SYSTEMS)}")
    if share is not None and not 0 < share <= 1:
        raise UnsupportedInput("bad-argument", f"diagnose(): share={share!r}", "give a share of the whole, over 0 "
                               "and up to 1")
    tell = progress or (lambda text: None)
    made = system_of(fn)
    if made is not None and system not in (None, made):
        made = None
    kind = system or made or ("as-is" if _compiles_inside(fn, mixture) else "pellucid")
    tell("watching the calls")
    subject = fn if kind == "as-is" else compiled(fn, kind)
    seen = observe(subject, tuple(map(cloned, mixture)), kind)
    findings = [*break_findings(seen), *churn_findings(seen, kind == "as-is")]
    notes = list(seen.notes)
    report: BenchReport | None = None
    found: Profile | None = None
    if kind == "as-is" and eager is None:
        eager = _uncompiled(fn)
        notes.append("the plain program is the same one under the stance force_eager of both compilers")
    if timed:
        report = bench(subject, mixture, seconds=seconds, fresh=target is not None, target=target,
                       eager=eager if kind == "as-is" else None, progress=tell, exact=kind != "as-is",
                       first=seen.calls[0].seconds)
        tell("profile")
        found = profile(subject, mixture, eager=eager if kind == "as-is" else None)
    plain = eager if kind == "as-is" else copied(fn)
    hot = None
    if timed:
        mine = [cloned(c) for c in mixture for _ in range(3)]
        hot = hottest(lambda: [c.make(plain) for c in mine])
    findings = [_at_home(f, fn) for f in findings]
    findings = [_costed(f, subject, mixture, seen, kind, report) for f in findings]
    open_ = [f for f in findings if not f.settled]
    stable = bound_findings(fn, seen, report, found, lifetime, hot, kind == "as-is")
    if open_:
        stable = [f for f in stable if f.cause not in ("faster", "no-difference", "tiny", "overhead-bound")]
    findings = related(sorted(findings, key=_rank))
    ordered = _ordered(findings, stable, report)
    if not ordered:
        c = CAUSES["no-difference"]
        ordered = [Finding(c.code, c.story, seen.name, "", 0, c.title, (Evidence(
            "no break and no recompile that later calls paid for", "a stable graph", "how fast it is"),),
            c.remedy, c.measure, None, None, "")]
    stop, most = _stop(ordered, report, found, share)
    return Diagnosis(seen.name, kind, ordered[0].story, tuple(ordered), stop, most, seen, report, found, tuple(notes))


def _at_home(f: Finding, fn: Any) -> Finding:
    """A finding whose region begins in a library's wrapper, told at the function of the user's that is compiled."""
    file, line = place(fn)
    return dataclasses.replace(f, file=file, line=line) if f.file.startswith(LIBRARY) and file else f


def _compiles_inside(fn: Any, mixture: tuple[Call, ...]) -> bool:
    """Whether a plain callable uses compiled functions: its first call compiles, or a compiled version serves it."""
    from ..api import counters

    if system_of(fn) is not None:
        return False
    before, hits = compiles(), counters()["cache_hit_count"]
    cloned(mixture[0]).make(copied(fn))
    return compiles() != before or counters()["cache_hit_count"] != hits


def _uncompiled(fn: Any) -> Callable[..., Any]:
    def plain(*args: Any, **kwargs: Any) -> Any:
        with set_stance("force_eager"), torch.compiler.set_stance("force_eager"):
            return fn(*args, **kwargs)
    plain.__qualname__ = getattr(fn, "__qualname__", type(fn).__qualname__)
    return plain


def _rank(f: Finding) -> tuple[int, int, float]:
    """What to look at first: what is not settled; churn by its seconds, and a break behind which it amplifies first."""
    story = {CHURN: 0, BREAK: 1, STABLE: 2}[f.story] + (2 if f.cause == "after-break" else 0)
    return f.settled, story, -(f.cost or 0.0)


def _ordered(findings: list[Finding], stable: list[Finding], report: BenchReport | None) -> list[Finding]:
    """Open findings, then what bounds the rest, then what is settled. A fault of the benchmark itself leads all."""
    leads = [f for f in stable if f.cause in ("benchmark-cold", "benchmark-no-sync", "outside", "transfers",
                                              "cold-not-paid")]
    rest = [f for f in stable if f not in leads]
    open_ = [f for f in findings if not f.settled]
    settled = [f for f in findings if f.settled]
    faults = [f for f in leads if f.cause.startswith("benchmark")]
    return [*faults, *open_, *(f for f in leads if f not in faults), *_worth(rest, settled), *([] if rest else settled)]


def _worth(rest: list[Finding], settled: list[Finding]) -> list[Finding]:
    """A settled recompile is told first where nothing but "it is fine" stands against it."""
    if rest and all(f.settled or f.cause in ("no-difference", "tiny", "overhead-bound") for f in rest):
        return [*settled, *rest]
    return [*rest, *settled]


def _costed(f: Finding, subject: Any, mixture: tuple[Call, ...], seen: Observation, kind: str,
            report: BenchReport | None) -> Finding:
    """The finding with a break's cost measured: time of the segment that ends there, beside its kernels."""
    if f.story != BREAK or report is None or kind != "pellucid":
        return f
    from ..api import compiled_of

    followed = walk(compiled_of(subject), mixture[-1])
    here = [s for s in followed.segments if s.ends and f"{f.file}:{f.line} " in s.where]
    if not here:
        return f
    total = sum(s.seconds for s in here)
    kernels = min(total, sum(s.steps_seconds for s in here))
    whole = sum(s.seconds for s in followed.segments)
    line = Evidence(f"a warm call spends {seconds_(total)} up to and in this break ({seconds_(kernels)} of it in "
                    f"kernels), of {seconds_(whole)} in all its {len(followed.segments)} segments",
                    "what going to Python and back costs, the operation itself included",
                    "what one graph would win by fusing across the boundary: only the edited version shows that")
    return dataclasses.replace(f, evidence=(*f.evidence, line), cost=total - kernels, cost_of="of each warm call")


seconds_ = seconds


def _stop(findings: list[Finding], report: BenchReport | None, p: Profile | None, share: float | None) \
        -> tuple[str, float | None]:
    """When to stop, and the most that any fix of this function can win for a warm call."""
    if report is None or report.subject.warm is None or p is None:
        told = "when no call of the production sequence compiles any more (measure that with the same calls)"
        return told, None
    ours = report.subject.warm.all.p50
    library = sum(o.seconds for o in p.operators if o.kind == "library")      # as eager runs them
    floor = sum(s.seconds for s in p.steps if s.kind == "kernel") + library
    most = max(1.0, ours / floor) if p.steps and floor and library < 0.95 * ours else None
    told = f"a warm call takes {seconds(ours)}"
    if most is None:
        told += "; what a fix can win at most cannot be told from its kernels' times"
    if most is not None:
        told += f"; its kernels and library calls need about {seconds(min(floor, ours))}, so no fix can make it " \
                f"more than {most:.2f} times as fast (fusing them further aside)"
    if share is not None and most is not None:
        told += f"; with {100 * share:.0f} % of the end-to-end time, the whole wins at most " \
                f"{1 / (1 - share + share / most):.2f} times"
    elif share is not None and share < 1:
        told += f"; with {100 * share:.0f} % of the end-to-end time, the whole wins less than " \
                f"{1 / (1 - share):.2f} times"
    elif share is None:
        told += "; measure what share of the end-to-end time this function is: at 10 % nothing here wins more than " \
                "1.11 times"
    return told, most

"""A graph that is whole and stays valid: what bounds it, by shares of operators and the program's text."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch import nn

from . import source
from .bench_report import BenchReport, seconds
from .causes import CAUSES
from .diagnosis_report import Evidence, Finding
from .edits import edit
from .observation import Observation
from .observe import original
from .profiling import Profile

TINY = 40e-6
"""Seconds of a plain call below which the call itself is most of it."""
FEW_OPERATORS = 8
LARGE_SHARE = 0.55
CLOCKS = ("perf_counter", "time", "monotonic", "perf_counter_ns")


def place(fn: Any) -> tuple[str, int]:
    """File and first line of a callable's code."""
    plain = original(fn)
    inner = inspect.unwrap(plain.forward if isinstance(plain, nn.Module) else plain)
    code = getattr(inner, "__code__", None) or getattr(vars(type(inner)).get("__call__"), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def bound_findings(fn: Any, o: Observation, b: BenchReport | None, p: Profile | None, lifetime: int | None,
                   hot: tuple[str, int, str, float, float] | None, as_is: bool) -> list[Finding]:
    """Findings for the third story, the leading one first. hot: (file, line, function, share of time) of the plain
    function in which most of the time outside torch is."""
    file, line = place(fn)

    def finding(cause: str, evidence: list[Evidence], at: tuple[str, int] | None = None, cost: float | None = None,
                cost_of: str = "", settled: bool = False) -> Finding:
        c = CAUSES[cause]
        f, n = at or (file, line)
        return Finding(cause, c.story, o.name, f, n, c.title, tuple(evidence), c.remedy, c.measure, edit(cause, f, n),
                       cost, cost_of, settled)
    out: list[Finding] = []
    timed = benchmark_faults(fn)
    for cause, at, seen in timed:
        out.append(finding(cause, [Evidence(seen, "the figure it prints is not the warm time of the function",
                                            CAUSES[cause].not_shown)], (file, at)))
    subject = b.subject if b is not None else None
    r = subject.speedup if subject is not None else None
    if subject is not None and r is not None and lifetime is not None and b is not None:
        first = subject.cold[0].first_call
        eager = b.system("eager").warm
        won = eager.all.p50 - subject.warm.all.p50 if eager is not None and subject.warm is not None else 0.0
        if (subject.payback is None and r.low > 1) or (subject.payback is not None and subject.payback > lifetime) or (
                subject.payback is None and won * lifetime < first):
            need = f"{subject.payback} calls" if subject.payback is not None else "no number of calls"
            out.append(finding("cold-not-paid", [
                Evidence(f"the first call takes {seconds(first)}; {need} pay it back, and a process makes {lifetime}",
                         "the cold cost is larger than all that warm calls win", CAUSES["cold-not-paid"].not_shown)],
                cost=first, cost_of="in the first call"))
    if p is not None:
        out += _shares(p, hot, finding, r is not None and r.low > 1.15, r)
    if not out or (r is not None and r.low > 1.1 and all(f.cause in ("memory-bound", "overhead-bound", "tiny",
                                                                    "library-bound") for f in out)):
        if r is not None and r.low > 1:
            out.insert(0, finding("faster", [Evidence(f"{r.value:.2f} times eager's speed (95 % interval "
                                                      f"{r.low:.2f} to {r.high:.2f}), measured in turns",
                                                      "compiling helped",
                                                      CAUSES["faster"].not_shown)], settled=True))
        elif not out:
            told = f"{r.value:.2f} times eager's speed (95 % interval {r.low:.2f} to {r.high:.2f})" if r is not None \
                else "no warm figure"
            out.append(finding("no-difference", [Evidence(told, "no break, no recompile and no speed-up",
                                                          CAUSES["no-difference"].not_shown)]))
    return out


def _shares(p: Profile, hot: tuple[str, int, str, float, float] | None, finding: Any, faster: bool,
            r: Any) -> list[Finding]:
    out: list[Finding] = []
    ran = sum(o.calls for o in p.operators if o.kind != "view")
    library, transfers = p.share("library"), p.share("transfer")
    told = f", {r.value:.2f} times eager's speed" if r is not None else ""
    outside = max(p.eager_outside, hot[4] if hot is not None else 0.0)      # a spell of the machine spoils one of them
    if outside >= LARGE_SHARE and p.eager_seconds > 4 * TINY and hot is not None and hot[3] >= 0.3:
        out.append(finding("outside", [
            Evidence(f"{100 * outside:.0f} % of the plain call is outside torch's operators, and of that "
                     f"{100 * hot[3]:.0f} % in {hot[2]} ({hot[0]}:{hot[1]})", "a compiler of tensor programs cannot "
                     "reach this time", CAUSES["outside"].not_shown)], (hot[0], hot[1]),
            p.eager_seconds * outside * hot[3], "of each call"))
    elif p.eager_seconds <= TINY and ran <= FEW_OPERATORS:
        out.append(finding("tiny", [
            Evidence(f"a plain call takes {seconds(p.eager_seconds)} for {ran} operators; compiled {seconds(p.seconds)}"
                     f"{told}", "going in and out of the function is most of the time", CAUSES["tiny"].not_shown)]))
    elif transfers >= 0.25:
        at = next((o.where for o in sorted(p.operators, key=lambda o: -o.bytes) if o.where is not None), None)
        out.append(finding("transfers", [
            Evidence(f"{100 * transfers:.0f} % of operator time is conversions and copies", "the same tensors are "
                     "converted in every call", CAUSES["transfers"].not_shown)], at, p.eager_seconds * transfers,
            "of each plain call"))
    elif library >= LARGE_SHARE:
        most = max((o for o in p.operators if o.kind == "library"), key=lambda o: o.seconds)
        reached = f", {p.flops / p.eager_seconds / 1e9:.3g} Gflop/s of this machine's {p.machine.flops / 1e9:.3g}"
        out.append(finding("library-bound", [
            Evidence(f"{100 * library:.0f} % of operator time is in library kernels, most of it in {most.name} "
                     f"({most.calls} calls){reached}{told}", "a compiler that calls the same kernels wins at most "
                     f"{1 / max(library, 1e-9):.2f} times; what is above that, other "
                     "kernels won", CAUSES["library-bound"].not_shown)],
            cost=p.eager_seconds * library, cost_of="of each call, which stays"))
    elif p.steps and p.outside is not None and p.outside > 0.6 and not faster:
        out.append(finding("overhead-bound", [
            Evidence(f"{100 * p.outside:.0f} % of the compiled call is outside its kernels", "the call's own cost is "
                     "most of it", CAUSES["overhead-bound"].not_shown)]))
    else:
        moved = sum(s.bytes for s in p.steps)
        spent = sum(s.seconds for s in p.steps)
        rate = moved / spent if spent else 0.0
        if spent and rate > 0.5 * p.machine.bandwidth and moved > 2 ** 22:
            out.append(finding("memory-bound", [
                Evidence(f"its kernels move {moved / 1e6:.3g} MB at {rate / 1e9:.3g} GB/s; a copy reaches "
                         f"{p.machine.bandwidth / 1e9:.3g} GB/s{told}", "memory is the limit, not arithmetic",
                         CAUSES["memory-bound"].not_shown)]))
    return out


def benchmark_faults(fn: Any) -> list[tuple[str, int, str]]:
    """(cause, line, what was seen) for a function that times calls itself."""
    file, line = place(fn)
    scope = source.function_at(file, line)
    if scope is None:
        return []
    clocks = [n for n in ast.walk(scope) if isinstance(n, ast.Call) and (
        (isinstance(n.func, ast.Attribute) and n.func.attr in CLOCKS and isinstance(n.func.value, ast.Name)
         and n.func.value.id == "time") or (isinstance(n.func, ast.Name) and n.func.id in CLOCKS[::2]))]
    if len(clocks) < 2:
        return []
    start, end = clocks[0].lineno, clocks[-1].lineno
    if start > end:
        start, end = end, start
    text = source.text_of(file).splitlines()
    body = "\n".join(text[scope.lineno - 1:scope.end_lineno])
    out = []
    waits = "synchronize" in body or ".record(" in body
    if ("cuda" in body or "xpu" in body) and not waits:
        out.append(("benchmark-no-sync", start, f"the clock is read on lines {start} and {end}, work is queued on a "
                    "device between them, and nothing waits for it"))
    made = [n for n in ast.walk(scope) if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
            and ast.unparse(n.value.func).endswith("compile")]
    names = {t.id: n.lineno for n in made for t in n.targets if isinstance(t, ast.Name)}
    for name, at in names.items():
        uses = [n.lineno for n in ast.walk(scope) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
                and n.func.id == name]
        if uses and min(uses) > start and at < min(uses) and any(start < u <= end for u in uses):
            out.append(("benchmark-cold", min(uses), f"{name} is compiled on line {at} and first called on line "
                        f"{min(uses)}, after the clock was started on line {start}"))
    return out


__all__ = ["bound_findings", "benchmark_faults", "place"]

"""One self-contained HTML page of a result: no network, light and dark, every part reachable by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from . import source
from .bench_report import BenchReport, seconds
from .callmatrix import Matrix
from .diagnosis_report import Diagnosis
from .observation import Observation
from .observe import LIBRARY
from .profiling import Profile
from .report import Explanation
from .stages import Stages, stages
from .tables import table_html

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
SCRIPT = (Path(__file__).parent / "page.js").read_text(encoding="utf-8")
MOST_GUARDS = 2000
MOST_TEXT = 200_000
"""Characters of one stage's text."""


def page(result: Any, fn: Any = None) -> str:
    """The page of a Diagnosis, BenchReport, Profile, Matrix or Explanation. fn: the pellucid function it is about, for
    guards, generated code and memory."""
    made = stages(fn) if fn is not None else None
    parts: list[tuple[str, str, str]] = []
    if isinstance(result, Diagnosis):
        parts.append(("findings", "Findings", _findings(result)))
        parts += _observed(result.observation)
        if result.bench is not None:
            parts.append(("bench", "Latency", _latency(result.bench)))
        if result.profile is not None:
            parts.append(("profile", "Where time goes", _profile(result.profile)))
        title = f"{result.name} by {result.system}: {result.story}"
    elif isinstance(result, Matrix):
        parts += _observed(result.observation)
        title = f"{result.observation.name} by {result.observation.system}"
    elif isinstance(result, BenchReport):
        parts.append(("bench", "Latency", _latency(result)))
        title = f"{result.name}: benchmark"
    elif isinstance(result, Profile):
        parts.append(("profile", "Where time goes", _profile(result)))
        title = f"{result.name}: profile"
    elif isinstance(result, Explanation):
        parts.append(("explanation", "Entries", result._repr_html_()))
        title = f"{result.name}: explanation"
    else:
        raise TypeError(f"page(): {type(result).__name__} has no page; give what diagnose, bench, profile, matrix or "
                        "explain returned")
    if made is not None:
        parts += _compiled(made)
    links = "".join(f'<li><a href="#{i}">{escape(name)}</a></li>' for i, name, _ in parts)
    body = "".join(f'<section id="{i}" aria-labelledby="{i}-h"><h2 id="{i}-h">{escape(name)}</h2>{html}</section>'
                   for i, name, html in parts)
    return _shortened(f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
            f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head><body>'
            f'<a class="skip" href="#main">Skip to content</a><header><h1>{escape(title)}</h1><nav aria-label="Parts"><ul>'
            f'{links}</ul></nav></header><main id="main">{body}</main><script>{SCRIPT}</script></body></html>')


def _shortened(html: str) -> str:
    """Without the folders that say nothing: the current one, and those of installed packages and the standard library."""
    for prefix in (*sorted(LIBRARY, key=len, reverse=True), str(Path.cwd())):
        if len(prefix) > 1:
            html = html.replace(prefix + "/", "")
    return html


def _findings(d: Diagnosis) -> str:
    out = []
    for i, f in enumerate(d.findings, 1):
        lines = "".join(f"<li>{escape(e.seen)}<br><small><b>supports</b> {escape(e.supports)}; <b>does not show</b> "
                        f"{escape(e.not_shown)}</small></li>" for e in f.evidence)
        cost = f"<p>Cost: {seconds(f.cost)} {escape(f.cost_of)}</p>" if f.cost is not None else ""
        edit = f"<pre tabindex=0>{escape(f.edit.diff)}</pre>" if f.edit is not None else ""
        relation = f"<p>{escape(f.relation)}</p>" if f.relation else ""
        settled = " (settled)" if f.settled else ""
        out.append(f"<article><h3>{i}. {escape(f.title)}{settled}</h3><p><b>{escape(f.story)}</b> at <code>"
                   f"{escape(f.where)}</code></p>{cost}<ul>{lines}</ul>{relation}<p>What to change: {escape(f.remedy)}</p>"
                   f"{edit}<p>Measure next: {escape(f.measure)}</p></article>")
    return "".join(out) + f"<p><b>When to stop:</b> {escape(d.stop)}</p>" + "".join(
        f"<p><small>{escape(n)}</small></p>" for n in d.notes)


def _observed(o: Observation) -> list[tuple[str, str, str]]:
    parts = [("calls", "Calls over time", _timeline(o)), ("matrix", "Calls by versions", _heat(o))]
    if o.breaks:
        parts.append(("source", "Breaks in the source", _source(o)))
    failed = [(c.call, c.region, f.source, f.kind, f.expected, f.actual, f.text) for c in o.compiles for f in c.failed]
    if failed:
        parts.append(("failed", "Guards that failed", _searchable("failed", table_html(
            ("call", "region", "value", "kind", "expected", "actual", "guard"), failed))))
    return parts


def _timeline(o: Observation) -> str:
    most = max(c.seconds for c in o.calls)
    width, bars = 12, []
    for i, c in enumerate(o.calls):
        high = max(3.0, 120 * (c.seconds / most) ** 0.5)
        told = f"call {c.number}: {c.outcome}, {seconds(c.seconds)}, {c.signature} {c.why}"
        bars.append(f'<rect class="{c.outcome}" x="{i * width}" y="{124 - high:.1f}" width="{width - 2}" '
                    f'height="{high:.1f}" tabindex="0" role="img" aria-label="{escape(told)}"><title>{escape(told)}'
                    "</title></rect>")
    rows = [(c.number, c.signature, c.outcome, seconds(c.seconds), c.why) for c in o.calls]
    legend = "".join(f'<span class="key {k}"></span>{k} ' for k in ("hit", "compile", "eager"))
    return (f'<p>{legend}; the height is the square root of the time, the tallest {seconds(most)}</p><div class="wide">'
            f'<svg width="{len(o.calls) * width}" height="126" role="group" aria-label="Calls over time">{"".join(bars)}'
            "</svg></div><details><summary>as a table</summary>"
            + table_html(("call", "arguments", "outcome", "time", "why"), rows) + "</details>")


def _heat(o: Observation) -> str:
    """Calls by regions: what was compiled where, a darker cell for more seconds."""
    regions = list(dict.fromkeys(c.region for c in o.compiles))
    most = max((c.seconds for c in o.compiles), default=1.0) or 1.0
    rows = []
    for r in regions:
        cells = []
        for call in o.calls:
            here = [c for c in o.compiles if c.region == r and c.call == call.number]
            spent = sum(c.seconds for c in here)
            why = here[0].failed[0].text if here and here[0].failed else "first version" if here else call.outcome
            shade = f' style="--heat:{min(1.0, 0.25 + 0.75 * spent / most):.2f}"' if here else ""
            kind = "made" if here else call.outcome
            cells.append(f'<td class="{kind}"{shade} title="{escape(why)}">{seconds(spent) if here else "·"}</td>')
        rows.append(f'<tr><th scope="row">{escape(r)}</th>{"".join(cells)}</tr>')
    heads = "".join(f'<th scope="col">{c.number}</th>' for c in o.calls)
    return f'<div class="wide" tabindex="0"><table class="heat"><caption>compile time by region and call</caption>' \
           f"<thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _source(o: Observation) -> str:
    out = []
    for b in o.breaks:
        lines = source.text_of(b.file).splitlines()
        scope = source.function_at(b.file, b.line)
        first = scope.lineno if scope is not None else max(1, b.line - 5)
        last = min(len(lines), (scope.end_lineno or b.line) if scope is not None else b.line + 5)
        first, last = max(first, b.line - 20), min(last, b.line + 20)
        rows = []
        for n in range(first, last + 1):
            mark = ' class="break"' if n == b.line else ""
            rows.append(f"<span{mark}>{n:5d}  {escape(lines[n - 1])}</span>")
        crossed = f", crossed {b.crossed} times" if b.crossed is not None else ""
        out.append(f"<h3><code>{escape(b.where)}</code>{crossed}</h3><p>{escape(b.reason)}</p><pre tabindex=0>"
                   + "\n".join(rows) + "</pre>")
    return "".join(out)


def _searchable(name: str, table: str) -> str:
    return f'<label>Search <input type="search" data-filter="{name}-rows"></label><div id="{name}-rows" class="wide" ' \
           f'tabindex="0">{table}</div>'


def _latency(b: BenchReport) -> str:
    warm = [(s, s.warm) for s in b.systems if s.warm is not None]
    out = ["<p>", escape(b.text()).replace("\n", "<br>"), "</p>"]
    if warm:
        most = max(w.all.p99 for _, w in warm) or 1.0
        rows = []
        for i, (s, w) in enumerate(warm):
            y, d = 20 + 34 * i, w.all

            def at(t: float) -> float:
                return 140 + 460 * min(1.0, t / most)
            rows.append(
                f'<text x="0" y="{y + 5}">{escape(s.name)}</text><line x1="{at(d.best):.1f}" x2="{at(d.p99):.1f}" y1="{y}" '
                f'y2="{y}"/><rect class="hit" x="{at(d.p50):.1f}" y="{y - 8}" width="{max(2.0, at(d.p95) - at(d.p50)):.1f}" '
                f'height="16"><title>p50 {seconds(d.p50)} to p95 {seconds(d.p95)}</title></rect>')
        out.append(f'<div class="wide"><svg width="620" height="{20 + 34 * len(warm)}" role="img" aria-label="Latency: line '
                   f'from best to p99, box from p50 to p95">{"".join(rows)}</svg></div>'
                   f"<p><small>line: best to p99; box: p50 to p95; full width {seconds(most)}</small></p>")
        out.append(table_html(("system", "calls", "best", "p50", "p95", "p99", "worst"), [
            (s.name, w.all.samples, *(seconds(t) for t in (w.all.best, w.all.p50, w.all.p95, w.all.p99, w.all.worst)))
            for s, w in warm]))
    return "".join(out)


def _profile(p: Profile) -> str:
    total = sum(o.seconds for o in p.operators) or 1.0
    operators = [(o.name, o.kind, o.calls, f"{100 * o.seconds / total:.1f} %", f"{o.bytes / 1e6:.3g}", f"{o.flops / 1e6:.3g}")
                 for o in sorted(p.operators, key=lambda o: -o.seconds)[:40]]
    out = [f"<p>{seconds(p.seconds)} a call compiled, {seconds(p.eager_seconds)} eager</p>", _roofline(p),
           table_html(("operator in eager", "kind", "calls", "share", "MB", "Mflop"), operators)]
    if p.steps:
        out.append(table_html(("kernel", "does", "time", "MB", "at"), [
            (s.name, " + ".join(s.origins), seconds(s.seconds), f"{s.bytes / 1e6:.3g}", s.where) for s in p.steps]))
    return "".join(out)


def _roofline(p: Profile) -> str:
    """Operators by operations a byte and operations a second, under this machine's two limits (Williams, Waterman and
    Patterson, Roofline, 2009); both axes logarithmic."""
    from math import log10

    dots = [(o, o.flops / o.bytes, o.flops / o.seconds) for o in p.operators if o.bytes and o.flops and o.seconds]
    if not dots:
        return ""

    def x(intensity: float) -> float:
        return 60 + 500 * (min(3.0, max(-2.0, log10(intensity))) + 2) / 5

    def y(rate: float) -> float:
        return 250 - 220 * (min(12.0, max(6.0, log10(max(rate, 1.0)))) - 6) / 6
    bend = p.machine.flops / p.machine.bandwidth
    roof = f'<polyline points="{x(.01):.0f},{y(.01 * p.machine.bandwidth):.0f} {x(bend):.0f},{y(p.machine.flops):.0f} ' \
           f'{x(1000):.0f},{y(p.machine.flops):.0f}"/>'
    marks = "".join(f'<circle cx="{x(i):.1f}" cy="{y(r):.1f}" r="5" tabindex="0"><title>{escape(o.name)}: {i:.3g} flop a '
                    f'byte, {r / 1e9:.3g} Gflop/s</title></circle>' for o, i, r in dots)
    return ('<svg width="600" height="280" role="img" aria-label="Roofline of eager operators">' + roof + marks
            + '<text x="200" y="275">flop a byte, 0.01 to 1000</text><text x="0" y="14">flop/s, 1e6 to 1e12</text></svg>')


def _compiled(s: Stages) -> list[tuple[str, str, str]]:
    rows: Sequence[tuple[object, ...]] = s.guards[:MOST_GUARDS]
    parts = [("guards", "Guards", _searchable("guards", table_html(("entry", "guard", "needed by", "at"), rows)))]
    texts = []
    for e in s.entries:
        columns = "".join(f"<div><h4>{escape(name)}</h4><pre tabindex=0>{escape(text[:MOST_TEXT])}</pre></div>"
                          for name, text in e.texts)
        texts.append(f"<details><summary>entry {e.number}, {e.where}</summary><div class=stages>{columns}</div></details>")
    parts.append(("code", "Generated code by stage", "".join(texts)))
    plans = "".join(_memory(e.number, e.arena, e.places) for e in s.entries if e.places)
    if plans:
        parts.append(("memory", "Memory plan", plans))
    return parts


def _memory(number: int, arena: int, places: tuple[tuple[str, int, int, int, int], ...]) -> str:
    """Buffers as rectangles: steps from left to right, bytes from top to bottom."""
    steps = 1 + max(last for *_, last in places)
    wide = max(6.0, min(40.0, 600 / steps))
    marks = "".join(
        f'<rect class="buffer" x="{first * wide:.1f}" y="{200 * offset / max(1, arena):.1f}" '
        f'width="{(last - first + 1) * wide - 1:.1f}" height="{max(1.0, 200 * size / max(1, arena) - 1):.1f}" tabindex="0">'
        f"<title>{escape(name)}: {size} bytes at {offset}, steps {first} to {last}</title></rect>"
        for name, offset, size, first, last in places)
    return f'<h3>entry {number}: {arena} bytes over {steps} steps</h3><div class="wide"><svg width="{steps * wide:.0f}" ' \
           f'height="202" role="group" aria-label="Memory plan of entry {number}">{marks}</svg></div>'

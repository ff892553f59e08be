"""From an observation to findings: breaks by their operation, recompiles by the guard that failed, region by region."""

from __future__ import annotations

import ast
import collections
import re
from collections.abc import Callable, Sequence

from . import source
from .bench_report import seconds
from .causes import CAUSES
from .diagnosis_report import Evidence, Finding
from .edits import contiguous, edit, integers_vary
from .observation import Break, Compiled, Failed, Observation

Test = Callable[[str, Break], bool]

FEW = 4
"""Distinct values that still are a small set."""


def _says(*words: str) -> Test:
    return lambda reason, _: any(w in reason for w in words)


BREAKS: list[tuple[str, Test]] = [
    ("print", _says("print()", "builtin operator `print`", "builtin `print`", "print to ")),
    ("logging", _says("a log message", "logging.Logger", "logging function")),
    ("random", _says("_random.Random", "Random.random", "random.random", "numpy.random")),
    ("data-shape", _says("depends on tensor data", "data-dependent shape", "Dynamic shape operator",
                         "dynamic shape operator",
                         "Data dependent operator")),
    ("item", _says(".item()", "Tensor.tolist", "aten._local_scalar_dense", "hands the tensor's value", "PB102")),
    ("data-branch", _says("Data-dependent branching", "truth of a tensor", "data-dependent branch", "PB101")),
    ("c-function", _says("call of ", "marked as skipped", "C/C++ extension", "C extension", "PB104")),
]
"""Cause -> what the break's reason says; the first that fits."""


def break_cause(b: Break) -> str:
    """The catalogue's name for a break."""
    reason = f"{b.reason} {b.code}"
    cause = next((name for name, test in BREAKS if test(reason, b)), "other-break")
    if cause == "item" and source.condition_at(b.file, b.line) is not None:
        return "item-in-condition"
    return cause


def break_findings(o: Observation) -> list[Finding]:
    """One finding a place. The cost is measured later, where it can be."""
    out = []
    for b in o.breaks:
        cause = break_cause(b)
        c = CAUSES[cause]
        warm = [m for m in o.calls if m.outcome == "hit"]
        evidence = []
        if b.crossed is not None:
            each = b.crossed / max(1, len(o.calls))
            evidence.append(Evidence(f"the capture ends here: {b.reason}; crossed {b.crossed} times in {len(o.calls)} "
                                     f"calls ({each:.3g} a call)", "there is a boundary, and how often it is paid",
                                     c.not_shown))
        else:
            evidence.append(Evidence(f"the capture ends here: {b.reason[:200]}; found by the compiles of call "
                                     f"{', '.join(map(str, b.calls))}", "there is a boundary in every call that takes "
                                     "this path", "how often it is crossed (torch.compile does not count that)"))
        late = [n for n in b.calls if n > 1]
        if warm and not late:
            evidence.append(Evidence(f"{len(warm)} later calls passed the same place without a compile",
                                     "a break, not recompile churn: the regions on both sides stay valid",
                                     "what each region loses by not being one graph"))
        out.append(Finding(cause, c.story, b.function, b.file, b.line, c.title, tuple(evidence),
                           b.remedy if b.remedy and cause == "other-break" else c.remedy, c.measure,
                           edit(cause, b.file, b.line), None, ""))
    return out


def churn_findings(o: Observation, calls_compile_inside: bool) -> list[Finding]:
    """One finding a region and guard that failed. A region that was recompiled and then hit is settled."""
    groups: dict[tuple[str, str, str], list[tuple[Compiled, Failed]]] = collections.defaultdict(list)
    for c in o.recompiles:
        f = c.failed[0] if c.failed else Failed("", "other", "", "", "torch.compile names no guard")
        f = next((g for g in c.failed if g.kind not in ("other",)), f)
        behind = _behind(c.region) and _handed(f)
        groups[(c.region, "after-break", "") if behind else (c.region, _family(f), _root(f.source))].append((c, f))
    out = [_churn(o, region, found) for (region, _, _), found in groups.items()]
    if calls_compile_inside:
        again = _made_anew(o)
        if again is not None:
            out.insert(0, again)
    return out


def _family(f: Failed) -> str:
    if f.kind in ("grad_mode", "requires_grad"):
        return "grad"
    return "equal" if f.kind == "size" and not _is_shape(f.source) else f.kind


def _is_shape(name: str) -> bool:
    return "shape" in name or ".size()" in name or not name


def _behind(region: str) -> bool:
    """Whether the region begins after a break."""
    return "(after a break)" in region or "torch_dynamo_resume_in" in region


def _handed(f: Failed) -> bool:
    """Whether the guard is on what the break's operation gave."""
    return bool(BEHIND.search(f.source)) or not f.source


def _root(name: str) -> str:
    """`x.shape[0], x.shape[1]` -> `x`: one argument, whatever of it changed."""
    return re.split(r"\.shape|\.stride|\.size", name)[0]


def _values(found: Sequence[tuple[Compiled, Failed]]) -> list[str]:
    """The distinct values seen, in order."""
    seen = [v for _, f in found for v in (f.expected, f.actual) if v]
    return list(dict.fromkeys(seen))


BEHIND = re.compile(r"slot \d+|___stack\d|\btmp_\d+")


def _churn(o: Observation, region: str, found: list[tuple[Compiled, Failed]]) -> Finding:
    first = found[0][1]
    values, n = _values(found), len(found)
    file, line = _place(region)
    cause = _churn_cause(first, values, n, file, line, _behind(region))
    c = CAUSES[cause]
    last = max(x.call for x, _ in found)
    later = [m for m in o.calls if m.number > last]
    limited = any(m.outcome == "eager" for m in later) and bool(o.limits)
    settled = n <= 2 and len(later) >= max(2, n) and all(m.outcome == "hit" for m in later) or \
        (n <= FEW and bool(later) and len(later) >= 2 * n and all(m.outcome == "hit" for m in later))
    spent, whole = sum(x.seconds for x, _ in found), max(1e-12, sum(m.seconds for m in o.calls))
    shown = ", ".join(v[:40] for v in values[:10]) + (", ..." if len(values) > 10 else "")
    one = n == 1
    evidence = [Evidence(f"{n} recompile{'' if one else 's'} of this region in {len(o.calls)} calls, in call "
                         f"{', '.join(str(x.call) for x, _ in found[:12])}; the guard that failed: {first.text}",
                         "a valid region is compiled again because of this value",
                         "that the compile time matters: see the share of it in the total")]
    if values:
        evidence.append(Evidence(f"values of {first.source or 'the guard'} seen: {shown}",
                                 "the set is small" if len(values) <= FEW else "the set grows with the calls",
                                 c.not_shown))
    if not o.breaks:
        evidence.append(Evidence("there is no break in any of the calls", "editing the code to remove breaks would not "
                                 "help", "whether other paths have breaks"))
    if limited:
        evidence.append(Evidence(f"the limit of versions was reached: {o.limits[0]}", "later calls run in plain "
                                 "Python, for good", "how slow they are there: compare with eager"))
    if settled:
        evidence.append(Evidence(f"the {len(later)} calls after it hit", "the cost was paid once", "what a new value "
                                 "would do"))
    at = _line(cause, first, file, line)
    made = edit(cause, file, at)
    if cause == "counter" and o.system == "torch.compile":
        made = integers_vary(file, at)
    if cause == "layout":
        made = contiguous(file, line, first.source)
        at = line
    return Finding(cause, c.story, region, file, at, c.title, tuple(evidence), c.remedy, c.measure, made, spent,
                   f"of compiling after the first call, {100 * spent / whole:.0f} % of"
                   " all observed time", settled)


def _line(cause: str, f: Failed, file: str, line: int) -> int:
    """The line to look at, in the region's file: where a counter is written, the operation that needed the value, or
    the first use of it."""
    if cause == "counter":
        return source.written_at(file, f.source) or line
    if cause == "dict-key":
        return (f.line if f.line and source.indexes(file, f.line) else None) or source.indexed_by(
            file, line, f.source) or line
    return f.line or source.used_at(file, line, f.source) or line


def _place(region: str) -> tuple[str, int]:
    found = re.match(r"(.*?):(\d+) in ", region)
    return (found[1], int(found[2])) if found else ("", 0)


def _churn_cause(f: Failed, values: list[str], n: int, file: str, line: int, behind: bool) -> str:
    if behind and _handed(f):
        return "after-break"
    direct = {"stride": "layout", "dtype": "dtype", "rank": "rank", "grad_mode": "grad-mode", "requires_grad":
              "grad-mode", "len": "list-length", "keys": "keys", "code": "closure", "identity": "closure"}
    if f.kind in direct:
        if f.kind == "len" and "shape" in f.source:
            return "rank"
        return direct[f.kind]
    if f.kind == "size" and _is_shape(f.source):
        return "shapes-few" if len(values) <= FEW and n < FEW else "shapes-many"
    if f.kind in ("size", "equal"):
        return _value_cause(f, file, line)
    return "other-guard"


def _value_cause(f: Failed, file: str, line: int) -> str:
    """The cause of a changing number, string or flag by where it is kept and how it is used."""
    name = f.source
    if name.endswith(".training"):
        return "mode-flip"
    if source.indexed_by(file, line, name) is not None or (f.line and source.indexes(file, f.line)):
        return "dict-key"
    if ".__closure__" in name or _is_outer(file, line, name):
        return "closure"
    if re.search(r"\.[A-Za-z_]\w*$", name) and not name.startswith("G["):
        value = f.expected.strip("'")
        return "counter" if re.fullmatch(r"-?\d+", value) or _is_number(f.expected) else "string" if f.expected[:1] in \
            "'\"TFN" else "counter"
    if name.startswith(("G[", "global")) or _is_global(file, line, name):
        return "global-value"
    if f.expected[:1] in ("'", '"') or f.expected in ("True", "False", "None"):
        return "string"
    return "float" if _is_number(f.expected) and not re.fullmatch(r"-?\d+", f.expected) else "int"


def _is_global(file: str, line: int, name: str) -> bool:
    scope = source.function_at(file, line)
    if scope is None or not name.isidentifier():
        return False
    local = {a.arg for a in (*scope.args.args, *scope.args.kwonlyargs, *scope.args.posonlyargs)}
    local |= {n.id for s in scope.body for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return name not in local


def _is_outer(file: str, line: int, name: str) -> bool:
    """Whether a name is neither local nor bound at the top of the file: a variable of an enclosing function."""
    root = source.tree(file)
    if root is None or not _is_global(file, line, name):
        return False
    return not any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for t in root.body
                   for n in ([t] if isinstance(t, ast.Name) else ast.walk(t) if isinstance(
                       t, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.If, ast.With)) else []))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _made_anew(o: Observation) -> Finding | None:
    """Many first compiles of the same code, in later calls too: compiled functions that are made in each call."""
    by_code: dict[str, list[Compiled]] = collections.defaultdict(list)
    for c in o.compiles:
        if c.first and not _behind(c.region):
            by_code[c.region].append(c)
    for region, found in by_code.items():
        calls = sorted({c.call for c in found})
        if len(calls) >= 3 or (len(calls) >= 2 and len(calls) == len(o.calls)) or len(found) > len(calls) + 1:
            cause = CAUSES["compile-in-loop"]
            spent = sum(x.seconds for x in found[1:])
            file, line = _place(region)
            return Finding("compile-in-loop", cause.story, region, file, line, cause.title, (
                Evidence(f"the same code was compiled {len(found)} times as if for the first time, in call "
                         f"{', '.join(map(str, calls[:12]))}: each time by a compiled function made anew",
                         "compile() is called in the loop, so no version is ever used again", cause.not_shown),
                Evidence("no guard failed in these compiles", "the values do not matter: any call would compile",
                         "what would remain after compiling once"),
            ), cause.remedy, cause.measure, None, spent,
                f"of compiling again ({seconds(spent / max(1, len(found) - 1))} each)")
    return None


def related(findings: list[Finding]) -> list[Finding]:
    """The same with how a break and a churn stand to each other."""
    import dataclasses

    breaks = [f for f in findings if f.story == "break"]
    out = []
    for f in findings:
        if f.story == "guard failure" and breaks:
            if f.cause == "after-break":
                told = f"the break at {breaks[0].where} amplifies it: this guard is on what the break handed to Python"
            elif _behind(f.region):
                told = f"the break at {breaks[0].where} isolates it: only the part behind the break is compiled again"
            else:
                told = f"apart from the break at {breaks[0].where}: the region begins before it, and each needs its " \
                       "own remedy"
            f = dataclasses.replace(f, relation=told)
        out.append(f)
    return out

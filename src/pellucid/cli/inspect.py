"""explain, matrix, bench, profile, diagnose, report and check on TARGET, each a command with the same options.

TARGET is `module:callable` or `file.py:callable`. Its calls come from `NAME_inputs` or else `inputs` in that module: a
function without arguments, or a list, of calls (tuples of arguments, dicts of keyword arguments, or pellucid.Call).
What the program itself prints is not shown.
Exit codes: 0 done, 1 a limit of `check` is broken or a result is wrong, 2 the command line or TARGET is wrong.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click


class Wrong(click.ClickException):
    """TARGET or an option cannot be used."""

    exit_code = 2


def options(command: Callable[..., None]) -> Callable[..., None]:
    """What all commands take, put together to (target, system, compiled callable)."""
    @click.argument("target")
    @click.option("--torch-compile", is_flag=True, help="look at torch.compile instead of pellucid")
    @click.option("--backend", default="inductor", show_default=True, help="backend of --torch-compile")
    @click.option("--as-is", is_flag=True, help="TARGET itself uses compiled functions: compile nothing")
    @click.option("--dynamic/--static", default=None, help="dynamic=True or False for the compile")
    @click.option("--grad/--no-grad", default=True, help="grad mode of the calls")
    @click.option("--json", "as_json", is_flag=True, help="print JSON")
    @click.option("--html", type=click.Path(dir_okay=False), help="also write one self-contained HTML page")
    @functools.wraps(command)
    def run(target: str, torch_compile: bool, backend: str, as_is: bool, dynamic: bool | None, grad: bool,
            as_json: bool, html: str | None, **rest: Any) -> None:
        import torch

        from ..diagnosis.observe import system_of
        from ..diagnosis.target import load
        from ..errors.types import PellucidError

        if torch_compile and as_is:
            raise Wrong("--torch-compile and --as-is exclude each other")
        click.get_current_context().obj = sys.stdout
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), progress(not as_json) as tell, \
                torch.set_grad_enabled(grad):
            try:
                found = load(target)
                made = system_of(found.fn)
                system = "as-is" if as_is else "torch.compile" if torch_compile else made or "pellucid"
                command(found, subject(found.fn, system, made, backend, dynamic), system, as_json, html, tell, **rest)
            except PellucidError as e:
                raise Wrong(str(e)) from e
    return run


def subject(fn: Any, system: str, made: str | None, backend: str, dynamic: bool | None) -> Any:
    """The callable by the system; as it is where it was compiled in the file."""
    import torch

    from ..api import compile
    from ..diagnosis.observe import original

    if system == "as-is" or made == system:
        return fn
    if system == "torch.compile":
        return torch.compile(original(fn), backend=backend, dynamic=dynamic)
    return compile(original(fn), dynamic=dynamic)


@contextlib.contextmanager
def progress(shown: bool) -> Iterator[Callable[[str], None]]:
    """A line on stderr that says what is being done, while it is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status("loading") as status:
        yield lambda text: status.update(text)


def say(text: str) -> None:
    """To the standard output that the command was started with."""
    click.echo(text, file=click.get_current_context().obj)


def show(result: Any, as_json: bool, html: str | None, fn: Any = None) -> None:
    """Print the result, and write the page. fn: the compiled function, for its guards and code on the page."""
    say(json.dumps(result.json(), indent=2) if as_json else result.text())
    if html is not None:
        from ..diagnosis.observe import system_of
        from ..diagnosis.page import page

        Path(html).write_text(page(result, fn if system_of(fn) == "pellucid" else None), encoding="utf-8")
        click.echo(f"written: {html}", err=True)


@click.command()
@options
def explain(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any) -> None:
    """What was captured, where it broke, what each guard is for."""
    from ..api import compiled_of
    from ..diagnosis.callmatrix import watched
    from ..diagnosis.explain import explanation

    seen = watched(fn, found.calls, system)
    show(explanation(compiled_of(fn)) if system == "pellucid" else seen, as_json, html, fn)


@click.command()
@options
def matrix(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any) -> None:
    """Each call: hit, compile or eager, and the guard that failed."""
    from ..diagnosis.callmatrix import watched

    show(watched(fn, found.calls, system), as_json, html, fn)


@click.command()
@options
@click.option("--against", multiple=True, help="another system, as torch.compile; may be repeated")
@click.option("--seconds", default=2.0, show_default=True, help="how long warm calls are timed")
@click.option("--slo", help="objective of one call, as 10ms: the share of calls within it is shown")
@click.option("--fresh/--no-fresh", default=True, help="time first calls in fresh processes")
def bench(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any, against: tuple[str, ...],
          seconds: float, slo: str | None, fresh: bool) -> None:
    """Correctness, first call, and warm calls in turns with eager. Exit code 1 where a result is wrong."""
    from ..diagnosis.bench import bench as run

    eager = found.eager or (found.fn if system == "as-is" else None)
    report = run(fn, found.calls, against, seconds=seconds, slo=duration(slo) if slo else None, fresh=fresh,
                 target=found.spec, eager=eager, progress=tell)
    show(report, as_json, html, fn)
    if report.subject.correctness is not None and not report.subject.correctness.ok:
        sys.exit(1)


@click.command()
@options
def profile(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any) -> None:
    """Time by operator and kernel, with bytes, operations and the share outside kernels."""
    from ..diagnosis.profiling import profile as run

    show(run(fn, found.calls, eager=found.eager or (found.fn if system == "as-is" else None)), as_json, html, fn)


def _diagnosed(found: Any, fn: Any, system: str, tell: Any, seconds: float, lifetime: int | None, share: float | None,
               timed: bool) -> Any:
    from ..diagnosis.diagnose import diagnose as run

    return run(fn, found.calls, system=None if system == "pellucid" else system, eager=found.eager, lifetime=lifetime,
               share=share, seconds=seconds, timed=timed, progress=tell)


def diagnosis_options(command: Callable[..., None]) -> Callable[..., None]:
    @click.option("--seconds", default=1.0, show_default=True, help="how long warm calls are timed")
    @click.option("--lifetime", type=int, help="calls that one process makes")
    @click.option("--share", type=float, help="share of end-to-end time that this function is, 0 to 1")
    @click.option("--timed/--untimed", default=True, help="only watch the calls, or time them too")
    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        command(*args, **kwargs)
    return run


@click.command()
@options
@diagnosis_options
def diagnose(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any, **rest: Any) -> None:
    """Which of the three stories it is, the evidence, the smallest edit, and when to stop."""
    show(_diagnosed(found, fn, system, tell, **rest), as_json, html, fn)


@click.command()
@options
@diagnosis_options
def report(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any, **rest: Any) -> None:
    """Diagnose, and write the HTML page (pellucid-report.html, or --html)."""
    show(_diagnosed(found, fn, system, tell, **rest), as_json, html or "pellucid-report.html", fn)


def duration(text: str) -> float:
    """Seconds of `1s`, `250ms`, `80us`; a number without a unit is seconds."""
    found = re.fullmatch(r"([\d.]+)\s*(s|ms|us)?", text.strip())
    if found is None:
        raise Wrong(f"{text!r} is no duration: write 1s, 250ms or 80us")
    return float(found[1]) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, None: 1.0}[found[2]]


@click.command()
@options
@click.option("--max-breaks", type=int, help="places of graph breaks")
@click.option("--max-compiles", type=int, help="versions compiled over all calls")
@click.option("--max-eager", type=int, help="calls left to Python")
@click.option("--min-speedup", type=float, help="times eager's speed, by the lower bound of its interval")
@click.option("--max-cold", help="time of the first call in a fresh process, as 1s")
@click.option("--seconds", default=1.0, show_default=True, help="how long warm calls are timed")
def check(found: Any, fn: Any, system: str, as_json: bool, html: str | None, tell: Any, max_breaks: int | None,
          max_compiles: int | None, max_eager: int | None, min_speedup: float | None, max_cold: str | None,
          seconds: float) -> None:
    """For CI: exit code 1 and the reasons where a limit is broken or a result is wrong."""
    from ..diagnosis.bench import bench as run
    from ..diagnosis.callmatrix import watched

    cold = duration(max_cold) if max_cold is not None else None
    o = watched(fn, found.calls, system).observation
    reasons = []
    if max_breaks is not None and len(o.breaks) > max_breaks:
        reasons.append(f"{len(o.breaks)} places of breaks, at most {max_breaks} allowed: "
                       + "; ".join(f"{b.where}: {b.reason[:100]}" for b in o.breaks))
    if max_compiles is not None and len(o.compiles) > max_compiles:
        reasons.append(f"{len(o.compiles)} compiles, at most {max_compiles} allowed: " + "; ".join(
            f"call {c.call}: {c.failed[0].text if c.failed else 'first version'}" for c in o.compiles))
    eager = [c for c in o.calls if c.outcome == "eager"]
    if max_eager is not None and len(eager) > max_eager:
        reasons.append(f"{len(eager)} calls left to Python, at most {max_eager} allowed: {eager[0].why}")
    if min_speedup is not None or cold is not None:
        b = run(fn, found.calls, seconds=seconds, fresh=cold is not None, target=found.spec, progress=tell,
                eager=found.eager or (found.fn if system == "as-is" else None), first=o.calls[0].seconds).subject
        if b.correctness is not None and not b.correctness.ok:
            reasons.append(f"the results differ from eager: {b.correctness.problem}")
        if min_speedup is not None and (b.speedup is None or b.speedup.low < min_speedup):
            told = b.refused if b.speedup is None else f"{b.speedup.value:.2f} times eager's speed, 95 % interval " \
                f"{b.speedup.low:.2f} to {b.speedup.high:.2f}"
            reasons.append(f"{told}; {min_speedup} asked for")
        if cold is not None and b.cold[0].first_call > cold:
            reasons.append(f"the first call takes {b.cold[0].first_call:.3f} s, at most {cold:.3f} s allowed")
    if as_json:
        say(json.dumps({"schema": "pellucid.check/1", "target": found.spec, "ok": not reasons, "reasons": reasons},
                       indent=2))
    else:
        say(f"{found.spec}: " + ("ok" if not reasons else "\n  ".join(["not ok", *reasons])))
    if reasons:
        sys.exit(1)


COMMANDS = (explain, matrix, bench, profile, diagnose, report, check)

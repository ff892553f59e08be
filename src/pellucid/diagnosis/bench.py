"""bench(): correctness, first call and warm calls of a compiled function against eager and others, in one run.

The systems take turns in every round, so that the machine's slow spells hit all of them. A run in which the event
record shows a compile, or a call left to Python, is not called warm.
"""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..errors.types import UnsupportedInput
from ..events.record import record
from ..torchdoor import dynamo
from . import cold, correctness, stats
from .bench_report import BenchReport, SystemReport, Warm
from .calls import Call, cloned, parse, tensors
from .observe import compiled, name_of, original, system_of

COMPILES = ("entry_published", "internal_error")
EAGER = ("eager_fallback",)
MOST_WARMUP = 40
"""Rounds of the mixture after which a system that still compiles is not warm."""
QUIET = 2
"""Rounds without a compile before timing starts."""
LEAST_ROUNDS = 12


@dataclass(slots=True)
class System:
    name: str
    fn: Any
    calls: tuple[Call, ...]
    first: float = 0.0
    """Seconds of its first call in this process."""
    refused: str = ""
    warmup: int = 0
    kind: str = ""


def bench(fn: Any, calls: Any, against: Sequence[Any] = (), *, seconds: float = 2.0, slo: float | None = None,
          fresh: bool = True, target: str | None = None, eager: Any = None, seed: int = 0,
          progress: Callable[[str], None] | None = None, exact: bool = True,
          first: float | None = None) -> BenchReport:
    """Time `fn` (what pellucid.compile or torch.compile returned, or a plain callable, which pellucid then compiles)
    for a mixture of calls.

    calls     a sequence: tuples of arguments, dicts of keyword arguments, or pellucid.Call
    against   more systems beside eager: "torch.compile", "pellucid", or a callable
    seconds   how long warm calls are timed, in all
    slo       a limit in seconds for one call: the share of calls within it is reported
    fresh     measure the first call in a fresh process, where the function can be named to one
    target    "module:callable" or "file.py:callable", so that a fresh process can find it
    eager     the plain program that `fn` stands for, where `fn` compiles inside itself
    exact     compare with float64 too
    first     seconds of the first call of `fn`, where it was made and timed before

    Returns a BenchReport (times in seconds). UnsupportedInput names an argument that cannot be.
    """
    mixture = parse(calls)
    if not seconds > 0:
        raise UnsupportedInput("bad-argument", f"bench(): seconds={seconds!r}", "give a positive number of seconds")
    tell = progress or (lambda text: None)
    plain = original(fn) if eager is None else eager
    kind = system_of(fn) or ("as-is" if eager is not None else "pellucid")
    systems = [_system(kind, fn if eager is not None else compiled(fn, kind), mixture, kind)]
    systems += [_other(a, plain, mixture) for a in against if a != "eager"]
    systems.append(_system("eager", plain, mixture, "eager"))
    if len({s.name for s in systems}) < len(systems):
        raise UnsupportedInput("bad-argument", f"bench(): against={list(against)!r} names a system twice or the one "
                               "under test", "name each system once")
    right: dict[str, correctness.Correctness] = {}
    notes: list[str] = []
    for s in systems:
        tell(f"{s.name}: first call and warm-up")
        start = time.perf_counter()
        _synchronised(cloned(mixture[0]), s.fn)
        s.first = time.perf_counter() - start
    if first is not None:
        systems[0].first = first
    for s in systems[:-1]:
        tell(f"{s.name}: results against eager")
        right[s.name] = correctness.compare(s.fn, plain, mixture, exact, seed)
    for s in systems:
        _warm_up(s)
    tell("warm calls, systems interleaved")
    times, rounds = _rounds(systems, seconds)
    found = _fresh(systems, fn, mixture, target, tell, notes) if fresh else {}
    reports = _reports(systems, times, found, right, slo)
    if any(t.is_cuda for c in mixture for t in tensors((c.args, dict(c.kwargs)))):
        notes.append("the device is synchronised before and after each timed call")
    device = next((str(t.device) for c in mixture for t in tensors((c.args, dict(c.kwargs)))), "cpu")
    return BenchReport(name_of(fn), tuple(c.signature() for c in mixture), reports, rounds, torch.get_num_threads(),
                       device, slo, tuple(notes))


def _system(name: str, fn: Any, mixture: tuple[Call, ...], kind: str) -> System:
    return System(name, fn, tuple(cloned(c) for c in mixture), kind=kind)


def _other(given: Any, plain: Any, mixture: tuple[Call, ...]) -> System:
    if given in ("torch.compile", "pellucid"):
        return _system(given, compiled(plain, given), mixture, given)
    if isinstance(given, tuple) and len(given) == 2 and callable(given[1]):
        return _system(str(given[0]), given[1], mixture, "callable")
    if callable(given):
        return _system(name_of(given), given, mixture, "callable")
    raise UnsupportedInput("bad-argument", f"bench(): against has {given!r}",
                           'give "torch.compile", "pellucid", "eager", a callable, or (name, callable)')


def _synchronised(call: Call, fn: Any) -> Any:
    """The call, finished on the device as well."""
    result = call.make(fn)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return result


def compiles() -> tuple[int, int]:
    """(compiles, calls left to Python) that the record shows so far, of both compilers."""
    return sum(map(record.count, COMPILES)) + dynamo.compilations(), sum(map(record.count, EAGER))


def _warm_up(s: System) -> None:
    quiet, start = 0, compiles()
    for _ in range(MOST_WARMUP):
        before = compiles()
        for call in s.calls:
            _synchronised(call, s.fn)
        s.warmup += len(s.calls)
        quiet = quiet + 1 if compiles() == before else 0
        if quiet >= QUIET:
            return
    now = compiles()
    n, python = now[0] - start[0], now[1] - start[1]
    s.refused = f"{n} compiles and {python} calls left to Python in {s.warmup} warm-up calls, up to the last"


def _rounds(systems: list[System], total: float) -> tuple[dict[str, list[list[float]]], int]:
    """Times of each call of each system, one a round; systems take turns, and who begins changes."""
    timed = [s for s in systems if not s.refused]
    times: dict[str, list[list[float]]] = {s.name: [[] for _ in s.calls] for s in timed}
    seen: dict[str, list[int]] = {s.name: [0, 0] for s in timed}
    end, rounds, clock = time.perf_counter() + total, 0, time.perf_counter
    inner: list[int] | None = None
    while rounds < LEAST_ROUNDS or clock() < end:
        if rounds >= LEAST_ROUNDS and clock() > end + 4 * total:
            break
        for s in timed[rounds % max(1, len(timed)):] + timed[:rounds % max(1, len(timed))]:
            before = compiles()
            for i, call in enumerate(s.calls):
                n = 1 if inner is None else inner[i]
                cuda = torch.cuda.is_initialized()
                start = clock()
                for _ in range(n):
                    call.make(s.fn)
                if cuda:
                    torch.cuda.synchronize()
                times[s.name][i].append((clock() - start) / n)
            after = compiles()
            seen[s.name][0] += after[0] - before[0]
            seen[s.name][1] += after[1] - before[1]
        rounds += 1
        if inner is None and rounds == 3:       # short calls are timed several at a time, in all systems alike
            inner = [max(1, math.ceil(50e-6 / max(min(min(t[i]) for t in times.values()), 1e-7)))
                     for i in range(len(timed[0].calls))] if timed else []
            for t in times.values():
                for row in t:
                    row.clear()
    for s in timed:
        n, python = seen[s.name]
        if n or (python and s.kind != "eager"):
            s.refused = f"the event record shows {n} compiles and {python} calls left to Python among the timed calls"
            del times[s.name]
    return times, rounds - 3


def _fresh(systems: list[System], fn: Any, mixture: tuple[Call, ...], target: str | None, tell: Callable[[str], None],
           notes: list[str]) -> dict[str, tuple[cold.Cold, ...]]:
    out: dict[str, tuple[cold.Cold, ...]] = {}
    plain = original(fn)
    with cold.payload(plain, mixture, target) as spec:
        if spec is None:
            notes.append("first calls were timed in this process: the function cannot be named to a fresh one (give "
                         "target='file.py:callable', or define it at the top of a module)")
            return {}
        for s in systems:
            if s.kind == "callable":
                continue
            tell(f"{s.name}: first call in a fresh process")
            folder = tempfile.mkdtemp(prefix="pellucid-inductor-") if s.kind == "torch.compile" else None
            try:
                if folder is None:
                    out[s.name] = (cold.measure(spec, s.kind, "none"),)
                else:
                    out[s.name] = tuple(cold.measure(spec, s.kind, cache, folder) for cache in ("empty", "full"))
            except cold.ColdFailed as e:
                notes.append(f"{s.name}: {e}")
            finally:
                if folder is not None:
                    shutil.rmtree(folder, ignore_errors=True)
    return out


def _reports(systems: list[System], times: dict[str, list[list[float]]], found: dict[str, tuple[cold.Cold, ...]],
             right: dict[str, correctness.Correctness], slo: float | None) -> tuple[SystemReport, ...]:
    out = []
    eager, subject = times.get("eager"), times.get(systems[0].name)
    eager_cold = found["eager"][0].first_call if "eager" in found else systems[-1].first
    for s in systems:
        colds = found.get(s.name) or (cold.Cold("this process", "none", None, None, s.first, None, None),)
        mine = times.get(s.name)
        if mine is None:
            out.append(SystemReport(s.name, right.get(s.name), colds, None, s.refused, None, None, None,
                                    colds[0].peak_bytes, s.warmup))
            continue
        flat = [t for row in mine for t in row]
        total = sum(stats.distribution(row).p50 for row in mine)
        meets = None if slo is None else sum(t <= slo for t in flat) / len(flat)
        warm = Warm(stats.distribution(flat), tuple(map(stats.distribution, mine)), len(mine) / total, meets)
        speedup = stats.ratio(eager, mine) if eager is not None and s.name != "eager" else None
        other = stats.ratio(mine, subject) if subject is not None and s is not systems[0] else None
        payback = None
        if speedup is not None and speedup.low > 1 and eager is not None:
            won = sum(stats.distribution(r).p50 for r in eager) / len(eager) - total / len(mine)
            payback = max(0, math.ceil((colds[0].first_call - eager_cold) / won))
        out.append(SystemReport(s.name, right.get(s.name), colds, warm, "", speedup, other, payback,
                                colds[0].peak_bytes, s.warmup))
    return tuple(out)

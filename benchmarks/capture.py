"""Milliseconds to capture one forward: pellucid's symbolic execution next to Dynamo with backend="eager".

    python benchmarks/capture.py [--models bert,llama] [--repeat 7]

One process, the systems in turn, medians (and quartiles). "capture" is the time of the capture event: symbolic
execution, guards and graph. "first call" is a whole first call with backend="eager" less a warm one, for both systems;
Dynamo is reset before each. Another model was captured by both before, so that nothing is imported while the clock
runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from workloads import build

import pellucid
from pellucid.events.record import record


def milliseconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def first_call(compile_: Callable[[], Callable[[], Any]]) -> float:
    call = compile_()
    first = milliseconds(call)
    return first - min(milliseconds(call) for _ in range(2))


def ours(w: Any, captured: list[float]) -> float:
    seen = len(record.events("capture"))
    took = first_call(lambda: _bound(pellucid.compile(w.fn, backend="eager", fullgraph=True), w))
    captured.append(1e3 * sum(e.data["seconds"] for e in record.events("capture")[seen:]))
    return took


def dynamo(w: Any) -> float:
    torch.compiler.reset()
    return first_call(lambda: _bound(torch.compile(w.fn, backend="eager", fullgraph=True), w))


def _bound(fast: Callable[..., Any], w: Any) -> Callable[[], Any]:
    return lambda: fast(*w.args, **w.kwargs)


def text(values: list[float]) -> str:
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:8.1f} [{low:.1f}, {high:.1f}]"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", default="bert,llama")
    p.add_argument("--repeat", type=int, default=7)
    a = p.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        warm_up = build("gpt2")
        ours(warm_up, [])
        dynamo(warm_up)
        for name in a.models.split(","):
            w = build(name)
            captured: list[float] = []
            mine: list[float] = []
            theirs: list[float] = []
            for _ in range(a.repeat):
                mine.append(ours(w, captured))
                theirs.append(dynamo(w))
            own, first, other = (statistics.median(v) for v in (captured, mine, theirs))
            print(f"{name}: capture {text(captured)} ms; first call {text(mine)} ms, Dynamo {text(theirs)} ms: "
                  f"Dynamo takes {other / first:.1f} x the first call and {other / own:.1f} x the capture", flush=True)


if __name__ == "__main__":
    main()

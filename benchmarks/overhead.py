"""Nanoseconds a call on tiny inputs: pellucid next to eager and torch.compile, one thread.

    python benchmarks/overhead.py [--no-torch-compile]

Each figure is the smallest of many short repeats (the machine's neighbours only ever add time), the systems in turn.
"""

from __future__ import annotations

import argparse
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import pellucid


@dataclass
class Case:
    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    keywords: tuple[str, ...] = ()
    limit_us: float = 5.0
    dynamic: bool | None = None
    warm: tuple[tuple[Any, ...], ...] = ()


def mutate(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def output_module() -> nn.Module:
    from transformers.modeling_outputs import BaseModelOutput

    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(8))

        def forward(self, x: torch.Tensor) -> BaseModelOutput:
            return BaseModelOutput(last_hidden_state=x * self.scale + 1)
    return Head().eval()


def cases() -> list[Case]:
    x = torch.randn(8)
    mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).eval()
    return [
        Case("x + 1, 8 floats", lambda x: x + 1, (x,), limit_us=0.5),
        Case("3-layer MLP of 64, batch 1", mlp, (torch.randn(1, 64),), limit_us=2.0),
        Case("keywords", lambda x, y: x + y, (x, x), ("x", "y")),
        Case("four inputs, three outputs", lambda a, b, c, d: (a + b, c * d, a - d), (x, x, x, x)),
        Case("a view as output", lambda x: x.view(2, 4), (x,)),
        Case("a mutated input", mutate, (x.clone(),)),
        Case("a dynamic batch", lambda x: x * 2 + 1, (torch.randn(5, 8),), dynamic=True,
             warm=((torch.randn(3, 8),), (torch.randn(4, 8),))),
        Case("a ModelOutput", output_module(), (x,)),
    ]


def timer(fn: Callable[..., Any], case: Case) -> timeit.Timer:
    """Times the call as it stands in a program, `fn(a0, a1)` or `fn(x=a0)`."""
    names = [f"a{i}" for i in range(len(case.args))]
    text = ", ".join(f"{k}={a}" for k, a in zip(case.keywords, names)) or ", ".join(names)
    return timeit.Timer(f"fn({text})", globals={"fn": fn, **dict(zip(names, case.args, strict=True))})


def smallest(timers: dict[str, timeit.Timer], window: float, seconds: float = 4e-4) -> dict[str, float]:
    """Least seconds a call of each system, in turn for `window` seconds: a shared machine has slow spells."""
    counts = {}
    for n, t in timers.items():
        one = min(t.timeit(10) for _ in range(5)) / 10
        counts[n] = max(10, int(seconds / max(one, 1e-8)))
    best = dict.fromkeys(timers, float("inf"))
    end = time.perf_counter() + window
    while time.perf_counter() < end:
        for n, t in timers.items():
            best[n] = min(best[n], t.timeit(counts[n]) / counts[n])
    return best


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--no-torch-compile", action="store_true")
    p.add_argument("--window", type=float, default=6.0, help="seconds of timing for each row")
    a = p.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        for c in cases():
            fast = pellucid.compile(c.fn, dynamic=c.dynamic)
            systems: dict[str, Callable[..., Any]] = {"pellucid": fast, "eager": c.fn}
            if not a.no_torch_compile:
                systems["torch.compile"] = torch.compile(c.fn, dynamic=c.dynamic)
            timers = {n: timer(f, c) for n, f in systems.items()}
            for n, f in systems.items():
                for w in c.warm:
                    f(*w)
                timers[n].timeit(3)
            best = smallest(timers, a.window)
            ours = best["pellucid"]
            verdict = "holds" if ours * 1e6 <= c.limit_us and ours < best["eager"] else "FAILS"
            others = "  ".join(f"{n} {1e9 * t:8.0f} ({t / ours:5.1f} x)" for n, t in best.items() if n != "pellucid")
            print(f"{c.name:28s} pellucid {1e9 * ours:7.0f} ns   {others}   limit {c.limit_us} us: {verdict}",
                  flush=True)


if __name__ == "__main__":
    main()

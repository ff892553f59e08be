"""Programs that break often, warm, over eager: pellucid must cost at most 1.1 times what Python alone does.

    python benchmarks/storms.py [--only loop] [--seconds 4]

The two in turn in one process, one thread, a few milliseconds each, for so long; the ratio is the median of the pairs'.
Printed beside it: what the counters say of the warm calls (compiles in them would make the figure worthless).
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from typing import Any

import torch

import pellucid


def loop_with_a_break(x: torch.Tensor) -> float:
    total = 0.0
    for _ in range(100_000):
        total += x.item()
    return total


def note(x: torch.Tensor) -> None:
    print(x.shape)


def loop_with_a_break_in_a_callee(x: torch.Tensor) -> torch.Tensor:
    for _ in range(1_000):
        note(x)
    return x + 1


def breaks_in_a_line() -> Callable[[torch.Tensor], Any]:
    lines = "\n".join(f"    t += x.item() + {k}" for k in range(1_000))
    scope: dict[str, Any] = {}
    exec(f"def in_a_line(x):\n    t = 0.0\n{lines}\n    return t\n", scope)
    return scope["in_a_line"]


def tokens(text: str) -> Iterator[tuple[str, str]]:
    word = ""
    for c in text:
        if c.isalnum():
            word += c
        else:
            if word:
                yield "word", word
                word = ""
            if not c.isspace():
                yield "sign", c
    if word:
        yield "word", word


TEXT = "a1 = (b2 + c3) * d4; " * 500


def parser(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    y = x * 2
    count, depth = 0, 0
    for kind, value in tokens(TEXT):
        if kind == "sign":
            depth += (value == "(") - (value == ")")
        count += len(value)
    return y + 1, count + depth


class Spread(torch.Tensor):
    """A tensor that capture does not support, as a distributed one is."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = [a.inner if isinstance(a, Spread) else a for a in args]
        return func(*inner, **(kwargs or {}))

    @staticmethod
    def make(inner: torch.Tensor) -> "Spread":
        made = torch.Tensor._make_wrapper_subclass(Spread, inner.shape, dtype=inner.dtype)
        made.inner = inner
        return made


def unsupported_input(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2) + 1


def cases() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]:
    one, x = torch.ones(()), torch.ones(8)
    return {
        "loop": (loop_with_a_break, (one,)), "callee": (loop_with_a_break_in_a_callee, (x,)),
        "line": (breaks_in_a_line(), (one,)), "parser": (parser, (x,)),
        "unsupported": (unsupported_input, (Spread.make(torch.ones(64, 64)),)),
    }


def seconds(fn: Callable[..., Any], args: tuple[Any, ...]) -> float:
    least = 0.002
    start, calls = time.perf_counter(), 0
    while True:
        fn(*args)
        calls += 1
        took = time.perf_counter() - start
        if took > least:
            return took / calls


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="")
    p.add_argument("--seconds", type=float, default=4)
    a = p.parse_args()
    torch.set_num_threads(1)
    for name, (fn, args) in cases().items():
        if a.only and name not in a.only.split(","):
            continue
        fast = pellucid.compile(fn)
        with redirect_stdout(io.StringIO()):
            start = time.perf_counter()
            for _ in range(12):
                fast(*args)
            cold = time.perf_counter() - start
            before = pellucid.counters()
            mine, eager = [], []
            end = time.perf_counter() + a.seconds
            while time.perf_counter() < end or len(mine) < 5:
                for times, run in ((mine, fast), (eager, fn))[::1 if len(mine) % 2 else -1]:
                    times.append(seconds(run, args))
            after = pellucid.counters()
        ratio = statistics.median(m / e for m, e in zip(mine, eager))
        moved = {k: after[k] - before[k] for k in after if after[k] != before[k] and isinstance(after[k], int)}
        verdict = "holds" if ratio <= 1.1 else "FAILS"
        print(f"{name:12s} eager {1e3 * statistics.median(eager):9.3f} ms   pellucid / eager {ratio:6.2f}   limit 1.1: "
              f"{verdict}   (first twelve calls {cold:.2f} s)   {moved}", flush=True)


if __name__ == "__main__":
    main()

"""Threads at work on one compiled model while its shapes, modes, attributes and parameters change, for minutes.

    python benchmarks/soak.py [--seconds 300] [--threads 8] [--stall never] [--unlocked]

State is numbers that a writer sets and a result is computed from. The writer holds a reader-writer lock while it
changes something, and each result must be that of the state at its call. With --unlocked it changes things in the
middle of calls: each part of a result must be that of a state that was current during the call. Prints calls, versions,
and the growth of resident memory after the first fifth of the time; exit status 1 where a result was wrong, memory grew
by more than 20 MiB or an internal error was counted.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import torch
from torch import nn

import pellucid

MOST_GROWTH_MIB = 20.0


class Model(nn.Module):
    """All values are whole numbers that float32 holds exactly, so that results compare by equality."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4, 4))
        self.offset, self.table, self.drop = 0.0, {"a": 0}, nn.Dropout(1.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x @ self.weight
        if self.training:
            y = y * 0
        return y + self.offset + self.table["a"]


def rss_mib() -> float:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2**20


class ReadersAndWriter:
    """Many read at a time, or one writes; a writer that waits lets no new reader in."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.readers, self.writing = 0, False

    @contextmanager
    def read(self) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: not self.writing)
            self.readers += 1
        try:
            yield
        finally:
            with self.changed:
                self.readers -= 1
                self.changed.notify_all()

    @contextmanager
    def write(self) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: not self.writing)
            self.writing = True
            self.changed.wait_for(lambda: not self.readers)
        try:
            yield
        finally:
            with self.changed:
                self.writing = False
                self.changed.notify_all()


class Soak:
    def __init__(self, seconds: float, stall: str, locked: bool):
        self.lock = ReadersAndWriter() if locked else None
        self.model = Model().eval()
        self.fast = pellucid.compile(self.model, options={"stall": stall, "recompile_limit": 16, "at_limit": "keep"})
        self.end = time.monotonic() + seconds
        self.wrong: list[str] = []
        self.calls = [0]
        self.seen: dict[str, list[tuple[float, float]]] = {}
        self.history: dict[str, list[float]] = {"offset": [0.0], "table": [0.0], "training": [0.0],
                                               "weight": [1.0]}
        """What each piece of state has been, newest last; a value is appended before it is set."""

    def running(self) -> bool:
        return time.monotonic() < self.end and not self.wrong

    def write(self, rng: random.Random) -> None:
        """The only writer of state: each change is announced first."""
        while self.running():
            with self.lock.write() if self.lock else nullcontext():
                self.change(rng)
            time.sleep(rng.choice((0.0, 0.001, 0.01)))

    def change(self, rng: random.Random) -> None:
        kind = rng.choice(("offset", "table", "training", "parameter", "data", "unread"))
        if kind == "offset":
            v = float(rng.randrange(3) * 100)
            self.history[kind].append(v)
            self.model.offset = v
        elif kind == "table":
            v = float(rng.randrange(3) * 10_000)
            self.history[kind].append(v)
            self.model.table["a"] = int(v)
        elif kind == "training":
            v = float(rng.randrange(2))
            self.history[kind].append(v)
            self.model.train(bool(v))
        elif kind in ("parameter", "data"):
            v = float(rng.randrange(1, 4))
            self.history["weight"].append(v)
            if kind == "data" and self.lock:    # in the middle of a call torch itself reads memory given back
                self.model.weight.data = torch.full((4, 4), v)
            else:
                self.model.weight = nn.Parameter(torch.full((4, 4), v))
        else:
            self.model.note = rng.random()      # type: ignore[assignment]

    def call(self, rng: random.Random) -> None:
        while self.running():
            n = rng.choice((1, 2, 3, 4, 8, 17))
            value = float(rng.randrange(1, 5))
            x = torch.full((n, 4), value)
            with self.lock.read() if self.lock else nullcontext():
                # Without the lock, the value before the last is still there while the last is being set.
                starts = {k: max(0, len(h) - (1 if self.lock else 2)) for k, h in self.history.items()}
                with torch.set_grad_enabled(rng.random() < 0.2):
                    got = self.fast(x).detach()
                now = {k: set(h[starts[k]:]) for k, h in self.history.items()}
            if tuple(got.shape) != (n, 4) or not bool((got == got[0, 0]).all()):
                self.wrong.append(f"not uniform: {got}")
                return
            allowed = {4 * value * w * (1 - off) + o + t for w in now["weight"] for off in now["training"]
                       for o in now["offset"] for t in now["table"]}
            if float(got[0, 0]) not in allowed:
                self.wrong.append(f"{float(got[0, 0])} for x={value}, of {sorted(allowed)[:12]}")
                return
            self.calls[0] += 1


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=300.0)
    p.add_argument("--threads", type=int, default=8)
    p.add_argument("--stall", choices=("compile", "never"), default="never")
    p.add_argument("--unlocked", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    soak = Soak(a.seconds, a.stall, not a.unlocked)
    threads = [threading.Thread(target=soak.write, args=(random.Random(0),))]
    threads += [threading.Thread(target=soak.call, args=(random.Random(i),)) for i in range(1, a.threads)]
    for t in threads:
        t.start()
    time.sleep(a.seconds / 5)
    gc.collect()
    warm = rss_mib()
    for t in threads:
        t.join()
    for h in soak.history.values():
        h.clear()
    gc.collect()
    growth = rss_mib() - warm
    c = pellucid.counters()
    print(f"{soak.calls[0]} calls in {a.seconds:.0f} s on {a.threads} threads, {c['compile_count']} versions, "
          f"{c['eager_fallback_count']} eager, {c['internal_error_count']} internal errors, "
          f"resident memory {growth:+.1f} MiB after warm-up")
    for why, n in pellucid.explain(soak.fast).eager_calls:
        print(f"  {n} x {why[:150]}")
    for w in soak.wrong:
        print("WRONG:", w)
    if soak.wrong or growth > MOST_GROWTH_MIB or c["internal_error_count"]:
        sys.exit(1)


if __name__ == "__main__":
    main()

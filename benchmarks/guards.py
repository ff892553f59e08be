"""What checking costs a call: watched attributes and parameters, hot and with a cold cache, next to torch.compile.

    python benchmarks/guards.py [--torch-compile] [--most 10000] [--no-llama]

A module with N children, whose forward reads one attribute of each, against one with none; then N parameters, of which
the sizes are read. "cold" touches 64 MiB between calls. Last, a Llama of 32 tiny layers: its call minus its plan alone.
Figures are the smallest of interleaved repeats.
"""

from __future__ import annotations

import argparse
import gc
import time
import timeit
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import pellucid


class Child(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k = 1.0


class Attributes(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Child() for _ in range(n)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = 0.0
        for part in self.parts:
            total = total + part.k
        return x + total


class Parameters(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(3)) for _ in range(n)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = 0
        for w in self.weights:
            total = total + w.shape[0]
        return x + total


def hot(fns: dict[str, Callable[[], Any]], repeats: int = 30, seconds: float = 2e-3) -> dict[str, float]:
    timers = {n: timeit.Timer(f) for n, f in fns.items()}
    counts = {n: max(3, int(seconds / max(t.timeit(3) / 3, 1e-8))) for n, t in timers.items()}
    best = dict.fromkeys(fns, float("inf"))
    for _ in range(repeats):
        for n, t in timers.items():
            best[n] = min(best[n], t.timeit(counts[n]) / counts[n])
    return best


def cold(fns: dict[str, Callable[[], Any]], repeats: int = 25) -> dict[str, float]:
    other = torch.zeros(16 << 20)
    best = dict.fromkeys(fns, float("inf"))
    for _ in range(repeats):
        for n, f in fns.items():
            other.add_(1)
            start = time.perf_counter_ns()
            f()
            best[n] = min(best[n], (time.perf_counter_ns() - start) * 1e-9)
    return best


def compiled(module: nn.Module, x: torch.Tensor, compile_: Callable[..., Any]) -> Callable[[], Any]:
    fast = compile_(module)
    for _ in range(4):
        fast(x)
    return lambda: fast(x)


def scaling(name: str, make: Callable[[int], nn.Module], sizes: list[int], compile_: Callable[..., Any],
            per: float, unit: str, limit: float) -> None:
    x = torch.ones(8)
    base = compiled(make(0), x, compile_)
    for n in sizes:
        f = compiled(make(n), x, compile_)
        gc.collect()
        a, b = hot({"f": f, "base": base}), cold({"f": f, "base": base})
        over = a["f"] - a["base"]
        verdict = "" if not limit else "holds" if over / n * per <= limit else f"FAILS (limit {limit} {unit})"
        print(f"{name:12s} {n:6d}: hot {1e6 * over:8.2f} us = {over / n * per:7.2f} {unit}   "
              f"cold {1e6 * (b['f'] - b['base']):8.1f} us   {verdict if n >= 1000 else ''}", flush=True)


def llama(layers: int = 32) -> None:
    from transformers import LlamaConfig, LlamaModel

    config = LlamaConfig(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=layers,
                         num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=32)
    model = LlamaModel(config).eval()
    fast = pellucid.compile(model)
    ids = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(4):
        fast(input_ids=ids, use_cache=False)
    from pellucid.guards.sources import load

    table = next(t for t in pellucid.compiled_of(fast).all_tables() if t.entries)
    entry = table.entries[0]
    slots = pellucid.compiled_of(fast).bind(input_ids=ids, use_cache=False)
    scope = table.scope(slots)
    inputs = [load(i.source, scope) for i in entry.segment.graph.inputs]
    plan = entry.run.__globals__["graph"]
    best = hot({"call": lambda: fast(input_ids=ids, use_cache=False), "plan": lambda: plan(*inputs)})
    rest = best["call"] - best["plan"]
    print(f"Llama, {layers} tiny layers: call {1e6 * best['call']:.1f} us, plan alone {1e6 * best['plan']:.1f} us, "
          f"rest {1e6 * rest:.1f} us, limit 10 us: {'holds' if rest <= 10e-6 else 'FAILS'}; "
          f"{len(entry.guards)} guards, "
          f"{'native' if entry.native and entry.native.native else entry.native and entry.native.why}")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch-compile", action="store_true")
    p.add_argument("--most", type=int, default=10_000)
    p.add_argument("--no-llama", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    sizes = [n for n in (1, 10, 100, 1000, 10_000) if n <= a.most]
    with torch.no_grad():
        scaling("attributes", Attributes, sizes, pellucid.compile, 1e9, "us per 1,000", 2.0)
        scaling("parameters", Parameters, [n for n in sizes if n <= 1000], pellucid.compile, 1e9, "ns each", 5.0)
        if a.torch_compile:
            print("torch.compile:")
            scaling("attributes", Attributes, [n for n in sizes if n <= 100], torch.compile, 1e9, "us per 1,000", 0)
        if not a.no_llama:
            llama()


if __name__ == "__main__":
    main()

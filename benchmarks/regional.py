"""First call of a Llama with 4, 8, 16 and 32 equal layers: how it grows, and where the time goes.

    python benchmarks/regional.py [--torch-compile] [--processes 5] [--profile]

Each figure is the median of fresh processes (the caches on disk are warm): "total" is `import` of the system after
torch's own plus the first call; "call" is the first call alone, after another model was compiled in the process.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import pstats
import statistics
import subprocess
import sys
import time
from typing import Any

LAYERS = (4, 8, 16, 32)


def model(layers: int) -> Any:
    import torch
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=layers,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    return LlamaModel(config).eval()


def one(system: str, layers: int) -> tuple[float, float]:
    """(import and first call, first call once warmed up) in seconds, in this process."""
    import torch

    torch.set_num_threads(1)
    ids = torch.arange(8)[None]
    big, again = model(layers), model(layers)
    with torch.no_grad():
        big(input_ids=ids, use_cache=False)
        start = time.perf_counter()
        if system == "pellucid":
            import pellucid

            compile_: Any = pellucid.compile
        else:
            compile_ = torch.compile
        compile_(big)(input_ids=ids, use_cache=False)
        total = time.perf_counter() - start
        fast = compile_(again)
        start = time.perf_counter()
        if system == "pellucid":
            fast(input_ids=ids, use_cache=False)
        return total, time.perf_counter() - start


def row(system: str, processes: int) -> None:
    found: dict[int, list[tuple[float, float]]] = {n: [] for n in LAYERS}
    for _ in range(processes):
        for n in LAYERS:
            ran = subprocess.run([sys.executable, __file__, "--one", system, str(n)], capture_output=True, text=True,
                                 check=True)
            found[n].append(tuple(json.loads(ran.stdout.splitlines()[-1])))
    for k, what in enumerate(("total", "call") if system == "pellucid" else ("total",)):
        times = {n: statistics.median(x[k] for x in xs) for n, xs in found.items()}
        growth = times[LAYERS[-1]] / times[LAYERS[0]]
        text = "  ".join(f"{n} layers {1e3 * t:6.0f} ms" for n, t in times.items())
        verdict = f" (limit 2.5: {'holds' if growth <= 2.5 else 'FAILS'})" if k == 0 and system == "pellucid" else ""
        print(f"{system:14s} {what:5s} {text}   32/4: {growth:.2f} x{verdict}", flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch-compile", action="store_true")
    p.add_argument("--processes", type=int, default=5)
    p.add_argument("--profile", action="store_true")
    p.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.one:
        print(json.dumps(one(a.one[0], int(a.one[1]))))
        return
    row("pellucid", a.processes)
    if a.torch_compile:
        row("torch.compile", 1)
    if a.profile:
        import torch

        import pellucid

        ids = torch.arange(8)[None]
        profile = cProfile.Profile()
        with torch.no_grad():
            pellucid.compile(model(2))(input_ids=ids, use_cache=False)
            profile.runcall(pellucid.compile(model(32)), input_ids=ids, use_cache=False)
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()

"""First call of a Llama with 4, 8, 16 and 32 equal layers: how it grows, and where the time goes.

    python benchmarks/regional.py [--torch-compile] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import time
from typing import Any

import torch

import pellucid


def model(layers: int) -> Any:
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=layers,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
    return LlamaModel(config).eval()


def first_call(layers: int, compile_: Any) -> float:
    fast = compile_(model(layers))
    ids = torch.arange(8)[None]
    start = time.perf_counter()
    fast(input_ids=ids, use_cache=False)
    return time.perf_counter() - start


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--torch-compile", action="store_true")
    p.add_argument("--profile", action="store_true")
    a = p.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        first_call(2, pellucid.compile)
        systems: dict[str, Any] = {"pellucid": pellucid.compile}
        if a.torch_compile:
            systems["torch.compile"] = torch.compile
        for name, compile_ in systems.items():
            times = {}
            for n in (4, 8, 16, 32):
                times[n] = min(first_call(n, compile_) for _ in range(3 if name == "pellucid" else 1))
            row = "  ".join(f"{n} layers {1e3 * t:6.0f} ms" for n, t in times.items())
            print(f"{name:14s} {row}   32/4: {times[32] / times[4]:.2f} x (limit 2.5)", flush=True)
        if a.profile:
            fast = pellucid.compile(model(32))
            ids = torch.arange(8)[None]
            profile = cProfile.Profile()
            profile.runcall(fast, input_ids=ids, use_cache=False)
            pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()

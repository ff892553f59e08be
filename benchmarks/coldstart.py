"""Seconds from `import torch` done and the model built to the first result, each in a fresh process.

    python benchmarks/coldstart.py [--models bert,llama] [--repeat 3]

pellucid: import, compile and first call, with an empty cache. torch.compile cold: an empty cache directory; second:
another process on the cache that cold left. Prints a row a model with the ratios, of the medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def child(model: str, system: str) -> None:
    import time

    import torch

    sys.path.insert(0, str(HERE))
    from workloads import build
    w = build(model)
    with torch.no_grad():
        start, cpu = time.perf_counter(), time.process_time()
        if system == "pellucid":
            import pellucid
            fast = pellucid.compile(w.fn)
        elif system == "eager":
            fast = w.fn
        else:
            fast = torch.compile(w.fn)
        out = fast(*w.args, **w.kwargs)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
        first = next(iter(out.values())) if hasattr(out, "values") else out
        ref = w.fn(*w.args, **w.kwargs)
        ref = next(iter(ref.values())) if hasattr(ref, "values") else ref
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "difference": float((first - ref).abs().max())}))


def measure(model: str, system: str, cache: str) -> dict[str, float]:
    env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache, PELLUCID_CACHE_DIR=cache, HF_HUB_OFFLINE="1")
    done = subprocess.run([sys.executable, __file__, "--child", model, system], env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{model} with {system} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", default="bert,llama")
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--skip-torch", action="store_true", help="time pellucid alone")
    p.add_argument("--child", nargs=2, metavar=("MODEL", "SYSTEM"), help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        return child(*a.child)
    for model in a.models.split(","):
        rows: dict[str, list[float]] = {}
        for _ in range(a.repeat):
            with tempfile.TemporaryDirectory() as empty, tempfile.TemporaryDirectory() as cache:
                rows.setdefault("pellucid", []).append(measure(model, "pellucid", empty)["seconds"])
                rows.setdefault("pellucid second", []).append(measure(model, "pellucid", empty)["seconds"])
                if not a.skip_torch:
                    rows.setdefault("torch.compile cold", []).append(measure(model, "torch.compile", cache)["seconds"])
                    second = measure(model, "torch.compile", cache)
                    rows.setdefault("torch.compile second", []).append(second["seconds"])
        ours = statistics.median(rows["pellucid"])
        print(f"{model}")
        for system, seconds in rows.items():
            m = statistics.median(seconds)
            print(f"  {system:22s} {m:7.2f} s  ({min(seconds):.2f} to {max(seconds):.2f})   {m / ours:6.1f} x pellucid")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

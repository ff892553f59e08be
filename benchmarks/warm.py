"""Warm calls: pellucid against eager and torch.compile, interleaved in one process, several processes, by ratio.

    python benchmarks/warm.py [--workloads bert,...] [--threads 1,2] [--processes 5] [--against eager,torch.compile]

Each process times rounds in turn (system after system, many calls a round) and reports every call. The ratio is peer's
median over pellucid's; the interval is a bootstrap over processes and calls (95 %, two-sided). The event record must
show no compile while timing, or the run is refused.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEFAULT = "bert,gpt2,llama,pointwise_chain,ln_gelu_residual,masked_attention"


def child(name: str, threads: int, systems: list[str], seconds: float) -> None:
    import time

    import torch

    sys.path.insert(0, str(HERE))
    from workloads import build

    import pellucid
    torch.set_num_threads(threads)
    w = build(name)
    made = {"eager": lambda: w.fn, "pellucid": lambda: pellucid.compile(w.fn),
            "torch.compile": lambda: torch.compile(w.fn)}
    with torch.no_grad():
        fns = {s: made[s]() for s in systems}
        for _ in range(2):          # torch.compile patches nn.Module when it is first used, which others notice
            for f in fns.values():
                for _ in range(5):
                    f(*w.args, **w.kwargs)
        before = pellucid.counters()["compile_count"]
        times: dict[str, list[float]] = {s: [] for s in systems}
        end = time.perf_counter() + seconds
        order = list(fns)
        while time.perf_counter() < end:
            random.shuffle(order)
            for s in order:
                f = fns[s]
                for _ in range(3):
                    t = time.perf_counter()
                    f(*w.args, **w.kwargs)
                    times[s].append(time.perf_counter() - t)
        if pellucid.counters()["compile_count"] != before:
            raise SystemExit("not warm: something was compiled while timing")
    print(json.dumps(times))


def interval(runs: list[tuple[list[float], list[float]]], draws: int = 500) -> tuple[float, float, float]:
    """(ratio, low, high): median of peer over median of ours; bootstrap over processes, then calls."""
    rng = random.Random(0)

    def ratio(sample: list[tuple[list[float], list[float]]]) -> float:
        return statistics.median(statistics.median(p) / statistics.median(o) for p, o in sample)
    boot = []
    for _ in range(draws):
        chosen = [runs[rng.randrange(len(runs))] for _ in runs]
        boot.append(ratio([(rng.choices(p, k=min(len(p), 50)), rng.choices(o, k=min(len(o), 50))) for p, o in chosen]))
    boot.sort()
    return ratio(runs), boot[int(0.025 * draws)], boot[int(0.975 * draws) - 1]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--workloads", default=DEFAULT)
    p.add_argument("--threads", default="1,2")
    p.add_argument("--processes", type=int, default=5)
    p.add_argument("--seconds", type=float, default=3.0, help="timed seconds a process")
    p.add_argument("--against", default="eager,torch.compile")
    p.add_argument("--child", nargs=3, metavar=("NAME", "THREADS", "SYSTEMS"), help=argparse.SUPPRESS)
    a = p.parse_args()
    if a.child:
        return child(a.child[0], int(a.child[1]), a.child[2].split(","), a.seconds)
    peers = a.against.split(",")
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=cache, HF_HUB_OFFLINE="1")
        for name in a.workloads.split(","):
            for threads in map(int, a.threads.split(",")):
                runs: list[dict[str, list[float]]] = []
                for _ in range(a.processes):
                    e = dict(env, OMP_NUM_THREADS=str(threads))
                    done = subprocess.run([sys.executable, __file__, "--seconds", str(a.seconds), "--child", name,
                                           str(threads), ",".join(["pellucid", *peers])],
                                          env=e, capture_output=True, text=True)
                    if done.returncode:
                        raise SystemExit(f"{name} failed:\n{done.stderr[-3000:]}")
                    runs.append(json.loads(done.stdout.strip().splitlines()[-1]))
                ours = statistics.median(statistics.median(r["pellucid"]) for r in runs)
                cells = []
                for peer in peers:
                    r, low, high = interval([(x[peer], x["pellucid"]) for x in runs])
                    cells.append(f"{peer} {r:5.2f} x [{low:.2f}, {high:.2f}]")
                label = f"{name:18s} {threads} thread{'s' if threads > 1 else ' '}"
                print(f"{label}  {1e3 * ours:8.3f} ms   {'   '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()

"""All operators of torch's database against eager: `make opinfo`. One process an operator; resumable."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from .check import check
from .report import report
from .samples import DTYPES, OPERATORS, programs


def work(name: str, path: Path, cap: int, dtypes: tuple[torch.dtype, ...]) -> None:
    """Check every program of the operator; results go to `path`, what is being done to its `.now` beside it."""
    now = path.with_suffix(".now")
    pairs: dict[str, Any] = {}
    for dtype in dtypes:
        short = str(dtype)[6:]
        found: list[Any] = []
        try:
            for program in programs(name, dtype, cap):
                now.write_text(f"{short} {program.variant}")
                found.append(asdict(check(name, program)))
        except Exception as e:  # a fault of the harness: listed, never hidden
            found.append({"variant": "harness", "status": "harness", "path": "", "asked": "", "reason": "",
                          "detail": f"{type(e).__name__}: {e}"[:300]})
        pairs[short] = found
    path.write_text(json.dumps({"name": name, "cap": cap, "pairs": pairs}))
    now.unlink(missing_ok=True)


def start(name: str, path: Path, cap: int, dtypes: tuple[torch.dtype, ...], seconds: int) -> int:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        signal.alarm(seconds)  # the default action ends the process: recorded as a time-out
        code = 1
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            work(name, path, cap, dtypes)
            code = 0
        finally:
            os._exit(code)
    return pid


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("names", nargs="*", help="operators; all by default")
    p.add_argument("--samples", type=int, default=8, help="samples of an operator and dtype")
    p.add_argument("--dtypes", nargs="*", default=[str(d)[6:] for d in DTYPES])
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--seconds", type=int, default=240, help="limit for one operator")
    p.add_argument("--out", type=Path, default=Path("build/opinfo"), help="folder of results; finished ones are kept")
    p.add_argument("--fresh", action="store_true", help="forget the results of earlier runs")
    p.add_argument("--matching", help="only operators whose names match this regular expression")
    p.add_argument("--docs", type=Path, help="write the table to this file")
    a = p.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)
    names = [n for n in OPERATORS if (not a.names or n in a.names) and (not a.matching or re.search(a.matching, n))]
    paths = {n: a.out / (n.replace("/", "_") + ".json") for n in names}
    if a.fresh:
        for path in paths.values():
            path.unlink(missing_ok=True)
    torch.set_num_threads(1)
    check("add", next(programs("add", torch.float32, 1)))  # children find the compiler loaded
    dtypes = tuple(getattr(torch, d) for d in a.dtypes)
    waiting = [n for n in names if not done(paths[n], a.samples)]
    running: dict[int, str] = {}
    began = time.time()
    while waiting or running:
        while waiting and len(running) < a.jobs:
            name = waiting.pop(0)
            running[start(name, paths[name], a.samples, dtypes, a.seconds)] = name
        pid, status = os.wait()
        name = running.pop(pid)
        if status:
            crash(name, paths[name], a.samples, status)
        if len(waiting) % 50 == 0:
            print(f"{len(waiting)} operators left, {time.time() - began:.0f} s", flush=True)
    return report([json.loads(path.read_text()) for path in paths.values()], a.docs)


def done(path: Path, cap: int) -> bool:
    return path.exists() and json.loads(path.read_text())["cap"] >= cap


def crash(name: str, path: Path, cap: int, status: int) -> None:
    """A child that did not end by itself."""
    sig = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    now = path.with_suffix(".now")
    at = now.read_text() if now.exists() else "float32 start"
    dtype, _, variant = at.partition(" ")
    kind = "timeout" if sig == signal.SIGALRM else "crash"
    result = {"variant": variant, "status": kind, "path": kind, "asked": "", "reason": "",
              "detail": f"signal {sig}" if sig else f"status {status}"}
    path.write_text(json.dumps({"name": name, "cap": cap, "pairs": {dtype: [result]}}))


if __name__ == "__main__":
    sys.exit(main())

"""What this machine can do at most, measured: bytes a second of a copy, floating-point operations of a product."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class Machine:
    """Of one process with torch's current number of threads, float32. bandwidth: read and written bytes a second."""

    bandwidth: float
    flops: float
    threads: int


@functools.lru_cache(maxsize=4)
def _measured(threads: int) -> Machine:
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        a = torch.empty(16 * 2 ** 20 // 4 * 4, dtype=torch.float32).fill_(1.0)
        b = torch.empty_like(a)
        copy = min(_time(lambda: b.copy_(a)) for _ in range(4))
        m = torch.randn(512, 512)
        product = min(_time(lambda: m @ m) for _ in range(4))
    return Machine(2 * a.numel() * 4 / copy, 2 * 512 ** 3 / product, threads)


def _time(run: object) -> float:
    start = time.perf_counter()
    run()  # type: ignore[operator]
    return time.perf_counter() - start


def machine() -> Machine:
    """Measured once a process and number of threads; takes about 0.2 s."""
    return _measured(torch.get_num_threads())

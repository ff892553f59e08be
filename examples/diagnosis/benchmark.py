"""Benchmarks that time something else: the compile of the first call, or the queueing of work on a device."""

import time

import torch

import pellucid

EXPECTED = {"cause": {"small": "benchmark-cold", "realistic": "benchmark-no-sync"}, "story": "stable", "timed": True,
            "systems": ["as-is"], "random": True}


def work(x):
    return torch.tanh(x) * 2


def small(x):
    fast = pellucid.compile(work)
    start = time.perf_counter()
    for _ in range(3):
        y = fast(x)  # <- small
    small.seconds = time.perf_counter() - start
    return y


def small_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 3


compiled = pellucid.compile(work)


def realistic(x):
    x = x.to("cuda" if torch.cuda.is_available() else "cpu")
    compiled(x)
    start = time.perf_counter()  # <- realistic
    for _ in range(10):
        y = compiled(x)
    realistic.seconds = time.perf_counter() - start
    return y.cpu()


def realistic_inputs():
    return [(torch.linspace(-1, 1, 64),)] * 3

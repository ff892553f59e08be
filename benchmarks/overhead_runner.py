"""What a native call costs beyond its kernels: minimum over many short repeats, nanoseconds; run with one thread.

    python benchmarks/overhead_runner.py
"""

from __future__ import annotations

import sys
import time
import timeit
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pellucid  # noqa: E402
from pellucid.api import compiled_of  # noqa: E402
from pellucid.runtime.native import records as R  # noqa: E402
from pellucid.runtime.native.attach import attach  # noqa: E402
from pellucid.runtime.native.call import EntryTable, NativeCallable, Signature  # noqa: E402
from pellucid.runtime.native.program import program  # noqa: E402
from pellucid.runtime.native.runner import NativeRunner  # noqa: E402
from pellucid.runtime.native.state import Watch, state_words_for_tensor  # noqa: E402
from tests.runtime.native.kernels import add_one_plan, kernels  # noqa: E402
from tests.runtime.native.test_call import probes, tensor_check  # noqa: E402
from tests.runtime.native.test_runner import mlp  # noqa: E402


def ns(f, *args, seconds: float = 1.0) -> float:
    """Least time of one call, in repeats of about 0.1 ms."""
    names = {f"a{i}": a for i, a in enumerate(args)}
    t = timeit.Timer(f"f({', '.join(names)})", globals={"f": f, **names})
    n = max(1, int(1e-4 / max(t.timeit(20) / 20, 1e-8)))
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        best = min(best, t.timeit(n))
    return best / n * 1e9


def row(name: str, value: float, unit: str = "ns") -> None:
    print(f"{name:58s} {value:10.0f} {unit}")


def entry(checks, plan=None, result=("output",), registers=1) -> EntryTable:
    return EntryTable(checks, registers, Watch(), probes(), plan, [("register", 0)] if plan else [], result)


def native(names, e) -> NativeCallable:
    c = NativeCallable(Signature.plain(names), lambda *a: None)
    c.publish([e])
    return c


def main() -> None:
    torch.set_num_threads(1)
    runner = NativeRunner()
    p = program()
    row(f"runner ready ({'loaded' if p.from_disk else 'compiled'})", p.seconds * 1e3, "ms")
    x = torch.randn(8)
    first = ("recipe", [R.PUSH_REGISTER, 0], 1)
    row("id(x)", ns(id, x))
    row("torch.empty_strided((8,), (1,))", ns(torch.empty_strided, (8,), (1,)))
    row("native call that returns its argument", ns(native(["x"], entry([], None, first)).function, x))
    row("x + 1, 8 floats: plan alone", ns(runner.make(add_one_plan(), kernels(), single=True), x))
    plan = runner.prepare(add_one_plan(), kernels())
    row("x + 1, 8 floats: whole call", ns(native(["x"], entry(tensor_check(0, x), plan)).function, x))

    def add_one(x):
        return x + 1

    compiled = attach(compiled_of(pellucid.compile(add_one)))
    for _ in range(3):
        compiled.function(x)
    row("x + 1, 8 floats: compiled function", ns(compiled.function, x))
    row("x + 1, 8 floats: eager", ns(add_one, x))
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    a = torch.randn(1, 64)
    with torch.no_grad():
        row("MLP of 3 x 64, batch 1: plan alone", ns(runner.make(mlp(), kernels(), single=True), a, *net.parameters()))
        compiled = attach(compiled_of(pellucid.compile(net)))
        for _ in range(3):
            compiled.function(a)
        row("MLP of 3 x 64, batch 1: compiled module", ns(compiled.function, a))
        row("MLP of 3 x 64, batch 1: eager", ns(net, a))
    for n in (1, 11, 101):
        tensors = [torch.randn(4, 5, 6) for _ in range(n)]
        checks = [w for i, t in enumerate(tensors) for w in tensor_check(i, t)]
        names = [f"t{i}" for i in range(n)]
        row(f"{n} guarded arguments, nothing else", ns(native(names, entry(checks, None, first, n)).function, *tensors))
        e = entry([], None, first)
        for t in tensors:
            state_words_for_tensor(e.watch, t)
        row(f"{n} polled tensors, nothing else", ns(native(["x"], e).function, x))


if __name__ == "__main__":
    main()

"""How often something that changes between calls is compiled again: pellucid next to torch.compile.

    python benchmarks/recompiles.py [--no-torch-compile] [--torch-backend eager] [--only NAME]

For each call matrix: compiled versions (frames for torch.compile), calls in plain Python, and seconds of all calls
together, of each system in a process state of its own. The last line says whether ours were never more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

import pellucid

Calls = Callable[[Callable[..., Any]], Iterator[tuple[tuple[Any, ...], dict[str, Any]]]]


@dataclass
class Matrix:
    """make() gives the callable and the function that yields the calls' arguments in turn, changing state between."""

    name: str
    make: Callable[[], tuple[Any, Callable[[], Iterator[tuple[Any, ...]]]]]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(16, 32), nn.Linear(32, 16), nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.drop(torch.relu(self.a(x))))


class Adapter(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.down, self.up, self.scale = nn.Linear(16, 4, bias=False), nn.Linear(4, 16, bias=False), scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.up(self.down(x)) * self.scale


class WithAdapter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(16, 16)
        self.adapters = [Adapter(2.0) for _ in range(4)]
        self.adapter: nn.Module = self.adapters[0]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.adapter(x)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x / (self.step + 1)


class Silent(Counter):
    """The counter is kept, but nothing is computed from it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.step += 1
        return x * 2


def batch() -> Any:
    net = Net().eval()
    return net, lambda: ((torch.randn(n, 16),) for n in (1, 1, 2, 2, 1, 3, 4, 5, 8, 16, 1))


def sequence() -> Any:
    net = Net().eval()
    return net, lambda: ((torch.randn(2, n, 16),) for n in range(5, 65))


def cache() -> Any:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, new: torch.Tensor) -> tuple[torch.Tensor, ...]:
        k, v = torch.cat([k, new], 1), torch.cat([v, new], 1)
        return torch.softmax(q @ k.transpose(1, 2) / 4, -1) @ v, k, v

    def calls() -> Iterator[tuple[Any, ...]]:
        k = v = torch.randn(2, 7, 16)
        for _ in range(64):
            yield torch.randn(2, 1, 16), k, v, torch.randn(2, 1, 16)
            k = v = torch.randn(2, k.shape[1] + 1, 16)
    return attend, calls


def step_argument() -> Any:
    return (lambda x, step: x * (step + 1)), lambda: ((torch.ones(8), i) for i in range(20))


def step_attribute() -> Any:
    return Counter(), lambda: ((torch.ones(8),) for _ in range(20))


def step_unused() -> Any:
    return Silent(), lambda: ((torch.ones(8),) for _ in range(20))


def negative() -> Any:
    return (lambda x, shift: x + shift), lambda: ((torch.ones(8), -i) for i in range(1, 20))


def growing() -> Any:
    seen: list[torch.Tensor] = []

    def keep(x: torch.Tensor) -> torch.Tensor:
        seen.append(x)
        return x * 2

    return keep, lambda: ((torch.ones(8),) for _ in range(12))


def growing_length() -> Any:
    seen: list[float] = []

    def average(x: torch.Tensor) -> torch.Tensor:
        return x / (len(seen) + 1)

    def calls() -> Iterator[tuple[Any, ...]]:
        for i in range(12):
            seen.append(float(i))
            yield (torch.ones(8),)
    return average, calls


def train_eval() -> Any:
    net = Net()

    def calls() -> Iterator[tuple[Any, ...]]:
        for i in range(12):
            net.train(i % 2 == 0)
            yield (torch.randn(2, 16),)
    return net, calls


def adapters() -> Any:
    net = WithAdapter().eval()

    def calls() -> Iterator[tuple[Any, ...]]:
        for i in range(12):
            net.adapter = net.adapters[i % 4]
            yield (torch.randn(2, 16),)
    return net, calls


def rate() -> Any:
    return (lambda p, g, lr: p - lr * g), lambda: ((torch.ones(8), torch.ones(8), 0.1 / (i + 1)) for i in range(20))


def rate_attribute() -> Any:
    class Step:
        lr = 0.1

        def __call__(self, p: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
            return p - self.lr * g
    step = Step()

    def calls() -> Iterator[tuple[Any, ...]]:
        for i in range(20):
            step.lr = 0.1 / (i + 1)
            yield torch.ones(8), torch.ones(8)
    return step, calls


def schedule() -> Any:
    def adam(p: torch.Tensor, m: torch.Tensor, g: torch.Tensor, lr: float, step: int) -> tuple[torch.Tensor, ...]:
        m = 0.9 * m + 0.1 * g
        return p - lr / (1 - 0.9 ** step) * m, m
    return adam, lambda: ((torch.ones(8), torch.ones(8), torch.ones(8), 0.1 * 0.97 ** i, i + 1) for i in range(20))


MATRICES = [Matrix(n, f) for n, f in (
    ("batch 1,1,2,2,1,3,4,5,8,16,1", batch), ("sequence 5..64", sequence), ("KV cache over 64 tokens", cache),
    ("step argument", step_argument), ("step attribute", step_attribute), ("step attribute, unused", step_unused),
    ("negative shift", negative), ("growing list", growing), ("length of a growing list", growing_length),
    ("train/eval", train_eval), ("adapter swaps", adapters), ("float lr argument", rate),
    ("float lr attribute", rate_attribute), ("lr and step of Adam", schedule))]


def ours(m: Matrix) -> tuple[int, int, float]:
    torch.manual_seed(0)
    pellucid.reset()
    fn, calls = m.make()
    fast = pellucid.compile(fn)
    start = time.perf_counter()
    for args in calls():
        fast(*args)
    seconds = time.perf_counter() - start
    c = pellucid.counters()
    return c["compile_count"], c["eager_fallback_count"], seconds


def theirs(m: Matrix, backend: str) -> tuple[int, int, float]:
    """Graphs that torch.compile compiled; which backend compiles them does not change how many there are."""
    from torch._dynamo.utils import counters

    torch.manual_seed(0)
    torch._dynamo.reset()
    counters.clear()
    fn, calls = m.make()
    fast = torch.compile(fn, backend=backend)
    start = time.perf_counter()
    for args in calls():
        fast(*args)
    return counters["stats"]["unique_graphs"], 0, time.perf_counter() - start


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--no-torch-compile", action="store_true")
    p.add_argument("--torch-backend", default="inductor")
    p.add_argument("--only", default="")
    a = p.parse_args()
    torch.set_num_threads(1)
    more = []
    with torch.no_grad():
        for m in MATRICES:
            if a.only not in m.name:
                continue
            n, eager, seconds = ours(m)
            line = f"{m.name:30s} pellucid {n:2d} compiles, {eager:2d} eager, {seconds:6.2f} s"
            if not a.no_torch_compile:
                k, _, other = theirs(m, a.torch_backend)
                line += f"   torch.compile {k:2d} compiles, {other:6.2f} s"
                if n > k:
                    more.append(m.name)
            print(line, flush=True)
    if not a.no_torch_compile:
        print("never more compiles than torch.compile" if not more else f"MORE compiles: {', '.join(more)}")


if __name__ == "__main__":
    main()

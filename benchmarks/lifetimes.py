"""Whether deleted models give their memory back: compile, call and delete many, and watch resident memory.

    python benchmarks/lifetimes.py [--models 200]

Exit status 1 where more than 30 MiB stay after the first tenth of the models.
"""

from __future__ import annotations

import argparse
import gc
import sys

import torch
from torch import nn

import pellucid

LIMIT_MIB = 30.0


class Model(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.a, self.b, self.norm = nn.Linear(width, 2 * width), nn.Linear(2 * width, width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(x + self.b(torch.relu(self.a(x)))).softmax(-1)


def rss_mib() -> float:
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096 / 2**20


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=int, default=200)
    a = p.parse_args()
    torch.set_num_threads(1)
    start = 0.0
    with torch.no_grad():
        for i in range(a.models):
            width = 128 + 8 * (i % 50)      # other sizes, so that code is made anew
            fast = pellucid.compile(Model(width).eval())
            for n in (2, 3, 4, 4):
                fast(torch.randn(n, width))
            del fast
            if i % 10 == 9:
                gc.collect()
            if i + 1 == a.models // 10:
                start = rss_mib()
    gc.collect()
    growth = rss_mib() - start
    kept = len(list(pellucid.api.live))
    print(f"{a.models} models: {growth:+.1f} MiB after the first tenth, {kept} compiled objects left, "
          f"{len(pellucid.events.record.record.events())} events")
    if growth > LIMIT_MIB or kept:
        sys.exit(1)


if __name__ == "__main__":
    main()

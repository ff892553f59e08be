"""Plain functions and modules captured whole, replayed by torch, compared with eager."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from pellucid.capture.capture import capture_call
from pellucid.guards.sources import Scope

from .replay import arguments, equal, failing, run


def check(fn, *args, **kwargs):
    """Capture, replay, compare; returns the segment."""
    bound = arguments(fn, args, kwargs)
    segment = capture_call(fn, bound)
    scope = Scope(bound)
    assert failing(segment, scope) == []
    with torch.no_grad() if not torch.is_grad_enabled() else torch.enable_grad():
        want = fn(*args, **kwargs)
        got = run(segment, Scope(bound))
    assert equal(got, want), (got, want)
    return segment


def test_arithmetic():
    def f(x, y, n=2):
        z = (x + y * n).relu()
        return z.sum(-1), {"a": x - y, "b": [x.shape[0], z.ndim, None]}, -x, 2 - x, x**2, x @ y.T
    check(f, torch.randn(3, 4), torch.randn(3, 4))


def test_python_around_tensors():
    def helper(x, *rest, scale=1.0, **more):
        for i, r in enumerate(rest):
            x = x + r * i
        return x * scale + len(more)

    def f(x):
        xs = [x * i for i in range(3)]
        total = helper(*xs, scale=0.5, a=1, b=2)
        d = {k: v for k, v in zip("abc", xs)}
        d["d"] = total
        out = []
        for k, v in d.items():
            if k != "b":
                out.append(v)
        return tuple(out), f"{len(out)} of {x.shape}", max(3, x.size(0)), [y.sum() for y in reversed(xs)]
    check(f, torch.randn(2, 5))


def test_closures_and_exceptions():
    def f(x):
        count = 0

        def step(y):
            nonlocal count
            count += 1
            if count > 2:
                raise ValueError(f"too many: {count}")
            return y + count
        try:
            for _ in range(5):
                x = step(x)
        except ValueError as e:
            message = str(e)
        finally:
            x = x * 2
        return x, message, count
    check(f, torch.randn(4))


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)
        self.scale = 0.5
        self.register_buffer("shift", torch.arange(n).float())

    @property
    def doubled(self):
        return self.scale * 2

    def forward(self, x, residual=True):
        y = F.gelu(self.linear(self.norm(x))) * self.doubled + self.shift
        return x + y if residual else y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(3)])
        self.head = nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return {"logits": self.head(self.drop(x)), "hidden": x}


def test_module():
    segment = check(Net().eval(), torch.randn(5, 8))
    assert [g.role for g in segment.graph.inputs].count("parameter") == 3 * 4 + 4


def test_no_grad_inside():
    lin = nn.Linear(3, 3)

    def f(x):
        with torch.no_grad():
            y = lin(x)
        return y + 1, torch.is_grad_enabled()
    check(f, torch.randn(2, 3))

"""Views: eager's shapes, strides and offsets, read through to values; and in-place writes through them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pellucid.graph.build import GraphBuilder
from pellucid.ir.lower import lower as lower_graph
from pellucid.ops.errors import OpError, WouldRaise
from pellucid.runtime.reference import run_program

from .harness import add_input, build, check
from .samples import layouts

SAMPLES = list(layouts())
VIEWS: list[tuple[str, tuple[Any, ...], Any]] = [
    ("alias", (), lambda x: x.detach()),
    ("transpose", (0, -1), torch.transpose),
    ("transpose", (1, 1), torch.transpose),
    ("permute", ((2, 0, 1),), torch.permute),
    ("permute", ((-1, -3, -2),), torch.permute),
    ("unsqueeze", (0,), torch.unsqueeze),
    ("unsqueeze", (1,), torch.unsqueeze),
    ("unsqueeze", (-1,), torch.unsqueeze),
    ("squeeze", (), lambda x: x.squeeze()),
    ("squeeze", ((0, 2),), lambda x, d: x.squeeze(d)),
    ("slice", (0, 1, None, 1), lambda x, d, a, b, s: x[a:b:s]),
    ("slice", (2, 1, -1, 2), lambda x, d, a, b, s: x[:, :, a:b:s]),
    ("slice", (1, -2, 100, 1), lambda x, d, a, b, s: x[:, a:b:s]),
    ("slice", (2, 3, 1, 1), lambda x, d, a, b, s: x[:, :, a:b:s]),
    ("select", (0, 0), torch.select),
    ("select", (-1, -1), torch.select),
    ("split", ((1, 2), -2), torch.split),
    ("unfold", (1, 2, 1), lambda x, d, n, s: x.unfold(d, n, s)),
    ("unfold", (2, 1, 3), lambda x, d, n, s: x.unfold(d, n, s)),
    ("diagonal", (0, 1, 2), torch.diagonal),
    ("diagonal", (1, 0, 2), torch.diagonal),
    ("diagonal", (-1, 2, 1), torch.diagonal),
    ("diagonal", (9, 2, 1), torch.diagonal),
    ("expand", ((2, 3, 4),), lambda x, s: x.expand(s)),
    ("expand", ((5, -1, 3, 4),), lambda x, s: x.expand(s)),
    ("expand", ((1, 1, 2, 3, 4),), lambda x, s: x.expand(s)),
    ("view", ((-1,),), lambda x, s: x.view(s)),
    ("view", ((2, 12),), lambda x, s: x.view(s)),
    ("view", ((2, 1, 3, 1, 2, 2),), lambda x, s: x.view(s)),
    ("view", ((6, 4),), lambda x, s: x.view(s)),
    ("view", ((-1, 1),), lambda x, s: x.view(s)),
    ("view", ((1,),), lambda x, s: x.view(s)),
]


@pytest.mark.parametrize("name,args,eager", VIEWS, ids=[f"{n}{a}" for n, a, _ in VIEWS])
@pytest.mark.parametrize("sample", SAMPLES)
def test_views(name: str, args: tuple[Any, ...], eager: Any, sample: str) -> None:
    x = layouts()[sample]
    try:
        eager(x, *args)
    except (RuntimeError, IndexError):
        if name == "slice":  # the eager form here indexes several dimensions at once
            return
        with pytest.raises(OpError):
            build(name, (x, *args))
        return
    check(name, (x, *args), eager, dynamic=name not in ("view", "expand", "split", "diagonal"))


def test_views_of_symbolic_sizes() -> None:
    x = torch.randn(6, 4, 10)
    b = GraphBuilder()
    v = add_input(b, x, dynamic=True)
    s = v.shape
    assert b.emit("view", v, (-1, s[2])).meta.shape == (s[0] * s[1], s[2])
    assert b.emit("view", v, (s[0], s[1], 1, s[2])).meta.strides == (s[1] * s[2], s[2], s[2], 1)
    assert b.emit("expand", b.emit("unsqueeze", v, 0), (3, -1, -1, -1)).meta.strides == (0, s[1] * s[2], s[2], 1)
    assert not b.env.guards, [str(g) for g in b.env.guards]
    half = b.emit("slice", v, 2, None, s[2] // 2, 1)
    assert half.meta.shape == (s[0], s[1], s[2] // 2)
    turned = b.emit("transpose", v, 0, 1)
    assert b.emit("view", turned, (s[1], 1, s[0], s[2])).meta.strides == (s[2], s[0] * s[1] * s[2], s[1] * s[2], 1)
    assert x.transpose(0, 1).view(4, 1, 6, 10).stride() == (10, 240, 40, 1)
    with pytest.raises(WouldRaise):
        b.emit("view", turned, (s[0] * s[1], s[2]))


WINDOWS = [(slice(None),), (slice(1, 3),), (slice(None), 1), (slice(None), slice(None, None, 2))]


@pytest.mark.parametrize("window", WINDOWS)
def test_assign_writes_the_window(window: tuple[Any, ...]) -> None:
    x, y = torch.randn(4, 6), torch.randn(4, 6)
    expected = x.clone()
    expected[window] = y[window] * 2
    part = expected[window]
    b = GraphBuilder()
    v, w = add_input(b, x), add_input(b, y)

    def cut(t: Any) -> Any:
        for d, k in reversed(list(enumerate(window))):
            t = b.emit("select", t, d, k) if isinstance(k, int) else b.emit("slice", t, d, k.start, k.stop, k.step or 1)
        return t
    target = b.write(cut(v), b.emit("mul", cut(w), 2))
    got = run_program(lower_graph(b.finish((b.fresh(v), b.emit("exp", target)))), (x, y))
    assert torch.equal(got[0], expected)
    assert torch.equal(got[1], part.exp())
    assert torch.equal(got[2], expected), "the mutation's value"

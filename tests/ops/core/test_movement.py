"""Data movement and creation against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from pellucid.graph.build import GraphBuilder
from pellucid.ops.errors import WouldRaise
from pellucid.runtime.reference import run_program

from .harness import build, check, lower
from .samples import FLOATS, INTS, images, layouts, values

CUBES = [k for k, v in layouts().items() if v.ndim == 3]


@pytest.mark.parametrize("sample", CUBES)
def test_cat_and_stack(sample: str) -> None:
    x = layouts()[sample]
    for dim in (0, 1, -1):
        check("cat", ((x, x * 2, x.contiguous()), dim), torch.cat)
        check("stack", ((x, x.contiguous()), dim), torch.stack)
    check("cat", ((x, torch.empty(0), x.double()), 1), torch.cat, dynamic=False)
    check("cat", ((x, x.long()), 1), torch.cat)


@pytest.mark.parametrize("sample", list(images()))
def test_cat_keeps_channels_last(sample: str) -> None:
    x = images()[sample]
    check("cat", ((x, x), 1), torch.cat)
    check("cat", ((x, x.contiguous()), 1), torch.cat)


def test_cat_refuses_other_shapes() -> None:
    with pytest.raises(WouldRaise, match="differ outside dimension 1"):
        build("cat", ((values(2, 3), values(3, 3)), 1))
    with pytest.raises(WouldRaise, match="0-d"):
        build("cat", ((values(), values()), 0))


@pytest.mark.parametrize("sample", list(images()))
@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(sample: str, mode: str) -> None:
    x = images()[sample]
    for padding in ((1, 2, 0, 3), (2, 0, 1, 1), (0, 0, 0, 0)):
        if mode != "constant" or any(padding):
            check("pad", (x, padding, mode, 0), lambda x, p, m, v: F.pad(x, p, mode=m))
    if mode == "constant":
        for padding in ((-1, 2), (1, 1, -2, 0, 0, 2), (1, 0, 0, 0, 2, 2, 1, 1), (-3, -2)):
            check("pad", (x, padding, mode, 1.5), lambda x, p, m, v: F.pad(x, p, value=v))


def test_pad_of_integers() -> None:
    for dtype in INTS + (torch.bool,):
        check("pad", (values(2, 3, dtype=dtype), (1, 1), "constant", 1), lambda x, p, m, v: F.pad(x, p, value=v))


def test_pad_refuses() -> None:
    with pytest.raises(WouldRaise, match="too large"):
        build("pad", (values(1, 1, 4, 4), (4, 0), "reflect"))
    with pytest.raises(WouldRaise, match="negative"):
        build("pad", (values(4), (-3, -3)))


@pytest.mark.parametrize("sample", list(layouts()))
def test_order(sample: str) -> None:
    x = layouts()[sample]
    check("repeat", (x, (2,) + (1, 3, 2)[:x.ndim]), lambda x, r: x.repeat(r))
    check("repeat", (x, (1,) * max(x.ndim, 1)), lambda x, r: x.repeat(r))
    if x.ndim == 3:
        for dims in ((0,), (1, 2), ()):
            check("flip", (x, dims), torch.flip)
        for shifts, dims in (((1,), (1,)), ((-2, 5), (2, 0))):
            check("roll", (x, shifts, dims), torch.roll, strides=x.numel() > 0)
        for k in (0, 1, -1):
            check("tril", (x, k), torch.tril)
            check("triu", (x, k), torch.triu)
        for d in (False, True):
            check("sort", (x, -1, d, True), lambda x, d, r, s: torch.sort(x, stable=s, dim=d, descending=r))
        if x.shape[-1] > 1 and x.numel():
            check("topk", (x, 2, -1), torch.topk)


def test_one_hot() -> None:
    check("one_hot", (torch.randint(0, 7, (3, 2)), 7), F.one_hot)


@pytest.mark.parametrize("dtype", FLOATS + INTS + (torch.bool,))
def test_creation(dtype: torch.dtype) -> None:
    check("full", ((2, 0, 3), 1, dtype), lambda s, v, d: torch.full(s, v, dtype=d))
    check("full", ((2, 3), 1, dtype), lambda s, v, d: torch.full(s, v, dtype=d))
    check("full", ((), 0, dtype), lambda s, v, d: torch.full(s, v, dtype=d))
    check("eye", (3, 5, dtype), lambda r, c, d: torch.eye(r, c, dtype=d))
    if dtype is not torch.bool:
        for args in ((0, 5, 1), (2, 11, 3), (5, 0, -2), (0, 0, 1), (7, 6, -1)):
            check("arange", (*args, dtype), lambda a, b, s, d: torch.arange(a, b, s, dtype=d), values=args[2] > 0
                  or dtype is not torch.uint8)
    if dtype in (torch.float32, torch.float64):
        for args in ((0.0, 1.0, 0.1), (1.5, -2.0, -0.25), (0.0, 3, 0.5)):
            check("arange", (*args, dtype), lambda a, b, s, d: torch.arange(a, b, s, dtype=d))


def test_arange_of_symbolic_size() -> None:
    b = GraphBuilder()
    n = b.env.symbol(5)
    sym = b.env.symbols[-1]
    steps = [b.emit("arange", 0, n, 1, torch.int64), b.emit("arange", 1, n * 2, 3, torch.int64),
             b.emit("full", (n,), n, torch.float32)]
    want: list[Any] = [torch.arange(5), torch.arange(1, 10, 3), torch.full((5,), 5.0)]
    for got, w in zip(run_program(lower(b, tuple(steps)), (), {sym: 5}), want):
        assert torch.equal(got, w)

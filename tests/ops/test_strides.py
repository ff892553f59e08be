"""Strides, broadcasting, reshapes and promotion against torch, over random shapes and layouts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.ops import meta, promote, strides
from pellucid.ops.errors import WouldRaise
from pellucid.shapes.env import ShapeEnv

SIZES = st.integers(0, 4)
COMMON = settings(max_examples=150, deadline=None)


@st.composite
def tensors(draw: Any, ndim: int | None = None, shape: tuple[int, ...] | None = None) -> torch.Tensor:
    """A tensor of a random shape: permuted, with some dimensions expanded, sliced or strangely strided."""
    if shape is None:
        shape = tuple(draw(st.lists(SIZES, min_size=ndim or 0, max_size=4 if ndim is None else ndim)))
    order = draw(st.permutations(range(len(shape))))
    step = draw(st.integers(1, 2))
    size, stride = 1, [0] * len(shape)
    for d in order:
        stride[d] = size
        size *= max(shape[d], 1) * step
    for d in range(len(shape)):
        kind = draw(st.integers(0, 9))
        if kind == 0:
            stride[d] = 0
        elif kind == 1 and shape[d] <= 1:
            stride[d] = draw(st.integers(0, 9))
    return torch.empty(max(size, 1) + 40).as_strided(shape, stride)


def operand(t: torch.Tensor) -> strides.Operand:
    return tuple(t.shape), t.stride()


@COMMON
@given(tensors())
def test_predicates(t: torch.Tensor) -> None:
    env = ShapeEnv()
    s, k = operand(t)
    assert strides.is_contiguous(env, s, k) == t.is_contiguous()
    if t.ndim in (4, 5):
        fmt = torch.channels_last if t.ndim == 4 else torch.channels_last_3d
        assert strides.is_channels_last(env, s, k) == t.is_contiguous(memory_format=fmt)
    assert strides.contiguous(s) == torch.empty(s).stride()
    assert strides.preserved(env, s, k) == torch.empty_like(t).stride()
    assert strides.preserved(env, s, k) == t.clone().stride()


@COMMON
@given(tensors(ndim=4))
def test_suggested_memory_format(t: torch.Tensor) -> None:
    try:
        eager = torch.nn.functional.pad(t, (1, 0))  # keeps the suggested format
    except RuntimeError:
        return
    s, k = operand(t)
    assert strides.suggested(ShapeEnv(), s, k, tuple(eager.shape)) == eager.stride()


@st.composite
def broadcastable(draw: Any) -> list[torch.Tensor]:
    full = draw(st.lists(SIZES, max_size=4))
    out = []
    for _ in range(draw(st.integers(1, 3))):
        keep = draw(st.integers(0, len(full)))
        shape = tuple(1 if draw(st.integers(0, 3)) == 0 else s for s in full[len(full) - keep:])
        out.append(draw(tensors(shape=shape)))
    return out


@COMMON
@given(broadcastable())
def test_elementwise(ts: list[torch.Tensor]) -> None:
    eager = {1: lambda a: a.exp(), 2: torch.add, 3: lambda a, b, c: torch.where(a > 0, b, c)}[len(ts)](*ts)
    env = ShapeEnv()
    parts = [operand(t) for t in ts]
    if len(ts) == 3:
        parts[0] = operand(ts[0] > 0)
    shape = meta.broadcast(env, [s for s, _ in parts])
    assert shape == tuple(eager.shape)
    assert strides.elementwise(env, shape, parts) == eager.stride()


@COMMON
@given(tensors())
def test_elementwise_with_a_number(t: torch.Tensor) -> None:
    s, k = operand(t)
    assert strides.elementwise(ShapeEnv(), s, [(s, k)], scalar=True) == (t + 1).stride()


@COMMON
@given(st.lists(st.lists(SIZES, max_size=4), min_size=1, max_size=3))
def test_broadcast(shapes: list[list[int]]) -> None:
    ts = [tuple(s) for s in shapes]
    try:
        want = torch.broadcast_shapes(*ts)
    except RuntimeError:
        with pytest.raises(WouldRaise, match="do not broadcast"):
            meta.broadcast(ShapeEnv(), ts)
        return
    assert meta.broadcast(ShapeEnv(), ts) == tuple(want)


@st.composite
def reshapes(draw: Any) -> tuple[torch.Tensor, tuple[int, ...]]:
    t = draw(tensors())
    n = t.numel()
    new: list[int] = []
    while n > 1 and draw(st.booleans()):
        f = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
        new.append(f)
        n //= f
    new.append(n)
    while draw(st.booleans()):
        new.insert(draw(st.integers(0, len(new))), 1)
    return t, tuple(draw(st.permutations(new)))


@COMMON
@given(reshapes())
def test_view(case: tuple[torch.Tensor, tuple[int, ...]]) -> None:
    t, shape = case
    got = strides.view(ShapeEnv(), *operand(t), shape)
    try:
        assert got == t.view(shape).stride()
    except RuntimeError:
        assert got is None


KINDS = (torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)
OPERANDS = st.one_of(
    st.sampled_from([torch.empty(2, dtype=d) for d in KINDS]),
    st.sampled_from([torch.empty((), dtype=d) for d in KINDS]),
    st.sampled_from([True, 3, 2.5]))


@COMMON
@given(OPERANDS, OPERANDS)
def test_promotion(a: Any, b: Any) -> None:
    assert promote.result_type(a, b) == torch.result_type(a, b)


def test_promotion_of_many() -> None:
    x = torch.empty(2, dtype=torch.bfloat16)
    assert promote.result_type(x, 2.5, torch.empty((), dtype=torch.float64), None) == torch.bfloat16
    assert promote.float_type(torch.int64) == torch.get_default_dtype()


@COMMON
@given(broadcastable())
def test_symbolic_sizes_give_the_same_strides(ts: list[torch.Tensor]) -> None:
    """Symbols in place of sizes above 1 give the strides of the concrete ones, by guards that hold."""
    from pellucid.shapes.dim import evaluate
    from pellucid.shapes.env import holds

    env = ShapeEnv()
    parts, want = [], [operand(t) for t in ts]
    for shape, k in want:
        parts.append((tuple(env.symbol(s) if s > 1 else s for s in shape),
                      tuple(env.symbol(s) if s > 1 else s for s in k)))
    values = {s: s.hint for s in env.symbols}
    shape = meta.broadcast(env, [s for s, _ in parts])
    got = strides.elementwise(env, shape, parts)
    concrete = meta.broadcast(ShapeEnv(), [s for s, _ in want])
    assert tuple(evaluate(s, values) for s in shape) == concrete
    assert tuple(evaluate(s, values) for s in got) == strides.elementwise(ShapeEnv(), concrete, want)
    for g in env.guards:
        assert holds(g.op, evaluate(g.lhs, values), evaluate(g.rhs, values))

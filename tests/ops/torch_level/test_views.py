"""Views, shape changes and indexing against eager: metas, aliasing and values."""

from __future__ import annotations

import operator

import pytest
import torch

from pellucid.graph.build import GraphBuilder
from pellucid.graph.types import TensorMeta
from pellucid.ops.errors import Unsupported, WouldRaise
from pellucid.ops.registry import METHODS

from .harness import Expanded, check, eager, leaves

torch.manual_seed(0)
X = torch.randn(2, 3, 5)
M = torch.randn(4, 5)
V = torch.randn(5)
T = torch.randn(5, 4).t()
Z = torch.tensor(1.5)
Q = torch.randn(2, 5, 3, 4).transpose(1, 2)

CALLS = [
    ("view", (X, 6, 5), {}), ("view", (X, -1), {}), ("view", (X, (2, -1)), {}), ("view", (X, 2, 3, -1), {}),
    ("view", (Z, 1), {}),
    ("view", (X, torch.Size([3, 2, 5])), {}), ("reshape", (T, -1), {}), (torch.reshape, (T, (2, 10)), {}),
    ("reshape", (X, 6, -1), {}),
    ("reshape", (Q, 2, 3, 20), {}), ("reshape", (Q, 2, -1, 4), {}), ("reshape_as", (X, torch.zeros(6, 5)), {}),
    ("view_as", (X, torch.zeros(6, 5)), {}),
    ("flatten", (X,), {}), (torch.flatten, (X, 1), {}), ("flatten", (X, 0, 1), {}), ("flatten", (V,), {}),
    ("flatten", (Z,), {}),
    ("ravel", (X,), {}), ("ravel", (T,), {}), ("unflatten", (X, 2, (5, 1)), {}),
    (torch.unflatten, (X, -1, (1, -1)), {}),
    ("permute", (X, 2, 0, 1), {}), (torch.permute, (X, (1, 0, 2)), {}), ("transpose", (X, 1, 2), {}),
    (torch.transpose, (X, -1, 0), {}),
    ("swapaxes", (X, 0, 1), {}), ("t", (M,), {}), (torch.t, (V,), {}), ("T", (M,), {}), ("mT", (X,), {}),
    ("movedim", (X, 0, -1), {}),
    (torch.movedim, (X, (0, 1), (1, 0)), {}), ("unsqueeze", (X, 1), {}), (torch.unsqueeze, (V, -1), {}),
    ("squeeze", (torch.randn(1, 5, 1),), {}),
    ("squeeze", (torch.randn(1, 5, 1), 0), {}), (torch.squeeze, (torch.randn(1, 5, 1), -1), {}),
    ("squeeze", (X, 0), {}),
    ("squeeze", (torch.randn(1, 5, 1), (0, 2)), {}), ("expand", (V, 3, 5), {}),
    ("expand", (torch.randn(3, 1), -1, 5), {}),
    ("expand", (V, (2, -1)), {}), ("expand_as", (V, M), {}), (torch.broadcast_to, (V, (4, 5)), {}),
    (torch.broadcast_tensors, (V, M), {}),
    (torch.select, (X, 1, -1), {}), ("select", (X, 2, 0), {}), ("narrow", (X, 2, 1, 3), {}),
    (torch.narrow, (X, 2, -4, 2), {}),
    (torch.diagonal, (M,), {}), ("diagonal", (X, 1, 1, 2), {}), ("diagonal", (M, -1), {}),
    ("unfold", (V, 0, 2, 1), {}), ("unfold", (M, 1, 3, 2), {}),
    (torch.as_strided, (M, (2, 2), (5, 1)), {}), ("data", (X,), {}),
    (torch.chunk, (X, 2, 2), {}), ("chunk", (M, 2), {}), ("chunk", (M, 3, -1), {}), ("split", (X, 2, 1), {}),
    (torch.split, (M, [1, 4], 1), {}),
    (torch.split, (M, 2), {"dim": 1}), ("unbind", (X,), {}), (torch.unbind, (X, 1), {}),
    (torch.tensor_split, (M, 3), {"dim": 1}),
    (torch.tensor_split, (M, (1, 3)), {}), ("split_with_sizes", (M, [2, 2]), {}), ("unbind", (M, 0), {}),
    (torch.hsplit, (M, 5), {}), ("vsplit", (M, 2), {}), (torch.dsplit, (X, [1, 3]), {}),
    (torch.unsafe_chunk, (M, 2), {}),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_call(number: int, dynamic: bool) -> None:
    target, args, kwargs = CALLS[number]
    check(target, *args, dynamic=dynamic, **kwargs)


def test_aliasing_is_eagers() -> None:
    for target, args, _ in CALLS:
        made = Expanded(target, args, {})
        tensor = next(a for a in args if isinstance(a, torch.Tensor))
        wanted = leaves(eager(target, args, {}))
        for v, t in zip(leaves(made.result), wanted):
            shares = t.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
            if tensor is made.tensors[0]:
                assert (made.builder.storage(v) == made.builder.storage(made.args[0])) == shares, (target, args)


i0 = torch.tensor([0, 1, 1])
i2 = torch.tensor([[0, 2], [4, 1]])
KEYS = [
    0, -1, slice(None), slice(1, None), slice(None, -1), slice(0, 2), slice(5, 9), slice(-100, 1),
    slice(None, None, 2), None, Ellipsis,
    (0, 1), (0, slice(None), -1), (Ellipsis, 0), (Ellipsis, slice(1, 3)), (None, 0), (0, None, Ellipsis, None),
    (slice(None), slice(None), slice(None)),
    (slice(None), None, 1), (Ellipsis, slice(None, 5)), (slice(None), slice(None), slice(0, 5, 2)), (), (0, 0, 0),
    (Ellipsis, None),
    i0, (i0,), (i0, i0), (i0, slice(None), i0), (slice(None), i0), (slice(None), i0, i0), (Ellipsis, i2), (0, i0),
    (i0, 0), (0, slice(None), i2),
    (None, i0), (i0, None), (i0, slice(None), i2[0, :1]), [0, 1], ([0, 1], [1, 2]), (slice(None), [0, 2]),
    (slice(None), slice(1, 3), i2), i0.int(),
    (i0[:, None], i0), (torch.tensor(1), i0), (slice(None), torch.tensor([-1, 0])), ([1],),
    (torch.tensor(1), i0, slice(None)),
]


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_getitem(number: int, dynamic: bool) -> None:
    made = check("__getitem__", X, KEYS[number], dynamic=dynamic)
    alias = X[KEYS[number]].untyped_storage().data_ptr() == X.untyped_storage().data_ptr()
    assert (made.builder.storage(made.result) == made.builder.storage(made.args[0])) == alias
    assert made.result is not made.args[0]


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("value", [7, 2.5, True])
def test_setitem_number(number: int, value: object) -> None:
    check("__setitem__", X.clone(), KEYS[number], value)


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_setitem_tensor(number: int, dynamic: bool) -> None:
    x = X.clone()
    part = x[KEYS[number]]
    check("__setitem__", x, KEYS[number], torch.full(part.shape, 3.0), dynamic=dynamic)
    check(operator.setitem, x, KEYS[number], torch.tensor(4.0), dynamic=dynamic)


def test_setitem_value_that_broadcasts() -> None:
    check("__setitem__", X.clone(), (slice(None), slice(1, 3)), torch.randn(5))
    check("__setitem__", X.clone(), (0,), torch.randn(1, 3, 5))
    check("__setitem__", X.clone(), (slice(None), torch.tensor([2, 0])), torch.randn(2, 5))
    tokens = torch.ones(2, 11, dtype=torch.long)
    check("__setitem__", torch.zeros(2, 12, dtype=torch.long), (Ellipsis, slice(1, None)), tokens)


def test_setitem_through_a_mask() -> None:
    check("__setitem__", X.clone(), X > 0, 0.0)
    check("__setitem__", M.clone(), torch.tensor([True, False, True, True]), 1)
    check("__setitem__", M.clone(), M > 0, torch.tensor(2.0))
    with pytest.raises(Unsupported):
        Expanded("__setitem__", (M.clone(), M > 0, torch.randn(3)), {})


def test_write_to_a_view_is_seen_by_the_base_and_by_other_views() -> None:
    b = GraphBuilder()
    x = b.input(TensorMeta(torch.float32, (4, 5), (5, 1)), "x")
    rows, column = METHODS["__getitem__"](b, x, slice(1, 3)), METHODS["__getitem__"](b, x, (slice(None), 0))
    METHODS["mul_"](b, rows, 10)
    METHODS["__setitem__"](b, column, 0, 5.0)
    from pellucid.ir.lower import lower
    from pellucid.runtime.reference import run_program
    t = torch.randn(4, 5)
    got = run_program(lower(b.finish((x, rows, column))), [t])
    want = t.clone()
    want[1:3].mul_(10)
    want[0, 0] = 5.0
    torch.testing.assert_close(got[0], want)
    torch.testing.assert_close(got[1], want[1:3])
    torch.testing.assert_close(got[2], want[:, 0])


def test_symbolic_bounds() -> None:
    b = GraphBuilder()
    n = b.env.symbol(5)
    x = b.input(TensorMeta(torch.float32, (4, n), (n, 1)), "x")
    assert METHODS["__getitem__"](b, x, (Ellipsis, slice(None, n - 1))).shape == (4, n - 1)
    assert METHODS["__getitem__"](b, x, (slice(None), slice(1, None))).shape == (4, n - 1)
    assert METHODS["__getitem__"](b, x, (slice(None), slice(None, n))).shape == (4, n)
    assert METHODS["view"](b, x, -1).shape == (4 * n,)
    assert METHODS["view"](b, x, 2, 2, n).shape == (2, 2, n)
    assert METHODS["reshape"](b, x, n, -1).shape == (n, 4)
    assert not b.env.guards


@pytest.mark.parametrize("target, args", [
    ("view", (T, -1)), ("view", (X, 7, -1)), ("view", (X, 4, 5)), ("reshape", (X, -1, -1)), ("permute", (X, 0, 0, 1)),
    ("transpose", (X, 0, 3)),
    ("expand", (M, 3, 5)), ("expand", (V, -1, 5)), ("squeeze", (X, 4)), ("__getitem__", (X, 2)),
    ("__getitem__", (X, (0, 0, 0, 0))),
    ("__getitem__", (X, slice(None, None, -1))), ("__getitem__", (X, 1.5)), ("__getitem__", (X, V)),
    ("narrow", (X, 0, 1, 2)), ("split", (M, [1, 2])),
    ("chunk", (M, 0)), ("__setitem__", (X.clone(), 0, torch.randn(4))),
    ("__getitem__", (X, (i0, torch.tensor([0, 1])))), ("unbind", (Z,)),
    ("__setitem__", (X.clone(), 0, "a")), ("__getitem__", (Z, 0)),
])
def test_refused_as_eager_does(target: str, args: tuple) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        getattr(torch.Tensor, target)(*args)
    with pytest.raises(WouldRaise):
        Expanded(target, args, {})


@pytest.mark.parametrize("key", [X > 0, (0, X[0] > 0), Z > 0, torch.tensor(1), (0, torch.tensor(1))])
def test_keys_that_depend_on_data(key: object) -> None:
    with pytest.raises(Unsupported):
        Expanded("__getitem__", (X, key), {})

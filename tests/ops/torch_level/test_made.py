"""New tensors, joining, rearranging, gathering, reductions and ordering against eager."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from pellucid.graph.build import GraphBuilder
from pellucid.ops.errors import Unsupported, WouldRaise
from pellucid.ops.registry import FUNCTIONS

from .harness import Expanded, check

torch.manual_seed(0)
X = torch.randn(2, 3, 5)
M = torch.randn(4, 5)
T = torch.randn(5, 4).t()
V = torch.randn(5)
I = torch.randint(0, 5, (4, 5))
B = torch.rand(4, 5) > 0.5
H = torch.randn(4, 5).half()
Z = torch.tensor(1.5)
CL = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)

CREATION = [
    (torch.zeros, (2, 5), {}), (torch.zeros, ((2, 5),), {"dtype": torch.long}), (torch.zeros, (), {"size": (3,)}),
    (torch.ones, (torch.Size([3]),), {}),
    (torch.ones, (5,), {"dtype": torch.bool, "device": "cpu"}), (torch.full, ((2, 3), 7), {}),
    (torch.full, ((2,), float("-inf")), {}),
    (torch.full, ((2, 2), True), {}), (torch.full, ((5,), 1.5), {"dtype": torch.float64}), (torch.zeros, ((),), {}),
    (torch.zeros_like, (T,), {}),
    (torch.ones_like, (M,), {"dtype": torch.int32}), (torch.full_like, (I, 31), {}), (torch.zeros_like, (CL,), {}),
    (torch.full_like, (M, 2.5), {}),
    ("new_zeros", (I, (2, 3)), {}), ("new_ones", (M, 3, 2), {"dtype": torch.bool}),
    ("new_ones", (I, ()), {"dtype": torch.bool}), ("new_full", (M, (2, 5), 3), {}),
    (torch.arange, (5,), {}), (torch.arange, (1, 5), {}), (torch.arange, (0, 10, 3), {}), (torch.arange, (5.0,), {}),
    (torch.arange, (0, 1, 0.25), {}),
    (torch.arange, (5, 0, -1), {}), (torch.arange, (5,), {"dtype": torch.float32}),
    (torch.arange, (), {"start": 1, "end": 5}), (torch.arange, (0,), {}),
    (torch.linspace, (0, 1, 5), {}), (torch.linspace, (0, 1, 6), {}),
    (torch.linspace, (-1, 1, 7), {"dtype": torch.float64}), (torch.linspace, (2, 2, 1), {}),
    (torch.eye, (3,), {}), (torch.eye, (2, 5), {"dtype": torch.long}), (torch.tensor, (5,), {}),
    (torch.tensor, (2.5,), {}), (torch.tensor, (True,), {}),
    (torch.tensor, ([1, 2, 3],), {}), (torch.tensor, ([[1.0, 2], [3, 4]],), {"dtype": torch.float64}),
    (torch.tensor, ([],), {}), (torch.tensor, (7,), {"dtype": torch.float16}),
    (torch.scalar_tensor, (3,), {}), (torch.as_tensor, (M,), {}),
    (torch.as_tensor, ([1, 2],), {"dtype": torch.float32}), ("new_tensor", (M, [1, 2]), {}),
    (torch.tensor, (float("nan"),), {}), (torch.tril_indices, (3, 3), {}), (torch.triu_indices, (3, 4, 1), {}),
    (torch.tensor, ([5, 6],), {}),
]
MOVEMENT = [
    (torch.cat, ([M, M],), {}), (torch.cat, ((X, X), -1), {}), (torch.cat, ([torch.zeros(0), M],), {"dim": -2}),
    (torch.cat, ([M, I],), {"dim": 1}),
    (torch.concat, ([V, V, V],), {}), (torch.stack, ([M, M],), {}), (torch.stack, ((V, V), -1), {}),
    (torch.stack, ([Z, Z],), {}), (torch.hstack, ([V, V],), {}),
    (torch.hstack, ([M, M],), {}), (torch.vstack, ([V, V],), {}), (torch.dstack, ([M, M],), {}),
    (torch.atleast_2d, (V,), {}), ("repeat", (M, 2, 1), {}),
    ("repeat", (V, 3, 2), {}), ("repeat", (V, (2,)), {}), (torch.tile, (M, (2,)), {}), ("tile", (V, 2, 2), {}),
    (torch.repeat_interleave, (M, 2), {}),
    ("repeat_interleave", (X, 3, 1), {}), (torch.repeat_interleave, (X, 2), {"dim": -1}),
    (torch.flip, (M, (0, 1)), {}), ("flip", (M, 1), {}),
    (torch.flip, (M, [-1]), {}), (torch.fliplr, (M,), {}), (torch.roll, (M, 1, 0), {}),
    ("roll", (M, (2, -1), (0, 1)), {}), (torch.roll, (M, 3), {}),
    (torch.rot90, (M,), {}), (F.pad, (M, (1, 2)), {}), (F.pad, (X, (1, 0, 0, 2)), {"value": -1.0}),
    (F.pad, (I, (0, 1)), {"value": -100}), (F.pad, (M, (0, -1)), {}),
    (F.pad, (M, (0, 0)), {}), (F.pad, (X, (1, 1)), {"mode": "reflect"}), (F.pad, (X, (2, 1)), {"mode": "replicate"}),
    (F.pad, (X, (1, 2)), {"mode": "circular"}),
    (torch.tril, (M,), {}), ("triu", (X, 1), {}), (torch.triu, (B, -1), {}),
    (torch.meshgrid, (V, V), {"indexing": "ij"}), (torch.meshgrid, (V, torch.arange(3.0)), {"indexing": "xy"}),
    (torch.meshgrid, ([V, V],), {"indexing": "ij"}), (torch.cartesian_prod, (V, V), {}), (torch.diag, (V,), {}),
    (torch.diag, (M,), {}), (torch.diag, (V, 1), {}),
    (torch.diag_embed, (M,), {}), ("diag", (V, -2), {}), (F.one_hot, (I, 5), {}),
    (F.pixel_shuffle, (torch.randn(1, 8, 3, 5), 2), {}), (F.pixel_unshuffle, (torch.randn(1, 2, 4, 6), 2), {}),
]
GATHERING = [
    (torch.gather, (M, 1, I), {}), ("gather", (M, 0, torch.randint(0, 4, (2, 5))), {}),
    (torch.gather, (M,), {"dim": -1, "index": I[:, :2]}), (torch.take_along_dim, (M, I, 1), {}),
    (torch.take_along_dim, (M, I[:1], 1), {}), (torch.take, (M, torch.tensor([0, 19, -1])), {}),
    (torch.index_select, (M, 1, torch.tensor([4, 0])), {}),
    ("index_select", (X, 0, torch.tensor([1, 1, 0])), {}),
    ("scatter", (M, 1, torch.tensor([[0, 1], [4, 3]]), 7.0), {}),
    (torch.scatter, (M, 1, torch.tensor([[0, 1], [4, 3]]), torch.randn(2, 2)), {}),
    ("scatter_add", (M, 0, torch.zeros(4, 5, dtype=torch.long), T), {}),
    (torch.scatter_reduce, (M, 1, I, M, "amax"), {}),
    ("index_add", (M, 0, torch.tensor([0, 0, 3]), torch.randn(3, 5)), {"alpha": 2}),
    (torch.index_copy, (M, 1, torch.tensor([4, 1]), torch.randn(4, 2)), {}),
    (torch.index_fill, (M, 0, torch.tensor([1, 3]), -1.0), {}),
    ("index_put", (M, (torch.tensor([0, 1]), torch.tensor([2, 3])), torch.tensor([1.0, 2.0])), {}),
    (torch.select_scatter, (M, V, 0, 1), {}), (torch.slice_scatter, (M, torch.zeros(2, 5), 0, 1, 3), {}),
    (torch.diagonal_scatter, (torch.zeros(4, 4), torch.ones(4)), {}),
    (torch.masked_scatter, (M, B, T), {}), (F.embedding, (I, torch.randn(5, 3)), {}),
    (F.embedding, (I, torch.randn(7, 4)), {"padding_idx": 0}),
    (F.embedding, (I, torch.randn(5, 3), 1, None, 2.0, False, False), {}),
    ("index_put", (torch.zeros(5), (torch.tensor([0, 0, 2]),), torch.ones(3)), {"accumulate": True}),
]
REDUCTIONS = [
    (torch.sum, (M,), {}), ("sum", (X, 1), {}), ("sum", (X, (0, -1)), {"keepdim": True}), ("sum", (I,), {}),
    ("sum", (B, 1), {}), (torch.sum, (M,), {"dim": 0, "dtype": torch.float64}), ("sum", (H, -1), {}),
    (torch.sum, (M,), {"axis": 1}), ("mean", (M, -1), {"keepdim": True}), ("mean", (X, [-2, -1]), {}),
    (torch.mean, (X,), {}), ("mean", (I,), {"dtype": torch.float32}), ("mean", (H,), {}), (torch.prod, (M, 1), {}),
    ("prod", (I,), {}),
    (torch.max, (M,), {}), (torch.max, (M, 1), {}), ("max", (I, 0), {"keepdim": True}), (torch.max, (M, T), {}),
    (torch.max, (M,), {"dim": -1}), ("min", (M, -1), {}), (torch.min, (I, I), {}), ("amax", (X, (1, 2)), {}),
    (torch.amin, (M,), {"dim": 0}),
    (torch.argmax, (M,), {}), ("argmax", (M, -1), {}), ("argmin", (X, 1), {"keepdim": True}),
    ("argmax", (M,), {"dim": None, "keepdim": True}), (torch.aminmax, (M,), {"dim": 1}), ("any", (B,), {}),
    ("any", (B, 1), {}), (torch.all, (B, 0), {"keepdim": True}),
    ("all", (B,), {}), ("any", (I, -1), {}), ("all", (X, (0, 1)), {}), (torch.count_nonzero, (I, 1), {}),
    ("var", (M, 1), {}), ("var", (M,), {"dim": -1, "unbiased": False, "keepdim": True}), ("std", (M,), {}),
    (torch.std, (X, (0, 1)), {"correction": 0}), ("var", (M, False), {}),
    (torch.var_mean, (M, 1), {}), ("std", (H, 1), {}), (torch.logsumexp, (M, 1), {}),
    ("logsumexp", (X, (1, 2)), {"keepdim": True}), (torch.norm, (M,), {}),
    ("norm", (M,), {"dim": 1, "keepdim": True}), ("norm", (M, 1, -1), {}),
    (torch.linalg.vector_norm, (M, math.inf), {"dim": 1}),
    (torch.linalg.norm, (V,), {}), ("norm", (M,), {"p": 2, "dim": -1, "keepdim": True}),
    (F.normalize, (M,), {"dim": -1}), (F.cosine_similarity, (M, T), {}), (torch.trace, (M,), {}),
    (torch.sort, (M,), {}), ("sort", (M, 0, True), {}), ("argsort", (M, -1), {}), (torch.topk, (M, 2), {}),
    ("topk", (M, 2, 0, False), {}), (torch.cumsum, (M, 1), {}), ("cumsum", (I, 0), {}),
    ("cumsum", (B,), {"dim": 1, "dtype": torch.int32}), ("cumprod", (M, -1), {}), (torch.diff, (M,), {}),
    (torch.diff, (I,), {"dim": 0}),
    (torch.histc, (torch.tensor([0.0, 1, 1, 4, 7, 9]),), {"bins": 8, "min": 0, "max": 7}), ("sum", (Z,), {}),
    ("max", (Z, 0), {}),
]


def _table(name: str, calls: list) -> None:
    @pytest.mark.parametrize("number", range(len(calls)))
    @pytest.mark.parametrize("dynamic", [False, True])
    def test(number: int, dynamic: bool) -> None:
        target, args, kwargs = calls[number]
        check(target, *args, dynamic=dynamic, **kwargs)
    globals()[f"test_{name}"] = test


_table("creation", CREATION)
_table("movement", MOVEMENT)
_table("gathering", GATHERING)
_table("reductions", REDUCTIONS)


def test_empty_gives_the_meta_only() -> None:
    for target, args in ((torch.empty, ((2, 3),)), (torch.empty_like, (T,)), ("new_empty", (M, (3,)))):
        check(target, *args, values=False)


def test_symbolic_creation() -> None:
    b = GraphBuilder()
    n = b.env.symbol(5)
    assert FUNCTIONS[torch.arange](b, n).shape == (n,)
    assert FUNCTIONS[torch.arange](b, 2, n + 2).shape == (n,)
    assert FUNCTIONS[torch.zeros](b, 2, n).shape == (2, n)
    assert FUNCTIONS[torch.full](b, (n, n), 1.0).meta.strides == (n, 1)
    assert FUNCTIONS[torch.tensor](b, [1, n]).shape == (2,)
    assert FUNCTIONS[torch.tensor](b, n).dtype is torch.int64
    assert not b.env.guards


def test_in_place_scatters() -> None:
    check("scatter_", M.clone(), 1, torch.tensor([[0, 1], [4, 3]]), 7.0)
    check("index_add_", M.clone(), 0, torch.tensor([0, 0]), torch.randn(2, 5))
    check("tril_", M.clone())
    check("cumsum_", M.clone(), 1)
    check("masked_scatter_", M.clone(), B, T)


@pytest.mark.parametrize("target, args", [
    (torch.cat, ([M, V],)), (torch.cat, ([Z, Z],)), (torch.stack, ([M, V],)), (torch.gather, (M, 1, I.float())),
    (torch.gather, (M, 0, X.long())), ("mean", (I,)), ("sum", (M, 2)), ("sum", (M, (0, 0))),
    (torch.arange, (5, 0)), (torch.full, ((-1,), 0)), (torch.topk, (M, 9)), ("max", (torch.zeros(0, 2), 0)),
    (torch.amax, (torch.zeros(0),)), (F.pad, (M, (1,))), (F.embedding, (V, M)), (torch.index_select, (M, 0, I)),
    ("repeat", (M, 2)), (torch.diag, (X,)), (torch.flip, (M, (0, 0))), ("scatter", (M, 0, I, I)), ("var", (I,)),
    (torch.cumsum, (M, 2)), (F.pad, (X, (5, 0), "reflect")), (torch.roll, (M, (1, 2), (0,))),
])
def test_refused_as_eager_does(target: object, args: tuple) -> None:
    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)):
        (getattr(torch.Tensor, target) if isinstance(target, str) else target)(*args)
    with pytest.raises(WouldRaise):
        Expanded(target, args, {})


@pytest.mark.parametrize("target, args", [
    ("item", (Z,)), (F.one_hot, (I,)),
    (torch.repeat_interleave, (V, torch.tensor([1, 2, 0, 1, 1]))), ("masked_select", (M, B)), (torch.equal, (M, M)),
    (torch.unique, (I,)), (torch.tensor, ([Z, Z],)),
    (torch.zeros, (2, Z.long())),
])
def test_unsupported(target: object, args: tuple) -> None:
    with pytest.raises(Unsupported):
        Expanded(target, args, {})

"""Indexed reads and writes against eager, and the errors of indices out of range."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from pellucid.ops.errors import OpError, WouldRaise
from pellucid.ops.registry import OPS
from pellucid.runtime.errors import IndexFailed
from pellucid.runtime.reference import run_program

from .harness import build, check, lower, tensors_in
from .samples import layouts, values

CUBES = [k for k, v in layouts().items() if v.ndim == 3 and v.numel() and v.shape == (2, 3, 4)]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def test_embedding() -> None:
    for w in (values(10, 4), values(4, 10).t(), values(10, 4, dtype=torch.bfloat16)):
        for i in (torch.randint(0, 10, (2, 3)), torch.randint(0, 10, (5,), dtype=torch.int32), torch.tensor(3),
                  torch.zeros(0, 2, dtype=torch.int64)):
            check("embedding", (w, i), lambda w, i: F.embedding(i, w))


@pytest.mark.parametrize("sample", CUBES)
def test_gather_and_scatter(sample: str) -> None:
    x = layouts()[sample]
    for dim in (0, 1, -1):
        n = x.shape[dim]
        i = torch.randint(0, n, (2, 3, 2))[:, :, :min(2, x.shape[2])]
        check("gather", (x, dim, i), torch.gather)
        check("index_select", (x, dim, torch.randint(0, n, (5,))), torch.index_select)
        src = values(2, 3, 4)
        one = torch.zeros(2, 3, 1, dtype=torch.int64)
        check("scatter", (x, dim, one, 7.0), torch.scatter)
        check("scatter", (x, dim, one, src), torch.scatter)
        check("scatter", (x, dim, i, src, "sum"), lambda x, d, i, s, r: x.scatter_add(d, i, s), sums=True)
        check("scatter_add", (x, dim, i, src), torch.scatter_add, sums=True)
        for reduce in ("prod", "amax", "amin"):
            check("scatter", (x, dim, i, src, reduce), lambda x, d, i, s, r: x.scatter_reduce(d, i, s, r), sums=True)
        k = torch.randperm(n)
        source = values(*x.shape)
        check("index_add", (x, dim, k, source, 0.5), lambda x, d, k, s, a: x.index_add(d, k, s, alpha=a), sums=True)
        check("index_copy", (x, dim, k, source), torch.index_copy)


def keyed(x: torch.Tensor, indices: Any) -> torch.Tensor:
    return x[tuple(slice(None) if k is None else k for k in indices)]


INDICES = {
    "one": lambda: (torch.randint(-2, 2, (5,)),),
    "middle": lambda: (None, torch.randint(-3, 3, (2, 5))),
    "two": lambda: (torch.randint(0, 2, (5,)), torch.randint(0, 3, (5,))),
    "broadcast": lambda: (torch.randint(0, 2, (5, 1)), torch.randint(0, 3, (4,))),
    "apart": lambda: (torch.randint(0, 2, (5,)), None, torch.randint(0, 4, (5,))),
    "last two": lambda: (None, torch.randint(0, 3, (2, 2)), torch.randint(-4, 4, (2,))),
    "all": lambda: (torch.tensor(1), torch.randint(0, 3, (3,)), torch.randint(0, 4, (2, 3), dtype=torch.int32)),
    "transposed": lambda: (None, torch.randint(0, 3, (4, 2)).t()),
    "none": lambda: (torch.zeros(0, dtype=torch.int64),),
}


@pytest.mark.parametrize("sample", CUBES)
@pytest.mark.parametrize("kind", INDICES)
def test_index(sample: str, kind: str) -> None:
    x, indices = layouts()[sample], INDICES[kind]()
    check("index", (x, indices), keyed)
    part = keyed(x, indices)
    for v in (values(*part.shape), values(), values(part.shape[-1])):
        check("index_put", (x, indices, v, True),
              lambda x, i, v, a: x.index_put([torch.arange(n).view((1,) * (k) + (n,) + (1,) * 0) if i is None else i
                                             for k, (i, n) in enumerate(zip(i, x.shape))], v, accumulate=a)
              if None not in i else _put(x, i, v, a), sums=True)


def _put(x: torch.Tensor, indices: Any, v: torch.Tensor, accumulate: bool) -> torch.Tensor:
    out = x.clone()
    key = tuple(slice(None) if k is None else k for k in indices)
    full = torch.arange(out.numel()).view(out.shape)[key]
    flat = out.reshape(-1).index_put([full.reshape(-1)], v.expand(full.shape).reshape(-1), accumulate=accumulate)
    out.copy_(flat.view(out.shape))
    return out


OUT_OF_RANGE = [("embedding", (values(4, 2), torch.tensor([0, 4]))), ("embedding", (values(4, 2), torch.tensor([-1]))),
                ("gather", (values(4), 0, torch.tensor([-1]))), ("index_select", (values(4), 0, torch.tensor([4]))),
                ("index", (values(4), (torch.tensor([-5]),))), ("scatter", (values(4), 0, torch.tensor([4]), 1.0)),
                ("index_put", (values(4), (torch.tensor([4]),), values(1), False)),
                ("index_add", (values(4), 0, torch.tensor([-1]), values(1))), ("one_hot", (torch.tensor([3]), 3))]


@pytest.mark.parametrize("op,args", OUT_OF_RANGE)
def test_out_of_range_raises_at_run_time(op: str, args: Any) -> None:
    assert OPS[op].can_raise
    b, vals = build(op, args)
    with pytest.raises(IndexFailed):
        run_program(lower(b, vals), tensors_in(args))


def test_refusals() -> None:
    with pytest.raises(WouldRaise, match="int64 or int32"):
        build("embedding", (values(4, 2), values(3)))
    with pytest.raises(OpError, match="mask"):
        build("index", (values(4), (values(4) > 0,)))
    with pytest.raises(WouldRaise, match="exceeds"):
        build("gather", (values(2, 3), 1, torch.zeros(5, 1, dtype=torch.int64)))
    with pytest.raises(WouldRaise, match="dtype"):
        build("scatter", (values(4), 0, torch.zeros(4, dtype=torch.int64), values(4).double()))

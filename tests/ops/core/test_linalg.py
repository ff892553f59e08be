"""Matrix products against eager: layouts, batches, biases, integers, empty operands; and what gemm is called with."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from pellucid.ir.types import Extern, Map
from pellucid.ops.errors import WouldRaise

from .harness import build, check, lower
from .samples import layouts, values


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def matrices(m: int, n: int, dtype: torch.dtype) -> list[torch.Tensor]:
    return [values(m, n, dtype=dtype), values(n, m, dtype=dtype).t(), values(m, 2 * n, dtype=dtype)[:, ::2],
            values(m, 2 * n, dtype=dtype)[:, :n], values(1, n, dtype=dtype).expand(m, n)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("sizes", [(3, 4, 5), (1, 4, 5), (3, 1, 5), (3, 4, 1), (1, 1, 1), (0, 4, 5), (3, 0, 5)])
def test_products(dtype: torch.dtype, sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    for a in matrices(m, k, dtype):
        for b in matrices(k, n, dtype):
            check("mm", (a, b), torch.mm, sums=True)
            check("addmm", (values(n, dtype=dtype), a, b, 1, 1),
                  lambda c, a, b, beta, alpha: torch.addmm(c, a, b, beta=beta, alpha=alpha), sums=True)
    a, b = values(2, m, k, dtype=dtype), values(2, k, n, dtype=dtype)
    bt = values(2, n, k, dtype=dtype).transpose(1, 2)
    for x, y in ((a, b), (a, bt), (a[:1].expand(2, m, k), bt)):
        check("bmm", (x, y), torch.bmm, sums=True)
        for c in (values(2, m, n, dtype=dtype), values(n, dtype=dtype), values(2, 1, 1, dtype=dtype)):
            check("baddbmm", (c, x, y, 2, 3),
                  lambda c, a, b, beta, alpha: torch.baddbmm(c, a, b, beta=beta, alpha=alpha), sums=True, ulps=4)
    check("mv", (values(m, k, dtype=dtype), values(k, dtype=dtype)), torch.mv, sums=True)
    check("dot", (values(k, dtype=dtype), values(2 * k, dtype=dtype)[::2]), torch.dot, sums=True)


@pytest.mark.parametrize("beta,alpha", [(0, 1), (1, 0.5), (2, 3)])
def test_scaled_addmm(beta: float, alpha: float) -> None:
    for c in (values(3, 5), values(5), values(3, 1), values()):
        check("addmm", (c, values(3, 4), values(4, 5), beta, alpha),
              lambda c, a, b, beta, alpha: torch.addmm(c, a, b, beta=beta, alpha=alpha), sums=True)


@pytest.mark.parametrize("sample", [k for k, v in layouts().items() if v.ndim])
def test_linear(sample: str) -> None:
    x = layouts()[sample]
    k = x.shape[-1]
    for w in (values(5, k), values(k, 5).t()):
        check("linear", (x, w, values(5)), F.linear, sums=True)
        check("linear", (x, w), F.linear, sums=True)


def loops(op: str, *args: Any) -> list[Any]:
    b, vals = build(op, args)
    return list(lower(b, vals).loops)


def test_linear_is_one_call_without_copies() -> None:
    (call,) = loops("linear", values(2, 3, 4), values(5, 4), values(5))
    assert isinstance(call, Extern) and call.kind == "gemm"
    assert [(v.shape, v.strides) for v in call.ins] == [((6, 4), (4, 1)), ((4, 5), (1, 4)), ((6, 5), (0, 1))]
    assert call.outs[0].shape == (6, 5)


def test_operands_that_gemm_cannot_read_are_copied() -> None:
    first, call = loops("mm", values(3, 8)[:, ::2], values(4, 5))
    assert isinstance(first, Map) and isinstance(call, Extern)
    assert call.ins[0].buffer == first.out.buffer


def test_shapes_that_do_not_fit_are_named() -> None:
    for op, args in (("mm", (values(2, 3), values(4, 5))), ("bmm", (values(2, 3, 4), values(3, 4, 5))),
                     ("linear", (values(2, 3), values(5, 4))), ("mv", (values(2, 3), values(2)))):
        with pytest.raises(WouldRaise, match=op):
            build(op, args)
    with pytest.raises(WouldRaise, match="one dtype"):
        build("mm", (values(2, 3), values(3, 4).double()))

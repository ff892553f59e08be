"""Attention against eager: the fused kernel's layouts, masks, grouped heads, and the composed form."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from pellucid.ir.types import Extern
from pellucid.ops.errors import WouldRaise

from .harness import build, check, lower
from .samples import values

OP = "scaled_dot_product_attention"
B, H, S, T, D = 2, 4, 5, 7, 16


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def eager(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False, scale: Any = None, gqa: bool = False) -> Any:
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale, enable_gqa=gqa)


def operands(dtype: torch.dtype = torch.float32) -> dict[str, tuple[torch.Tensor, ...]]:
    q, k, v = (values(B, H, n, D, dtype=dtype) for n in (S, T, T))
    joint = values(B, S, 3, H, D, dtype=dtype)
    return {
        "contiguous": (q, k, v),
        "joint projection": tuple(joint[:, :, i].transpose(1, 2) for i in range(3)),
        "turned query": (values(B, S, H, D, dtype=dtype).transpose(1, 2), k, v),
        "other order": (values(S, B, H, D, dtype=dtype).permute(1, 2, 0, 3), k, v),
        "one row": (q[:, :, :1], k, v),
        "expanded": (q[:1].expand(B, H, S, D), k, v),
        "narrow values": (q, k, values(B, H, T, 8, dtype=dtype)),
        "strided keys": (q, values(B, H, D, T, dtype=dtype).transpose(2, 3), v),
        "three dims": (q[0], k[0], v[0]),
        "two dims": (q[0, 0], k[0, 0], v[0, 0]),
        "broadcast batch": (q, k[:1], v[:1]),
    }


@pytest.mark.parametrize("sample", list(operands()))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_against_eager(sample: str, dtype: torch.dtype) -> None:
    q, k, v = operands(dtype)[sample]
    check(OP, (q, k, v), eager, sums=True)
    check(OP, (q, k, v, None, True), eager, sums=True)
    check(OP, (q, k, v, None, False, 0.3), eager, sums=True)
    rows, cols = q.shape[-2], k.shape[-2]
    masks = [values(rows, cols, dtype=dtype), values(rows, cols) > -1, values(1, cols) > -1]
    if q.ndim == 4:
        masks += [values(B, 1, rows, cols) > -1, values(1, 1, 1, cols, dtype=dtype)]
    for mask in masks:
        check(OP, (q, k, v, mask), eager, sums=True)


def test_grouped_heads() -> None:
    q, k, v = operands()["contiguous"]
    check(OP, (q, k[:, :2], v[:, :2], None, False, None, True), eager, sums=True)
    check(OP, (q, k[:, :2], values(B, 2, T, 8), None, True, None, True), eager, sums=True)
    with pytest.raises(WouldRaise, match="divide"):
        build(OP, (q, k[:, :3], v[:, :3], None, False, None, True))


def test_rows_without_any_key() -> None:
    q, k, v = operands()["narrow values"]
    mask = torch.zeros(S, T, dtype=torch.bool)
    mask[1:] = True
    check(OP, (q, k, v, mask), eager, sums=True)
    check(OP, (q, k, v, torch.where(mask, 0.0, -math.inf)), eager, sums=True)


def test_kinds_of_lowering() -> None:
    def externs(*args: Any) -> list[str]:
        b, vals = build(OP, args)
        return [x.kind for x in lower(b, vals).loops if isinstance(x, Extern)]
    assert externs(*operands()["joint projection"]) == ["sdpa"]
    assert externs(*operands()["narrow values"]) == ["gemm", "gemm"]


def test_wrong_shapes_are_named() -> None:
    q, k, v = operands()["contiguous"]
    with pytest.raises(WouldRaise, match="attn_mask"):
        build(OP, (q, k, v, values(3, 3)))
    with pytest.raises(WouldRaise, match="differ"):
        build(OP, (q, k[..., :3], v))
    with pytest.raises(WouldRaise, match="is_causal"):
        build(OP, (q, k, v, values(S, T), True))

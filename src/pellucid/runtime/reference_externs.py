"""The extern table of the reference runner: one row a kind, each by torch's own operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..ir.opaque import fill
from ..ir.types import Extern
from ..torchdoor.operators import operator_by_name
from .evaluate import Memory

Row = Callable[[list[torch.Tensor], list[torch.Tensor], dict[str, Any]], None]

TABLE: dict[str, Row] = {}


def row(kind: str) -> Callable[[Row], Row]:
    """Register the decorated function for extern calls of `kind`: fn(ins, outs, params) fills outs in place."""
    def register(fn: Row) -> Row:
        TABLE[kind] = fn
        return fn
    return register


def run_extern(extern: Extern, memory: Memory) -> None:
    if extern.kind not in TABLE:
        raise NotImplementedError(f"extern kind {extern.kind!r} has no row in the reference runner's table; "
                                  f"known: {', '.join(sorted(TABLE))}")
    ins = [memory.tensor(v) for v in extern.ins]
    outs = [memory.tensor(v) for v in extern.outs]
    TABLE[extern.kind](ins, outs, dict(extern.params))


@row("gemm")
def gemm(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """c = alpha * a @ b + bias, of two dimensions or batched."""
    a, b = ins[0], ins[1]
    alpha = params.get("alpha", 1)
    if len(ins) == 3:
        bias = ins[2].expand(outs[0].shape)
        c = torch.addmm(bias, a, b, alpha=alpha) if a.ndim == 2 else torch.baddbmm(bias, a, b, alpha=alpha)
    else:
        c = torch.matmul(a, b)
        if alpha != 1:
            c = c * alpha
    outs[0].copy_(c)


@row("convolution")
def convolution(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """y = convolution(x, w[, bias]); params: stride padding dilation transposed output_padding groups."""
    outs[0].copy_(torch.ops.aten.convolution(ins[0], ins[1], ins[2] if len(ins) == 3 else None, params["stride"],
                                             params["padding"], params["dilation"], params["transposed"],
                                             params["output_padding"], params["groups"]))


@row("sdpa")
def sdpa(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """Attention over (B, H, S, E), key and value perhaps of fewer heads; a fourth operand is an additive mask."""
    outs[0].copy_(torch.nn.functional.scaled_dot_product_attention(
        ins[0], ins[1], ins[2], attn_mask=ins[3] if len(ins) == 4 else None, is_causal=params["is_causal"],
        scale=params["scale"], enable_gqa=ins[0].shape[1] != ins[1].shape[1]))


@row("sort")
def sort(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """(values, indices); params: dim descending stable."""
    values, indices = torch.sort(ins[0], stable=params["stable"], dim=params["dim"], descending=params["descending"])
    outs[0].copy_(values)
    outs[1].copy_(indices)


@row("topk")
def topk(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """(values, indices); params: k dim largest sorted."""
    values, indices = torch.topk(ins[0], params["k"], params["dim"], params["largest"], params["sorted"])
    outs[0].copy_(values)
    outs[1].copy_(indices)


@row("opaque")
def opaque(ins: list[torch.Tensor], outs: list[torch.Tensor], params: dict[str, Any]) -> None:
    """A dispatcher call. params: target (an operator's name), args and kwargs with slots for the operands."""
    got = operator_by_name(params["target"])(*fill(params["args"], ins), **dict(fill(params["kwargs"], ins)))
    for out, value in zip(outs, got if isinstance(got, (tuple, list)) else (got,), strict=True):
        out.copy_(value)

"""The extern table of the reference runner: one row a kind, each by torch's own operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..ir.types import Extern
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

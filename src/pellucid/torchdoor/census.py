"""Counts what operators a call runs in eager: calls, bytes, floating-point operations, reduction length.

Floating-point operations by the usual conventions: 2 m n k for a matrix product, 2 times the multiply-adds for a
convolution and for the two products of attention, one an output element for everything else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(slots=True)
class OperatorCount:
    """bytes: of all tensors read and written; flops: see the module. views move nothing and count 0."""

    name: str
    calls: int = 0
    bytes: int = 0
    flops: int = 0
    reduction: int = 1
    """The longest sum that one output element is made of."""
    kind: str = "other"
    """library (matrix product, convolution, attention), reduction, transfer, view or other"""
    where: tuple[str, int] | None = None
    """File and line of the user's program that first asked for it (of transfers)."""


LIBRARY = ("mm", "addmm", "bmm", "baddbmm", "convolution", "linear", "matmul", "addmv", "mv", "dot",
           "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_flash_attention",
           "_scaled_dot_product_efficient_attention", "_scaled_dot_product_attention_math",
           "_native_multi_head_attention",
           "mkldnn_rnn_layer", "lstm", "gru", "fft_fft", "_fft_r2c", "_fft_c2c", "_fft_c2r", "linalg_solve_ex",
           "linalg_inv_ex", "linalg_cholesky_ex", "_linalg_svd", "_linalg_eigh", "sort", "topk", "cumsum",
           "_thnn_fused_lstm_cell", "convolution_backward", "_convolution", "mkldnn_convolution")
"""Operators whose work is done by a library's kernel that a compiler calls, and does not replace."""
TORCH, OWN = str(Path(torch.__file__).parent), str(Path(__file__).resolve().parents[1])
TRANSFER = ("_to_copy", "copy_", "_pin_memory")
REDUCTIONS = ("sum", "mean", "var", "var_mean", "std", "prod", "amax", "amin", "max", "min", "norm", "_softmax",
              "_log_softmax", "native_layer_norm", "native_group_norm", "native_batch_norm", "logsumexp", "cumsum",
              "linalg_vector_norm", "_fused_rms_norm")


class Census(TorchDispatchMode):
    """A dispatch mode under which operators are counted: `with Census() as c: fn(x)`, then c.counts."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, OperatorCount] = {}
        self.random = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::")
        ins, outs = _tensors((args, kwargs or {})), _tensors(out)
        c = self.counts.setdefault(name, OperatorCount(name))
        c.calls += 1
        if func.is_view or not outs:
            c.kind = "view" if func.is_view else "other"
            return out
        self.random |= torch.Tag.nondeterministic_seeded in func.tags
        c.bytes += sum(_bytes(t) for t in ins) + sum(_bytes(t) for t in outs)
        c.kind = "library" if name in LIBRARY else "transfer" if name in TRANSFER else \
            "reduction" if name in REDUCTIONS else "other"
        if c.kind == "transfer" and c.where is None:
            c.where = _users_line()
        flops, reduction = _work(name, ins, outs, args)
        c.flops += flops
        c.reduction = max(c.reduction, reduction)
        return out


def census(call: Callable[[], Any]) -> Census:
    """The operators that the call runs."""
    with Census() as c:
        call()
    return c


def _users_line() -> tuple[str, int] | None:
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((TORCH, OWN)):
            return file, frame.f_lineno
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _tensors(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in _tensors(v)]
    return []


def _bytes(t: torch.Tensor) -> int:
    return t.numel() * t.element_size() if t.layout == torch.strided else 0


def _work(name: str, ins: list[torch.Tensor], outs: list[torch.Tensor], args: Any) -> tuple[int, int]:
    """(floating-point operations, reduction length)."""
    out = sum(t.numel() for t in outs)
    if name in ("mm", "bmm", "matmul", "mv", "dot", "linear") and len(ins) >= 2 and ins[0].dim():
        k = ins[0].shape[-1]
        return 2 * outs[0].numel() * k, k
    if name in ("addmm", "baddbmm", "addmv") and len(ins) >= 3:
        k = ins[1].shape[-1]
        return 2 * outs[0].numel() * k, k
    if "convolution" in name and len(ins) >= 2:
        k = math.prod(ins[1].shape[1:])
        return 2 * outs[0].numel() * k, k
    if "scaled_dot_product" in name and len(ins) >= 3:
        q, keys = ins[0], ins[1].shape[-2]
        return 4 * q.numel() * keys, max(q.shape[-1], keys)
    if name in REDUCTIONS and ins:
        if name.startswith(("_softmax", "_log_softmax")):
            dim = args[1] if len(args) > 1 and isinstance(args[1], int) else -1
            return 4 * out, max(1, ins[0].shape[dim] if ins[0].dim() else 1)
        if "layer_norm" in name or "rms_norm" in name:
            return 6 * out, max(1, ins[0].shape[-1])
        return ins[0].numel(), max(1, ins[0].numel() // max(1, outs[0].numel()))
    return out, 1

"""Dtype promotion by torch's rules: tensors with dimensions outrank 0-d tensors, which outrank Python numbers.

Source of the rules: "torch.result_type" and "Type promotion" in torch's documentation of tensor attributes.
"""

from __future__ import annotations

from typing import Any

import torch

from ..shapes.dim import Dim

FLOATS = frozenset((torch.float16, torch.bfloat16, torch.float32, torch.float64))
HALVES = frozenset((torch.float16, torch.bfloat16))
INTS = frozenset((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64))
SCALARS = frozenset((int, float, bool, complex, Dim))


def category(dtype: torch.dtype) -> int:
    """0 bool, 1 integer, 2 floating point, 3 complex."""
    return 2 if dtype.is_floating_point else 3 if dtype.is_complex else 0 if dtype is torch.bool else 1


def number_dtype(x: Any) -> torch.dtype:
    """The dtype that a Python number has by itself: bool, int64 (also a symbolic size), or the default float dtype."""
    t = type(x)
    if t is float:
        return torch.get_default_dtype()
    if t is bool:
        return torch.bool
    if t is int or t is Dim:
        return torch.int64
    if t is complex:
        return torch.complex128 if torch.get_default_dtype() is torch.float64 else torch.complex64
    raise TypeError(f"expected a number, got {x!r} of type {t.__name__}")


def _combine(higher: torch.dtype | None, lower: torch.dtype | None) -> torch.dtype | None:
    if higher is None or lower is None:
        return lower if higher is None else higher
    return torch.promote_types(higher, lower) if category(lower) > category(higher) else higher


def result_type(*operands: Any) -> torch.dtype:
    """The dtype in which torch combines the operands: anything with `dtype` and `shape`, Python numbers, sizes.

    At least one operand must be given; None operands are skipped.
    """
    ranks: list[torch.dtype | None] = [None, None, None]
    for x in operands:
        if x is None:
            continue
        if type(x) in SCALARS:
            rank, dtype = 2, number_dtype(x)
        else:
            rank, dtype = (0 if x.shape else 1), x.dtype
        have = ranks[rank]
        ranks[rank] = dtype if have is None or have is dtype else torch.promote_types(have, dtype)
    out = _combine(ranks[0], _combine(ranks[1], ranks[2]))
    if out is None:
        raise TypeError("result_type needs at least one operand")
    return out


def float_type(dtype: torch.dtype) -> torch.dtype:
    """`dtype` where it is floating or complex, else the default float dtype (what exp, sqrt, division ... give)."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.get_default_dtype()


def math_type(dtype: torch.dtype) -> torch.dtype:
    """The dtype that values of `dtype` are computed in: float32 for float16 and bfloat16, else itself."""
    return torch.float32 if dtype in HALVES else dtype

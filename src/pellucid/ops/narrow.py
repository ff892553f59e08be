"""Dtypes for which core operators are lowered, where eager's kernels do not take all: other calls go to torch's own.

What is refused here goes on as an opaque call (ops/torch_level/opaque.py), whose kernel gives eager's value or eager's
exception, so that a loop never gives a value where eager refuses the dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def _dtypes(args: tuple[Any, ...]) -> list[torch.dtype]:
    return [d for a in args if (d := getattr(a, "dtype", None)) is not None]


def _floats(args: tuple[Any, ...]) -> bool:
    return all(d.is_floating_point for d in _dtypes(args))


def _no_bools(args: tuple[Any, ...]) -> bool:
    return torch.bool not in _dtypes(args)


def _first_float(args: tuple[Any, ...]) -> bool:
    return bool(args[0].dtype.is_floating_point)


def _hardtanh(args: tuple[Any, ...]) -> bool:
    return args[0].dtype not in (torch.bool, torch.uint8)


def _pad(args: tuple[Any, ...]) -> bool:
    return args[2] == "constant" or bool(args[0].dtype.is_floating_point)


def _avg_pool(args: tuple[Any, ...]) -> bool:
    """Floating; half precision in up to two dimensions alone."""
    return _floats(args) and (args[0].ndim < 5 or args[0].dtype not in (torch.float16, torch.bfloat16))


def _batch_norm(args: tuple[Any, ...]) -> bool:
    """One dtype, or statistics and weights in float32 beside an input of half precision."""
    first, *rest = _dtypes(args)
    halves = first in (torch.float16, torch.bfloat16) and all(d is torch.float32 for d in rest)
    return first.is_floating_point and (halves or all(d is first for d in rest))


TAKES: dict[str, Callable[[tuple[Any, ...]], bool]] = {
    **dict.fromkeys("lerp upsample_linear upsample_nearest max_pool adaptive_avg_pool adaptive_max_pool layer_norm "
                    "native_layer_norm group_norm native_group_norm rms_norm norm gelu silu mish leaky_relu elu "
                    "hardswish hardsigmoid softshrink hardshrink softplus log_sigmoid prelu_scale "
                    "std var std_mean var_mean".split(), _floats),
    "addcmul": _no_bools, "addcdiv": _no_bools, "hardtanh": _hardtanh, "relu6": _hardtanh, "pad": _pad,
    "threshold": _no_bools, "batch_norm": _batch_norm, "avg_pool": _avg_pool,
    "scaled_dot_product_attention": _first_float,
}
"""Core operator -> whether these operands have a lowering. Operators that are not named take every real dtype."""

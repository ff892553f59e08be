"""Shapes, strides and dtypes of a torch call's results, by torch's own meta implementation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def stand_in(dtype: torch.dtype, shape: tuple[int, ...], strides: tuple[int, ...]) -> torch.Tensor:
    """A tensor without data."""
    return torch.empty_strided(shape, strides, dtype=dtype, device="meta")


def run_on_meta(fn: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """fn's results as tensors without data. Raises NotImplementedError where torch has no meta implementation, and
    whatever torch raises for operands that do not fit."""
    with torch.no_grad():
        return fn(*args, **kwargs)


def is_alias_of(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors share their storage; also answers for tensors without data."""
    return bool(torch._C._is_alias_of(a, b))  # type: ignore[attr-defined]

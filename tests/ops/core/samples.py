"""Tensors to test with: every layout that shape rules tell apart, and every dtype class."""

from __future__ import annotations

from collections.abc import Callable

import torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int64, torch.int32, torch.uint8)
Maker = Callable[..., torch.Tensor]


def values(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random contents: normal for floats, small (with negative) for integers."""
    if dtype.is_floating_point:
        return torch.randn(shape).to(dtype)
    if dtype is torch.bool:
        return torch.rand(shape) > 0.5
    return torch.randint(0 if dtype is torch.uint8 else -9, 10, shape).to(dtype)


def layouts(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """Three-dimensional tensors of one shape in different layouts, and smaller and empty ones."""
    return {
        "contiguous": values(2, 3, 4, dtype=dtype),
        "transposed": values(4, 3, 2, dtype=dtype).transpose(0, 2),
        "permuted": values(3, 4, 2, dtype=dtype).permute(2, 0, 1),
        "expanded": values(2, 1, 4, dtype=dtype).expand(2, 3, 4),
        "sliced": values(2, 3, 8, dtype=dtype)[:, :, 1:8:2],
        "ones": values(1, 3, 1, dtype=dtype),
        "empty": values(2, 0, 4, dtype=dtype),
        "empty transposed": values(4, 0, 2, dtype=dtype).transpose(0, 2),
        "scalar": values(dtype=dtype),
        "vector": values(4, dtype=dtype),
    }


def images(dtype: torch.dtype = torch.float32) -> dict[str, torch.Tensor]:
    """(N, C, H, W) tensors in the memory formats that eager's image operators tell apart."""
    last = torch.channels_last
    return {
        "contiguous": values(2, 4, 9, 8, dtype=dtype),
        "channels_last": values(2, 4, 9, 8, dtype=dtype).to(memory_format=last),
        "permuted": values(9, 8, 2, 4, dtype=dtype).permute(2, 3, 0, 1),
        "one channel": values(2, 1, 9, 8, dtype=dtype).to(memory_format=last).expand(2, 4, 9, 8),
    }

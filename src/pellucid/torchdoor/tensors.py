"""What a tensor is beyond its public attributes: its dispatch keys, and the bytes of memory that it can touch."""

from __future__ import annotations

import torch

_dispatch_keys = torch._C._dispatch_keys


def dispatch_keys(t: torch.Tensor) -> int:
    """The tensor's raw dispatch key set (layout, conj and neg bits, autograd, inference, functorch wrappers ...)."""
    return int(_dispatch_keys(t).raw_repr())


def extent(t: torch.Tensor) -> tuple[int, int]:
    """[first, last) byte addresses that the tensor's elements span; (0, 0) for an empty one."""
    last = 0
    for size, stride in zip(t.shape, t.stride()):
        if size == 0:
            return 0, 0
        last += (size - 1) * stride
    start = t.data_ptr()
    return start, start + (last + 1) * t.element_size()

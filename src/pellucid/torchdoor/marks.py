"""What the user said of a tensor's sizes: mark_dynamic and mark_static leave attributes on the tensor."""

from __future__ import annotations

import torch


def marked_dynamic(t: torch.Tensor, dim: int) -> bool:
    """torch._dynamo.mark_dynamic(t, dim) or maybe_mark_dynamic(t, dim) was called."""
    return dim in getattr(t, "_dynamo_dynamic_indices", ()) or dim in getattr(t, "_dynamo_weak_dynamic_indices", ())


def marked_static(t: torch.Tensor, dim: int) -> bool:
    """torch._dynamo.mark_static(t, dim) was called."""
    return dim in getattr(t, "_dynamo_static_indices", ())

"""What the user said of a tensor's sizes: marks are attributes of the tensor, ours and torch._dynamo's."""

from __future__ import annotations

import torch

_OWN = "_pellucid_marks"
Mark = tuple[str, "int | None", "int | None"]
"""(dynamic, maybe or static; lowest and highest size promised)"""


def mark(t: torch.Tensor, dim: int, kind: str, lo: int | None, hi: int | None) -> None:
    """Leave a mark; a later one of the same dimension replaces it."""
    t.__dict__.setdefault(_OWN, {})[dim] = (kind, lo, hi)


def mark_of(t: torch.Tensor, dim: int) -> Mark | None:
    """The mark of size `dim`: by pellucid's own functions, else by torch._dynamo's."""
    attributes = t.__dict__
    if not attributes:
        return None
    own = attributes.get(_OWN)
    if own is not None and dim in own:
        found: Mark = own[dim]
        return found
    for d in (dim, dim - t.ndim):
        if d in attributes.get("_dynamo_dynamic_indices", ()):
            for r in attributes.get("_dynamo_dynamic_range", ()):
                if r.dim == d:
                    return "dynamic", r.min, r.max
            return "dynamic", None, None
        if d in attributes.get("_dynamo_static_indices", ()):
            return "static", None, None
        if d in attributes.get("_dynamo_weak_dynamic_indices", ()):
            return "maybe", None, None
    return None

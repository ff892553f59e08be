"""nn.Module's hooks: whether a call of a module does more than its forward."""

from __future__ import annotations

from typing import Any

from torch.nn.modules import module as _module

_GLOBAL = tuple(getattr(_module, n) for n in ("_global_forward_hooks", "_global_forward_pre_hooks",
                                              "_global_backward_hooks", "_global_backward_pre_hooks"))


def has_hooks(d: dict[str, Any]) -> bool:
    """Whether the module with instance dictionary `d`, or every module, has hooks that run around forward."""
    return bool(d["_forward_pre_hooks"] or d["_forward_hooks"] or d["_backward_hooks"] or d["_backward_pre_hooks"]
                or any(_GLOBAL))

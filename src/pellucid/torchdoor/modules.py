"""nn.Module's hooks: whether a call of a module does more than its forward."""

from __future__ import annotations

from typing import Any

from torch.nn.modules import module as _module

HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
"""Names of a module's dictionaries of hooks."""
GLOBAL_HOOKS = tuple(getattr(_module, n) for n in ("_global_forward_hooks", "_global_forward_pre_hooks",
                                                   "_global_backward_hooks", "_global_backward_pre_hooks"))
"""The dictionaries of hooks of all modules."""


def has_hooks(d: dict[str, Any]) -> bool:
    """Whether the module with instance dictionary `d`, or every module, has hooks that run around forward."""
    return bool(d["_forward_pre_hooks"] or d["_forward_hooks"] or d["_backward_hooks"] or d["_backward_pre_hooks"]
                or any(GLOBAL_HOOKS))

"""Settings of torch that a program may change inside the captured part: they are set again where its graph runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_C = torch._C

GETTERS: dict[Callable[..., Any], Callable[[], Any]] = {
    getattr(_C, setter): getattr(_C, getter) for setter, getter in (
        ("_set_sdp_use_flash", "_get_flash_sdp_enabled"), ("_set_sdp_use_math", "_get_math_sdp_enabled"),
        ("_set_sdp_use_mem_efficient", "_get_mem_efficient_sdp_enabled"),
        ("_set_sdp_use_cudnn", "_get_cudnn_sdp_enabled"),
        ("_set_sdp_use_overrideable", "_get_overrideable_sdp_enabled"),
        ("_set_sdp_priority_order", "_get_sdp_priority_order"),
    ) if hasattr(_C, setter) and hasattr(_C, getter)}
"""Setter of one argument -> what reads the setting."""
GETTERS[_C._set_default_dtype] = torch.get_default_dtype

DEFAULT_DTYPE = torch.get_default_dtype


def kept() -> Callable[[], None]:
    """Puts all settings back to what they are now."""
    now = [(setter, getter()) for setter, getter in GETTERS.items()]

    def back() -> None:
        for setter, value in now:
            setter(value)
    return back


def under_default(dtype: torch.dtype, fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, called while `dtype` is the default one."""
    def run(*args: Any, **kwargs: Any) -> Any:
        before = torch.get_default_dtype()
        _C._set_default_dtype(dtype)
        try:
            return fn(*args, **kwargs)
        finally:
            _C._set_default_dtype(before)
    return run

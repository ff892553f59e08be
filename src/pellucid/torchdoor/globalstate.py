"""The thread's global state as torch keeps it: one tuple of words that is quick to read, and named parts of it."""

from __future__ import annotations

from typing import Any

import torch

_C = torch._C
_grad = torch.is_grad_enabled
_inference = torch.is_inference_mode_enabled
_any_autocast = _C._is_any_autocast_enabled
_default_dtype = torch.get_default_dtype
_function_modes = _C._len_torch_function_stack
_dispatch_modes = _C._len_torch_dispatch_stack
_deterministic = _C._get_deterministic_algorithms
_precision = _C._get_float32_matmul_precision
_anomaly = _C.is_anomaly_enabled
_forward_grad = _C._is_fwd_grad_enabled
_math_sdp = _C._get_math_sdp_enabled
_flash_sdp = _C._get_flash_sdp_enabled
_mem_sdp = _C._get_mem_efficient_sdp_enabled
_functorch = _C._functorch.maybe_current_level
_tracing = _C._get_tracing_state
_disabled = _C._is_torch_function_all_disabled
_saved_hooks = _C._autograd._top_saved_tensors_default_hooks


def words() -> tuple[Any, ...]:
    """Everything global that captured code may depend on, as one comparable tuple. About 1 us."""
    return (
        _grad(), _inference(), _autocast() if _any_autocast() else None, _default_dtype(), _function_modes(),
        _dispatch_modes(), _deterministic(), _precision(), _anomaly(), _forward_grad(), _math_sdp(), _flash_sdp(),
        _mem_sdp(), _functorch(), _tracing() is None, _disabled(), _saved_hooks(True) is None,
        default_device() if _function_modes() else _CPU,
    )


def _autocast() -> tuple[Any, ...]:
    """(device type, dtype) of each device type under autocast, and whether casts of weights are cached."""
    on = tuple((d, torch.get_autocast_dtype(d)) for d in ("cpu", "cuda", "xpu") if torch.is_autocast_enabled(d))
    return (*on, torch.is_autocast_cache_enabled())


def unusual(words: tuple[Any, ...]) -> str | None:
    """Why calls under this state must run eagerly (a mode or transform that sees each operator), or None."""
    if words[2] is not None and any(d != "cpu" for d, _ in words[2][:-1]):
        return "autocast is active for another device than the CPU"
    if words[5]:
        return "a TorchDispatchMode is active"
    if words[13] is not None:
        return "a functorch transform (vmap, grad, jvp ...) is active"
    if not words[14]:
        return "torch.jit.trace is running"
    if words[15]:
        return "__torch_function__ is disabled for all"
    if words[17] is None:
        return "a TorchFunctionMode is active"
    return None


def default_device() -> torch.device | None:
    """The device that factory functions use; None where function modes other than set_default_device's are active."""
    count = _function_modes()
    if count == 0:
        return _CPU
    from torch.utils._device import DeviceContext

    if count == 1 and isinstance(top := _C._get_function_stack_at(0), DeviceContext):
        return top.device
    return None


_CPU = torch.device("cpu")

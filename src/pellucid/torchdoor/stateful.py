"""torch functions, some private, whose answers are fixed while a program is captured, or that set the grad mode."""

from __future__ import annotations

from typing import Any

import torch

_C = torch._C


def _get(path: str) -> Any:
    obj: Any = torch
    for part in path.split("."):
        obj = getattr(obj, part, None)
        if obj is None:
            return None
    return obj


NOT_TRACING = tuple(
    _get(p)
    for p in (
        "_C._is_tracing",
        "_jit_internal.is_scripting",
        "jit._trace.is_tracing",
        "_C._functorch.is_batchedtensor",
        "_C._functorch.is_gradtrackingtensor",
        "_C._functorch.is_functorch_wrapped_tensor",
        "_C._is_torch_function_mode_enabled",
        "_C._are_functorch_transforms_active",
    )
)
"""Answer False."""

TRACING_STATE = (_get("_C._get_tracing_state"),)

TORCH_FUNCTION_TESTS = tuple(_get(p) for p in (
    "_C._has_torch_function", "_C._has_torch_function_unary", "_C._has_torch_function_variadic",
    "overrides.has_torch_function", "overrides.has_torch_function_unary", "overrides.has_torch_function_variadic"))
"""Whether some argument overrides torch functions: not so for the tensors that capture accepts."""

UNWRAP_DEAD = tuple(_get(p) for p in ("_C._functorch.unwrap_if_dead",))
"""Gives its argument back unless that is the wrapper of a transform that has ended."""

GENERATIONS = "torch._dynamo.mutation_guard"
"""The module (loaded by torch.compile, not by us) whose GenerationTracker.tag nn.Module.__init__ then calls."""


def declared_constant(fn: Any) -> bool:
    """Whether torch.compiler.assume_constant_result marked the function."""
    return getattr(fn, "_dynamo_marked_constant", False) is True


HIGHER_ORDER = {
    ("torch", "cond"): "cond",
    ("torch._higher_order_ops.cond", "cond"): "cond",
    ("torch._higher_order_ops.while_loop", "while_loop"): "while_loop",
    ("torch._higher_order_ops.associative_scan", "associative_scan"): "associative_scan",
    ("torch.utils.checkpoint", "checkpoint"): "checkpoint",
    ("torch.nn.modules.module", "Module.to"): "module_to",
    ("torch._higher_order_ops.invoke_subgraph", "invoke_subgraph_placeholder"): "region",
    ("torch.autograd", "grad"): "gradients",
    ("torch.autograd", "backward"): "gradients",
    ("torch._functorch.vmap", "vmap_impl"): "transform",
    ("torch._functorch.eager_transforms", "grad_impl"): "transform",
    ("torch._functorch.eager_transforms", "grad_and_value_impl"): "transform",
    ("torch._functorch.eager_transforms", "_vjp_with_argnums"): "transform",
    ("torch._functorch.eager_transforms", "_jvp_with_argnums"): "transform",
    ("torch._functorch.eager_transforms", "linearize"): "transform",
}
"""(module, name) of functions that capture says in its own way."""

COMPILING = tuple(_get(p) for p in ("_utils.is_compiling",))

LOGGING = tuple(_get(p) for p in ("_C._log_api_usage_once",))

SET_GRAD = tuple(_get(p) for p in ("_C._set_grad_enabled",))

PROFILER_ENTER = (torch.ops.profiler._record_function_enter_new,)
PROFILER_EXIT = (torch.ops.profiler._record_function_exit, torch.ops.profiler._record_function_exit._RecordFunction)
NO_FUNCTION_OVERRIDES = (_get("_C.DisableTorchFunctionSubclass"), _get("_C.DisableTorchFunction"))
GROUP_TENSORS = (_get("_C._group_tensors_by_device_and_dtype"),)

ANY_AUTOCAST = (_get("_C._is_any_autocast_enabled"),)

READ_STATE = tuple(
    _get(p)
    for p in (
        "_C._get_cudnn_enabled",
        "_C._get_flash_sdp_enabled",
        "_C._get_mem_efficient_sdp_enabled",
        "_C._get_math_sdp_enabled",
        "_C._get_cudnn_sdp_enabled",
        "_C._get_default_device",
        "_C._len_torch_function_stack",
        "_C._len_torch_dispatch_stack",
        "cuda.is_available",
        "backends.mps.is_available",
        "xpu.is_available",
        "_C._get_deterministic_algorithms",
        "_C._get_mkldnn_enabled",
        "_C._has_cuda",
        "distributed.is_available",
        "distributed.is_initialized",
    )
)
"""Read once: part of the entry's GlobalKey, or fixed for the process."""

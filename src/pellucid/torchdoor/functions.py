"""Functions of torch without a public name, which public modules of torch call."""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

WEIGHT_NORM = torch._weight_norm
ALL_TRUE: tuple[Any, ...] = (torch._is_all_true, torch.Tensor._is_all_true)
ANY_TRUE: tuple[Any, ...] = (torch._is_any_true, torch.Tensor._is_any_true)
BUILTIN_MODULES: tuple[Any, ...] = (torch.fft, torch._C._nn)
CONTEXT = torch.autograd.function.FunctionCtx
NO_SETUP = torch.autograd.function._SingleLevelFunction.setup_context


@functools.cache
def applier(cls: Any) -> Any:
    """cls.apply as a function of its own, which a graph can name."""
    def apply_function(*args: Any) -> Any:
        return cls.apply(*args)
    apply_function.__name__ = apply_function.__qualname__ = f"apply_{cls.__name__}"
    return apply_function


def kernel_functions() -> list[Any]:
    """The functions behind torch.fft and torch.nn.functional that go straight to an operator and write nothing."""
    upsample = ("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "_upsample_nearest_exact1d",
                "_upsample_nearest_exact2d", "_upsample_nearest_exact3d")
    return [f for space in BUILTIN_MODULES for n, f in vars(space).items()
            if isinstance(f, types.BuiltinFunctionType) and n[-1] != "_" and (n[0] != "_" or n in upsample)]


OPTIMIZER_STEP = torch.optim.Optimizer.profile_hook_step(lambda self: None).__code__
"""The code that stands around the step of every optimizer of torch: profiling, hooks, the step itself."""
LAZILY_DISABLED = torch._compile._disable_dynamo(lambda: None).__code__
"""The code around torch's own functions that compilers must not trace, before and after it is first called."""

"""What expands a torch callable: its own entry, that of the operator whose overload it is, or the opaque path."""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from ...torchdoor.functions import kernel_functions
from ...torchdoor.operators import OpOverload, OpOverloadPacket, effects, function_names
from ..registry import FUNCTIONS, METHODS
from .declare import ATEN, Expansion, expansion
from .opaque import opaque


def expansion_of(target: Any) -> Expansion | None:
    """The expansion of a torch callable, an operator overload, or a Tensor method's name; None where there is none.

    Called as fn(builder, *args, **kwargs) with exactly the arguments of torch. Operators without an entry get the
    opaque path, which may still refuse the call.
    """
    if isinstance(target, str):
        fn = METHODS.get(target)
    elif isinstance(target, (OpOverload, OpOverloadPacket)):
        fn = FUNCTIONS.get(target) or _overload(target)
    else:
        try:
            fn = FUNCTIONS.get(target)
        except TypeError:
            return None
    if fn is not None:
        return fn
    return None if effects(target) is None else _opaquely(target)


def _converted(dtype: torch.dtype, builder: Any, input: Any, **options: Any) -> Any:
    return METHODS["to"](builder, input, dtype, **options)


def _opaquely(target: Any) -> Expansion:
    def run(builder: Any, *args: Any, **kwargs: Any) -> Any:
        return opaque(builder, target, args, kwargs)
    return run


ANSWERED = frozenset((
    "can_cast", "promote_types", "result_type", "numel", "get_device", "from_numpy", "frombuffer", "from_file",
    "is_complex", "is_conj", "is_distributed", "is_floating_point", "is_inference", "is_neg", "is_nonzero",
    "is_same_size", "is_signed", "is_vulkan_available", "to_dlpack", "native_batch_norm", "nonzero_static"))
"""Functions among torch's operators that are not entered: they answer from a tensor's meta, make tensors of other
memory, or have a meta implementation that differs from the CPU's results."""


WRITTEN = ("copysign", "deg2rad", "digamma", "erfc", "erfinv", "float_power", "gcd", "heaviside", "i0", "igamma",
           "igammac", "index_reduce", "lcm", "ldexp", "lgamma", "mvlgamma", "nextafter", "polygamma", "put", "rad2deg",
           "renorm", "sinc", "xlogy")
"""Methods without an entry whose in-place forms do the same and write."""

PRIVATE = ("_chunk_cat", "_lu_with_info", "_weight_norm", "_log_softmax_backward_data", "_softmax_backward_data",
           "_addmm_activation", "_native_batch_norm_legit", "_safe_softmax", "_unsafe_masked_index",
           "_euclidean_dist", "_trilinear")
"""Functions without a public name that are entered all the same; torch's own modules call some."""


def register_opaque() -> None:
    """Enter each operator of torch, torch.linalg and torch.special without an entry as opaque, methods of their names
    too."""
    for name in (*function_names(), *PRIVATE):
        fn = getattr(torch, name)
        if isinstance(fn, types.BuiltinFunctionType) and name not in ANSWERED and fn not in FUNCTIONS:
            FUNCTIONS[fn] = _opaquely(fn)
            method = getattr(torch.Tensor, name, None)
            if name not in METHODS and isinstance(method, types.MethodDescriptorType):
                METHODS[name] = FUNCTIONS[method] = _opaquely(name)
    for name, dtype in (("cfloat", torch.complex64), ("cdouble", torch.complex128), ("chalf", torch.complex32)):
        expansion(f"Tensor.{name}")(functools.partial(_converted, dtype))
    for fn in kernel_functions():
        if fn not in FUNCTIONS and effects(fn) is not None:
            FUNCTIONS[fn] = _opaquely(fn)
    for name in WRITTEN:
        entered = METHODS[name]
        expansion(f"Tensor.{name}", inplace=f"Tensor.{name}_")(entered)
    for space in (torch.linalg, torch.special):
        for fn in vars(space).values():
            if isinstance(fn, types.BuiltinFunctionType) and fn not in FUNCTIONS:
                FUNCTIONS[fn] = _opaquely(fn)


def _overload(target: Any) -> Expansion | None:
    """torch.ops.aten.name or .name.overload: the entry of that name, for calls that name the first argument `self`."""
    name = target.__name__.partition(".")[0]
    namespace = getattr(target, "namespace", None) or target._qualified_op_name.partition("::")[0]
    fn = ATEN.get(name) if namespace == "aten" else None
    return None if fn is None else functools.partial(_renamed, fn)


def _renamed(fn: Expansion, builder: Any, *args: Any, **kwargs: Any) -> Any:
    if "self" in kwargs:
        args = (kwargs.pop("self"), *args)
    return fn(builder, *args, **kwargs)

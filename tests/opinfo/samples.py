"""torch's own operator database as programs: the only test file that knows where torch keeps it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db

common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)
"""The database's operators that draw random numbers seed the generator themselves, in a with-statement that is not the
operator's; here check.outcome seeds it."""

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.uint8,
          torch.bool, torch.complex64)
UNSET = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_",
         "resize_as_")
"""Operators whose values are whatever the memory holds: only dtype, shape and strides mean anything."""


@dataclass(frozen=True)
class Program:
    """A function of (input, *args, **kwargs), what it is called with, and which variant of the operator it is."""

    variant: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def label(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


OPERATORS: dict[str, Any] = {label(op): op for op in op_db}


def elementwise(op: Any) -> bool:
    return type(op).__name__ in ("UnaryUfuncInfo", "BinaryUfuncInfo")


def mapped(x: Any, fn: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """x with fn applied to each tensor in it."""
    if isinstance(x, torch.Tensor):
        return fn(x)
    if type(x) in (tuple, list):
        return type(x)(mapped(y, fn) for y in x)
    return {k: mapped(v, fn) for k, v in x.items()} if type(x) is dict else x


def tensors(x: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    mapped(x, lambda t: found.append(t) or t)  # type: ignore[func-returns-value]
    return found


def transposed(t: torch.Tensor) -> torch.Tensor:
    """The same values, laid out with the first dimension innermost."""
    return t.transpose(0, -1).contiguous().transpose(0, -1) if t.ndim > 1 else t


def expanded(t: torch.Tensor) -> torch.Tensor:
    return t[:1].expand(t.shape) if t.ndim and t.shape[0] > 1 else t


def strided(t: torch.Tensor) -> torch.Tensor:
    """The same values in every second place of a storage, after an offset."""
    if not t.ndim:
        return t
    wide = torch.zeros((*t.shape[:-1], 2 * t.shape[-1] + 1), dtype=t.dtype)
    wide[..., 1::2] = t
    return wide[..., 1::2]


def special(t: torch.Tensor) -> torch.Tensor:
    """NaN, infinities, zeros of both signs and large numbers where the dtype has them; extreme integers elsewhere."""
    if t.dtype.is_complex or t.dtype is torch.bool or not t.numel():
        return t
    if t.dtype.is_floating_point:
        top = torch.finfo(t.dtype).max
        odd = [float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, top, -top, 3.0]
    else:
        info = torch.iinfo(t.dtype)
        odd = [info.min, info.max, 0, 1, info.min + 1, 7, 2, 3]
    flat = torch.tensor(odd, dtype=t.dtype).repeat(-(-t.numel() // len(odd)))[:t.numel()]
    return flat.view(t.shape)


LAYOUTS = {"transposed": transposed, "expanded": expanded, "strided": strided,
           "empty": lambda t: t[:0] if t.ndim else t, "scalar": lambda t: t.reshape(-1)[0] if t.numel() else t}


def raw_samples(op: Any, dtype: torch.dtype, cap: int) -> tuple[list[Any], bool]:
    """At most `cap` samples spread over the database's, and whether the database says that the dtype is supported."""
    known = dtype in op.dtypes
    base = dtype if known else next((d for d in DTYPES if d in op.dtypes), None)
    if base is None:
        return [], False
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = list(op.sample_inputs("cpu", base, requires_grad=False))
    if len(every) > cap:
        step = (len(every) - 1) / max(1, cap - 1)
        every = [every[round(i * step)] for i in range(cap)]
    out = []
    for s in every:
        args = (s.input, *s.args)
        if not known:
            args = mapped(args, lambda t: t.to(dtype) if t.dtype is base else t)
        out.append((args, dict(s.kwargs)))
    return out, known


def programs(name: str, dtype: torch.dtype, cap: int) -> Iterator[Program]:
    """The operator on its samples; layouts, special values, in-place, out= and mutated views on the first ones."""
    op = OPERATORS[name]
    samples, known = raw_samples(op, dtype, cap)
    call = op.op

    def plain(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)
    for args, kwargs in samples:
        yield Program("plain", plain, args, kwargs)
    if not known or not samples:
        return
    args, kwargs = samples[len(samples) // 2] if cap > 1 else samples[0]
    for layout, fn in LAYOUTS.items():
        try:
            changed = mapped((args, kwargs), fn)
        except (RuntimeError, NotImplementedError, IndexError):  # sparse tensors and the like have no such layout
            continue
        if layout in ("empty", "scalar") and not elementwise(op) and type(op).__name__ != "ReductionOpInfo":
            continue
        yield Program(layout, plain, *changed)
    if elementwise(op) or type(op).__name__ == "ReductionOpInfo":
        yield Program("special", plain, *mapped((args, kwargs), special))
    inplace = op.inplace_variant
    if inplace is not None:
        def in_place(*args: Any, **kwargs: Any) -> Any:
            return inplace(*args, **kwargs)

        def through_view(input: Any, *args: Any, **kwargs: Any) -> Any:
            whole = torch.stack([input, input], -1)
            inplace(whole[..., 0], *args, **kwargs)
            return whole
        yield Program("in-place", in_place, args, kwargs)
        if isinstance(args[0], torch.Tensor):
            yield Program("view written", through_view, args, kwargs)
    if op.supports_out:
        out = room(call, args, kwargs)
        if out is not None:
            yield Program("out=", plain, args, {**kwargs, "out": out})


def room(fn: Any, args: Any, kwargs: Any) -> Any:
    """Tensors like the result of the call, to be given as out=; None where there is none."""
    try:
        result = fn(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    except Exception:  # the plain program compares what is raised
        return None
    if isinstance(result, torch.Tensor):
        return torch.zeros_like(result)
    ok = isinstance(result, tuple) and all(isinstance(r, torch.Tensor) for r in result)
    return tuple(map(torch.zeros_like, result)) if ok else None

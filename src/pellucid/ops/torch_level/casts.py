"""Conversions of dtype, device and layout: to, type, float ..., contiguous, clone, detach."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from .. import strides
from ..errors import Unsupported, WouldRaise
from .args import cast, need_tensor, only_cpu
from .declare import expansion


def has_format(b: GraphBuilder, x: Val, memory_format: Any) -> bool:
    """Whether x already is in the memory format (preserve_format: always)."""
    if memory_format in (None, torch.preserve_format):
        return True
    m = x.meta
    if memory_format is torch.contiguous_format:
        return strides.is_contiguous(b.env, m.shape, m.strides)
    ndim = 4 if memory_format is torch.channels_last else 5
    if x.ndim != ndim:
        raise WouldRaise(f"{memory_format} needs a tensor of {ndim} dimensions")
    return strides.is_channels_last(b.env, m.shape, m.strides)


@expansion("Tensor.contiguous", "aten.contiguous")
def contiguous(b: GraphBuilder, input: Val, memory_format: Any = torch.contiguous_format) -> Val:
    x = need_tensor(input)
    if memory_format is torch.preserve_format:
        raise WouldRaise("preserve memory format is unsupported by the contiguous operator")
    return x if has_format(b, x, memory_format) else b.emit("clone", x, memory_format)


@expansion("clone")
def clone(b: GraphBuilder, input: Val, *, memory_format: Any = None) -> Val:
    return b.emit("clone", need_tensor(input), memory_format or torch.preserve_format)


@expansion("detach", "Tensor.data", "aten.alias")
def detach(b: GraphBuilder, input: Val) -> Val:
    return b.emit("alias", need_tensor(input))


@expansion("Tensor.cpu")
def cpu(b: GraphBuilder, input: Val, memory_format: Any = None) -> Val:
    return to(b, input, "cpu", memory_format=memory_format)


@expansion("Tensor.cuda", "Tensor.xpu")
def cuda(b: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
    raise Unsupported("a tensor is moved to another device", "move it before the compiled call")


def _dtype_of_name(name: str) -> torch.dtype:
    plain = name.removeprefix("torch.")
    names = {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16,
             "BFloat16Tensor": torch.bfloat16, "LongTensor": torch.int64, "IntTensor": torch.int32,
             "ShortTensor": torch.int16, "CharTensor": torch.int8, "ByteTensor": torch.uint8, "BoolTensor": torch.bool}
    if plain not in names:
        raise Unsupported(f"tensor type {name!r}", "pass a torch.dtype")
    return names[plain]


@expansion("Tensor.to", "aten.to")
def to(b: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
    """Tensor.to in its three forms: (dtype, ...), (device[, dtype], ...), (other, ...); self if nothing changes."""
    x = need_tensor(input)
    names = ["dtype", "non_blocking", "copy"]
    if args and (args[0] is None or isinstance(args[0], (str, torch.device, int)) and type(args[0]) is not bool):
        names = ["device", "dtype", "non_blocking", "copy"]
    elif args and type(args[0]) is Val:
        names = ["other", "non_blocking", "copy"]
    given = dict(zip(names, args)) | kwargs
    other = given.get("other")
    dtype = given.get("dtype") or (other.meta.dtype if other is not None else None)
    only_cpu(given.get("device") or "cpu")
    if dtype is not None and type(dtype) is not torch.dtype:
        raise WouldRaise(f"to(): dtype must be a torch.dtype, not {type(dtype).__name__}")
    fmt = given.get("memory_format") or torch.preserve_format
    if dtype in (None, x.meta.dtype) and not given.get("copy"):
        return x if has_format(b, x, fmt) else b.emit("clone", x, fmt)
    if dtype in (None, x.meta.dtype):
        return b.emit("clone", x, fmt)
    y = cast(b, x, dtype)
    return y if has_format(b, y, fmt) else b.emit("clone", y, fmt)


def _maker(dtype: torch.dtype) -> Any:
    def fn(builder: GraphBuilder, input: Val, memory_format: Any = torch.preserve_format) -> Val:
        return to(builder, input, dtype, memory_format=memory_format)
    return fn


for _name, _dtype in {"float": torch.float32, "double": torch.float64, "half": torch.float16,
                      "bfloat16": torch.bfloat16,
                      "long": torch.int64, "int": torch.int32, "short": torch.int16, "char": torch.int8,
                      "byte": torch.uint8, "bool": torch.bool}.items():
    expansion(f"Tensor.{_name}")(_maker(_dtype))


@expansion("Tensor.type")
def type_(b: GraphBuilder, input: Val, dtype: Any = None, non_blocking: bool = False) -> Any:
    if dtype is None:
        kinds = {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half", torch.bfloat16: "BFloat16",
                 torch.int64: "Long", torch.int32: "Int", torch.int16: "Short", torch.int8: "Char",
                 torch.uint8: "Byte", torch.bool: "Bool"}
        if need_tensor(input).meta.dtype not in kinds:
            raise Unsupported(f"the name of type {input.meta.dtype}")
        return f"torch.{kinds[input.meta.dtype]}Tensor"
    if isinstance(dtype, torch.dtype):
        return to(b, input, dtype)
    name = dtype if isinstance(dtype, str) else f"{dtype.__module__}.{dtype.__name__}"
    return to(b, input, _dtype_of_name(name))


@expansion("Tensor.type_as")
def type_as(b: GraphBuilder, input: Val, other: Val) -> Val:
    return to(b, input, need_tensor(other, "other").meta.dtype)


@expansion("aten._to_copy")
def to_copy(b: GraphBuilder, input: Val, *, dtype: Any = None, layout: Any = None, device: Any = None,
            pin_memory: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Val:
    return to(b, input, dtype=dtype, device=device or "cpu", copy=True, memory_format=memory_format)


@expansion("torch.conj", "Tensor.conj", "Tensor.resolve_conj", "torch.resolve_conj",
           "torch.conj_physical", "Tensor.resolve_neg", "torch.resolve_neg")
def conj(b: GraphBuilder, input: Val) -> Val:
    if need_tensor(input).meta.dtype.is_complex:
        raise Unsupported("complex tensors", "keep real and imaginary parts apart")
    return input

"""New tensors: full, zeros, ones, empty, arange, eye, linspace, their _like and new_ forms, and torch.tensor."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ...guards.types import Source
from ...shapes.dim import Dim, Size, hint
from .. import strides
from ..errors import NeedsNumber, Unsupported, WouldRaise
from ..promote import number_dtype
from .args import cast, need_tensor, only_cpu, only_strided, reject_out, size_arg, sizes_arg
from .declare import expansion
from .opaque import opaque

_labels = itertools.count()


def options(layout: Any = None, device: Any = None, pin_memory: Any = False, requires_grad: bool = False,
             memory_format: Any = None, names: Any = None, out: Any = None) -> None:
    """Check the options that all factories share."""
    reject_out(out)
    only_strided(layout)
    only_cpu(device)
    if requires_grad:
        raise Unsupported("a new tensor with requires_grad=True", "create it before the compiled call")
    if pin_memory:
        raise Unsupported("pinned memory", "drop pin_memory=True")
    if names is not None:
        raise Unsupported("named tensors", "drop names=")
    if memory_format not in (None, torch.contiguous_format):
        raise Unsupported(f"a new tensor in {memory_format}", "create it contiguous")


def new_full_of(b: GraphBuilder, shape: tuple[Size, ...], value: Any, dtype: torch.dtype) -> Val:
    """A new contiguous tensor of one value, a number or a tensor of one element."""
    for s in shape:
        if b.env.decide("<", s, 0):
            raise WouldRaise(f"negative dimension {s}")
    if type(value) is Val:
        if any(not b.env.same(s, 1) for s in value.meta.shape):
            raise WouldRaise("full needs a fill value of one element")
        one = cast(b, b.emit("view", value, ()), dtype)
        return b.emit("clone", b.emit("expand", one, shape), torch.contiguous_format)
    if dtype.is_complex:
        return opaque(b, torch.full, (shape, value), {"dtype": dtype})
    return b.emit("full", shape, value, dtype)


@expansion("torch.full", "aten.full")
def full(b: GraphBuilder, size: Any, fill_value: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    if dtype is None:
        dtype = fill_value.meta.dtype if type(fill_value) is Val else number_dtype(fill_value)
    return new_full_of(b, sizes_arg((size,)), fill_value, dtype)


def _constant_factory(name: str, value: int) -> None:
    def plain(builder: GraphBuilder, *size: Any, dtype: Any = None, **rest: Any) -> Val:
        size = size or (rest.pop("size"),)
        options(**rest)
        return new_full_of(builder, sizes_arg(size), value, dtype or torch.get_default_dtype())

    def like(builder: GraphBuilder, input: Val, *, dtype: Any = None, memory_format: Any = None, **rest: Any) -> Val:
        return full_like(builder, input, value, dtype=dtype, memory_format=memory_format, **rest)

    def new(builder: GraphBuilder, input: Val, *size: Any, dtype: Any = None, **rest: Any) -> Val:
        size = size or (rest.pop("size"),)
        options(**rest)
        return new_full_of(builder, sizes_arg(size), value, dtype or need_tensor(input).meta.dtype)
    expansion(f"torch.{name}", f"aten.{name}")(plain)
    expansion(f"torch.{name}_like", f"aten.{name}_like")(like)
    expansion(f"Tensor.new_{name}", f"aten.new_{name}")(new)


for _name, _value in {"zeros": 0, "ones": 1, "empty": 0}.items():
    _constant_factory(_name, _value)


@expansion("torch.full_like", "aten.full_like")
def full_like(b: GraphBuilder, input: Val, fill_value: Any, *, dtype: Any = None, memory_format: Any = None,
              **rest: Any) -> Val:
    """Shape of `input`, and its layout where that is dense (memory_format=preserve)."""
    options(**rest)
    m = need_tensor(input).meta
    dtype = dtype or m.dtype
    if memory_format not in (None, torch.preserve_format):
        new = new_full_of(b, m.shape, fill_value, dtype)
        return new if memory_format is torch.contiguous_format else b.emit("clone", new, memory_format)
    want = strides.preserved(b.env, m.shape, m.strides)
    if want == strides.contiguous(m.shape):
        return new_full_of(b, m.shape, fill_value, dtype)
    if strides.has_zero(b.env, m.shape):
        return b.emit("as_strided", new_full_of(b, m.shape, fill_value, dtype), m.shape, want, 0)
    order = sorted(range(len(want)), key=lambda d: (-hint(want[d]), d))
    dense = new_full_of(b, tuple(m.shape[d] for d in order), fill_value, dtype)
    return b.emit("permute", dense, tuple(order.index(d) for d in range(len(want))))


@expansion("torch.fill", "aten.fill")
def fill(b: GraphBuilder, input: Val, value: Any) -> Val:
    if type(value) is Val and value.ndim:
        raise WouldRaise("fill only supports a 0-dimension value tensor")
    if isinstance(value, complex) and not need_tensor(input).meta.dtype.is_complex:
        raise WouldRaise("a complex value cannot fill a real tensor")
    return full_like(b, input, value)


@expansion("Tensor.new_full", "aten.new_full")
def new_full(b: GraphBuilder, input: Val, size: Any, fill_value: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    return new_full_of(b, sizes_arg((size,)), fill_value, dtype or need_tensor(input).meta.dtype)


@expansion("torch.scalar_tensor", "aten.scalar_tensor")
def scalar_tensor(b: GraphBuilder, s: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    return new_full_of(b, (), s, dtype or torch.get_default_dtype())


@expansion("torch.empty_strided", "aten.empty_strided")
def empty_strided(b: GraphBuilder, size: Any, stride: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    return opaque(b, torch.empty_strided, (sizes_arg((size,)), sizes_arg((stride,), "stride")),
                  {"dtype": dtype or torch.get_default_dtype()})


@expansion("Tensor.new_empty_strided", "aten.new_empty_strided")
def new_empty_strided(b: GraphBuilder, input: Val, size: Any, stride: Any, *, dtype: Any = None, **rest: Any) -> Val:
    return empty_strided(b, size, stride, dtype=dtype or need_tensor(input).meta.dtype, **rest)


@expansion("torch.empty_permuted", "aten.empty_permuted")
def empty_permuted(b: GraphBuilder, size: Any, physical_layout: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    return opaque(b, torch.empty_permuted, (sizes_arg((size,)), sizes_arg((physical_layout,), "physical_layout")),
                  {"dtype": dtype or torch.get_default_dtype()})


# ------------------------------------------------------------------ sequences
def _bound(x: Any, name: str) -> Any:
    if type(x) is Val:
        raise NeedsNumber(f"arange/linspace argument {name!r} is a tensor, whose value is only known at run time",
                          "pass a Python number")
    return x


@expansion("torch.arange", "aten.arange")
def arange(b: GraphBuilder, *args: Any, dtype: Any = None, **kwargs: Any) -> Val:
    """arange(end), arange(start, end[, step]); int64 where all are integers, else the default float dtype."""
    names = ("end",) if len(args) == 1 else ("start", "end", "step")
    given = dict(zip(names, args))
    for n in ("start", "end", "step"):
        if n in kwargs:
            given[n] = kwargs.pop(n)
    options(**kwargs)
    if "end" not in given:
        raise WouldRaise("arange() needs an end")
    start, end, step = (_bound(given.get(n, d), n) for n, d in (("start", 0), ("end", None), ("step", 1)))
    if dtype is torch.int64 and not (isinstance(step, float) and int(step) == 0):
        start, end, step = (int(x) if isinstance(x, float) else x for x in (start, end, step))  # as aten::arange does
    integral = all(isinstance(x, (int, Dim)) for x in (start, end, step))
    if dtype is None:
        dtype = torch.int64 if integral else torch.get_default_dtype()
    if dtype is torch.bool:
        raise WouldRaise("arange is not implemented for bool")
    if integral:
        if b.env.same(step, 0):
            raise WouldRaise("arange: step must be nonzero")
        up = b.env.decide(">", step, 0)
        if b.env.decide("<", end, start) if up else b.env.decide(">", end, start):
            raise WouldRaise("arange: upper bound and lower bound inconsistent with step sign")
    elif not dtype.is_floating_point:
        raise Unsupported("arange of integers with float bounds", "pass integers, or a floating dtype")
    return b.emit("arange", start, end, step, dtype)


@expansion("torch.linspace", "aten.linspace")
def linspace(b: GraphBuilder, start: Any, end: Any, steps: Any, *, dtype: Any = None, **rest: Any) -> Val:
    """start + i * step for the first half, end - (steps - 1 - i) * step for the second, as eager has it."""
    options(**rest)
    start, end, n = _bound(start, "start"), _bound(end, "end"), size_arg(steps, "steps")
    dtype = dtype or torch.get_default_dtype()
    if not dtype.is_floating_point or type(n) is not int:
        raise Unsupported("linspace of integers or with symbolic steps", "use arange")
    if n < 0:
        raise WouldRaise("number of steps must be non-negative")
    if n <= 1:
        return new_full_of(b, (n,), start, dtype)
    inner = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    step = (end - start) / (n - 1)
    i = b.emit("arange", 0, n, 1, torch.int64)
    low = b.emit("add", b.emit("mul", cast(b, i, inner), step), start)
    high = b.emit("sub", end, b.emit("mul", cast(b, b.emit("sub", n - 1, i), inner), step))
    return cast(b, b.emit("where", b.emit("lt", i, n // 2), low, high), dtype)


@expansion("torch.eye", "aten.eye")
def eye(b: GraphBuilder, n: Any, m: Any = None, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    rows, cols = size_arg(n, "n"), size_arg(n if m is None else m, "m")
    if dtype is not None and dtype.is_complex:
        return opaque(b, torch.eye, (rows, cols), {"dtype": dtype})
    return b.emit("eye", rows, cols, dtype or torch.get_default_dtype())


# ------------------------------------------------------------------ constants
def constant(b: GraphBuilder, value: torch.Tensor) -> Val:
    """A tensor that the captured code holds, as a graph input of role "constant"."""
    meta = TensorMeta(value.dtype, tuple(value.shape), tuple(value.stride()), 0, value.device)
    return b.input(meta, Source("const", None, f"tensor constant {next(_labels)}", value), "constant")


def _leaves(data: Any) -> Any:
    if isinstance(data, (list, tuple)):
        for x in data:
            yield from _leaves(x)
    else:
        yield data


@expansion("torch.tensor")
def tensor(b: GraphBuilder, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
           pin_memory: bool = False) -> Val:
    """torch.tensor of a number, a symbolic size, nested lists of them, an array, or a tensor (a copy)."""
    options(device=device, requires_grad=requires_grad, pin_memory=pin_memory)
    if type(data) is Val:
        return b.emit("clone", cast(b, data, dtype), torch.preserve_format)
    if isinstance(data, (int, float, bool)) or type(data) is Dim:
        return b.emit("full", (), data, dtype or number_dtype(data if type(data) is Dim else _plain(data)))
    leaves = list(_leaves(data)) if isinstance(data, (list, tuple)) else []
    if any(type(x) is Val for x in leaves):
        raise NeedsNumber("torch.tensor of a list of tensors reads their values", "use torch.stack")
    if any(type(x) is Dim for x in leaves):
        if any(isinstance(x, (list, tuple)) for x in data):
            raise Unsupported("torch.tensor of nested lists with symbolic sizes", "build it with torch.stack")
        kind = torch.get_default_dtype() if any(isinstance(x, float) for x in leaves) else torch.int64
        return b.emit("cat", tuple(b.emit("full", (1,), x, dtype or kind) for x in leaves), 0)
    try:
        value = torch.tensor(data, dtype=dtype)
    except (TypeError, ValueError, RuntimeError) as e:
        raise WouldRaise(str(e)) from e
    if not value.numel():
        return b.emit("full", tuple(value.shape), 0, value.dtype)
    return b.emit("clone", constant(b, value), torch.preserve_format)


def _plain(x: Any) -> Any:
    """A number of a subclass (numpy's, an enum's) as Python's own."""
    return bool(x) if isinstance(x, bool) else int(x) if isinstance(x, int) else float(x)


@expansion("torch.as_tensor", "torch.asarray")
def as_tensor(b: GraphBuilder, data: Any, dtype: Any = None, device: Any = None) -> Val:
    only_cpu(device)
    if type(data) is Val:
        return cast(b, data, dtype)
    return tensor(b, data, dtype=dtype)


@expansion("Tensor.new_tensor")
def new_tensor(b: GraphBuilder, input: Val, data: Any, *, dtype: Any = None, **rest: Any) -> Val:
    options(**rest)
    return tensor(b, data, dtype=dtype or need_tensor(input).meta.dtype)

"""Reading torch's argument conventions: sizes, dims, dtypes, devices, and the promotion of mixed operands."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Dim, Size, product
from ..errors import NeedsNumber, Unsupported, WouldRaise
from ..meta import broadcast, infer_shape
from ..promote import category

Number = (int, float, bool, complex)


# ------------------------------------------------------------------ refusals
def reject_out(out: Any) -> None:
    if out is not None:
        raise Unsupported("out= is not supported", "assign the result instead of passing out=")


def only_cpu(device: Any) -> torch.device:
    """The device argument as a torch.device; anything but the CPU is refused."""
    if device is None:
        default = torch.get_default_device()
        if default.type != "cpu":
            raise Unsupported(f"default device {default}", "use the CPU inside the compiled function")
        return torch.device("cpu")
    d = torch.device(device)
    if d.type != "cpu":
        raise Unsupported(f"device {d}", "use the CPU inside the compiled function")
    return torch.device("cpu")


def only_strided(layout: Any) -> None:
    if layout not in (None, torch.strided):
        raise Unsupported(f"layout {layout}", "use strided tensors")


def need_tensor(x: Any, name: str = "input") -> Val:
    if type(x) is not Val:
        raise WouldRaise(f"argument {name!r} must be a Tensor, not {type(x).__name__}")
    return x


# ------------------------------------------------------------------ sizes and dims
def size_arg(x: Any, name: str = "size") -> Size:
    """An integer argument: int or Dim. A tensor would need its value at capture time."""
    if type(x) is int or type(x) is Dim:
        return x
    if type(x) is Val:
        raise NeedsNumber(f"argument {name!r} is a tensor, whose value is only known at run time",
                          "pass a Python integer")
    if isinstance(x, float):
        raise WouldRaise(f"argument {name!r} must be an int, not float")
    try:
        return operator.index(x)
    except TypeError:
        raise WouldRaise(f"argument {name!r} must be an int, not {type(x).__name__}") from None


def sizes_arg(args: Sequence[Any], name: str = "size") -> tuple[Size, ...]:
    """f(2, 3), f((2, 3)), f([2, 3]) and f(torch.Size([2, 3])) alike; `args` is what came in *args."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    return tuple([size_arg(a, name) for a in args])


def int_arg(b: GraphBuilder, x: Any, name: str) -> int:
    """An integer that decides structure: a symbolic one is fixed by a guard."""
    return b.env.concrete(size_arg(x, name))


def wrap_dim(dim: Any, ndim: int, name: str = "dim") -> int:
    """dim as 0..ndim-1; a 0-d tensor counts as having one dimension."""
    if type(dim) is not int:
        dim = size_arg(dim, name)
        if type(dim) is Dim:
            raise Unsupported(f"argument {name!r} is symbolic", "pass a constant dimension")
    n = ndim or 1
    if not -n <= dim < n:
        raise WouldRaise(f"dimension {dim} out of range for {ndim} dimensions")
    return dim + n if dim < 0 else dim


def wrap_dims(dims: Any, ndim: int, empty_is_all: bool = True) -> tuple[int, ...]:
    """A dim argument that may be None (all), an int or a sequence; sorted, without repeats."""
    if dims is None:
        return tuple(range(ndim))
    if not isinstance(dims, (tuple, list)):
        dims = (dims,)
    if not dims and empty_is_all:
        return tuple(range(ndim))
    out = [wrap_dim(d, ndim) for d in dims]
    if len(set(out)) != len(out):
        raise WouldRaise(f"dim {dims} names a dimension twice")
    return tuple(sorted(d for d in out if ndim))


def ntuple(x: Any, n: int, name: str) -> tuple[Size, ...]:
    """An int, or a sequence of 1 or n ints, as n ints (kernel sizes, strides, paddings)."""
    if not isinstance(x, (tuple, list)):
        x = (x,)
    vals = tuple([size_arg(v, name) for v in x])
    if len(vals) == 1:
        vals = vals * n
    if len(vals) != n:
        raise WouldRaise(f"argument {name!r} must have 1 or {n} values, has {len(vals)}")
    return vals


def numel(x: Val) -> Size:
    return product(x.meta.shape)


def same_shape(b: GraphBuilder, a: Iterable[Size], c: Iterable[Size]) -> bool:
    a, c = tuple(a), tuple(c)
    return len(a) == len(c) and all(x is y or b.env.same(x, y) for x, y in zip(a, c))


def broadcast_shapes(b: GraphBuilder, *shapes: tuple[Size, ...]) -> tuple[Size, ...]:
    """torch.broadcast_shapes over symbolic sizes."""
    return broadcast(b.env, shapes)


def infer_size(b: GraphBuilder, shape: Sequence[Size], old: tuple[Size, ...]) -> tuple[Size, ...]:
    """A view's target shape with its -1 filled in, so that it holds as many elements as `old`."""
    return infer_shape(b.env, old, shape)


# ------------------------------------------------------------------ dtypes
def can_cast(source: torch.dtype, target: torch.dtype) -> bool:
    """torch.can_cast: no float into an integer, nothing but bool into bool, no complex into real."""
    return category(source) <= category(target)


def cast(b: GraphBuilder, x: Val, dtype: torch.dtype | None) -> Val:
    """x in `dtype` (x itself where it already is)."""
    return x if dtype is None or x.meta.dtype is dtype else b.emit("to_dtype", x, dtype)


def expand_to(b: GraphBuilder, x: Val, shape: tuple[Size, ...]) -> Val:
    return x if x.meta.shape == shape else b.emit("expand", x, shape)


def as_val(b: GraphBuilder, x: Any, dtype: torch.dtype) -> Val:
    """A Val as it is; a number as a 0-d tensor of `dtype`."""
    return x if type(x) is Val else b.emit("full", (), x, dtype)

"""Order and running combinations: sort, argsort, topk, cumsum, cumprod, and kin."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ..errors import Unsupported, WouldRaise
from .args import cast, need_tensor, numel, reject_out, size_arg, wrap_dim
from .declare import expansion
from .views import to_shape


@expansion("sort", "aten.sort")
def sort(b: GraphBuilder, input: Val, dim: Any = -1, descending: bool = False, *, stable: Any = False,
         out: Any = None) -> tuple[Val, Val]:
    reject_out(out)
    x = need_tensor(input)
    return b.emit("sort", x, wrap_dim(dim, x.ndim), bool(descending), bool(stable))


@expansion("msort")
def msort(b: GraphBuilder, input: Val, *, out: Any = None) -> Val:
    return sort(b, input, 0, out=out)[0]


@expansion("argsort")
def argsort(b: GraphBuilder, input: Val, dim: int = -1, descending: bool = False, stable: bool = False) -> Val:
    return sort(b, input, dim, descending, stable=stable)[1]


@expansion("topk")
def topk(b: GraphBuilder, input: Val, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True, *,
         out: Any = None) -> tuple[Val, Val]:
    reject_out(out)
    x = need_tensor(input)
    d = wrap_dim(dim, x.ndim)
    n = size_arg(k, "k")
    have = x.meta.shape[d] if x.ndim else 1
    if b.env.decide("<", n, 0) or b.env.decide(">", n, have):
        raise WouldRaise("selected index k out of range")
    return b.emit("topk", x, n, d, bool(largest), bool(sorted))


def _running(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, dim: Any = None, *, dtype: Any = None, out: Any = None,
           **kwargs: Any) -> Val:
        reject_out(out)
        x = need_tensor(input)
        return builder.emit(core, x, wrap_dim(kwargs.get("axis", dim), x.ndim), dtype)
    fn.__name__ = core
    expansion(core, inplace=f"Tensor.{core}_")(fn)


_running("cumsum")
_running("cumprod")


@expansion("diff")
def diff(b: GraphBuilder, input: Val, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None, *,
         out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    if not x.ndim:
        raise WouldRaise("diff expects input to be at least one-dimensional")
    d = wrap_dim(dim, x.ndim)
    if n == 0:
        return b.emit("clone", x, torch.contiguous_format)
    ends = [t for t in (prepend, x, append) if t is not None]
    if len(ends) > 1:
        x = b.emit("cat", tuple(ends), d)
    for _ in range(n):
        size = x.meta.shape[d]
        hi, lo = b.emit("slice", x, d, 1, size, 1), b.emit("slice", x, d, 0, size - 1, 1)
        x = b.emit("ne" if x.meta.dtype is torch.bool else "sub", hi, lo)
    return x


@expansion("histc")
def histc(b: GraphBuilder, input: Val, bins: int = 100, min: Any = 0, max: Any = 0, *, out: Any = None) -> Val:
    """Counts in `bins` equal cells of [min, max]; the last cell includes max. min == max: the data's own range."""
    reject_out(out)
    x = need_tensor(input)
    if min == max:
        raise Unsupported("histc over the data's own range", "pass min and max")
    if not x.meta.dtype.is_floating_point:
        raise WouldRaise("histc is not implemented for integers on the CPU")
    flat = to_shape(b, x, (numel(x),))
    width = (max - min) / bins
    cell = cast(b, b.emit("div", b.emit("sub", flat, min), width), torch.int64)
    cell = b.emit("clamp", cell, 0, bins - 1)
    inside = b.emit("logical_and", b.emit("ge", flat, min), b.emit("le", flat, max))
    zeros = b.emit("full", (bins,), 0, x.meta.dtype)
    return b.emit("scatter_add", zeros, 0, cell, cast(b, inside, x.meta.dtype))

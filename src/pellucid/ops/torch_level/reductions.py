"""Reductions: sum, mean, extremes, any/all, variance, norms, and what is made of them."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...torchdoor.functions import ALL_TRUE, ANY_TRUE
from ..errors import Unsupported, WouldRaise
from ..promote import result_type
from ..registry import METHODS
from .args import broadcast_shapes, cast, expand_to, need_tensor, reject_out, wrap_dim, wrap_dims
from .declare import expansion
from .opaque import opaque
from .views import diagonal


def _dims_arg(dim: Any, kwargs: dict[str, Any]) -> Any:
    return kwargs.pop("axis", dim)


def _keep(keepdim: Any, kwargs: dict[str, Any]) -> bool:
    return bool(kwargs.pop("keepdims", keepdim))


def _rest(kwargs: dict[str, Any]) -> None:
    reject_out(kwargs.pop("out", None))
    if kwargs:
        raise WouldRaise(f"unexpected keyword arguments {sorted(kwargs)}")


@expansion("sum")
def sum_(b: GraphBuilder, input: Val, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         **kwargs: Any) -> Val:
    x = need_tensor(input)
    dims = wrap_dims(_dims_arg(dim, kwargs), x.ndim)
    keepdim = _keep(keepdim, kwargs)
    _rest(kwargs)
    return b.emit("sum", x, dims, keepdim, dtype)


@expansion("mean")
def mean(b: GraphBuilder, input: Val, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         **kwargs: Any) -> Val:
    x = need_tensor(input)
    dims = wrap_dims(_dims_arg(dim, kwargs), x.ndim)
    keepdim = _keep(keepdim, kwargs)
    _rest(kwargs)
    if not (dtype or x.meta.dtype).is_floating_point:
        raise WouldRaise("mean(): could not infer output dtype; input dtype must be floating point")
    return b.emit("mean", x, dims, keepdim, dtype)


@expansion("prod")
def prod(b: GraphBuilder, input: Val, dim: Any = None, keepdim: bool = False, *, dtype: Any = None,
         **kwargs: Any) -> Val:
    x = need_tensor(input)
    dim = _dims_arg(dim, kwargs)
    keepdim = _keep(keepdim, kwargs)
    _rest(kwargs)
    dims = tuple(range(x.ndim)) if dim is None else wrap_dims(wrap_dim(dim, x.ndim), x.ndim)
    return b.emit("prod", x, dims, keepdim, dtype)


def _extreme(name: str, core: str, along: str, pair: str) -> None:
    def over_dims(builder: GraphBuilder, input: Val, dim: Any = (), keepdim: bool = False, **kwargs: Any) -> Val:
        x = need_tensor(input)
        dims = wrap_dims(_dims_arg(dim, kwargs), x.ndim)
        keepdim = _keep(keepdim, kwargs)
        _rest(kwargs)
        return builder.emit(core, x, dims, keepdim)

    def best(builder: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Any:
        """All elements; along one dimension, with indices; or of two tensors."""
        x = need_tensor(input)
        if kwargs.get("out") is not None:
            reject_out(kwargs["out"])
        kwargs.pop("out", None)
        other = args[0] if args else kwargs.get("other", kwargs.get("dim", kwargs.get("axis")))
        if other is None:
            return builder.emit(core, x, tuple(range(x.ndim)), False)
        if type(other) is Val:
            return builder.emit(pair, x, other)
        keepdim = bool(args[1]) if len(args) > 1 else _keep(kwargs.get("keepdim", False), kwargs)
        return builder.emit(along, x, wrap_dim(other, x.ndim), keepdim)
    expansion(core)(over_dims)
    expansion(name)(best)


_extreme("max", "amax", "max_dim", "maximum")
_extreme("min", "amin", "min_dim", "minimum")


def _arg_extreme(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Val:
        reject_out(out)
        x = need_tensor(input)
        if x.meta.dtype is torch.bool:
            raise WouldRaise(f"{core}(): does not support bool input")
        return builder.emit(core, x, None if dim is None else wrap_dim(dim, x.ndim), keepdim)
    fn.__name__ = core
    expansion(core)(fn)


_arg_extreme("argmax")
_arg_extreme("argmin")


@expansion("aminmax")
def aminmax(b: GraphBuilder, input: Val, *, dim: Any = None, keepdim: bool = False, out: Any = None) -> tuple[Val, Val]:
    reject_out(out)
    x = need_tensor(input)
    return b.emit("aminmax", x, wrap_dims(dim, x.ndim), keepdim)


def _truth(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Val:
        x = need_tensor(input)
        dims = wrap_dims(_dims_arg(dim, kwargs), x.ndim)
        keepdim = _keep(keepdim, kwargs)
        _rest(kwargs)
        found = builder.emit(core, x, dims, keepdim)
        return cast(builder, found, torch.uint8) if x.meta.dtype is torch.uint8 else found
    fn.__name__ = core
    expansion(core)(fn)


_truth("any")
_truth("all")


def _whole_truth(core: str, *targets: Any) -> None:
    """_is_all_true and _is_any_true, of tensors of bool."""
    def fn(builder: GraphBuilder, input: Val) -> Val:
        if need_tensor(input).meta.dtype is not torch.bool:
            raise WouldRaise("expects a bool tensor")
        return builder.emit(core, input, None, False)
    expansion(*targets)(fn)
    METHODS[targets[1].__name__] = fn


_whole_truth("all", *ALL_TRUE)
_whole_truth("any", *ANY_TRUE)


@expansion("count_nonzero")
def count_nonzero(b: GraphBuilder, input: Val, dim: Any = None) -> Val:
    x = need_tensor(input)
    return b.emit("sum", b.emit("ne", x, 0), wrap_dims(dim, x.ndim), False, None)


@expansion("torch.equal", "Tensor.equal", "torch.allclose", "Tensor.allclose", "Tensor.is_nonzero", "torch.is_nonzero")
def python_bool(b: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
    raise Unsupported("the result is a Python bool that depends on tensor data",
                      "compute it with tensor operations, or outside the compiled function")


# ------------------------------------------------------------------ variance
def _variance_args(x: Val, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """(dims, correction, keepdim) of var(unbiased), var(dim, unbiased, keepdim), var(dim, *, correction, keepdim)."""
    rest = list(args)
    dim = kwargs.pop("axis", kwargs.pop("dim", None))
    correction: Any = kwargs.pop("correction", None)
    unbiased = kwargs.pop("unbiased", None)
    keepdim = _keep(kwargs.pop("keepdim", False), kwargs)
    if rest and isinstance(rest[0], bool):
        unbiased = rest.pop(0)
    elif rest:
        dim = rest.pop(0)
        if rest:
            unbiased = rest.pop(0)
        if rest:
            keepdim = bool(rest.pop(0))
    _rest(kwargs)
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    return wrap_dims(dim, x.ndim), correction, keepdim


def _spread(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Any:
        if not need_tensor(input).meta.dtype.is_floating_point:
            raise WouldRaise("std and var only support floating point dtypes")
        return builder.emit(core, input, *_variance_args(input, args, kwargs))
    fn.__name__ = core
    expansion(core)(fn)


for _name in ("var", "std", "var_mean", "std_mean"):
    _spread(_name)


# ------------------------------------------------------------------ logsumexp and norms
@expansion("logsumexp", "special.logsumexp")
def logsumexp(b: GraphBuilder, input: Val, dim: Any, keepdim: bool = False, *, out: Any = None) -> Val:
    reject_out(out)
    return b.emit("logsumexp", need_tensor(input), wrap_dims(dim, input.ndim), keepdim)


def vector_norm(b: GraphBuilder, x: Val, p: Any, dims: tuple[int, ...], keepdim: bool, dtype: Any = None) -> Val:
    """(sum |x|^p)^(1/p) over dims."""
    if not (dtype or x.meta.dtype).is_floating_point:
        raise WouldRaise(f"linalg.vector_norm: expected a floating point input, got {x.meta.dtype}")
    return b.emit("norm", x, p, dims, keepdim, dtype)


@expansion("linalg.vector_norm", "aten.linalg_vector_norm")
def linalg_vector_norm(b: GraphBuilder, x: Val, ord: Any = 2, dim: Any = None, keepdim: bool = False, *,
                       dtype: Any = None, out: Any = None) -> Val:
    reject_out(out)
    return vector_norm(b, need_tensor(x), ord, wrap_dims(dim, x.ndim), keepdim, dtype)


@expansion("norm")
def norm(b: GraphBuilder, input: Val, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None,
         dtype: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    if p == "nuc" or isinstance(p, str) and p != "fro":
        raise Unsupported(f"norm with p={p!r}", "use torch.linalg.matrix_norm outside the compiled function")
    return vector_norm(b, x, 2 if p in ("fro", None) else p, wrap_dims(dim, x.ndim), keepdim, dtype)


@expansion("linalg.norm")
def linalg_norm(b: GraphBuilder, A: Val, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None,
                dtype: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(A, "A")
    pair = isinstance(dim, (tuple, list)) and len(dim) == 2 or (dim is None and x.ndim == 2)
    if ord is not None and pair and ord != "fro":
        return opaque(b, torch.linalg.norm, (x, ord), {"dim": dim, "keepdim": keepdim, "dtype": dtype})
    return vector_norm(b, x, 2 if ord in (None, "fro") else ord, wrap_dims(dim, x.ndim), keepdim, dtype)


@expansion("F.normalize")
def normalize(b: GraphBuilder, input: Val, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Val:
    reject_out(out)
    x = need_tensor(input)
    size = vector_norm(b, x, p, wrap_dims(dim, x.ndim), True)
    return b.emit("div", x, b.emit("clamp", size, eps, None))


@expansion("F.cosine_similarity", "torch.cosine_similarity")
def cosine_similarity(b: GraphBuilder, x1: Val, x2: Val, dim: int = 1, eps: float = 1e-8) -> Val:
    """sum(x1 * x2) with each side first divided by max(its norm, eps)."""
    x, y = need_tensor(x1, "x1"), need_tensor(x2, "x2")
    dtype = result_type(x, y)
    if not dtype.is_floating_point:
        raise WouldRaise("expected common dtype to be floating point")
    shape = broadcast_shapes(b, x.meta.shape, y.meta.shape)
    d = wrap_dim(dim, len(shape))
    parts = []
    for v in (x, y):
        v = expand_to(b, cast(b, v, dtype), shape)
        parts.append(b.emit("div", v, b.emit("clamp", vector_norm(b, v, 2, (d,), True), eps, None)))
    return b.emit("sum", b.emit("mul", *parts), (d,), False, None)


@expansion("trace")
def trace(b: GraphBuilder, input: Val) -> Val:
    if need_tensor(input).ndim != 2:
        raise WouldRaise("trace: expected a matrix")
    if input.meta.dtype is torch.bool:
        raise WouldRaise('"trace" not implemented for \'Bool\'')
    return b.emit("sum", diagonal(b, input), (0,), False, None)

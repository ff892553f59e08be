"""Activation functions of torch and torch.nn.functional, with their in-place forms and inplace=True."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from ...graph.build import GraphBuilder, Val
from ..errors import Unsupported, WouldRaise
from .args import need_tensor, reject_out, wrap_dim
from .declare import expansion
from .inplace import store
from .opaque import opaque


def _result(b: GraphBuilder, x: Val, y: Val, inplace: bool) -> Val:
    return store(b, x, y) if inplace else y


FLOATS_ONLY = frozenset("silu mish gelu leaky_relu hardswish hardsigmoid softshrink softplus".split())
"""Activations that eager has for floating-point tensors alone."""


def _need_float(core: str, x: Val) -> None:
    if not x.meta.dtype.is_floating_point:
        raise WouldRaise(f"{core} is not implemented for {x.meta.dtype}")


def _activation(core: str, names: str, *params: tuple[str, Any]) -> None:
    """Register `names` for fn(input, *params, inplace=False) made by one core operator."""
    def fn(builder: GraphBuilder, input: Val, *args: Any, inplace: bool = False, **kwargs: Any) -> Val:
        x = need_tensor(input)
        if core in FLOATS_ONLY:
            _need_float(core, x)
        reject_out(kwargs.pop("out", None))
        if len(args) > len(params):
            inplace, args = args[len(params)], args[:len(params)]
        values = list(args)
        for name, default in params[len(args):]:
            values.append(kwargs.pop(name, default))
        if kwargs:
            raise WouldRaise(f"{core}: unexpected arguments {sorted(kwargs)}")
        return _result(builder, x, builder.emit(core, x, *values), bool(inplace))
    fn.__name__ = core
    wanted = names.split()
    written = [n + "_" for n in wanted if n.startswith("F.") and hasattr(F, n[2:] + "_")]
    if hasattr(torch.Tensor, core + "_"):
        written += [f"Tensor.{core}_", *([f"torch.{core}_"] if hasattr(torch, core + "_") else [])]
    expansion(*wanted, inplace=" ".join(written))(fn)


_activation("relu", "relu F.relu")
_activation("relu6", "F.relu6 aten.relu6")
_activation("hardtanh", "F.hardtanh aten.hardtanh", ("min_val", -1.0), ("max_val", 1.0))
_activation("silu", "F.silu aten.silu")
_activation("mish", "F.mish aten.mish")
_activation("gelu", "F.gelu aten.gelu", ("approximate", "none"))
_activation("leaky_relu", "F.leaky_relu aten.leaky_relu", ("negative_slope", 0.01))
_activation("hardswish", "F.hardswish aten.hardswish")
_activation("hardsigmoid", "F.hardsigmoid aten.hardsigmoid")
_activation("softshrink", "F.softshrink aten.softshrink", ("lambd", 0.5))
_activation("hardshrink", "F.hardshrink hardshrink", ("lambd", 0.5))
_activation("softplus", "F.softplus aten.softplus", ("beta", 1.0), ("threshold", 20.0))
_activation("log_sigmoid", "F.logsigmoid aten.log_sigmoid")
_activation("threshold", "F.threshold torch.threshold aten.threshold", ("threshold", 0.0), ("value", 0.0))
_activation("tanh", "F.tanh")
_activation("sigmoid", "F.sigmoid")

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def _elu(names: str, values: Callable[..., tuple[float, float, float]], *defaults: tuple[str, float]) -> None:
    def fn(builder: GraphBuilder, input: Val, *args: Any, inplace: bool = False, **kwargs: Any) -> Val:
        x = need_tensor(input)
        _need_float("elu", x)
        if len(args) > len(defaults):
            inplace, args = args[len(defaults)], args[:len(defaults)]
        rest = [kwargs.get(n, d) for n, d in defaults[len(args):]]
        return _result(builder, x, builder.emit("elu", x, *values(*args, *rest)), bool(inplace))
    wanted = names.split()
    expansion(*wanted, inplace=" ".join(n + "_" for n in wanted if not n.startswith("aten")))(fn)


def _celu_values(alpha: float) -> tuple[float, float, float]:
    if alpha == 0:
        raise WouldRaise("ZeroDivisionError: alpha cannot be 0 for CELU")
    return alpha, 1.0, 1.0 / alpha


_elu("F.elu", lambda alpha: (alpha, 1.0, 1.0), ("alpha", 1.0))
_elu("F.celu torch.celu", _celu_values, ("alpha", 1.0))
_elu("F.selu torch.selu", lambda: (SELU_ALPHA, SELU_SCALE, 1.0))


@expansion("aten.elu")
def aten_elu(b: GraphBuilder, input: Val, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Val:
    return b.emit("elu", need_tensor(input), alpha, scale, input_scale)


@expansion("F.softsign")
def softsign(b: GraphBuilder, input: Val) -> Val:
    x = need_tensor(input)
    return b.emit("div", x, b.emit("add", b.emit("abs", x), 1))


@expansion("F.tanhshrink")
def tanhshrink(b: GraphBuilder, input: Val) -> Val:
    return b.emit("sub", need_tensor(input), b.emit("tanh", input))


@expansion("prelu", "F.prelu")
def prelu(b: GraphBuilder, input: Val, weight: Val) -> Val:
    x, w = need_tensor(input), need_tensor(weight, "weight")
    if w.meta.dtype is not x.meta.dtype:
        raise WouldRaise("prelu: weight and input must have the same dtype")
    if w.ndim == 1 and not b.env.same(w.meta.shape[0], 1):
        if x.ndim < 2 or not b.env.same(x.meta.shape[1], w.meta.shape[0]):
            raise WouldRaise("prelu: the number of weights must match the channels of input")
        w = b.emit("view", w, (w.meta.shape[0],) + (1,) * (x.ndim - 2))
    elif w.ndim == 1 and x.ndim != 1:
        w = b.emit("view", w, ())
    return b.emit("prelu_scale", x, w)


@expansion("F.glu")
def glu(b: GraphBuilder, input: Val, dim: int = -1) -> Val:
    x = need_tensor(input)
    if not x.meta.dtype.is_floating_point:
        raise Unsupported(f"glu of {x.meta.dtype}", "pass a floating tensor")
    d = wrap_dim(dim, x.ndim)
    n = x.meta.shape[d]
    if not x.ndim or not b.env.same(n % 2, 0):
        raise WouldRaise("glu: halving dimension must be even")
    gate, value = b.emit("slice", x, d, n // 2, n, 1), b.emit("slice", x, d, 0, n // 2, 1)
    return b.emit("mul", value, b.emit("sigmoid", gate))


@expansion("F.rrelu", "torch.rrelu")
def rrelu(b: GraphBuilder, input: Val, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False,
          inplace: bool = False) -> Val:
    if training:
        return _result(b, need_tensor(input), opaque(b, torch.rrelu, (input, lower, upper, True), {}), inplace)
    x = need_tensor(input)
    return _result(b, x, b.emit("leaky_relu", x, (lower + upper) / 2), inplace)


# ------------------------------------------------------------------ along a dimension
def _legacy_dim(ndim: int) -> int:
    return 0 if ndim in (0, 1, 3) else 1


def _softmax(core: str, *names: str) -> None:
    def fn(builder: GraphBuilder, input: Val, dim: Any = None, _stacklevel: Any = 3, dtype: Any = None, *,
           out: Any = None) -> Val:
        reject_out(out)
        x = need_tensor(input)
        if isinstance(_stacklevel, torch.dtype):  # torch.softmax(input, dim, dtype)
            dtype = _stacklevel
        dim = _legacy_dim(x.ndim) if dim is None else dim
        if not (dtype or x.meta.dtype).is_floating_point:
            raise WouldRaise(f"{core} is not implemented for {x.meta.dtype}")
        return builder.emit(core, x, wrap_dim(dim, x.ndim), None if dtype is x.meta.dtype else dtype)
    fn.__name__ = core
    expansion(*names)(fn)


_softmax("softmax", "softmax", "F.softmax", "special.softmax")
_softmax("log_softmax", "log_softmax", "F.log_softmax", "special.log_softmax")


@expansion("F.softmin")
def softmin(b: GraphBuilder, input: Val, dim: Any = None, _stacklevel: int = 3, dtype: Any = None) -> Val:
    x = b.emit("neg", need_tensor(input))
    return b.emit("softmax", x, wrap_dim(_legacy_dim(x.ndim) if dim is None else dim, x.ndim), dtype)


def _aten_softmax(core: str) -> None:
    def fn(builder: GraphBuilder, input: Val, dim: int, half_to_float: bool) -> Val:
        x = need_tensor(input)
        return builder.emit(core, x, wrap_dim(dim, x.ndim), torch.float32 if half_to_float else None)
    expansion(f"aten._{core}")(fn)


_aten_softmax("softmax")
_aten_softmax("log_softmax")

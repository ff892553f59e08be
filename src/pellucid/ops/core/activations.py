"""Activation functions as single pointwise operators: float16 and bfloat16 are rounded once, at the end."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...ir.build import call
from ...ir.types import Expr
from .elementwise import pointwise
from .exprs import compare, literal, where


def activation(name: str, body: Any, *params: Any, integers: bool = False, autocast: str | None = None,
               dense: bool = False) -> None:
    """Register an activation: body(dtype, x, *params). Integer operands only where eager takes them."""
    pointwise(name, 1, "same" if integers else "float", body, params=params, number_counts=False, autocast=autocast,
              bools=False, dense=dense)


def _relu(d: torch.dtype, x: Expr) -> Expr:
    """x, and 0 below it: NaN and -0.0 stay what they are."""
    return where(compare("lt", x, literal(0, d)), literal(0, d), x)


def _gelu(d: torch.dtype, x: Expr, approximate: str) -> Expr:
    """x * Phi(x): exactly by erf, or by the tanh formula of Hendrycks and Gimpel (2016)."""
    half, one = literal(0.5, d), literal(1, d)
    if approximate == "tanh":
        cube = call("mul", call("mul", x, x), x)
        inner = call("mul", literal(math.sqrt(2 / math.pi), d), call("add", x, call("mul", literal(0.044715, d), cube)))
        return call("mul", call("mul", half, x), call("add", one, call("tanh", inner)))
    return call("mul", call("mul", x, half), call("add", one, call("erf", call("mul", x, literal(math.sqrt(0.5), d)))))


def _hinge(d: torch.dtype, x: Expr) -> Expr:
    """min(max(x + 3, 0), 6)"""
    return call("min", call("max", call("add", x, literal(3, d)), literal(0, d)), literal(6, d))


def _softplus(d: torch.dtype, x: Expr, beta: float, threshold: float) -> Expr:
    z = x if beta == 1 else call("mul", x, literal(beta, d))
    soft = call("log1p", call("exp", z))
    soft = soft if beta == 1 else call("div", soft, literal(beta, d))
    return where(compare("gt", z, literal(threshold, d)), x, soft)


def _elu(d: torch.dtype, x: Expr, alpha: float, scale: float, input_scale: float) -> Expr:
    negative = x if input_scale == 1 else call("mul", x, literal(input_scale, d))
    below = call("mul", call("expm1", negative), literal(alpha * scale, d))
    above = x if scale == 1 else call("mul", x, literal(scale, d))
    return where(compare("le", x, literal(0, d)), below, above)


def _leaky(d: torch.dtype, x: Expr, slope: float) -> Expr:
    return where(compare("gt", x, literal(0, d)), x, call("mul", x, literal(slope, d)))


def _clip(d: torch.dtype, x: Expr, low: float, high: float) -> Expr:
    return call("min", call("max", x, literal(low, d)), literal(high, d))


def _shrink(d: torch.dtype, x: Expr, bound: float, soft: bool) -> Expr:
    top, bottom = literal(bound, d), literal(-bound, d)
    zero = call("mul", x, literal(0, d)) if soft else literal(0, d)
    above, below = (call("sub", x, top), call("add", x, top)) if soft else (x, x)
    inside = where(compare("lt", x, bottom), below, zero)
    value = where(compare("gt", x, top), above, inside)
    return value if soft else where(call("isnan", x, dtype=torch.bool), x, value)


activation("relu", _relu, integers=True)
activation("relu6", lambda d, x: _clip(d, x, 0, 6), integers=True)
activation("hardtanh", _clip, ("min_val", -1.0), ("max_val", 1.0), integers=True)
activation("gelu", _gelu, ("approximate", "none"))
activation("silu", lambda d, x: call("div", x, call("add", literal(1, d), call("exp", call("neg", x)))))
activation("mish", lambda d, x: call("mul", x, call("tanh", call("log1p", call("exp", x)))))
activation("softplus", _softplus, ("beta", 1.0), ("threshold", 20.0), autocast="float32")
activation("elu", _elu, ("alpha", 1.0), ("scale", 1.0), ("input_scale", 1.0))
activation("leaky_relu", _leaky, ("negative_slope", 0.01))
activation("hardswish", lambda d, x: call("div", call("mul", x, _hinge(d, x)), literal(6, d)))
activation("hardsigmoid", lambda d, x: call("div", _hinge(d, x), literal(6, d)))
activation("log_sigmoid", lambda d, x: call("sub", call("min", x, literal(0, d)),
                                            call("log1p", call("exp", call("neg", call("abs", x))))), dense=True)
activation("softshrink", lambda d, x, b: _shrink(d, x, b, True), ("lambd", 0.5))
activation("hardshrink", lambda d, x, b: _shrink(d, x, b, False), ("lambd", 0.5))
activation("threshold", lambda d, x, t, v: where(compare("le", x, literal(t, d)), literal(v, d), x), "threshold",
           "value",           integers=True)
pointwise("prelu_scale", 2, "same", lambda d, x, w: where(compare("gt", x, literal(0, d)), x, call("mul", w, x)),
          names=("self", "weight"))

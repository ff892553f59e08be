"""Normalisations: layer, rms, group, instance and batch norm (with running statistics, or in training)."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import product
from ...torchdoor.functions import WEIGHT_NORM
from ..errors import Unsupported, WouldRaise
from ..promote import HALVES
from .args import cast, int_arg, need_tensor, numel, sizes_arg, wrap_dim
from .declare import MUTATES, expansion
from .views import to_shape


@expansion("F.layer_norm", "torch.layer_norm", "aten.layer_norm")
def layer_norm(b: GraphBuilder, input: Val, normalized_shape: Any, weight: Val | None = None, bias: Val | None = None,
               eps: float = 1e-5, cudnn_enable: bool = False) -> Val:
    return b.emit("layer_norm", need_tensor(input), sizes_arg((normalized_shape,)), weight, bias, eps)


@expansion("torch.native_layer_norm", "aten.native_layer_norm")
def native_layer_norm(b: GraphBuilder, input: Val, normalized_shape: Any, weight: Val | None, bias: Val | None,
                      eps: float) -> tuple[Val, Val, Val]:
    return b.emit("native_layer_norm", need_tensor(input), sizes_arg((normalized_shape,)), weight, bias, eps)


@expansion("F.rms_norm", "torch.rms_norm", "aten.rms_norm")
def rms_norm(b: GraphBuilder, input: Val, normalized_shape: Any, weight: Val | None = None, eps: Any = None) -> Val:
    return b.emit("rms_norm", need_tensor(input), sizes_arg((normalized_shape,)), weight, eps)


@expansion("F.group_norm")
def group_norm(b: GraphBuilder, input: Val, num_groups: int, weight: Val | None = None, bias: Val | None = None,
               eps: float = 1e-5) -> Val:
    return b.emit("group_norm", need_tensor(input), int_arg(b, num_groups, "num_groups"), weight, bias, eps)


@expansion("torch.group_norm", "aten.group_norm")
def torch_group_norm(b: GraphBuilder, input: Val, num_groups: int, weight: Val | None = None, bias: Val | None = None,
                     eps: float = 1e-5, cudnn_enabled: bool = True) -> Val:
    return group_norm(b, input, num_groups, weight, bias, eps)


@expansion("aten.native_group_norm")
def native_group_norm(b: GraphBuilder, input: Val, weight: Val | None, bias: Val | None, N: Any, C: Any, HxW: Any,
                      group: int, eps: float) -> tuple[Val, Val, Val]:
    return b.emit("native_group_norm", need_tensor(input), int_arg(b, group, "group"), weight, bias, eps)


def _batch_statistics(b: GraphBuilder, x: Val) -> tuple[Val, Val, Any]:
    """Mean and biased variance by channel (float32 for half precision), and the number of elements of a channel."""
    dims = tuple(d for d in range(x.ndim) if d != 1)
    wide = cast(b, x, torch.float32) if x.meta.dtype in HALVES else x
    mean, var = b.emit("mean", wide, dims, False, None), b.emit("var", wide, dims, 0, False)
    return mean, var, product([x.meta.shape[d] for d in dims])


def _update(b: GraphBuilder, running: Val, new: Val, momentum: float) -> None:
    """running = (1 - momentum) * running + momentum * new, in place."""
    kept = b.emit("mul", running, 1 - momentum)
    b.write(running, cast(b, b.emit("add", kept, b.emit("mul", new, momentum)), running.meta.dtype))


@expansion("F.batch_norm")
def batch_norm(b: GraphBuilder, input: Val, running_mean: Val | None, running_var: Val | None,
               weight: Val | None = None, bias: Val | None = None, training: bool = False, momentum: float = 0.1,
               eps: float = 1e-5) -> Val:
    """With training the batch's statistics are used, and running ones (if given) are updated in place."""
    x = need_tensor(input)
    if x.ndim < 2:
        raise WouldRaise("batch_norm: input must have at least 2 dimensions")
    if not training:
        if running_mean is None or running_var is None:
            raise WouldRaise("expected running_mean and running_var to be defined when training=False")
        return b.emit("batch_norm", x, weight, bias, running_mean, running_var, eps)
    if momentum is None:
        raise Unsupported("batch_norm with momentum=None", "pass a number")
    mean, var, count = _batch_statistics(b, x)
    if b.env.same(count, 1):
        raise WouldRaise("Expected more than 1 value per channel when training")
    y = b.emit("batch_norm", x, weight, bias, mean, var, eps)
    if running_mean is not None:
        _update(b, running_mean, mean, momentum)
    if running_var is not None:
        n = count if type(count) is int else b.emit("full", (), count, mean.meta.dtype)
        unbiased = b.emit("mul", var, count / (count - 1)) if type(count) is int else b.emit(
            "div", b.emit("mul", var, n), b.emit("sub", n, 1))
        _update(b, running_var, unbiased, momentum)
    return y


@expansion("torch.batch_norm", "aten.batch_norm")
def torch_batch_norm(b: GraphBuilder, input: Val, weight: Val | None, bias: Val | None, running_mean: Val | None,
                     running_var: Val | None, training: bool, momentum: float, eps: float,
                     cudnn_enabled: bool = True) -> Val:
    return batch_norm(b, input, running_mean, running_var, weight, bias, training, momentum, eps)


@expansion("aten._native_batch_norm_legit_no_training")
def batch_norm_inference(b: GraphBuilder, input: Val, weight: Val | None, bias: Val | None, running_mean: Val,
                         running_var: Val, momentum: float, eps: float) -> tuple[Val, Val, Val]:
    y = batch_norm(b, input, running_mean, running_var, weight, bias, False, momentum, eps)
    empty = b.emit("full", (0,), 0, input.meta.dtype)
    return y, empty, empty


@expansion("F.instance_norm")
def instance_norm(b: GraphBuilder, input: Val, running_mean: Val | None = None, running_var: Val | None = None,
                  weight: Val | None = None, bias: Val | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Val:
    x = need_tensor(input)
    if not use_input_stats:
        return batch_norm(b, x, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None or running_var is not None:
        raise Unsupported("instance_norm that updates running statistics", "use track_running_stats=False")
    if x.ndim < 3 or b.env.same(product(x.meta.shape[2:]), 1):
        raise WouldRaise("Expected more than 1 spatial element when training")
    n, c = x.meta.shape[:2]
    flat = to_shape(b, x, (1, n * c) + x.meta.shape[2:])
    mean, var, _ = _batch_statistics(b, flat)
    y = b.emit("view", b.emit("batch_norm", flat, None, None, mean, var, eps), x.meta.shape)
    ones = (c,) + (1,) * (x.ndim - 2)
    if weight is not None:
        y = b.emit("mul", y, b.emit("view", weight, ones))
    return y if bias is None else b.emit("add", y, b.emit("view", bias, ones))


MUTATES[torch.nn.functional.batch_norm] = 1
MUTATES[torch.batch_norm] = 3


@expansion("F.local_response_norm")
def local_response_norm(b: GraphBuilder, input: Val, size: int, alpha: float = 1e-4, beta: float = 0.75,
                        k: float = 1.0) -> Val:
    """input / (k + alpha * mean of squares over `size` neighbouring channels)^beta."""
    x = need_tensor(input)
    if x.ndim < 3:
        raise WouldRaise("local_response_norm: expected a tensor of at least 3 dimensions")
    if b.env.decide("==", numel(x), 0):
        return x
    square = b.emit("mul", x, x)
    room = (0, 0) * (x.ndim - 2) + (size // 2, (size - 1) // 2)
    padded = b.emit("pad", square, room, "constant", 0)
    window = b.emit("mean", b.emit("unfold", padded, 1, size, 1), (x.ndim,), False, None)
    return b.emit("div", x, b.emit("pow", b.emit("add", b.emit("mul", window, alpha), k), beta))



@expansion(WEIGHT_NORM)
def weight_norm(b: GraphBuilder, v: Val, g: Val, dim: int = 0) -> Val:
    """v * (g / norm of v over all dimensions but `dim`); dim -1: over all."""
    m = need_tensor(v).meta
    if not m.dtype.is_floating_point or m.dtype in (torch.float16, torch.bfloat16):
        raise Unsupported(f"weight_norm of {m.dtype}", "compute it in float32")
    d = None if dim == -1 else wrap_dim(dim, m.ndim)
    over = tuple(i for i in range(m.ndim) if i != d)
    norm = b.emit("sqrt", b.emit("sum", b.emit("mul", v, v), over, d is not None, None))
    return b.emit("mul", v, b.emit("div", g, norm))

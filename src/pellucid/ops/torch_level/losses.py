"""Loss functions of torch.nn.functional, each from core operators, with torch's reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Size
from ..errors import Unsupported, WouldRaise
from .args import broadcast_shapes, cast, need_tensor, same_shape, wrap_dim
from .declare import expansion


def _reduction(reduction: str, size_average: Any = None, reduce: Any = None) -> str:
    """The reduction's name, from torch's present argument or its two old ones."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return "none"
        return "sum" if size_average is False else "mean"
    if reduction not in ("none", "mean", "sum"):
        raise WouldRaise(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(b: GraphBuilder, loss: Val, reduction: str) -> Val:
    dims = tuple(range(loss.ndim))
    return loss if reduction == "none" else b.emit(reduction, loss, dims, False, None)


def _elementwise(*names: str, floats: bool = False) -> Callable[..., Any]:
    """Register loss(b, input, target, **options) -> elementwise loss under F.name with torch's reduction arguments.

    floats: eager's kernel takes floating tensors alone."""
    def register(loss: Callable[..., Val]) -> Callable[..., Val]:
        def fn(builder: GraphBuilder, input: Val, target: Val, *args: Any, reduction: str = "mean",
               size_average: Any = None, reduce: Any = None, **options: Any) -> Val:
            if args:
                raise Unsupported("old positional loss arguments", "pass reduction= by keyword")
            x, t = need_tensor(input), need_tensor(target, "target")
            if floats and not (x.meta.dtype.is_floating_point and t.meta.dtype.is_floating_point):
                raise Unsupported(f"{loss.__name__} of {x.meta.dtype} and {t.meta.dtype}", "pass floating tensors")
            return reduced(builder, loss(builder, x, t, **options), _reduction(reduction, size_average, reduce))
        fn.__name__ = loss.__name__
        expansion(*names)(fn)
        return loss
    return register


@_elementwise("F.mse_loss")
def mse_loss(b: GraphBuilder, x: Val, t: Val, weight: Val | None = None) -> Val:
    if not (x.meta.dtype.is_floating_point or t.meta.dtype.is_floating_point):
        raise WouldRaise(f"mse_loss is not implemented for {x.meta.dtype}")
    d = b.emit("sub", x, t)
    square = b.emit("mul", d, d)
    return square if weight is None else b.emit("mul", square, weight)


@_elementwise("F.l1_loss")
def l1_loss(b: GraphBuilder, x: Val, t: Val, weight: Val | None = None) -> Val:
    loss = b.emit("abs", b.emit("sub", x, t))
    return loss if weight is None else b.emit("mul", loss, weight)


@_elementwise("F.smooth_l1_loss", floats=True)
def smooth_l1_loss(b: GraphBuilder, x: Val, t: Val, beta: float = 1.0) -> Val:
    """0.5 d^2 / beta for |d| < beta, else |d| - beta / 2."""
    if beta < 0:
        raise WouldRaise("smooth_l1_loss does not support negative values for beta")
    d = b.emit("abs", b.emit("sub", x, t))
    if beta == 0:
        return d
    near = b.emit("div", b.emit("mul", b.emit("mul", d, d), 0.5), beta)
    return b.emit("where", b.emit("lt", d, beta), near, b.emit("sub", d, 0.5 * beta))


@_elementwise("F.huber_loss", floats=True)
def huber_loss(b: GraphBuilder, x: Val, t: Val, delta: float = 1.0, weight: Val | None = None) -> Val:
    """0.5 d^2 for |d| <= delta, else delta (|d| - delta / 2)."""
    d = b.emit("abs", b.emit("sub", x, t))
    far = b.emit("mul", b.emit("sub", d, 0.5 * delta), delta)
    loss = b.emit("where", b.emit("le", d, delta), b.emit("mul", b.emit("mul", d, d), 0.5), far)
    return loss if weight is None else b.emit("mul", loss, weight)


@_elementwise("F.binary_cross_entropy", floats=True)
def binary_cross_entropy(b: GraphBuilder, x: Val, t: Val, weight: Val | None = None) -> Val:
    """-(t log x + (1 - t) log(1 - x)), logs bounded below by -100."""
    if not same_shape(b, x.meta.shape, t.meta.shape):
        raise WouldRaise("binary_cross_entropy: target must have input's size")
    log_x = b.emit("clamp", b.emit("log", x), -100.0, None)
    log_rest = b.emit("clamp", b.emit("log1p", b.emit("neg", x)), -100.0, None)
    loss = b.emit("sub", b.emit("mul", b.emit("sub", t, 1), log_rest), b.emit("mul", t, log_x))
    return loss if weight is None else b.emit("mul", loss, weight)


@_elementwise("F.binary_cross_entropy_with_logits")
def bce_with_logits(b: GraphBuilder, x: Val, t: Val, weight: Val | None = None, pos_weight: Val | None = None) -> Val:
    """(1 - t) x + w * softplus(-x), with w = 1 + (pos_weight - 1) t, and softplus(-x) = -log sigmoid(x)."""
    if not same_shape(b, x.meta.shape, t.meta.shape):
        raise WouldRaise("binary_cross_entropy_with_logits: target size must be the same as input size")
    soft = b.emit("log_sigmoid", x)
    if pos_weight is not None:
        soft = b.emit("mul", soft, b.emit("add", b.emit("mul", b.emit("sub", pos_weight, 1), t), 1))
    loss = b.emit("sub", b.emit("mul", b.emit("sub", 1, t), x), soft)
    return loss if weight is None else b.emit("mul", loss, weight)


@_elementwise("F.soft_margin_loss", floats=True)
def soft_margin_loss(b: GraphBuilder, x: Val, t: Val) -> Val:
    return b.emit("log1p", b.emit("exp", b.emit("neg", b.emit("mul", t, x))))


@_elementwise("F.poisson_nll_loss")
def poisson_nll_loss(b: GraphBuilder, x: Val, t: Val, log_input: bool = True, full: bool = False,
                     eps: float = 1e-8) -> Val:
    if log_input:
        loss = b.emit("sub", b.emit("exp", x), b.emit("mul", t, x))
    else:
        loss = b.emit("sub", x, b.emit("mul", t, b.emit("log", b.emit("add", x, eps))))
    if full:
        stirling = b.emit("add", b.emit("sub", b.emit("mul", t, b.emit("log", t)), t),
                          b.emit("mul", b.emit("log", b.emit("mul", t, 2 * math.pi)), 0.5))
        loss = b.emit("add", loss, b.emit("where", b.emit("gt", t, 1), stirling, 0.0))
    return loss


@expansion("F.kl_div")
def kl_div(b: GraphBuilder, input: Val, target: Val, size_average: Any = None, reduce: Any = None,
           reduction: str = "mean", log_target: bool = False) -> Val:
    """target * (log target - input), 0 where target is 0; batchmean divides the sum by the batch's size."""
    x, t = need_tensor(input), need_tensor(target, "target")
    if not (x.meta.dtype.is_floating_point and t.meta.dtype.is_floating_point):
        raise WouldRaise("kl_div: Integral inputs not supported.")
    if log_target:
        loss = b.emit("mul", b.emit("exp", t), b.emit("sub", t, x))
    else:
        own = b.emit("where", b.emit("eq", t, 0), 0.0, b.emit("mul", t, b.emit("log", t)))
        loss = b.emit("sub", own, b.emit("mul", t, x))
    if reduction == "batchmean":
        total = reduced(b, loss, "sum")
        return b.emit("div", total, x.meta.shape[0]) if x.ndim else total
    return reduced(b, loss, _reduction(reduction, size_average, reduce))


# ------------------------------------------------------------------ classification
def _picked(b: GraphBuilder, table: Val, target: Val, channel: int, ignored: Val) -> Val:
    """table at the target's class along `channel`; ignored positions read class 0."""
    safe = b.emit("where", ignored, 0, target)
    at = b.emit("unsqueeze", safe, channel)
    return b.emit("squeeze", b.emit("gather", table, channel, at), (channel,))


def _nll(b: GraphBuilder, logp: Val, target: Val, weight: Val | None, ignore_index: int, reduction: str,
         smoothing: float = 0.0) -> Val:
    """The negative log likelihood of class indices: a weighted mean, sum or each. logp (N, C, ...) or (C,)."""
    channel = 1 if logp.ndim > 1 else 0
    classes = logp.meta.shape[channel]
    want = logp.meta.shape[:channel] + logp.meta.shape[channel + 1:]
    if target.ndim + 1 != logp.ndim or not same_shape(b, want, target.meta.shape):
        raise WouldRaise("nll_loss: expected target's size to be input's without the class dimension")
    if target.meta.dtype not in (torch.int64, torch.uint8):
        raise WouldRaise(f"nll_loss: expected target of dtype int64, not {target.meta.dtype}")
    target = cast(b, target, torch.int64)
    ignored = b.emit("eq", target, ignore_index)
    losses = b.emit("neg", _picked(b, logp, target, channel, ignored))
    weights = None
    if weight is not None:
        weights = b.emit("index", weight, (b.emit("where", ignored, 0, target),))
        losses = b.emit("mul", losses, weights)
    losses = b.emit("where", ignored, 0.0, losses)
    smooth = None
    if smoothing:
        spread = logp
        if weight is not None:
            spread = b.emit("mul", logp, b.emit("view", weight, (classes,) + (1,) * (logp.ndim - 1 - channel)))
        smooth = b.emit("where", ignored, 0.0, b.emit("neg", b.emit("sum", spread, (channel,), False, None)))
    if reduction == "mean":
        kept = cast(b, b.emit("logical_not", ignored), logp.meta.dtype)
        count = kept if weights is None else b.emit("mul", weights, kept)
        count = reduced(b, count, "sum")
        losses = b.emit("div", reduced(b, losses, "sum"), count)
        smooth = None if smooth is None else b.emit("div", reduced(b, smooth, "sum"), count)
    elif reduction == "sum":
        losses, smooth = reduced(b, losses, "sum"), None if smooth is None else reduced(b, smooth, "sum")
    if smooth is None:
        return losses
    share = smoothing / b.env.concrete(classes)
    return b.emit("add", b.emit("mul", losses, 1 - smoothing), b.emit("mul", smooth, share))


@expansion("F.nll_loss")
def nll_loss(b: GraphBuilder, input: Val, target: Val, weight: Val | None = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Val:
    if not need_tensor(input).meta.dtype.is_floating_point:
        raise WouldRaise(f"nll_loss is not implemented for {input.meta.dtype}")
    return _nll(b, need_tensor(input), need_tensor(target, "target"), weight, ignore_index,
                _reduction(reduction, size_average, reduce))


@expansion("F.cross_entropy")
def cross_entropy(b: GraphBuilder, input: Val, target: Val, weight: Val | None = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Val:
    """Of logits (N, C, ...) or (C,) and class indices, or class probabilities of input's shape."""
    x, t = need_tensor(input), need_tensor(target, "target")
    how = _reduction(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise WouldRaise("label_smoothing must be between 0.0 and 1.0")
    channel = 1 if x.ndim > 1 else 0
    logp = b.emit("log_softmax", x, channel, None)
    if t.ndim != x.ndim or t.ndim == 0:
        return _nll(b, logp, t, weight, ignore_index, how, label_smoothing)
    if not same_shape(b, x.meta.shape, t.meta.shape):
        raise WouldRaise("cross_entropy: probabilities must have the logits' shape")
    if not t.meta.dtype.is_floating_point:
        raise WouldRaise("Expected floating point type for target with class probabilities")
    classes = b.env.concrete(x.meta.shape[channel])
    if label_smoothing:
        t = b.emit("add", b.emit("mul", t, 1 - label_smoothing), label_smoothing / classes)
    loss = b.emit("mul", logp, t)
    if weight is not None:
        loss = b.emit("mul", loss, b.emit("view", weight, (classes,) + (1,) * (x.ndim - 1 - channel)))
    each = b.emit("neg", b.emit("sum", loss, (channel,), False, None))
    if how == "mean":
        total = reduced(b, each, "sum")
        n: Size = 1
        for d, s in enumerate(x.meta.shape):
            n = n if d == channel else n * s
        return b.emit("div", total, n)
    return reduced(b, each, how)


@expansion("aten.nll_loss_forward")
def nll_loss_forward(b: GraphBuilder, input: Val, target: Val, weight: Val | None, reduction: int,
                     ignore_index: int) -> tuple[Val, Val]:
    kept = cast(b, b.emit("ne", target, ignore_index), input.meta.dtype)
    if weight is not None:
        raise Unsupported("nll_loss_forward with weights", "call torch.nn.functional.nll_loss")
    total = reduced(b, kept, "sum")
    loss = _nll(b, input, target, None, ignore_index, ("none", "mean", "sum")[reduction])
    return loss, total


@expansion("F.hinge_embedding_loss", "torch.hinge_embedding_loss")
def hinge_embedding_loss(b: GraphBuilder, input: Val, target: Val, margin: float = 1.0, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Val:
    x, t = need_tensor(input), need_tensor(target, "target")
    if not x.meta.dtype.is_floating_point:
        raise Unsupported(f"hinge_embedding_loss of {x.meta.dtype}", "pass a floating input")
    below = b.emit("where", b.emit("ne", t, 1), b.emit("clamp", b.emit("sub", margin, x), 0, None), 0.0)
    return reduced(b, b.emit("add", b.emit("where", b.emit("ne", t, -1), x, 0.0), below),
                   _reduction(reduction, size_average, reduce))


@expansion("F.margin_ranking_loss", "torch.margin_ranking_loss")
def margin_ranking_loss(b: GraphBuilder, input1: Val, input2: Val, target: Val, margin: float = 0,
                        size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Val:
    gap = b.emit("mul", b.emit("neg", target), b.emit("sub", input1, input2))
    return reduced(b, b.emit("clamp", b.emit("add", gap, margin), 0, None), _reduction(reduction, size_average, reduce))


@expansion("F.cosine_embedding_loss", "torch.cosine_embedding_loss")
def cosine_embedding_loss(b: GraphBuilder, input1: Val, input2: Val, target: Val, margin: float = 0,
                          size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Val:
    """1 - cos where target is 1, max(0, cos - margin) where it is -1; cos = xy / sqrt((xx + e)(yy + e)), e = 1e-12."""
    x, y = need_tensor(input1, "input1"), need_tensor(input2, "input2")
    d = (wrap_dim(-1, x.ndim),)
    xy, xx, yy = (b.emit("sum", b.emit("mul", u, v), d, False, None) for u, v in ((x, y), (x, x), (y, y)))
    cos = b.emit("div", xy, b.emit("sqrt", b.emit("mul", b.emit("add", xx, 1e-12), b.emit("add", yy, 1e-12))))
    shape = broadcast_shapes(b, cos.meta.shape, target.meta.shape)
    if not same_shape(b, shape, cos.meta.shape):
        raise WouldRaise("cosine_embedding_loss: target does not fit the inputs")
    far = b.emit("where", b.emit("eq", target, -1), b.emit("clamp", b.emit("sub", cos, margin), 0, None), 0.0)
    near = b.emit("where", b.emit("eq", target, 1), b.emit("sub", 1, cos), 0.0)
    return reduced(b, b.emit("add", near, far), _reduction(reduction, size_average, reduce))

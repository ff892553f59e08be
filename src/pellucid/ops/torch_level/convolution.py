"""Convolutions, pooling and interpolation."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Size
from ..errors import Unsupported, WouldRaise
from .args import int_arg, need_tensor, ntuple
from .declare import expansion
from .opaque import opaque


def _ints(b: GraphBuilder, x: Any, n: int, name: str) -> tuple[int, ...]:
    return tuple(b.env.concrete(v) for v in ntuple(x, n, name))


def convolution(b: GraphBuilder, x: Val, w: Val, bias: Val | None, stride: Any, padding: Any, dilation: Any,
                transposed: bool, output_padding: Any, groups: Any) -> Val:
    """One core convolution; an input without a batch dimension gets one and loses it again."""
    n = w.ndim - 2
    if need_tensor(x).ndim not in (n + 1, n + 2) or n < 1:
        raise WouldRaise(f"convolution: expected {n + 1}D or {n + 2}D input, got {x.ndim}D")
    if len({t.meta.dtype for t in (x, w, bias) if t is not None}) > 1:
        raise WouldRaise("convolution: input, weight and bias must be of one dtype")
    steps, gaps = _ints(b, stride, n, "stride"), _ints(b, dilation, n, "dilation")
    if isinstance(padding, str):
        x, pads = _named_padding(b, x, w, padding, steps, gaps)
    else:
        pads = _ints(b, padding, n, "padding")
    g = int_arg(b, groups, "groups")
    single = x.ndim == n + 1
    if single:
        x = b.emit("unsqueeze", x, 0)
    extra = _ints(b, output_padding, n, "output_padding")
    y = b.emit("convolution", x, w, bias, steps, pads, gaps, transposed, extra, g)
    return b.emit("squeeze", y, (0,)) if single else y


def _named_padding(b: GraphBuilder, x: Val, w: Val, padding: str, steps: Any,
                   gaps: Any) -> tuple[Val, tuple[int, ...]]:
    """padding="valid" or "same"; an odd total pads one more at the end, by a pad of its own as eager does."""
    n = len(steps)
    if padding == "valid":
        return x, (0,) * n
    if padding != "same":
        raise WouldRaise(f"invalid padding string {padding!r}")
    if any(s != 1 for s in steps):
        raise WouldRaise("padding='same' is not supported for strided convolutions")
    totals = [g * (b.env.concrete(k) - 1) for g, k in zip(gaps, w.meta.shape[2:])]
    if any(t % 2 for t in totals):
        room = tuple(v for t in reversed(totals) for v in (0, t % 2))
        x = b.emit("pad", x, room, "constant", 0)
    return x, tuple(t // 2 for t in totals)


def _conv(n: int) -> None:
    def fn(builder: GraphBuilder, input: Val, weight: Val, bias: Val | None = None, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: Any = 1) -> Val:
        if need_tensor(weight, "weight").ndim != n + 2:
            raise WouldRaise(f"conv{n}d: weight must have {n + 2} dimensions")
        return convolution(builder, input, weight, bias, stride, padding, dilation, False, 0, groups)

    def transposed(builder: GraphBuilder, input: Val, weight: Val, bias: Val | None = None, stride: Any = 1,
                   padding: Any = 0, output_padding: Any = 0, groups: Any = 1, dilation: Any = 1) -> Val:
        if need_tensor(weight, "weight").ndim != n + 2:
            raise WouldRaise(f"conv_transpose{n}d: weight must have {n + 2} dimensions")
        return convolution(builder, input, weight, bias, stride, padding, dilation, True, output_padding, groups)
    fn.__name__, transposed.__name__ = f"conv{n}d", f"conv_transpose{n}d"
    expansion(f"F.conv{n}d", f"aten.conv{n}d")(fn)
    expansion(f"F.conv_transpose{n}d", f"aten.conv_transpose{n}d")(transposed)


for _n in (1, 2, 3):
    _conv(_n)


@expansion("torch.convolution", "aten.convolution")
def torch_convolution(b: GraphBuilder, input: Val, weight: Val, bias: Val | None, stride: Any, padding: Any,
                      dilation: Any, transposed: bool, output_padding: Any, groups: Any) -> Val:
    return convolution(b, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


# ------------------------------------------------------------------ pooling
def _batched(b: GraphBuilder, x: Val, n: int, name: str) -> tuple[Val, bool]:
    if need_tensor(x).ndim not in (n + 1, n + 2):
        raise WouldRaise(f"{name}: expected {n + 1}D or {n + 2}D input, got {x.ndim}D")
    single = x.ndim == n + 1
    return (b.emit("unsqueeze", x, 0) if single else x), single


def _unbatched(b: GraphBuilder, y: Any, single: bool) -> Any:
    if not single:
        return y
    if isinstance(y, tuple):
        return tuple(b.emit("squeeze", v, (0,)) for v in y)
    return b.emit("squeeze", y, (0,))


def _max_pool(n: int) -> None:
    name = f"max_pool{n}d"

    def run(b: GraphBuilder, input: Val, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
            ceil_mode: bool) -> Any:
        x, single = _batched(b, input, n, name)
        kernel = _ints(b, kernel_size, n, "kernel_size")
        steps = kernel if stride is None or stride == [] or stride == () else _ints(b, stride, n, "stride")
        pads = _ints(b, padding, n, "padding")
        if any(2 * p > k for p, k in zip(pads, kernel)):
            raise WouldRaise("pad should be at most half of effective kernel size")
        y = b.emit("max_pool", x, kernel, steps, pads, _ints(b, dilation, n, "dilation"), bool(ceil_mode))
        return _unbatched(b, y, single)

    def fn(builder: GraphBuilder, input: Val, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
           ceil_mode: bool = False, return_indices: bool = False) -> Any:
        both = run(builder, input, kernel_size, stride, padding, dilation, ceil_mode)
        return both if return_indices else both[0]

    def with_indices(builder: GraphBuilder, input: Val, kernel_size: Any, stride: Any = None, padding: Any = 0,
                     dilation: Any = 1, ceil_mode: bool = False, return_indices: bool = True) -> Any:
        return run(builder, input, kernel_size, stride, padding, dilation, ceil_mode)
    fn.__name__ = name
    expansion(f"F.{name}", f"torch.{name}", f"aten.{name}")(fn)
    expansion(f"F.{name}_with_indices", f"aten.{name}_with_indices")(with_indices)


def _avg_pool(n: int) -> None:
    name = f"avg_pool{n}d"

    def fn(builder: GraphBuilder, input: Val, kernel_size: Any, stride: Any = None, padding: Any = 0,
           ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: Any = None) -> Val:
        x, single = _batched(builder, input, n, name)
        kernel = _ints(builder, kernel_size, n, "kernel_size")
        steps = kernel if stride is None or stride == [] or stride == () else _ints(builder, stride, n, "stride")
        pads = _ints(builder, padding, n, "padding")
        if any(2 * p > k for p, k in zip(pads, kernel)):
            raise WouldRaise("pad should be at most half of kernel size")
        y = builder.emit("avg_pool", x, kernel, steps, pads, bool(ceil_mode), bool(count_include_pad), divisor_override)
        return _unbatched(builder, y, single)
    fn.__name__ = name
    expansion(f"F.{name}", f"aten.{name}")(fn)


def _adaptive(n: int) -> None:
    def average(builder: GraphBuilder, input: Val, output_size: Any) -> Val:
        x, single = _batched(builder, input, n, f"adaptive_avg_pool{n}d")
        return _unbatched(builder, builder.emit("adaptive_avg_pool", x, _out_size(x, output_size, n)), single)

    def maximum(builder: GraphBuilder, input: Val, output_size: Any, return_indices: bool = False) -> Any:
        if return_indices:
            op = getattr(torch.ops.aten, f"adaptive_max_pool{n}d")
            return opaque(builder, op.default, (input, _out_size(need_tensor(input), output_size, n)), {})
        x, single = _batched(builder, input, n, f"adaptive_max_pool{n}d")
        return _unbatched(builder, builder.emit("adaptive_max_pool", x, _out_size(x, output_size, n)), single)
    expansion(f"F.adaptive_avg_pool{n}d", f"aten.adaptive_avg_pool{n}d",
              *([f"aten._adaptive_avg_pool{n}d"] if n > 1 else []))(average)
    expansion(f"F.adaptive_max_pool{n}d")(maximum)


def _out_size(x: Val, output_size: Any, n: int) -> tuple[Size, ...]:
    sizes = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * n
    if len(sizes) == 1:
        sizes = tuple(sizes) * n
    have = x.meta.shape[x.ndim - n:]
    return tuple(h if s is None else s for s, h in zip(sizes, have))


for _n in (1, 2, 3):
    _max_pool(_n)
    _avg_pool(_n)
    _adaptive(_n)


# ------------------------------------------------------------------ interpolation
@expansion("F.interpolate", "F.upsample")
def interpolate(b: GraphBuilder, input: Val, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: Any = None, recompute_scale_factor: Any = None, antialias: bool = False) -> Val:
    """Nearest and (bi)linear interpolation of (N, C, ...) to constant sizes."""
    x = need_tensor(input)
    n = x.ndim - 2
    if mode not in ("nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic"):
        raise Unsupported(f"interpolate with mode={mode!r}", "use nearest or bilinear")
    if n < 1 or ("linear" in mode and {"linear": 1, "bilinear": 2, "trilinear": 3}[mode] != n):
        raise WouldRaise(f"interpolate: mode {mode!r} does not fit an input of {x.ndim} dimensions")
    if (size is None) == (scale_factor is None):
        raise WouldRaise("only one of size or scale_factor should be defined")
    scales: tuple[float | None, ...] = (None,) * n
    if size is not None:
        want = ntuple(size, n, "size")
    else:
        factors = tuple(scale_factor) if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * n
        want = tuple([_scaled(b, h, f) for h, f in zip(x.meta.shape[2:], factors)])
        if not recompute_scale_factor:
            scales = tuple(float(f) for f in factors)
    if antialias or mode == "bicubic":
        return _by_aten(b, x, want, scales, mode, bool(align_corners), antialias)
    if "nearest" in mode:
        return b.emit("upsample_nearest", x, want, scales, mode == "nearest-exact")
    return b.emit("upsample_linear", x, want, bool(align_corners), scales)


def _by_aten(b: GraphBuilder, x: Val, size: Any, scales: Any, mode: str, corners: bool, antialias: bool) -> Val:
    name = f"_upsample_{mode}2d_aa" if antialias else f"upsample_{mode}2d"
    op = getattr(torch.ops.aten, name, None)
    if op is None or x.ndim != 4:
        raise WouldRaise(f"interpolate: mode {mode!r} with antialias={antialias} does not fit the input")
    return opaque(b, op.default, (x, size, corners, *scales), {})


def _scaled(b: GraphBuilder, size: Size, factor: float) -> Size:
    return size * int(factor) if float(factor).is_integer() else int(b.env.concrete(size) * float(factor))


@expansion("F.unfold")
def im2col(b: GraphBuilder, input: Val, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Val:
    """(N, C, H, W) -> (N, C * kh * kw, L): one column a position of the window."""
    x = need_tensor(input)
    if not x.meta.dtype.is_floating_point:
        raise Unsupported(f"unfold of {x.meta.dtype}", "pass a floating tensor")
    if x.ndim not in (3, 4):
        raise WouldRaise("unfold: expected a 3D or 4D input")
    if x.ndim == 3:
        return b.emit("squeeze", im2col(b, b.emit("unsqueeze", x, 0), kernel_size, dilation, padding, stride), (0,))
    kernel, gaps = _ints(b, kernel_size, 2, "kernel_size"), _ints(b, dilation, 2, "dilation")
    pads, steps = _ints(b, padding, 2, "padding"), _ints(b, stride, 2, "stride")
    if min(*kernel, *gaps, *steps) < 1 or min(pads) < 0:
        raise WouldRaise("unfold: kernel_size, dilation and stride must be positive, padding non-negative")
    if any(pads):
        x = b.emit("pad", x, (pads[1], pads[1], pads[0], pads[0]), "constant", 0)
    n, c = x.meta.shape[:2]
    m = x.meta
    counts = []
    for k in range(2):
        room = m.shape[2 + k] - gaps[k] * (kernel[k] - 1) - 1
        if b.env.decide("<", room, 0):
            raise WouldRaise("unfold: the sliding blocks do not fit the input")
        counts.append(room // steps[k] + 1)
    s = m.strides
    windows = b.emit("as_strided", x, (n, c, *kernel, *counts),
                     (s[0], s[1], s[2] * gaps[0], s[3] * gaps[1], s[2] * steps[0], s[3] * steps[1]), m.offset)
    return b.emit("view", b.emit("clone", windows, torch.contiguous_format),
                  (n, c * kernel[0] * kernel[1], counts[0] * counts[1]))

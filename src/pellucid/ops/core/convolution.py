"""Convolution in 1 to 3 dimensions, plain and transposed, as one call of the extern table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering
from ...shapes.dim import Size
from ...shapes.env import ShapeEnv
from ..errors import Unsupported, WouldRaise
from ..meta import concrete_int, new
from ..registry import lowering, op
from ..strides import Shape, channels_last, contiguous, is_contiguous, like_channels_last


def out_size(n: Size, k: Size, stride: int, before_and_after: Size, dilation: int) -> Size:
    """Number of windows of k (dilated) points, `stride` apart, in n points plus padding."""
    span = n + before_and_after - dilation * (k - 1) - 1
    return span + 1 if stride == 1 else span // stride + 1


@op("convolution", "input", "weight", "bias", "stride", "padding", "dilation", "transposed", "output_padding", "groups",
    autocast="lower")
def convolution(builder: GraphBuilder, input: Val, weight: Val, bias: Any, stride: Sequence[Size],
                padding: Sequence[Size], dilation: Sequence[Size], transposed: bool, output_padding: Sequence[Size],
                groups: int) -> TensorMeta:
    """input (N, C, *), weight (O, C/groups, *kernel), or (C, O/groups, *kernel) if transposed; one number a spatial
    dimension in stride, padding, dilation and output_padding."""
    env, x, w = builder.env, input.meta, weight.meta
    r = len(x.shape) - 2
    if r not in (1, 2, 3) or len(w.shape) != r + 2:
        raise WouldRaise(f"convolution: input {x.shape} and weight {w.shape} must both have 3, 4 or 5 dimensions")
    if w.dtype is not x.dtype or (bias is not None and bias.dtype is not x.dtype):
        raise WouldRaise(f"convolution: input, weight and bias must have one dtype, got {x.dtype} and {w.dtype}")
    if not x.dtype.is_floating_point:
        raise Unsupported(f"convolution of {x.dtype} tensors", "convert them to float32")
    channels = w.shape[0] if transposed else w.shape[1] * groups
    if not env.same(x.shape[1], channels) or not env.decide("==", w.shape[0] % groups, 0):
        raise WouldRaise(f"convolution: weight {w.shape} with groups={groups} does not fit input {x.shape}")
    out = w.shape[1] * groups if transposed else w.shape[0]
    if bias is not None and (bias.ndim != 1 or not env.same(bias.shape[0], out)):
        raise WouldRaise(f"convolution: bias must have {out} elements, is of shape {bias.shape}")
    sizes: list[Size] = []
    for d in range(r):
        n, k = x.shape[2 + d], w.shape[2 + d]
        s, p, l, o = (concrete_int(env, v[d]) for v in (stride, padding, dilation, output_padding))
        if s < 1 or l < 1 or p < 0:
            raise WouldRaise(f"convolution: stride={s} and dilation={l} must be positive and padding={p} not negative")
        size = (n - 1) * s - 2 * p + l * (k - 1) + o + 1 if transposed else out_size(n, k, s, 2 * p, l)
        if env.decide("<", size, 1):
            raise WouldRaise(f"convolution: kernel size {k} is too large for input size {n} with padding {p}")
        sizes.append(size)
    shape = (x.shape[0], out, *sizes)
    return new(x, shape, strides=_strides(env, x, w, shape))


def _strides(env: ShapeEnv, x: TensorMeta, w: TensorMeta, shape: Shape) -> Shape:
    """channels_last where eager's CPU kernels give that: where the input or the weight suggests it."""
    if len(shape) == 3:
        # Eager makes the input contiguous, then convolves in two dimensions with one row.
        t = x.strides if is_contiguous(env, x.shape, x.strides) else contiguous(x.shape)
        pairs = [(_row(x.shape, x.shape), _row(t, x.shape, t)),
                 (_row(w.shape, w.shape), _row(w.strides, w.shape, w.strides))]
        if any([like_channels_last(env, s, t) for s, t in pairs]):
            full = channels_last(_row(shape, shape))
            return full[:2] + full[3:]
        return contiguous(shape)
    if len(shape) == 5 and x.dtype is torch.float64:
        return contiguous(shape)
    if like_channels_last(env, x.shape, x.strides) or like_channels_last(env, w.shape, w.strides):
        return channels_last(shape)
    return contiguous(shape)


def _row(sizes: Shape, shape: Shape, strides: Shape | None = None) -> Shape:
    """A size 1 (or the stride that unsqueeze gives) put in as third of the four."""
    return sizes[:2] + ((1,) if strides is None else (shape[2] * strides[2],)) + sizes[2:]


@lowering("convolution")
def convolution_lower(lx: Lowering, node: Node) -> None:
    x, w, bias, stride, padding, dilation, transposed, output_padding, groups = node.args
    env = ShapeEnv()

    def plain(v: Sequence[Size]) -> tuple[int, ...]:
        return tuple([concrete_int(env, e) for e in v])
    ins = [lx.view(x), lx.view(w)] + ([] if bias is None else [lx.view(bias)])
    lx.extern("convolution", ins, [lx.out(node)], stride=plain(stride), padding=plain(padding),
              dilation=plain(dilation), transposed=bool(transposed), output_padding=plain(output_padding),
              groups=int(groups))

"""Random numbers: each draw is one opaque node in program order, from torch's own generator."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from .. import strides
from ..errors import Unsupported, WouldRaise
from .args import need_tensor, same_shape
from .declare import Expansion, expansion, mutating
from .inplace import store
from .opaque import opaque


def _drawing(target: Any) -> Expansion:
    def draw(builder: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
        return opaque(builder, target, args, kwargs)
    return draw


for _name in ("rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like", "poisson",
              "bernoulli", "multinomial"):
    expansion(f"torch.{_name}")(_drawing(getattr(torch, _name)))
    if hasattr(torch.ops.aten, _name):
        expansion(f"aten.{_name}")(_drawing(getattr(torch.ops.aten, _name)))
for _name in ("bernoulli", "multinomial"):
    expansion(f"Tensor.{_name}")(_drawing(_name))


@expansion("torch.binomial", "aten.binomial")
def binomial(b: GraphBuilder, count: Val, prob: Val) -> Val:
    """One draw an element of count (*), in a contiguous tensor of its dtype."""
    m = need_tensor(count, "count").meta
    if not same_shape(b, m.shape, need_tensor(prob, "prob").meta.shape):
        raise Unsupported("binomial of operands that broadcast", "expand them")
    meta = TensorMeta(m.dtype, m.shape, strides.contiguous(m.shape))
    return b.emit("opaque_rng", "torch:binomial", (count, prob), (), (meta,))[0]  # type: ignore[no-any-return]


# ------------------------------------------------------------------ in place
def _filling(name: str) -> Expansion:
    def fill(builder: GraphBuilder, input: Val, *args: Any, **kwargs: Any) -> Val:
        """What the method fills is drawn into a tensor of the same strides: the order of draws depends on them."""
        m = need_tensor(input).meta
        meta = TensorMeta(m.dtype, m.shape, strides.contiguous(m.shape))
        (new,) = builder.emit("opaque_rng", f"drawn:{name}", (input, *args), tuple(kwargs.items()), (meta,))
        return store(builder, input, new)
    return fill


for _name in ("normal_", "uniform_", "bernoulli_", "random_", "exponential_", "cauchy_", "log_normal_", "geometric_"):
    mutating(f"Tensor.{_name}", f"aten.{_name}")(_filling(_name))


# ------------------------------------------------------------------ dropout
def _drop(b: GraphBuilder, input: Val, p: float, training: bool) -> Val:
    """input * bernoulli(1 - p) / (1 - p), as one node; the identity when not training or p == 0."""
    x = need_tensor(input)
    if not 0 <= p <= 1:
        raise WouldRaise(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return x
    m = x.meta
    if p == 1:
        return b.emit("mul", x, 0)
    if not m.dtype.is_floating_point:
        raise WouldRaise(f"dropout of {m.dtype}")
    noise = strides.preserved(b.env, m.shape, m.strides)
    meta = TensorMeta(m.dtype, m.shape, strides.elementwise(b.env, m.shape, ((m.shape, m.strides), (m.shape, noise))))
    return b.emit("opaque_rng", "torch:dropout", (x, p, True), (), (meta,))[0]  # type: ignore[no-any-return]


@expansion("F.dropout")
def dropout(b: GraphBuilder, input: Val, p: float = 0.5, training: bool = True, inplace: bool = False) -> Val:
    new = _drop(b, input, p, training)
    return store(b, input, new) if inplace and new is not input else new


@expansion("torch.dropout", "aten.dropout", inplace="torch.dropout_ aten.dropout_")
def torch_dropout(b: GraphBuilder, input: Val, p: float, train: bool) -> Val:
    return _drop(b, input, p, train)


@expansion("torch.native_dropout", "aten.native_dropout")
def native_dropout(b: GraphBuilder, input: Val, p: float, train: Any) -> tuple[Val, Val]:
    if train and p:
        return opaque(b, torch.native_dropout, (input, p, train), {})  # type: ignore[no-any-return]
    x = need_tensor(input)
    return b.emit("clone", x, torch.preserve_format), b.emit("full", x.meta.shape, True, torch.bool)


def _dropping(name: str) -> None:
    target = getattr(torch, name)

    def drop(builder: GraphBuilder, input: Val, p: float, train: bool) -> Val:
        return opaque(builder, target, (input, p, train), {}) if train and p else need_tensor(input)
    expansion(f"torch.{name}", f"aten.{name}", inplace=f"torch.{name}_ aten.{name}_")(drop)


for _name in ("feature_dropout", "alpha_dropout", "feature_alpha_dropout"):
    _dropping(_name)

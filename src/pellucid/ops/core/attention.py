"""Scaled dot-product attention: a call of the fused kernel where eager has one, else products and a softmax.

softmax(scale * query @ key^T + mask) @ value over the last two dimensions. The fused kernel is eager's CPU flash
attention; its conditions are those of torch's `sdp_utils` for CPU, and its output keeps the layout of query.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, call, cast, size_expr
from ...ir.types import Expr, Literal, Load, View
from ...shapes.dim import Size, hint
from ...shapes.env import ShapeEnv
from ..errors import WouldRaise
from ..meta import broadcast, broadcasts_to, new, numel
from ..promote import math_type
from ..registry import lowering, op
from ..strides import Shape, preserved
from .exprs import at, compare, literal, where
from .linalg import gemm, merged_stride

NAME = "scaled_dot_product_attention"
FUSED = (torch.float32, torch.float64, torch.bfloat16, torch.float16)


def _fused(env: ShapeEnv, q: TensorMeta, k: TensorMeta, v: TensorMeta, mask: TensorMeta | None, gqa: bool) -> bool:
    """Whether eager runs its flash kernel on these operands."""
    if not (len(q.shape) == len(k.shape) == len(v.shape) == 4 and q.dtype in FUSED):
        return False
    if mask is not None and len(mask.shape) not in (2, 4):
        return False
    if not (env.same(q.shape[0], k.shape[0]) and env.same(k.shape[0], v.shape[0]) and env.same(k.shape[1], v.shape[1])):
        return False
    if not gqa and not env.same(q.shape[1], k.shape[1]):
        return False
    if not (env.same(q.shape[3], k.shape[3]) and env.same(k.shape[3], v.shape[3])):
        return False
    for m in (q, k, v):
        if env.decide("==", m.shape[2], 0) or env.decide("==", m.shape[0], 0) or not env.same(m.strides[3], 1):
            return False
    return True


@op(NAME, "query", "key", "value", ("attn_mask", None), ("is_causal", False),
    ("scale", None), ("enable_gqa", False), autocast="lower")
def attention(builder: GraphBuilder, query: Val, key: Val, value: Val, attn_mask: Any, is_causal: bool,
              scale: Any, enable_gqa: bool) -> TensorMeta:
    """query (*, S, E), key (*, T, E), value (*, T, F) give (*, S, F). attn_mask is added, or keeps where True, and
    broadcasts to (*, S, T). enable_gqa: key and value may have fewer heads, a divisor of query's."""
    env = builder.env
    q, k, v = query.meta, key.meta, value.meta
    if min(len(q.shape), len(k.shape), len(v.shape)) < 2 or not (q.dtype is k.dtype is v.dtype):
        raise WouldRaise(f"{NAME}: query, key and value need at least 2 dimensions and one dtype")
    if not q.dtype.is_floating_point:
        raise WouldRaise(f"{NAME}: operands must be floating, not {q.dtype}")
    if is_causal and attn_mask is not None:
        raise WouldRaise(f"{NAME}: attn_mask and is_causal cannot both be given")
    if not env.same(q.shape[-1], k.shape[-1]) or not env.same(k.shape[-2], v.shape[-2]):
        raise WouldRaise(f"{NAME}: sizes of query {q.shape}, key {k.shape}, value {v.shape} differ")
    if scale is None:
        env.concrete(q.shape[-1])
    lead = _batch(env, q.shape, k.shape, v.shape, enable_gqa)
    if attn_mask is not None:
        m = attn_mask.meta
        if m.dtype not in (torch.bool, q.dtype) and not (q.dtype.is_floating_point and m.dtype is torch.float32):
            raise WouldRaise(f"{NAME}: attn_mask must be bool or {q.dtype}, not {m.dtype}")
        want = lead + (q.shape[-2], k.shape[-2])
        if not broadcasts_to(env, m.shape, want):
            raise WouldRaise(f"{NAME}: attn_mask {m.shape} does not broadcast to {want}")
    shape = lead + (q.shape[-2], v.shape[-1])
    if _fused(env, q, k, v, None if attn_mask is None else attn_mask.meta, enable_gqa):
        return new(q, shape, strides=_like_query(env, q))
    return new(q, shape)


def _like_query(env: ShapeEnv, q: TensorMeta) -> Shape:
    """The layout of empty_like(query.transpose(1, 2)).transpose(1, 2)."""
    s, t = q.shape, q.strides
    a = preserved(env, (s[0], s[2], s[1], s[3]), (t[0], t[2], t[1], t[3]))
    return a[0], a[2], a[1], a[3]


def _batch(env: ShapeEnv, q: Shape, k: Shape, v: Shape, gqa: bool) -> Shape:
    if not gqa:
        return broadcast(env, (q[:-2], k[:-2], v[:-2]))
    if min(len(q), len(k), len(v)) < 3:
        raise WouldRaise(f"{NAME}: enable_gqa needs a dimension of heads")
    for t in (k, v):
        if not env.decide("==", q[-3] % t[-3], 0):
            raise WouldRaise(f"{NAME}: {t[-3]} heads of key and value do not divide {q[-3]} of query")
    return broadcast(env, (q[:-3], k[:-3], v[:-3])) + (q[-3],)


# ------------------------------------------------------------------ lowering
@lowering(NAME)
def attention_lower(lx: Lowering, node: Node) -> None:
    query, key, value, mask, causal, scale, gqa = node.args
    out = lx.out(node)
    q, k, v = lx.view(query), lx.view(key), lx.view(value)
    factor = 1 / math.sqrt(hint(q.shape[-1])) if scale is None else scale
    bias = None if mask is None else _bias(lx, lx.view(mask), out.shape[:-2] + (q.shape[-2], k.shape[-2]), q.dtype)
    if _fused(ShapeEnv(), lx.meta(query), lx.meta(key), lx.meta(value), None if mask is None else lx.meta(mask), gqa):
        ins = [q, k, v] + ([] if bias is None else [bias])
        lx.extern("sdpa", ins, [out], scale=float(factor), is_causal=bool(causal))
        return
    _composed(lx, out, q, k, v, bias, float(factor), bool(causal), bool(gqa))


def _bias(lx: Lowering, m: View, shape: Shape, dtype: torch.dtype) -> View:
    """The mask as an additive one of `dtype`, broadcast to `shape` by strides of 0."""
    if m.dtype != dtype:
        t = lx.temporary(dtype, m.shape)
        low, zero = Literal(-math.inf, dtype), literal(0, dtype)
        lx.map(t, lambda *i: where(Load(m, i), zero, low) if m.dtype is torch.bool else cast(Load(m, i), dtype))
        m = t
    lead = len(shape) - len(m.shape)
    strides = (0,) * lead + tuple([0 if s == 1 and o != 1 else t for s, o, t in zip(m.shape, shape[lead:], m.strides)])
    return replace(m, shape=shape, strides=strides)


def _stacked(lx: Lowering, v: View, batch: Shape, gqa: bool) -> View:
    """`v` with its leading dimensions broadcast to `batch` and merged into one; copied where strides forbid it."""
    groups: Size = 1
    if gqa and v.shape[-3] != batch[-1]:
        groups = batch[-1] // v.shape[-3]
    lead = v.shape[:-2]
    pad = len(batch) - len(lead)
    strides = (0,) * pad + tuple([0 if s == 1 and b != 1 else t for s, b, t in zip(lead, batch[pad:], v.strides)])
    merged = merged_stride(batch, strides) if groups == 1 else None
    if merged is None:
        t = lx.temporary(v.dtype, batch + v.shape[-2:])

        def element(*i: Expr) -> Expr:
            if groups == 1:
                return at(v, i, t.shape)
            head = call("floordiv", i[-3], size_expr(groups))
            return at(v, (*i[:-3], head, *i[-2:]), batch[:-1] + v.shape[-3:])
        lx.map(t, element)
        v, merged = t, t.shape[-2] * t.shape[-1]
    return View(v.buffer, v.dtype, (numel(batch),) + v.shape[-2:], (merged,) + v.strides[-2:], v.offset)


def _composed(lx: Lowering, out: View, q: View, k: View, v: View, bias: View | None, scale: float, causal: bool,
              gqa: bool) -> None:
    batch = out.shape[:-2]
    rows, cols = q.shape[-2], k.shape[-2]
    a, b, c = (_stacked(lx, x, batch, gqa) for x in (q, k, v))
    scores = lx.temporary(out.dtype, (a.shape[0], rows, cols))
    turned = replace(b, shape=(b.shape[0], b.shape[2], b.shape[1]), strides=(b.strides[0], b.strides[2], b.strides[1]))
    gemm(lx, scores, a, turned, alpha=scale)
    wide = _unstacked(scores, batch)
    acc = math_type(out.dtype)
    low = literal(-math.inf, acc)

    def score(i: Sequence[Expr]) -> Expr:
        e = cast(Load(wide, tuple(i)), acc)
        if bias is not None:
            e = call("add", e, cast(Load(bias, tuple(i)), acc))
        return where(compare("ge", i[-2], i[-1]), e, low) if causal else e
    top = lx.temporary(acc, batch + (rows,))
    lx.reduce(top, (cols,), "max", lambda o, r: score((*o, r[0])), acc)

    def power(i: Sequence[Expr]) -> Expr:
        return call("exp", call("sub", score(i), Load(top, tuple(i[:-1]))))
    total = lx.temporary(acc, batch + (rows,))
    lx.reduce(total, (cols,), "sum", lambda o, r: power((*o, r[0])), acc)
    weights = lx.temporary(out.dtype, scores.shape)
    spread = _unstacked(weights, batch)

    def weight(*i: Expr) -> Expr:
        w = call("div", power(i), Load(total, i[:-1]))
        return cast(where(compare("eq", Load(top, i[:-1]), low), literal(0, acc), w), out.dtype)
    lx.map(spread, weight)
    result = View(out.buffer, out.dtype, (a.shape[0],) + out.shape[-2:],
                  (out.shape[-2] * out.shape[-1], out.shape[-1], 1), out.offset)
    gemm(lx, result, weights, c)


def _unstacked(v: View, batch: Shape) -> View:
    """A contiguous (B, S, T) view with its first dimension split into `batch`."""
    step: Size = v.strides[0]
    strides: list[Size] = []
    for s in reversed(batch):
        strides.append(step)
        step = step * s
    return replace(v, shape=batch + v.shape[1:], strides=tuple(reversed(strides)) + v.strides[1:])

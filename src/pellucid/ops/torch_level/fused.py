"""Fused operators: multi-head attention and the encoder layer of torch.nn, recurrent networks, grouped products."""

from __future__ import annotations

import math
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ...torchdoor.fused import ENCODER_LAYER, GROUPED_MM, NATIVE_ATTENTION
from ...torchdoor.operators import operator_name
from ..errors import Unsupported, WouldRaise
from .args import int_arg, need_tensor
from .declare import expansion
from .linalg import matmul
from .opaque import opaque
from .views import to_shape


def _heads(b: GraphBuilder, x: Val, heads: int) -> Val:
    """(B, T, D) as (B, heads, T, D / heads)."""
    n, t, d = x.meta.shape
    return b.emit("permute", b.emit("view", x, (n, t, heads, d // heads)), (0, 2, 1, 3))


def _keep(b: GraphBuilder, mask: Val, kind: Any, q: Val) -> Val:
    """The mask (nonzero where attention is not allowed) as one of allowed places that broadcasts to (B, H, T, T)."""
    masked = b.emit("ne", mask, 0) if mask.meta.dtype is not torch.bool else mask
    if kind == 1:
        masked = b.emit("unsqueeze", b.emit("unsqueeze", masked, 1), 1)
    elif kind not in (0, 2):
        raise WouldRaise(f"mask_type must be 0, 1 or 2, not {kind}")
    return b.emit("logical_not", masked)


@expansion(NATIVE_ATTENTION, "aten._native_multi_head_attention")
def native_attention(b: GraphBuilder, query: Val, key: Val, value: Val, embed_dim: int, num_head: int, qkv_weight: Val,
                     qkv_bias: Val, proj_weight: Val, proj_bias: Val, mask: Val | None = None,
                     need_weights: bool = True, average_attn_weights: bool = True, mask_type: Any = None) -> Any:
    """Self-attention of (B, T, D): one product for query, key and value, attention by heads, output projection.

    Returns (output, weights), with weights None unless needed: (B, T, T), the mean over heads, or (B, H, T, T).
    """
    x = need_tensor(query, "query")
    if key is not query or value is not query:
        raise Unsupported("the fused attention of different query, key and value", "call it with one tensor")
    if x.ndim != 3:
        raise WouldRaise("expected 3-D query")
    heads = int_arg(b, num_head, "num_head")
    d = int_arg(b, embed_dim, "embed_dim")
    if d % heads:
        raise WouldRaise("embed_dim must be divisible by num_head")
    joint = b.emit("linear", x, qkv_weight, qkv_bias)
    q, k, v = (_heads(b, b.emit("slice", joint, 2, i * d, (i + 1) * d, 1), heads) for i in range(3))
    keep = None if mask is None else _keep(b, mask, mask_type, q)
    scale = 1.0 / math.sqrt(d // heads)
    weights = None
    if need_weights:
        scores = b.emit("mul", matmul(b, q, b.emit("transpose", k, -2, -1)), scale)
        if keep is not None:
            scores = b.emit("where", keep, scores, float("-inf"))
        full = b.emit("softmax", scores, 3, None)
        out = matmul(b, full, v)
        weights = b.emit("mean", full, (1,), False, None) if average_attn_weights else full
    else:
        out = b.emit("scaled_dot_product_attention", q, k, v, keep, False, scale, False)
    merged = to_shape(b, b.emit("permute", out, (0, 2, 1, 3)), x.meta.shape[:2] + (d,))
    return b.emit("linear", merged, proj_weight, proj_bias), weights


@expansion(ENCODER_LAYER, "aten._transformer_encoder_layer_fwd")
def encoder_layer(b: GraphBuilder, src: Val, embed_dim: int, num_heads: int, qkv_weight: Val, qkv_bias: Val,
                  proj_weight: Val, proj_bias: Val, use_gelu: bool, norm_first: bool, eps: float, norm_weight_1: Val,
                  norm_bias_1: Val, norm_weight_2: Val, norm_bias_2: Val, ffn_weight_1: Val, ffn_bias_1: Val,
                  ffn_weight_2: Val, ffn_bias_2: Val, mask: Val | None = None, mask_type: Any = None) -> Val:
    """Attention and feed-forward, each with its residual sum, normalised before (norm_first) or after."""
    def norm(x: Val, weight: Val, bias: Val) -> Val:
        return b.emit("layer_norm", x, (d,), weight, bias, eps)
    x = need_tensor(src, "src")
    d = int_arg(b, embed_dim, "embed_dim")
    inside = norm(x, norm_weight_1, norm_bias_1) if norm_first else x
    attended, _ = native_attention(b, inside, inside, inside, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight,
                                   proj_bias, mask, False, True, mask_type)
    x = b.emit("add", x, attended)
    if not norm_first:
        x = norm(x, norm_weight_1, norm_bias_1)
    inside = norm(x, norm_weight_2, norm_bias_2) if norm_first else x
    hidden = b.emit("linear", inside, ffn_weight_1, ffn_bias_1)
    hidden = b.emit("gelu", hidden, "none") if use_gelu else b.emit("relu", hidden)
    x = b.emit("add", x, b.emit("linear", hidden, ffn_weight_2, ffn_bias_2))
    return x if norm_first else norm(x, norm_weight_2, norm_bias_2)


# ------------------------------------------------------------------ recurrent networks
def _recurrent(name: str) -> None:
    target = getattr(torch, name)

    def fn(builder: GraphBuilder, *args: Any) -> Any:
        """(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first): one opaque call."""
        packed = type(args[3]) is tuple or type(args[3]) is list
        dropout, train = args[6:8] if packed else args[5:7]
        if packed:
            raise Unsupported(f"{name} of a packed sequence has a data-dependent shape", "pad the batch")
        return opaque(builder, target, args, {}, draws=bool(dropout and train))
    expansion(target, f"aten.{name}")(fn)


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _recurrent(_name)


# ------------------------------------------------------------------ products of groups of rows
@expansion(GROUPED_MM, "F.grouped_mm", "aten._grouped_mm")
def grouped_mm(b: GraphBuilder, mat_a: Val, mat_b: Val, offs: Val | None = None, bias: Val | None = None,
               out_dtype: Any = None) -> Val:
    """(S, K) and (E, K, N) with the groups' ends in offs (E): (S, N), rows padded to 16 bytes. One dispatcher call."""
    x, w = need_tensor(mat_a, "mat_a"), need_tensor(mat_b, "mat_b")
    if x.ndim != 2 or w.ndim != 3 or offs is None or bias is not None or out_dtype not in (None, x.meta.dtype):
        raise Unsupported("grouped_mm other than of (S, K) by (E, K, N) with offs", "use matmul")
    k, n = b.env.concrete(w.meta.shape[1]), b.env.concrete(w.meta.shape[2])
    if not b.env.same(x.meta.shape[1], k) or offs.meta.dtype is not torch.int32:
        raise WouldRaise("grouped_mm: contraction dimensions must match, offs must be int32")
    step = 16 // x.meta.dtype.itemsize
    meta = TensorMeta(x.meta.dtype, (x.meta.shape[0], n), (-(-n // step) * step, 1))
    name = operator_name(GROUPED_MM)
    return b.emit("opaque", name, (x, w), (("offs", offs),), (meta,))[0]

"""scaled_dot_product_attention."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from ...graph.build import GraphBuilder, Val
from ..errors import Unsupported, WouldRaise
from .args import need_tensor
from .declare import expansion
from .opaque import opaque


@expansion("F.scaled_dot_product_attention", "aten.scaled_dot_product_attention")
def scaled_dot_product_attention(b: GraphBuilder, query: Val, key: Val, value: Val, attn_mask: Val | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
                                 enable_gqa: bool = False) -> Val:
    """softmax(query @ key^T * scale + mask) @ value.

    query (*, Hq, L, E), key (*, H, S, E), value (*, H, S, Ev) -> (*, Hq, L, Ev); with enable_gqa H divides Hq.
    """
    q, k, v = need_tensor(query, "query"), need_tensor(key, "key"), need_tensor(value, "value")
    if dropout_p:
        return opaque(b, F.scaled_dot_product_attention, (q, k, v, attn_mask, dropout_p, is_causal),
                      {"scale": scale, "enable_gqa": enable_gqa})
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise WouldRaise("scaled_dot_product_attention: operands must have at least 2 dimensions")
    if len({q.meta.dtype, k.meta.dtype, v.meta.dtype}) > 1:
        raise WouldRaise("scaled_dot_product_attention: query, key and value must be of one dtype")
    if is_causal and attn_mask is not None:
        raise Unsupported("attention with both attn_mask and is_causal", "add the causal mask to attn_mask")
    if attn_mask is not None and attn_mask.meta.dtype not in (torch.bool, q.meta.dtype):
        raise WouldRaise("scaled_dot_product_attention: attn_mask must be bool or of query's dtype")
    width = q.meta.shape[-1]
    if not b.env.same(width, k.meta.shape[-1]) or not b.env.same(k.meta.shape[-2], v.meta.shape[-2]):
        raise WouldRaise("scaled_dot_product_attention: sizes of query, key and value do not fit")
    if scale is None:
        e = b.env.concrete(width)
        scale = 1.0 / math.sqrt(e) if e else math.inf
    return b.emit("scaled_dot_product_attention", q, k, v, attn_mask, bool(is_causal), float(scale), bool(enable_gqa))

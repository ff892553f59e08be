"""torch's fused operators that torch.nn and model libraries call by private names."""

from __future__ import annotations

import torch

NATIVE_ATTENTION = torch._native_multi_head_attention
"""(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights,
average_attn_weights, mask_type) -> (output, weights)"""

ENCODER_LAYER = torch._transformer_encoder_layer_fwd
"""A whole TransformerEncoderLayer in evaluation."""

GROUPED_MM = torch._grouped_mm
"""(a, b, offs, bias, out_dtype): rows offs[i-1]..offs[i] of a (S, K) times matrix i of b (E, K, N)."""

"""torch's fused inference operators that torch.nn calls by private names."""

from __future__ import annotations

import torch

NATIVE_ATTENTION = torch._native_multi_head_attention
"""(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, need_weights,
average_attn_weights, mask_type) -> (output, weights)"""

ENCODER_LAYER = torch._transformer_encoder_layer_fwd
"""A whole TransformerEncoderLayer in evaluation."""

"""Mixtures of experts, state-space and recurrent models, and models of time series."""

from __future__ import annotations

from .row import Row, floats, ids, ints, two
from .text import GQA, T5

EAGER = {"experts_implementation": "eager"}
"""For float64: the grouped matrix product that experts use by default has no float64 kernel."""
MLA = dict(
    GQA, q_lora_rank=16, kv_lora_rank=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, num_key_value_heads=4
)

EXPERTS: dict[str, Row] = {
    "mixtral": Row("experts", "MixtralForCausalLM", dict(GQA, num_local_experts=4), ids(), EAGER),
    "qwen2_moe": Row(
        "experts",
        "Qwen2MoeForCausalLM",
        dict(GQA, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=64),
        ids(),
        EAGER,
    ),
    "qwen3_moe": Row(
        "experts",
        "Qwen3MoeForCausalLM",
        dict(GQA, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32),
        ids(),
        EAGER,
    ),
    "olmoe": Row("experts", "OlmoeForCausalLM", dict(GQA, num_experts=4, num_experts_per_tok=2), ids(), EAGER),
    "deepseek_v2": Row(
        "experts",
        "DeepseekV2ForCausalLM",
        dict(
            MLA,
            n_routed_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            n_group=2,
            topk_group=1,
            n_shared_experts=1,
            first_k_dense_replace=1,
        ),
        ids(),
        EAGER,
    ),
    "deepseek_v3": Row(
        "experts",
        "DeepseekV3ForCausalLM",
        dict(
            MLA,
            n_routed_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            n_group=2,
            topk_group=1,
            n_shared_experts=1,
            first_k_dense_replace=1,
        ),
        ids(),
        EAGER,
    ),
    "gpt_oss": Row(
        "experts",
        "GptOssForCausalLM",
        dict(GQA, head_dim=16, num_local_experts=4, num_experts_per_tok=2, sliding_window=8),
        ids(),
        EAGER,
    ),
    "granitemoe": Row(
        "experts", "GraniteMoeForCausalLM", dict(GQA, num_local_experts=4, num_experts_per_tok=2), ids(), EAGER
    ),
    "phimoe": Row("experts", "PhimoeForCausalLM", dict(GQA, num_local_experts=4, num_experts_per_tok=2), ids(), EAGER),
    "switch_transformers": Row(
        "experts",
        "SwitchTransformersForConditionalGeneration",
        dict(T5, num_experts=4, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, expert_capacity=16),
        two(mask=True),
        EAGER,
    ),
}

STATES: dict[str, Row] = {
    "mamba": Row("state-space", "MambaForCausalLM", dict(hidden_size=64, num_hidden_layers=2, vocab_size=512), ids()),
    "mamba2": Row(
        "state-space",
        "Mamba2ForCausalLM",
        dict(
            hidden_size=64,
            num_hidden_layers=2,
            vocab_size=512,
            num_heads=8,
            head_dim=16,
            state_size=16,
            n_groups=2,
            chunk_size=8,
        ),
        ids(),
    ),
    "falcon_mamba": Row(
        "state-space", "FalconMambaForCausalLM", dict(hidden_size=64, num_hidden_layers=2, vocab_size=512), ids()
    ),
    "jamba": Row(
        "state-space",
        "JambaForCausalLM",
        dict(
            GQA,
            num_hidden_layers=2,
            attn_layer_period=2,
            attn_layer_offset=1,
            expert_layer_period=2,
            expert_layer_offset=1,
            num_experts=4,
            mamba_d_state=8,
        ),
        ids(),
        EAGER,
    ),
    "bamba": Row(
        "state-space",
        "BambaForCausalLM",
        dict(
            GQA,
            attn_layer_indices=[1],
            mamba_n_heads=8,
            mamba_d_head=16,
            mamba_n_groups=1,
            mamba_d_state=16,
            mamba_chunk_size=8,
        ),
        ids(),
    ),
    "zamba2": Row(
        "state-space",
        "Zamba2ForCausalLM",
        dict(
            GQA,
            num_hidden_layers=3,
            num_key_value_heads=4,
            layers_block_type=["mamba", "hybrid", "mamba"],
            mamba_d_state=16,
            mamba_headdim=16,
            n_mamba_heads=8,
            mamba_ngroups=1,
            chunk_size=8,
            num_mem_blocks=1,
            use_shared_attention_adapter=False,
        ),
        ids(),
    ),
    "recurrent_gemma": Row(
        "state-space",
        "RecurrentGemmaForCausalLM",
        dict(GQA, num_hidden_layers=3, lru_width=64, attention_window_size=8),
        ids(),
    ),
    "rwkv": Row(
        "state-space",
        "RwkvForCausalLM",
        dict(hidden_size=64, num_hidden_layers=2, vocab_size=512, context_length=64, use_cache=False),
        ids(),
    ),
    "qwen3_next": Row(
        "state-space",
        "Qwen3NextForCausalLM",
        dict(
            GQA,
            head_dim=16,
            num_experts=4,
            num_experts_per_tok=2,
            moe_intermediate_size=32,
            shared_expert_intermediate_size=32,
            linear_num_key_heads=2,
            linear_num_value_heads=4,
            linear_key_head_dim=16,
            linear_value_head_dim=16,
            layer_types=["linear_attention", "full_attention"],
        ),
        ids(),
        EAGER,
    ),
    "xlstm": Row(
        "state-space",
        "xLSTMForCausalLM",
        dict(hidden_size=64, num_blocks=2, num_heads=4, vocab_size=512, use_cache=False),
        ids(),
    ),
}


def _past() -> dict[str, object]:
    return {
        "past_values": floats(2, 32),
        "past_time_features": floats(2, 32, 2),
        "past_observed_mask": floats(2, 32).ne(9),
        "static_categorical_features": ints(2, 1, low=0, high=1),
        "future_values": floats(2, 8, seed=2),
        "future_time_features": floats(2, 8, 2, seed=3),
    }


_FORECAST = dict(
    prediction_length=8,
    context_length=24,
    lags_sequence=[1, 2, 3, 4, 5, 6, 7, 8],
    num_time_features=2,
    num_static_categorical_features=1,
    cardinality=[2],
    embedding_dimension=[4],
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
)

SERIES: dict[str, Row] = {
    "patchtst": Row(
        "series",
        "PatchTSTForPrediction",
        dict(
            num_input_channels=2,
            context_length=32,
            patch_length=8,
            patch_stride=8,
            num_hidden_layers=2,
            d_model=32,
            num_attention_heads=4,
            ffn_dim=64,
            prediction_length=8,
        ),
        lambda: {"past_values": floats(2, 32, 2)},
    ),
    "patchtsmixer": Row(
        "series",
        "PatchTSMixerForPrediction",
        dict(
            context_length=32,
            patch_length=8,
            patch_stride=8,
            num_input_channels=2,
            d_model=16,
            num_layers=2,
            prediction_length=8,
        ),
        lambda: {"past_values": floats(2, 32, 2)},
    ),
    "time_series_transformer": Row("series", "TimeSeriesTransformerModel", _FORECAST, _past),
    "informer": Row("series", "InformerModel", dict(_FORECAST, attention_type="full", distil=True), _past),
}

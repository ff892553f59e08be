"""Encoders, decoders and encoder-decoders over token ids."""

from __future__ import annotations

from .row import Row, floats, ids, ints, masked, two

TINY = dict(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    vocab_size=512,
    max_position_embeddings=64,
)
GQA = dict(TINY, num_key_value_heads=2, pad_token_id=0, bos_token_id=1, eos_token_id=2, use_cache=False)
PAIR = dict(
    d_model=64,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=4,
    decoder_attention_heads=4,
    encoder_ffn_dim=128,
    decoder_ffn_dim=128,
    vocab_size=512,
    max_position_embeddings=64,
    use_cache=False,
)
T5 = dict(
    d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2, num_heads=4, vocab_size=512, use_cache=False
)

ENCODERS: dict[str, Row] = {
    "bert": Row("encoder", "BertForMaskedLM", TINY, masked()),
    "distilbert": Row(
        "encoder", "DistilBertModel", dict(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=512), masked()
    ),
    "roberta": Row("encoder", "RobertaModel", TINY, masked()),
    "xlm_roberta": Row("encoder", "XLMRobertaForSequenceClassification", TINY, masked()),
    "camembert": Row("encoder", "CamembertForTokenClassification", TINY, masked()),
    "electra": Row("encoder", "ElectraForPreTraining", dict(TINY, embedding_size=32), masked()),
    "albert": Row("encoder", "AlbertModel", dict(TINY, embedding_size=32), masked()),
    "mpnet": Row("encoder", "MPNetModel", TINY, masked()),
    "deberta": Row(
        "encoder", "DebertaModel", dict(TINY, relative_attention=True, pos_att_type=["p2c", "c2p"]), masked()
    ),
    "deberta_v2": Row(
        "encoder", "DebertaV2Model", dict(TINY, relative_attention=True, pos_att_type=["p2c", "c2p"]), masked()
    ),
    "fnet": Row("encoder", "FNetModel", TINY, ids()),
    "funnel": Row(
        "encoder",
        "FunnelModel",
        dict(d_model=64, n_head=4, d_head=16, d_inner=128, block_sizes=[1, 1], vocab_size=512),
        masked(),
    ),
    "convbert": Row("encoder", "ConvBertModel", dict(TINY, embedding_size=64), masked()),
    "mobilebert": Row(
        "encoder",
        "MobileBertModel",
        dict(TINY, embedding_size=32, intra_bottleneck_size=32, true_hidden_size=32),
        masked(),
    ),
    "squeezebert": Row("encoder", "SqueezeBertModel", dict(TINY, embedding_size=64), masked()),
    "longformer": Row("encoder", "LongformerModel", dict(TINY, attention_window=8), masked()),
    "big_bird": Row(
        "encoder", "BigBirdModel", dict(TINY, max_position_embeddings=256, attention_type="original_full"), masked()
    ),
    "big_bird_sparse": Row(
        "encoder",
        "BigBirdModel",
        dict(TINY, max_position_embeddings=256, block_size=8, num_random_blocks=2),
        masked(128),
    ),
    "roformer": Row("encoder", "RoFormerModel", dict(TINY, embedding_size=64), masked()),
    "ibert": Row("encoder", "IBertModel", TINY, masked()),
    "perceiver": Row(
        "encoder",
        "PerceiverModel",
        dict(
            d_model=16,
            d_latents=32,
            num_latents=8,
            num_blocks=1,
            num_self_attends_per_block=2,
            num_self_attention_heads=2,
            num_cross_attention_heads=2,
        ),
        lambda: {"inputs": floats(2, 16, 16)},
    ),
    "modernbert": Row(
        "encoder",
        "ModernBertModel",
        dict(
            TINY,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            cls_token_id=1,
            sep_token_id=2,
            local_attention=8,
            global_attn_every_n_layers=2,
        ),
        masked(),
    ),
    "xlnet": Row("encoder", "XLNetModel", dict(d_model=64, n_layer=2, n_head=4, d_inner=128, vocab_size=512), masked()),
    "xlm": Row("encoder", "XLMModel", dict(emb_dim=64, n_layers=2, n_heads=4, vocab_size=512), masked()),
    "rembert": Row("encoder", "RemBertModel", dict(TINY, input_embedding_size=32), masked()),
    "luke": Row(
        "encoder",
        "LukeModel",
        dict(TINY, entity_vocab_size=32, entity_emb_size=32),
        ids(
            entity_ids=lambda: ints(2, 3, low=1, high=30),
            entity_attention_mask=lambda: ints(2, 3, low=1, high=2),
            entity_position_ids=lambda: ints(2, 3, 4, low=1, high=16),
        ),
    ),
    "esm": Row(
        "encoder", "EsmModel", dict(TINY, pad_token_id=1, mask_token_id=2, position_embedding_type="rotary"), masked()
    ),
    "layoutlm": Row(
        "encoder",
        "LayoutLMModel",
        dict(TINY, max_2d_position_embeddings=128),
        ids(bbox=lambda: ints(2, 16, 4, low=0, high=100).sort(-1).values[..., [0, 1, 2, 3]]),
    ),
    "tapas": Row(
        "encoder",
        "TapasModel",
        dict(TINY, type_vocab_sizes=[3, 8, 8, 2, 8, 8, 4]),
        ids(token_type_ids=lambda: ints(2, 16, 7, low=0, high=2)),
    ),
    "xmod": Row("encoder", "XmodModel", dict(TINY, languages=["en_XX"], default_language="en_XX"), masked()),
    "nomic_bert": Row("encoder", "NomicBertModel", TINY, masked()),
    "reformer": Row(
        "encoder",
        "ReformerModel",
        dict(
            attention_head_size=16,
            attn_layers=["local", "local"],
            axial_pos_shape=[4, 8],
            axial_pos_embds_dim=[32, 32],
            feed_forward_size=128,
            hidden_size=64,
            num_attention_heads=4,
            vocab_size=512,
            max_position_embeddings=32,
            lsh_attn_chunk_length=8,
            local_attn_chunk_length=8,
            num_buckets=4,
            num_hashes=1,
            is_decoder=True,
            use_cache=False,
        ),
        ids(32),
    ),
}

DECODERS: dict[str, Row] = {
    "gpt2": Row(
        "decoder", "GPT2LMHeadModel", dict(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64), masked()
    ),
    "openai_gpt": Row(
        "decoder", "OpenAIGPTLMHeadModel", dict(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64), ids()
    ),
    "gpt_neo": Row(
        "decoder",
        "GPTNeoForCausalLM",
        dict(
            hidden_size=64,
            num_layers=2,
            num_heads=4,
            vocab_size=512,
            attention_types=[[["global", "local"], 1]],
            max_position_embeddings=64,
        ),
        ids(),
    ),
    "gpt_neox": Row("decoder", "GPTNeoXForCausalLM", TINY, masked()),
    "gptj": Row(
        "decoder",
        "GPTJForCausalLM",
        dict(n_embd=64, n_layer=2, n_head=4, rotary_dim=8, vocab_size=512, n_positions=64),
        ids(),
    ),
    "gpt_bigcode": Row(
        "decoder", "GPTBigCodeForCausalLM", dict(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64), ids()
    ),
    "codegen": Row(
        "decoder",
        "CodeGenForCausalLM",
        dict(n_embd=64, n_layer=2, n_head=4, rotary_dim=8, vocab_size=512, n_positions=64),
        ids(),
    ),
    "ctrl": Row(
        "decoder",
        "CTRLLMHeadModel",
        dict(n_embd=64, n_layer=2, n_head=4, dff=128, vocab_size=512, n_positions=64),
        ids(),
    ),
    "opt": Row(
        "decoder",
        "OPTForCausalLM",
        dict(
            hidden_size=64,
            num_hidden_layers=2,
            ffn_dim=128,
            num_attention_heads=4,
            vocab_size=512,
            max_position_embeddings=64,
            word_embed_proj_dim=64,
        ),
        masked(),
    ),
    "bloom": Row("decoder", "BloomForCausalLM", dict(hidden_size=64, n_layer=2, n_head=4, vocab_size=512), masked()),
    "falcon": Row("decoder", "FalconForCausalLM", TINY, masked()),
    "mpt": Row(
        "decoder", "MptForCausalLM", dict(d_model=64, n_heads=4, n_layers=2, vocab_size=512, max_seq_len=64), ids()
    ),
    "llama": Row("decoder", "LlamaForCausalLM", GQA, masked()),
    "mistral": Row("decoder", "MistralForCausalLM", dict(GQA, sliding_window=8), ids()),
    "qwen2": Row("decoder", "Qwen2ForCausalLM", GQA, ids()),
    "qwen3": Row("decoder", "Qwen3ForCausalLM", dict(GQA, head_dim=16), ids()),
    "phi": Row("decoder", "PhiForCausalLM", GQA, ids()),
    "phi3": Row("decoder", "Phi3ForCausalLM", GQA, ids()),
    "gemma": Row("decoder", "GemmaForCausalLM", dict(GQA, head_dim=16), ids()),
    "gemma2": Row("decoder", "Gemma2ForCausalLM", dict(GQA, head_dim=16, sliding_window=8), ids()),
    "gemma3": Row("decoder", "Gemma3ForCausalLM", dict(GQA, head_dim=16, sliding_window=8), ids()),
    "starcoder2": Row("decoder", "Starcoder2ForCausalLM", GQA, ids()),
    "stablelm": Row("decoder", "StableLmForCausalLM", GQA, ids()),
    "olmo": Row("decoder", "OlmoForCausalLM", GQA, ids()),
    "olmo2": Row("decoder", "Olmo2ForCausalLM", GQA, ids()),
    "cohere": Row("decoder", "CohereForCausalLM", GQA, ids()),
    "granite": Row("decoder", "GraniteForCausalLM", GQA, ids()),
    "glm": Row("decoder", "GlmForCausalLM", dict(GQA, head_dim=16), ids()),
    "nemotron": Row("decoder", "NemotronForCausalLM", GQA, ids()),
    "persimmon": Row("decoder", "PersimmonForCausalLM", GQA, ids()),
    "smollm3": Row("decoder", "SmolLM3ForCausalLM", GQA, ids()),
    "helium": Row("decoder", "HeliumForCausalLM", dict(GQA, head_dim=16), ids()),
    "biogpt": Row("decoder", "BioGptForCausalLM", TINY, ids()),
    "xglm": Row(
        "decoder",
        "XGLMForCausalLM",
        dict(d_model=64, num_layers=2, attention_heads=4, ffn_dim=128, vocab_size=512, max_position_embeddings=64),
        ids(),
    ),
    "diffllama": Row("decoder", "DiffLlamaForCausalLM", GQA, ids()),
    "lfm2": Row("decoder", "Lfm2ForCausalLM", dict(GQA, layer_types=["conv", "full_attention"]), ids()),
}

PAIRS: dict[str, Row] = {
    "t5": Row("encoder-decoder", "T5ForConditionalGeneration", T5, two()),
    "mt5": Row("encoder-decoder", "MT5ForConditionalGeneration", T5, two()),
    "umt5": Row("encoder-decoder", "UMT5ForConditionalGeneration", T5, two()),
    "bart": Row("encoder-decoder", "BartForConditionalGeneration", PAIR, two()),
    "mbart": Row("encoder-decoder", "MBartForConditionalGeneration", PAIR, two()),
    "pegasus": Row("encoder-decoder", "PegasusForConditionalGeneration", PAIR, two()),
    "pegasus_x": Row(
        "encoder-decoder", "PegasusXForConditionalGeneration", dict(PAIR, block_size=8, num_global_tokens=4), two()
    ),
    "marian": Row("encoder-decoder", "MarianMTModel", dict(PAIR, pad_token_id=0, decoder_start_token_id=1), two()),
    "m2m_100": Row("encoder-decoder", "M2M100ForConditionalGeneration", PAIR, two()),
    "blenderbot": Row("encoder-decoder", "BlenderbotForConditionalGeneration", PAIR, two()),
    "led": Row(
        "encoder-decoder",
        "LEDForConditionalGeneration",
        dict(
            d_model=64,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            vocab_size=512,
            max_encoder_position_embeddings=64,
            max_decoder_position_embeddings=64,
            attention_window=8,
            use_cache=False,
        ),
        two(),
    ),
    "prophetnet": Row(
        "encoder-decoder",
        "ProphetNetForConditionalGeneration",
        dict(
            hidden_size=64,
            encoder_ffn_dim=128,
            num_encoder_layers=2,
            num_encoder_attention_heads=4,
            decoder_ffn_dim=128,
            num_decoder_layers=2,
            num_decoder_attention_heads=4,
            vocab_size=512,
            max_position_embeddings=64,
            use_cache=False,
        ),
        two(),
    ),
}

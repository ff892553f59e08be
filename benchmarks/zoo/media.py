"""Models over sound, and models over text, images and sound together."""

from __future__ import annotations

import torch

from .row import Row, floats, ids, ints, pixels, wave
from .text import GQA, TINY
from .vision import VIT

TEXT = dict(TINY, pad_token_id=0, bos_token_id=1, eos_token_id=2)
WAVE = dict(
    hidden_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=128,
    num_conv_pos_embeddings=16,
    num_conv_pos_embedding_groups=4,
)
_ONES = {"attention_mask": lambda: torch.ones(2, 16, dtype=torch.long)}

AUDIO: dict[str, Row] = {
    "whisper": Row(
        "audio",
        "WhisperForConditionalGeneration",
        dict(
            d_model=64,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            vocab_size=512,
            num_mel_bins=16,
            max_source_positions=32,
            max_target_positions=32,
            use_cache=False,
            pad_token_id=1,
            bos_token_id=2,
            eos_token_id=3,
            decoder_start_token_id=4,
        ),
        lambda: {"input_features": floats(2, 16, 64), "decoder_input_ids": ints(2, 8)},
    ),
    "wav2vec2": Row("audio", "Wav2Vec2ForCTC", dict(WAVE, vocab_size=32), wave()),
    "hubert": Row("audio", "HubertModel", WAVE, wave()),
    "wavlm": Row("audio", "WavLMModel", WAVE, wave()),
    "data2vec_audio": Row("audio", "Data2VecAudioModel", dict(WAVE, num_conv_pos_embeddings=3), wave()),
    "sew": Row("audio", "SEWModel", dict(WAVE, squeeze_factor=2), wave()),
    "unispeech": Row("audio", "UniSpeechModel", WAVE, wave()),
    "wav2vec2_conformer": Row("audio", "Wav2Vec2ConformerModel", dict(WAVE, position_embeddings_type="rotary"), wave()),
    "wav2vec2_bert": Row(
        "audio",
        "Wav2Vec2BertModel",
        dict(WAVE, feature_projection_input_dim=16),
        lambda: {"input_features": floats(2, 24, 16)},
    ),
    "ast": Row(
        "audio",
        "ASTForAudioClassification",
        dict(
            hidden_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=128,
            max_length=48,
            num_mel_bins=32,
        ),
        lambda: {"input_values": floats(2, 48, 32)},
    ),
    "speech_to_text": Row(
        "audio",
        "Speech2TextForConditionalGeneration",
        dict(
            d_model=64,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=128,
            decoder_ffn_dim=128,
            vocab_size=512,
            input_feat_per_channel=16,
            conv_channels=32,
            max_source_positions=64,
            max_target_positions=64,
            use_cache=False,
        ),
        lambda: {"input_features": floats(2, 32, 16), "decoder_input_ids": ints(2, 8)},
    ),
    "moonshine": Row(
        "audio",
        "MoonshineForConditionalGeneration",
        dict(
            hidden_size=64,
            intermediate_size=128,
            encoder_num_hidden_layers=2,
            decoder_num_hidden_layers=2,
            encoder_num_attention_heads=4,
            decoder_num_attention_heads=4,
            vocab_size=512,
            use_cache=False,
        ),
        lambda: {"input_values": floats(2, 4000), "decoder_input_ids": ints(2, 8)},
    ),
    "encodec": Row(
        "audio",
        "EncodecModel",
        dict(
            hidden_size=16,
            num_filters=4,
            num_residual_layers=1,
            upsampling_ratios=[4, 2],
            codebook_size=32,
            codebook_dim=16,
            kernel_size=3,
            last_kernel_size=3,
            target_bandwidths=[60.0],
            num_lstm_layers=1,
        ),
        lambda: {"input_values": floats(2, 1, 320)},
    ),
    "clap_audio": Row(
        "audio",
        "ClapAudioModel",
        dict(
            spec_size=64,
            num_mel_bins=16,
            window_size=4,
            patch_embeds_hidden_size=16,
            hidden_size=64,
            depths=[1, 1],
            num_attention_heads=[2, 2],
            projection_dim=16,
            patch_size=4,
            patch_stride=[4, 4],
        ),
        lambda: {"input_features": floats(2, 1, 64, 16), "is_longer": torch.zeros(2, 1, dtype=torch.bool)},
    ),
    "univnet": Row(
        "audio",
        "UnivNetModel",
        dict(
            model_in_channels=8,
            model_hidden_channels=8,
            num_mel_bins=16,
            resblock_kernel_sizes=[3],
            resblock_stride_sizes=[4],
            resblock_dilation_sizes=[[1, 3]],
            kernel_predictor_hidden_channels=8,
        ),
        lambda: {"input_features": floats(2, 12, 16), "noise_sequence": floats(2, 12, 8)},
    ),
    "vits": Row(
        "audio",
        "VitsModel",
        dict(
            vocab_size=38,
            hidden_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            ffn_dim=32,
            flow_size=16,
            spectrogram_bins=9,
            upsample_initial_channel=16,
            upsample_rates=[2, 2],
            upsample_kernel_sizes=[4, 4],
            resblock_kernel_sizes=[3],
            resblock_dilation_sizes=[[1, 3]],
            posterior_encoder_num_wavenet_layers=1,
            prior_encoder_num_flows=1,
            prior_encoder_num_wavenet_layers=1,
            noise_scale=0.0,
            noise_scale_duration=0.0,
        ),
        lambda: {"input_ids": ints(1, 8, low=1, high=38)},
    ),
    "dac": Row(
        "audio",
        "DacModel",
        dict(
            encoder_hidden_size=8,
            downsampling_ratios=[2, 2],
            decoder_hidden_size=16,
            n_codebooks=2,
            codebook_size=16,
            codebook_dim=4,
            upsampling_ratios=[2, 2],
        ),
        lambda: {"input_values": floats(2, 1, 128)},
    ),
}

_VISION = VIT

MULTIMODAL: dict[str, Row] = {
    "clip": Row(
        "multimodal",
        "CLIPModel",
        dict(text_config=dict(TEXT), vision_config=_VISION),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "siglip": Row(
        "multimodal",
        "SiglipModel",
        dict(text_config=dict(TEXT), vision_config=_VISION),
        ids(pixel_values=lambda: floats(2, 3, 32, 32)),
    ),
    "chinese_clip": Row(
        "multimodal",
        "ChineseCLIPModel",
        dict(text_config=dict(TEXT), vision_config=_VISION),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "clipseg": Row(
        "multimodal",
        "CLIPSegForImageSegmentation",
        dict(
            text_config=dict(TEXT),
            vision_config=_VISION,
            extract_layers=[0, 1],
            reduce_dim=16,
            decoder_num_attention_heads=2,
            decoder_intermediate_size=32,
        ),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "groupvit": Row(
        "multimodal",
        "GroupViTModel",
        dict(
            text_config=dict(TEXT),
            vision_config=dict(
                hidden_size=64,
                depths=[1, 1],
                num_hidden_layers=2,
                num_group_tokens=[4, 0],
                num_output_groups=[4, 0],
                num_attention_heads=4,
                intermediate_size=128,
                image_size=32,
                patch_size=8,
            ),
        ),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "blip": Row(
        "multimodal",
        "BlipForConditionalGeneration",
        dict(text_config=dict(TEXT), vision_config=_VISION),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "git": Row(
        "multimodal",
        "GitForCausalLM",
        dict(TEXT, vision_config=_VISION, use_cache=False),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "lxmert": Row(
        "multimodal",
        "LxmertModel",
        dict(
            hidden_size=64,
            num_attention_heads=4,
            intermediate_size=128,
            vocab_size=512,
            l_layers=1,
            x_layers=1,
            r_layers=1,
            visual_feat_dim=16,
        ),
        ids(visual_feats=lambda: floats(2, 5, 16), visual_pos=lambda: floats(2, 5, 4)),
    ),
    "visual_bert": Row(
        "multimodal",
        "VisualBertModel",
        dict(TINY, visual_embedding_dim=16),
        ids(
            visual_embeds=lambda: floats(2, 5, 16),
            visual_attention_mask=lambda: torch.ones(2, 5, dtype=torch.long),
            visual_token_type_ids=lambda: torch.ones(2, 5, dtype=torch.long),
            **_ONES,
        ),
    ),
    "flava": Row(
        "multimodal",
        "FlavaModel",
        dict(
            text_config=TEXT,
            image_config=_VISION,
            multimodal_config=dict(hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=128),
            hidden_size=64,
            projection_dim=64,
        ),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "bridgetower": Row(
        "multimodal",
        "BridgeTowerModel",
        dict(
            text_config=dict(TEXT),
            vision_config=dict(hidden_size=64, num_hidden_layers=2, patch_size=8, image_size=32),
            hidden_size=64,
            num_attention_heads=4,
            num_hidden_layers=2,
        ),
        ids(
            pixel_values=lambda: floats(2, 3, 32, 32),
            pixel_mask=lambda: torch.ones(2, 32, 32, dtype=torch.long),
            **_ONES,
        ),
    ),
    "owlvit": Row(
        "multimodal",
        "OwlViTModel",
        dict(text_config=dict(TEXT), vision_config=_VISION),
        ids(pixel_values=lambda: floats(2, 3, 32, 32), **_ONES),
    ),
    "llava": Row(
        "multimodal",
        "LlavaForConditionalGeneration",
        dict(
            text_config=lambda: _config("LlamaConfig", **GQA),
            vision_config=lambda: _config("CLIPVisionConfig", **VIT),
            image_token_index=511,
            image_token_id=511,
            vision_feature_layer=-1,
        ),
        lambda: _llava(511, 16),
    ),
    "paligemma": Row(
        "multimodal",
        "PaliGemmaForConditionalGeneration",
        dict(
            text_config=lambda: _config("GemmaConfig", **dict(GQA, head_dim=16)),
            vision_config=lambda: _config("SiglipVisionConfig", **VIT),
            image_token_index=511,
            image_token_id=511,
            projection_dim=64,
        ),
        lambda: {**_llava(511, 16), "token_type_ids": torch.zeros(2, 24, dtype=torch.long)},
    ),
    "layoutlmv3": Row(
        "multimodal",
        "LayoutLMv3Model",
        dict(TINY, max_2d_position_embeddings=128, coordinate_size=12, shape_size=8, input_size=32, patch_size=8),
        ids(
            bbox=lambda: ints(2, 16, 4, low=0, high=100).sort(-1).values,
            pixel_values=lambda: floats(2, 3, 32, 32),
            **_ONES,
        ),
    ),
    "trocr": Row(
        "multimodal",
        "VisionEncoderDecoderModel",
        dict(
            encoder=lambda: {**_config("ViTConfig", **VIT).to_dict()},
            decoder=lambda: {
                **_config(
                    "TrOCRConfig",
                    d_model=64,
                    decoder_layers=2,
                    decoder_attention_heads=4,
                    decoder_ffn_dim=128,
                    vocab_size=512,
                    use_cache=False,
                    cross_attention_hidden_size=64,
                    is_decoder=True,
                    add_cross_attention=True,
                ).to_dict()
            },
        ),
        pixels(decoder_input_ids=lambda: ints(2, 8)),
    ),
    "pix2struct": Row(
        "multimodal",
        "Pix2StructForConditionalGeneration",
        dict(
            text_config=dict(
                hidden_size=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, vocab_size=512, use_cache=False
            ),
            vision_config=dict(
                hidden_size=64,
                d_kv=16,
                d_ff=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                patch_embed_hidden_size=12,
                seq_len=32,
            ),
        ),
        lambda: {"flattened_patches": floats(2, 16, 14).abs(), "decoder_input_ids": ints(2, 8)},
    ),
    "x_clip": Row(
        "multimodal",
        "XCLIPModel",
        dict(
            text_config=dict(TEXT),
            vision_config=dict(
                VIT,
                mit_hidden_size=64,
                mit_intermediate_size=64,
                mit_num_hidden_layers=1,
                mit_num_attention_heads=4,
                num_frames=2,
            ),
            projection_dim=64,
            prompt_num_attention_heads=4,
            prompt_layers=1,
        ),
        ids(pixel_values=lambda: floats(2, 2, 3, 32, 32), **_ONES),
    ),
}


def _config(name: str, **given: object) -> object:
    import transformers

    return getattr(transformers, name)(**given)


def _llava(image_token: int, patches: int) -> dict[str, object]:
    tokens = ints(2, 24)
    tokens[:, 2 : 2 + patches] = image_token
    return {
        "input_ids": tokens,
        "pixel_values": floats(2, 3, 32, 32),
        "attention_mask": torch.ones(2, 24, dtype=torch.long),
    }

"""Tiny transformers models from configurations, with inputs, by name; K is the longest reduction in each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    make: Callable[[], nn.Module]
    inputs: Callable[[int], dict[str, Any]]
    longest_reduction: int


def _ids(vocab: int, batch: int, length: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(0, vocab, (batch, length), generator=torch.Generator().manual_seed(seed))


def _floats(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                                vocab_size=512, max_position_embeddings=64))


def gpt2() -> nn.Module:
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64, use_cache=False))


def llama() -> nn.Module:
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                        num_key_value_heads=2,
                                        intermediate_size=128, vocab_size=512, use_cache=False))


def t5() -> nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration
    return T5ForConditionalGeneration(T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=2, num_decoder_layers=2,
                                               num_heads=4, vocab_size=512, use_cache=False))


def whisper() -> nn.Module:
    from transformers import WhisperConfig, WhisperModel
    return WhisperModel(WhisperConfig(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                                      decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128,
                                      vocab_size=512,
                                      num_mel_bins=16, max_source_positions=32, max_target_positions=32,
                                      use_cache=False,
                                      pad_token_id=1, bos_token_id=2, eos_token_id=3, decoder_start_token_id=4))


def vit() -> nn.Module:
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
                                               intermediate_size=128, image_size=32, patch_size=8, num_labels=10))


def resnet() -> nn.Module:
    from transformers import ResNetConfig, ResNetForImageClassification
    return ResNetForImageClassification(ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1],
                                                     layer_type="basic", num_labels=10))


def convnext() -> nn.Module:
    from transformers import ConvNextConfig, ConvNextForImageClassification
    return ConvNextForImageClassification(ConvNextConfig(hidden_sizes=[16, 32, 48, 64], depths=[1, 1, 1, 1],
                                                         num_labels=10))


CASES: dict[str, Case] = {
    "bert": Case(bert, lambda b: {"input_ids": _ids(512, b, 16), "attention_mask": torch.ones(b, 16).long()}, 128),
    "gpt2": Case(gpt2, lambda b: {"input_ids": _ids(512, b, 16)}, 256),
    "llama": Case(llama, lambda b: {"input_ids": _ids(512, b, 16)}, 128),
    "t5": Case(t5, lambda b: {"input_ids": _ids(512, b, 16), "decoder_input_ids": _ids(512, b, 8, 2)}, 128),
    "whisper": Case(whisper, lambda b: {"input_features": _floats(b, 16, 64),
                                        "decoder_input_ids": _ids(512, b, 8)}, 192),
    "vit": Case(vit, lambda b: {"pixel_values": _floats(b, 3, 32, 32)}, 192),
    "resnet": Case(resnet, lambda b: {"pixel_values": _floats(b, 3, 64, 64)}, 288),
    "convnext": Case(convnext, lambda b: {"pixel_values": _floats(b, 3, 64, 64)}, 256),
}


def build(name: str, seed: int = 0) -> tuple[nn.Module, dict[str, Any]]:
    """The model in eval mode with weights drawn after torch.manual_seed(seed), and inputs of batch 2."""
    torch.manual_seed(seed)
    case = CASES[name]
    return case.make().eval(), case.inputs(2)


def in_float64(model: nn.Module, inputs: dict[str, Any]) -> tuple[nn.Module, dict[str, Any]]:
    wide = copy.deepcopy(model).double()
    return wide, {k: v.double() if v.is_floating_point() else v for k, v in inputs.items()}


def tensors_of(output: Any) -> list[torch.Tensor]:
    """All tensors of a model's output, in order."""
    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    if isinstance(output, (list, tuple)):
        return [t for item in output for t in tensors_of(item)]
    return []

"""Whole models through the expansions, the shape rules, the lowerings and the reference runner."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pellucid.ir.lower import lower
from pellucid.runtime.reference import run_program

from .trace import Tracer

T = pytest.importorskip("transformers")

IDS = torch.tensor([[5, 9, 17, 33, 2, 71, 8, 40], [4, 4, 61, 12, 90, 3, 25, 7]])
LEFT = torch.tensor([[1] * 8, [0, 0] + [1] * 6])
RIGHT = torch.tensor([[1] * 8, [1] * 6 + [0, 0]])
IMAGE = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
TEXT: dict[str, Any] = {"vocab_size": 100, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
                        "intermediate_size": 64}


def bert(impl: str) -> Any:
    config = T.BertConfig(**TEXT, attn_implementation=impl)
    return T.BertForMaskedLM(config), {"input_ids": IDS, "attention_mask": RIGHT, "labels": IDS}


def gpt2(impl: str) -> Any:
    config = T.GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=64, bos_token_id=1,
                          eos_token_id=2, attn_implementation=impl)
    return T.GPT2LMHeadModel(config), {"input_ids": IDS, "attention_mask": LEFT, "labels": IDS}


def llama(impl: str) -> Any:
    config = T.LlamaConfig(**TEXT, num_key_value_heads=2, attn_implementation=impl)
    return T.LlamaForCausalLM(config), {"input_ids": IDS, "attention_mask": LEFT, "labels": IDS}


def t5(impl: str) -> Any:
    config = T.T5Config(vocab_size=100, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4,
                        decoder_start_token_id=0, attn_implementation=impl)
    return T.T5ForConditionalGeneration(config), {"input_ids": IDS, "attention_mask": RIGHT, "labels": IDS}


def whisper(impl: str) -> Any:
    config = T.WhisperConfig(vocab_size=100, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4,
                             decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8,
                             max_source_positions=20, max_target_positions=32, pad_token_id=0, bos_token_id=1,
                             eos_token_id=2, decoder_start_token_id=1, attn_implementation=impl)
    return T.WhisperModel(config), {"input_features": torch.randn(2, 8, 40), "decoder_input_ids": IDS}


def vit(impl: str) -> Any:
    sizes = {k: v for k, v in TEXT.items() if k != "vocab_size"}
    config = T.ViTConfig(**sizes, image_size=32, patch_size=8, attn_implementation=impl)
    return T.ViTForImageClassification(config), {"pixel_values": IMAGE}


def resnet(impl: str) -> Any:
    config = T.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 2])
    return T.ResNetForImageClassification(config), {"pixel_values": IMAGE}


def convnext(impl: str) -> Any:
    config = T.ConvNextConfig(hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1])
    return T.ConvNextForImageClassification(config), {"pixel_values": IMAGE, "labels": torch.tensor([0, 1])}


CASES = [(m, i) for m in (bert, gpt2, llama, t5, whisper, vit) for i in ("sdpa", "eager")]
CASES += [(resnet, ""), (convnext, "")]


@pytest.mark.parametrize("make, impl", CASES)
def test_model(make: Any, impl: str) -> None:
    torch.manual_seed(0)
    model, inputs = make(impl)
    model.eval()
    tracer = Tracer()
    with torch.no_grad(), tracer:
        out = model(**inputs)
    assert not tracer.problems
    wanted = [t for t in (out.to_tuple()) if isinstance(t, torch.Tensor)]
    graph = tracer.builder.finish(tuple(tracer.vals[id(t)] for t in wanted))
    got = run_program(lower(graph), tracer.data())
    for o, t in zip(got, wanted):
        torch.testing.assert_close(o, t, rtol=1e-4, atol=1e-5)

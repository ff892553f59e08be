"""transformers models captured whole: no break, guards that hold, and the graph's torch calls give eager's outputs."""

from __future__ import annotations

import pytest
import torch

from pellucid.capture.capture import CaptureOptions, capture_call
from pellucid.capture.types import Return
from pellucid.guards.sources import Scope

from .replay import arguments, equal, failing, run

transformers = pytest.importorskip("transformers")
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def ids(batch, length=8, vocab=50):
    return torch.randint(0, vocab, (batch, length), generator=torch.Generator().manual_seed(0))


def bert(batch):
    m = transformers.BertModel(transformers.BertConfig(vocab_size=50, **SMALL))
    return m, {"input_ids": ids(batch), "attention_mask": torch.ones(batch, 8, dtype=torch.long)}


def gpt2(batch):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=50, n_embd=32, n_layer=2, n_head=2)), \
        {"input_ids": ids(batch)}


def llama(batch):
    c = transformers.LlamaConfig(vocab_size=50, num_key_value_heads=1, **SMALL)
    return transformers.LlamaForCausalLM(c), {"input_ids": ids(batch)}


def t5(batch):
    c = transformers.T5Config(vocab_size=50, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2)
    return transformers.T5ForConditionalGeneration(c), {"input_ids": ids(batch), "decoder_input_ids": ids(batch, 4)}


def whisper(batch):
    c = transformers.WhisperConfig(vocab_size=60, d_model=32, encoder_layers=1, decoder_layers=1, encoder_ffn_dim=64,
                                   encoder_attention_heads=2, decoder_attention_heads=2, decoder_ffn_dim=64,
                                   max_source_positions=16, num_mel_bins=8, pad_token_id=0, bos_token_id=1,
                                   eos_token_id=2, decoder_start_token_id=3)
    features = torch.randn(batch, 8, 32)
    return transformers.WhisperModel(c), {"input_features": features, "decoder_input_ids": ids(batch, 4)}


def vit(batch):
    c = transformers.ViTConfig(image_size=32, patch_size=16, **SMALL)
    return transformers.ViTForImageClassification(c), {"pixel_values": torch.randn(batch, 3, 32, 32)}


def resnet(batch):
    c = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    return transformers.ResNetForImageClassification(c), {"pixel_values": torch.randn(batch, 3, 32, 32)}


def convnext(batch):
    c = transformers.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)
    return transformers.ConvNextForImageClassification(c), {"pixel_values": torch.randn(batch, 3, 32, 32)}


MODELS = [bert, gpt2, llama, t5, whisper, vit, resnet, convnext]


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic batch"])
@pytest.mark.parametrize("make", MODELS, ids=lambda f: f.__name__)
def test_whole(make, dynamic):
    torch.manual_seed(0)
    model, kwargs = make(3)
    model.eval()
    options = CaptureOptions(dynamic=lambda source, dim: dim == 0) if dynamic else None
    with torch.no_grad():
        bound = arguments(model, (), kwargs)
        segment = capture_call(model, bound, options)
        assert isinstance(segment.exit, Return), segment.exit
        assert segment.effects == ()
        for batch in (3, 5) if dynamic else (3,):
            kwargs = make(batch)[1]
            bound = arguments(model, (), kwargs)
            assert failing(segment, Scope(bound)) == []
            assert equal(run(segment, Scope(bound)), model(**kwargs))

"""The models and functions that the benchmarks and the demo time, by name. float32, CPU, eval, random weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Workload:
    """`fn(*args, **kwargs)` is what is timed; `batch(n)` gives the arguments for another batch size, if it has one."""

    fn: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    batch: Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]] | None = None


def _model(model: nn.Module, batch: Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]], n: int = 1) -> Workload:
    args, kwargs = batch(n)
    return Workload(model.eval(), args, kwargs, batch)


def _tokens(vocab: int, length: int, mask: bool = False, **more: int) -> Callable[[int], Any]:
    def batch(n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        g = torch.Generator().manual_seed(1)
        kw = {"input_ids": torch.randint(0, vocab, (n, length), generator=g)}
        if mask:
            kw["attention_mask"] = torch.ones(n, length, dtype=torch.long)
        for name, size in more.items():
            kw[name] = torch.randint(0, vocab, (n, size), generator=g)
        return (), kw
    return batch


def _images(side: int) -> Callable[[int], Any]:
    return lambda n: ((torch.randn(n, 3, side, side, generator=torch.Generator().manual_seed(1)),), {})


def bert() -> Workload:
    from transformers import BertConfig, BertModel
    c = BertConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, intermediate_size=1024)
    return _model(BertModel(c), _tokens(c.vocab_size, 128, mask=True))


def gpt2() -> Workload:
    from transformers import GPT2Config, GPT2LMHeadModel
    c = GPT2Config(n_embd=256, n_layer=4, n_head=4, use_cache=False)
    return _model(GPT2LMHeadModel(c), _tokens(c.vocab_size, 64))


def llama() -> Workload:
    from transformers import LlamaConfig, LlamaForCausalLM
    c = LlamaConfig(hidden_size=256, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
                    intermediate_size=1024, vocab_size=32000, use_cache=False)
    return _model(LlamaForCausalLM(c), _tokens(c.vocab_size, 64))


def t5() -> Workload:
    from transformers import T5Config, T5ForConditionalGeneration
    c = T5Config(d_model=256, d_kv=64, d_ff=1024, num_layers=2, num_decoder_layers=2, num_heads=4, use_cache=False)
    return _model(T5ForConditionalGeneration(c), _tokens(c.vocab_size, 64, decoder_input_ids=32))


def whisper() -> Workload:
    from transformers import WhisperConfig, WhisperModel
    c = WhisperConfig(d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                      decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024, use_cache=False)

    def batch(n: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        g = torch.Generator().manual_seed(1)
        return (), {"input_features": torch.randn(n, 80, 3000, generator=g),
                    "decoder_input_ids": torch.randint(0, c.vocab_size, (n, 16), generator=g)}
    return _model(WhisperModel(c), batch)


def vit() -> Workload:
    from transformers import ViTConfig, ViTForImageClassification
    c = ViTConfig(hidden_size=192, num_hidden_layers=4, num_attention_heads=3, intermediate_size=768, num_labels=100)
    return _model(ViTForImageClassification(c), _images(224))


def resnet() -> Workload:
    from transformers import ResNetConfig, ResNetForImageClassification
    c = ResNetConfig(embedding_size=32, hidden_sizes=[32, 64, 128], depths=[2, 2, 2], layer_type="basic",
                     num_labels=100)
    return _model(ResNetForImageClassification(c), _images(128))


def convnext() -> Workload:
    from transformers import ConvNextConfig, ConvNextForImageClassification
    c = ConvNextConfig(hidden_sizes=[32, 64, 128, 256], depths=[1, 1, 2, 1], num_labels=100)
    return _model(ConvNextForImageClassification(c), _images(128))


def mlp() -> Workload:
    m = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
    return _model(m, lambda n: ((torch.randn(n, 64, generator=torch.Generator().manual_seed(1)),), {}))


def pointwise_chain() -> Workload:
    """4 Mi elements: x*sigmoid(x) + gelu(x), then the mean over the last dimension."""
    return Workload(lambda x: (x * torch.sigmoid(x) + F.gelu(x)).mean(-1), (torch.randn(1024, 4096),))


class _Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ln = nn.LayerNorm(768)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + F.gelu(self.ln(x))


def ln_gelu_residual() -> Workload:
    return Workload(_Residual().eval(), (torch.randn(64, 512, 768),))


def masked_attention() -> Workload:
    """Written by hand: softmax(q k^T / sqrt(d), causal) v at (1, 8, 256, 64)."""
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        return torch.softmax(scores.masked_fill(mask, float("-inf")), -1) @ v
    q, k, v = (torch.randn(1, 8, 256, 64) for _ in range(3))
    return Workload(attend, (q, k, v, torch.ones(256, 256, dtype=torch.bool).triu(1)))


WORKLOADS: dict[str, Callable[[], Workload]] = {
    f.__name__: f for f in (bert, gpt2, llama, t5, whisper, vit, resnet, convnext, mlp, pointwise_chain,
                            ln_gelu_residual, masked_attention)}
MODELS = ("bert", "gpt2", "llama", "t5", "whisper", "vit", "resnet", "convnext")


def build(name: str) -> Workload:
    """The workload, with weights and inputs drawn after torch.manual_seed(0)."""
    if name not in WORKLOADS:
        raise SystemExit(f"unknown workload {name!r}; known: {', '.join(WORKLOADS)}")
    torch.manual_seed(0)
    return WORKLOADS[name]()

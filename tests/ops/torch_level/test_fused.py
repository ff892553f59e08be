"""torch.nn's fused inference operators and recurrent networks against eager."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pellucid.torchdoor.fused import ENCODER_LAYER, GROUPED_MM, NATIVE_ATTENTION

from .harness import Expanded, check

torch.manual_seed(0)
D, H, B, S = 16, 4, 3, 5
X = torch.randn(B, S, D)
PADDING = torch.tensor([[False] * 5, [False] * 4 + [True], [False] * 2 + [True] * 3])


def attention_weights() -> tuple[Any, ...]:
    return torch.randn(3 * D, D) / 4, torch.randn(3 * D), torch.randn(D, D) / 4, torch.randn(D)


@pytest.mark.parametrize("mask, kind", [(None, None), (torch.ones(S, S).triu(1).bool(), 0), (PADDING, 1)])
@pytest.mark.parametrize("need, average", [(False, True), (True, True), (True, False)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_native_attention(mask: Any, kind: Any, need: bool, average: bool, dynamic: bool) -> None:
    check(NATIVE_ATTENTION, X, X, X, D, H, *attention_weights(), mask, need, average, kind, dynamic=dynamic, rtol=1e-4,
          atol=1e-5)


@pytest.mark.parametrize("gelu", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(gelu: bool, norm_first: bool) -> None:
    w = (torch.randn(D), torch.randn(D), torch.randn(D), torch.randn(D), torch.randn(32, D), torch.randn(32),
         torch.randn(D, 32), torch.randn(D))
    check(ENCODER_LAYER, X, D, H, *attention_weights(), gelu, norm_first, 1e-5, *w, PADDING, 1, rtol=1e-4, atol=1e-4)


def _recurrent(cls: Any, **options: Any) -> tuple[Any, Any]:
    net = cls(D, 8, batch_first=True, **options)
    layers = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    return net, torch.zeros(layers, B, 8)


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}])
@pytest.mark.parametrize("name, cls", [("lstm", torch.nn.LSTM), ("gru", torch.nn.GRU), ("rnn_tanh", torch.nn.RNN)])
def test_recurrent(name: str, cls: Any, options: Any) -> None:
    net, h = _recurrent(cls, **options)
    layers, both = options.get("num_layers", 1), options.get("bidirectional", False)
    weights = [w.detach() for w in net._flat_weights]
    state = [h, h.clone()] if name == "lstm" else h
    with torch.no_grad():
        check(getattr(torch, name), X, state, weights, True, layers, 0.0, False, both, True, rtol=1e-4, atol=1e-5)


def test_recurrent_dropout_in_training_draws_in_its_place() -> None:
    net, h = _recurrent(torch.nn.LSTM)
    made = Expanded(torch.lstm, (X, [h, h], list(net._flat_weights), True, 1, 0.5, True, False, True), {})
    assert [n.op for n in made.builder.nodes] == ["opaque_rng"]


@pytest.mark.parametrize("n", [8, 7])
@pytest.mark.parametrize("dynamic", [False, True])
def test_grouped_mm(n: int, dynamic: bool) -> None:
    offs = torch.tensor([2, 2, 5], dtype=torch.int32)
    check(GROUPED_MM, torch.randn(5, 16), torch.randn(3, n, 16).transpose(1, 2), offs=offs, dynamic=dynamic, rtol=1e-4,
          atol=1e-4)

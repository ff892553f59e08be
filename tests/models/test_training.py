"""Whole training steps: loss, gradients and updated parameters are eager's over several steps, in few segments."""

import copy

import pytest
import torch
from torch import nn

import pellucid
from pellucid.events.record import record

from .configs import _ids


def _bert():
    from transformers import BertConfig, BertForSequenceClassification
    return BertForSequenceClassification(BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=128,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)), dict(input_ids=_ids(128, 2, 8),
                                                                          labels=torch.tensor([0, 1]))


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    ids = _ids(128, 2, 8)
    return GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=128, n_positions=16, resid_pdrop=0.0,
                                      embd_pdrop=0.0, attn_pdrop=0.0)), dict(input_ids=ids, labels=ids)


def _vit():
    from transformers import ViTConfig, ViTForImageClassification
    return ViTForImageClassification(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, image_size=16, patch_size=4,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)), dict(
            pixel_values=torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1)),
            labels=torch.tensor([0, 1]))


def _resnet():
    from transformers import ResNetConfig, ResNetForImageClassification
    return ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1],
                                                     layer_type="basic", num_labels=2)), dict(
        pixel_values=torch.randn(4, 3, 32, 32, generator=torch.Generator().manual_seed(1)),
        labels=torch.tensor([0, 1, 0, 1]))


MODELS = {"bert": _bert, "gpt2": _gpt2, "vit": _vit, "resnet": _resnet}
OPTIMIZERS = {
    "sgd": lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9),
    "adamw": lambda ps: torch.optim.AdamW(ps, lr=0.01),
}


def step(model, optimizer, inputs):
    optimizer.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    optimizer.step()
    return loss.detach()


def states(model, optimizer):
    moments = [v for s in optimizer.state_dict()["state"].values() for v in s.values() if isinstance(v, torch.Tensor)]
    return [*model.state_dict().values(), *(p.grad for p in model.parameters() if p.grad is not None), *moments]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("whole", [True, False], ids=["step", "model"])
def test_three_steps(name, optimizer, whole):
    if optimizer == "sgd" and not whole:
        pytest.skip("the optimizer runs in Python then, whichever it is")
    pellucid.reset()
    torch.manual_seed(0)
    model, inputs = MODELS[name]()
    model.train()
    ours, theirs = copy.deepcopy(model), copy.deepcopy(model)
    mine, yours = (OPTIMIZERS[optimizer](m.parameters()) for m in (ours, theirs))
    fast = pellucid.compile(step, options={"strict": True}) if whole else step
    callee = ours if whole else pellucid.compile(ours, options={"strict": True})
    for _ in range(3):
        torch.testing.assert_close(fast(callee, mine, inputs), step(theirs, yours, inputs))
        for a, b in zip(states(ours, mine), states(theirs, yours), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)
    counts = pellucid.counters()
    places = {(e.cause.where, e.message) for e in record.events("graph_break")}
    assert len(places) == (3 if whole else 0), "zero_grad, backward and the optimizer's step"
    assert counts["internal_error_count"] == counts["eager_fallback_count"] == counts["limit_reached_count"] == 0


def test_a_step_written_by_hand():
    """Parameters written under no_grad() in a program that else records gradients."""
    def by_hand(w, x):
        loss = (x @ w).pow(2).mean()
        (g,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w -= 0.1 * g
            w.mul_(0.99)
        return loss.detach(), (x @ w).requires_grad
    pellucid.reset()
    x = torch.randn(4, 3)
    ours, theirs = (nn.Parameter(torch.ones(3, 2)) for _ in range(2))
    fast = pellucid.compile(by_hand, options={"strict": True})
    for _ in range(3):
        a, b = fast(ours, x), by_hand(theirs, x)
        torch.testing.assert_close(a[0], b[0])
        assert a[1] is b[1] is True and ours.is_leaf and ours.requires_grad
        torch.testing.assert_close(ours, theirs)
    assert pellucid.counters()["eager_fallback_count"] == 0

"""Diagnoses of torch.compile with a BERT, with a branch on data around a GPT-2, and with a step counter in a module.

`python examples/reports.py FOLDER` writes each as a page (and needs transformers). Shape memory on disk is switched
off, and torch.compile's backend is "eager": what is looked at is the capture.
"""

import os
import sys
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

import pellucid
from pellucid.diagnosis.page import page


class Confident(torch.nn.Module):
    """Halves the last hidden state where it is large: a branch on data."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        h = self.model(ids).last_hidden_state
        if h.abs().max() > 3.0:
            h = h / 2
        return h


class Stepped(torch.nn.Module):
    """Counts its calls, and uses the count."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.step = 0

    def forward(self, x):
        self.step += 1
        return self.linear(x) * (self.step / 100)


def bert():
    config = BertConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128,
                        vocab_size=100)
    return BertModel(config), [(torch.randint(0, 100, (1, n)),) for n in (16, 16, 24, 24, 16, 32, 40)]


def gpt2_branch():
    model = GPT2Model(GPT2Config(n_embd=64, n_layer=2, n_head=2, vocab_size=100, use_cache=False))
    return Confident(model), [(torch.randint(0, 100, (1, 16)),)] * 5


def counter():
    return Stepped(), [(torch.randn(4, 16),)] * 12


def diagnosis(program):
    """Of one of the three functions above."""
    torch.manual_seed(0)
    model, calls = program()
    with torch.no_grad():
        return pellucid.diagnose(torch.compile(model.eval(), backend="eager"), calls, timed=False)


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    for program in (bert, gpt2_branch, counter):
        found = diagnosis(program)
        (folder / f"{program.__name__}.html").write_text(page(found), encoding="utf-8")
        print(f"{program.__name__}: {found.story}: {found.leading.title} at {found.leading.where}")

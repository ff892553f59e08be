"""Some rows of benchmarks/models.py: captured whole, eager's structure, as close to float64 as eager is."""

import pytest
import torch

import pellucid
from benchmarks.models import compare, tensors_of
from benchmarks.zoo import ROWS
from benchmarks.zoo.row import build, exactly, floor

QUICK = ("electra", "deberta_v2", "gpt_neox", "qwen2", "mixtral", "bart", "regnet", "ast", "clip", "patchtst", "mamba2")


@pytest.mark.parametrize("name", QUICK)
def test_a_row_is_captured_whole_and_right(name):
    row = ROWS[name]
    model, inputs = build(row), row.inputs()
    with torch.no_grad():
        eager, exact = model(**inputs), tensors_of(exactly(row, model, inputs))
        fast = pellucid.compile(model, fullgraph=True, options={"strict": True})
        for _ in range(2):
            ours = fast(**inputs)
            assert compare(ours, eager, exact, floor(model))[2] == ""
        assert list(ours.keys()) == list(eager.keys())


def test_the_table_is_broad():
    assert len(ROWS) >= 45
    assert {r.kind for r in ROWS.values()} == {"encoder", "decoder", "encoder-decoder", "vision", "audio", "multimodal",
                                               "experts", "state-space", "series"}

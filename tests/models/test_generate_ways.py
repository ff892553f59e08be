"""Ways of generating: an encoder with its decoder, beams, samples drawn with a seed, a static cache."""

import pytest
import torch

import pellucid

from .configs import _ids

WAYS = {
    "greedy": dict(),
    "beams": dict(num_beams=3),
    "samples": dict(do_sample=True, top_k=20, temperature=0.8),
    "static": dict(cache_implementation="static"),
}


def _bart():
    from transformers import BartConfig, BartForConditionalGeneration
    torch.manual_seed(0)
    return BartForConditionalGeneration(BartConfig(
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, vocab_size=128, max_position_embeddings=64)).eval()


@pytest.mark.parametrize("way", WAYS)
def test_generate_gives_eagers_tokens_and_draws(way):
    pellucid.reset()
    model, ids = _bart(), _ids(128, 2, 8)
    args = dict(max_new_tokens=6, min_new_tokens=6, **WAYS[way])
    with torch.no_grad():
        torch.manual_seed(1)
        want = model.generate(ids, **args)
        state = torch.get_rng_state()
        fast = pellucid.compile(model.generate, options={"strict": True})
        for _ in range(3):
            torch.manual_seed(1)
            assert torch.equal(fast(ids, **args), want)
            assert torch.equal(torch.get_rng_state(), state)
    counts = pellucid.counters()
    assert counts["internal_error_count"] == counts["limit_reached_count"] == 0

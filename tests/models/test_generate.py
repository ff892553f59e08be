"""Generation with a key-value cache: eager's tokens, few compilations however long the text grows."""

import pytest
import torch

import pellucid

from .configs import _ids

NEW = 16


def _gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64))


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return LlamaForCausalLM(LlamaConfig(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, vocab_size=512,
                                        num_key_value_heads=2, intermediate_size=128))


MODELS = {"gpt2": _gpt2, "llama": _llama}


def made(name):
    torch.manual_seed(0)
    return MODELS[name]().eval(), _ids(512, 2, 8)


@pytest.fixture(autouse=True)
def _fresh():
    pellucid.reset()
    with torch.no_grad():
        yield
    counts = pellucid.counters()
    assert counts["internal_error_count"] == counts["eager_fallback_count"] == counts["limit_reached_count"] == 0


@pytest.mark.parametrize("name", MODELS)
def test_generate_as_a_whole(name):
    model, ids = made(name)
    args = dict(max_new_tokens=NEW, do_sample=False)
    want = model.generate(ids, **args)
    fast = pellucid.compile(model.generate, options={"strict": True})
    assert torch.equal(fast(ids, **args), want)
    first = pellucid.counters()["compile_count"]
    assert first <= 12, "one version for the prompt, one for each step that differs in kind, not one for each length"
    assert torch.equal(fast(ids, **args), want)
    assert pellucid.counters()["compile_count"] == first


def test_another_number_of_new_tokens():
    model, ids = made("llama")
    fast = pellucid.compile(model.generate, options={"strict": True})
    for n in (4, 7):
        args = dict(max_new_tokens=n, do_sample=False)
        assert torch.equal(fast(ids, **args), model.generate(ids, **args))


@pytest.mark.parametrize("name", MODELS)
def test_generate_of_a_compiled_module(name):
    model, ids = made(name)
    args = dict(max_new_tokens=NEW, do_sample=False)
    want = model.generate(ids, **args)
    fast = pellucid.compile(model, options={"strict": True})
    assert torch.equal(fast.generate(ids, **args), want)


def steps(model, ids, cache):
    """Greedy tokens, one forward a token, and the logits of each step."""
    tokens, logits = ids, []
    for i in range(NEW):
        out = model(input_ids=tokens if i == 0 else tokens[:, -1:], cache=cache, use_cache=True)
        logits.append(out.logits[:, -1])
        tokens = torch.cat([tokens, out.logits[:, -1:].argmax(-1)], 1)
    return tokens, torch.stack(logits)


@pytest.mark.parametrize("name", MODELS)
def test_a_growing_cache_step_by_step(name):
    from transformers import DynamicCache
    model, ids = made(name)
    want, exact = steps(model, ids, DynamicCache(config=model.config))
    fast = pellucid.compile(model, options={"strict": True})
    for _ in range(2):
        cache = DynamicCache(config=model.config)
        got, logits = steps(fast, ids, cache)
        assert torch.equal(got, want)
        torch.testing.assert_close(logits, exact, rtol=1e-4, atol=1e-5)
        assert cache.get_seq_length() == ids.shape[1] + NEW - 1
    assert pellucid.counters()["compile_count"] <= 3, "the prompt, the first step, and all further steps"


@pytest.mark.parametrize("name", MODELS)
def test_a_static_cache_step_by_step(name):
    from transformers import StaticCache
    model, ids = made(name)
    want, exact = steps(model, ids, StaticCache(config=model.config, max_cache_len=32))
    fast = pellucid.compile(model, options={"strict": True})
    for _ in range(2):
        got, logits = steps(fast, ids, StaticCache(config=model.config, max_cache_len=32))
        assert torch.equal(got, want)
        torch.testing.assert_close(logits, exact, rtol=1e-4, atol=1e-5)

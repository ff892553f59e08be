"""Functions whose answer is declared fixed, things done once by lru_cache, what torch.compile leaves behind."""

import functools
import logging
import subprocess
import sys

import torch

import pellucid

STRICT = {"strict": True}
calls = []


@functools.lru_cache
def warn_once(logger, text):
    calls.append(text)


class Noisy(logging.Logger):
    warning_once = warn_once


logger = Noisy("noisy")


@functools.lru_cache
@torch.compiler.assume_constant_result
def fixed(n):
    calls.append(n)
    return n + 1


@torch.compiler.assume_constant_result
def declared():
    calls.append("declared")
    return 3


@functools.lru_cache
def cached(n):
    return n + setting


setting = 1


def test_a_warning_is_given_once_and_does_not_break():
    calls.clear()

    def f(x):
        logger.warning_once("careful")
        return x + 1
    fast = pellucid.compile(f, fullgraph=True, options=STRICT)
    for n in (2, 3):
        assert torch.equal(fast(torch.ones(n)), torch.full((n,), 2.0))
    f(torch.ones(2))
    assert calls == ["careful"]


def test_declared_answers_are_constants():
    calls.clear()
    fast = pellucid.compile(lambda x: x * fixed(2) + declared(), fullgraph=True, options=STRICT)
    for _ in range(2):
        assert torch.equal(fast(torch.ones(2)), torch.full((2,), 6.0))
    assert calls == [2, "declared"]


def test_other_cached_answers_are_asked_for_in_each_call(monkeypatch):
    fast = pellucid.compile(lambda x: x * cached(1), options=STRICT)
    assert torch.equal(fast(torch.ones(2)), torch.full((2,), 2.0))
    monkeypatch.setitem(globals(), "setting", 5)
    cached.cache_clear()
    assert torch.equal(fast(torch.ones(2)), torch.full((2,), 6.0))
    assert torch.equal(pellucid.compile(lambda x: x * cached(1), fullgraph=True)(torch.ones(2)), torch.full((2,), 6.0))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 7


def test_an_autograd_function_is_captured_with_its_own_gradient():
    def f(x):
        return Double.apply(x + 1) * 3
    pellucid.reset()
    fast = pellucid.compile(f, fullgraph=True, options=STRICT)
    x = torch.ones(2, requires_grad=True)
    out = fast(x)
    out.sum().backward()
    assert torch.equal(out, torch.full((2,), 12.0)) and torch.equal(x.grad, torch.full((2,), 21.0))
    assert pellucid.counters()["eager_fallback_count"] == 0


def test_arange_with_float_bounds_and_an_integer_type():
    fast = pellucid.compile(lambda x: x + torch.arange(0.5, x.shape[0] * 2, 2.0, dtype=torch.int64), fullgraph=True,
                            options=STRICT)
    x = torch.zeros(4, dtype=torch.int64)
    assert torch.equal(fast(x), x + torch.arange(0.5, 8, 2.0, dtype=torch.int64))


def test_modules_made_inside_after_torch_compile_was_used():
    code = """
import torch, pellucid
layers = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))
torch.compile(torch.nn.Linear(2, 2), backend="eager")(torch.ones(2))
def f(x):
    for layer in layers[:2]:
        x = layer(x)
    return x
x = torch.ones(2, 3)
with torch.no_grad():
    torch.testing.assert_close(pellucid.compile(f, fullgraph=True)(x), f(x))
"""
    subprocess.run([sys.executable, "-c", code], check=True)

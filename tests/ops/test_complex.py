"""Conjugated views of complex tensors keep their conjugation, whoever makes them."""

from __future__ import annotations

import pytest
import torch

import pellucid


@pytest.mark.parametrize("fn", [
    lambda x: x.H, lambda x: x.mH, lambda x: torch.adjoint(x), lambda x: x.adjoint() + 1, lambda x: (x * 1).H,
    lambda x: x.H @ x, lambda x: x.conj().t().contiguous(), lambda x: (x.real.H, x.imag.mH)],
    ids=["H", "mH", "adjoint", "method", "of a result", "matmul", "conj", "of real"])
@pytest.mark.parametrize("backend", ["llvm", "eager"])
def test_conjugated_views(fn, backend):
    x = torch.randn(3, 4, dtype=torch.complex64)
    fast = pellucid.compile(fn, backend=backend, options={"strict": True})
    for _ in range(3):
        got, want = fast(x), fn(x)
        for g, w in zip(*((v,) if isinstance(v, torch.Tensor) else v for v in (got, want)), strict=True):
            torch.testing.assert_close(g, w)
            assert (g.is_conj(), g.stride(), g.dtype) == (w.is_conj(), w.stride(), w.dtype)

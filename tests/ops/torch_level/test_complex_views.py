"""Complex views of real tensors and back: values, strides, gradients, and writes that a view would show."""

from __future__ import annotations

import pytest
import torch

import pellucid


def rotate(x, angles):
    pairs = torch.view_as_complex((x * 1.5).reshape(*x.shape[:-1], -1, 2))
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


def spectrum(x, angles):
    f = torch.fft.fft(x * 2)
    return f.real, f.imag * 2, torch.fft.fftn(x, dim=(0, 1)).real + 1, f.abs()


def outside(x, angles):
    z = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(z), z.real.view(-1), (x * 1).real


def written(x, angles):
    y = x * 2
    z = torch.view_as_complex(y.reshape(*x.shape[:-1], -1, 2))
    y.add_(1)
    return z * 1, y


def written_through(x, angles):
    z = torch.polar(torch.ones_like(angles), angles)
    r = torch.view_as_real(z)
    r.mul_(2)
    return z * 1, r


CASES = [rotate, spectrum, outside, written, written_through]


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_as_eager(case, backend):
    torch.manual_seed(0)
    x, angles = torch.randn(3, 8), torch.randn(3, 4)
    fast = pellucid.compile(case, backend=backend, fullgraph=case not in (written, written_through),
                            options={"strict": True})
    for _ in range(3):
        got, want = fast(x, angles), case(x, angles)
        for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
            torch.testing.assert_close(g, w)
            assert g.stride() == w.stride() and g.dtype == w.dtype


def test_gradients():
    torch.manual_seed(0)
    x, angles = torch.randn(3, 8, requires_grad=True), torch.randn(3, 4)
    fast = pellucid.compile(rotate, fullgraph=True)
    want, = torch.autograd.grad(rotate(x, angles).square().sum(), x)
    got, = torch.autograd.grad(fast(x, angles).square().sum(), x)
    torch.testing.assert_close(got, want)

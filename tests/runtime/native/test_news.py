"""New tensors made as copies of an image are tensors like any other."""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys

import pytest
import torch

import pellucid
from pellucid.torchdoor import fresh
from pellucid.torchdoor.symbols import Unavailable


@pytest.fixture(autouse=True)
def available() -> None:
    try:
        fresh.fresh_layout()
    except Unavailable as e:
        pytest.skip(str(e))


def compiled(fn):
    f = pellucid.compile(fn, fullgraph=True, options={"strict": True})
    return f


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.bool])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (8,), (3, 5), (2, 3, 4, 5), (1, 2, 1, 3, 1), (2,) * 6])
def test_metadata_and_values(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def fn(x):
        return x.clone(), x.t() + x.t() if x.dim() == 2 else ~(x == x)

    x = torch.ones(shape, dtype=dtype)
    f = compiled(fn)
    for _ in range(4):
        for got, want in zip(f(x), fn(x), strict=True):
            assert torch.equal(got, want)
            assert (got.dtype, got.shape, got.stride()) == (want.dtype, want.shape, want.stride())
            assert got.is_contiguous() == want.is_contiguous() and got._version == want._version == 0
            assert got.untyped_storage().nbytes() == want.untyped_storage().nbytes()
            assert got.data_ptr() % fresh.ALIGNMENT == 0 and not got.requires_grad and got.is_leaf
            assert got.storage_offset() == 0 and got.numel() == want.numel() and got.device == want.device


def test_each_has_its_own_memory_version_and_life() -> None:
    f = compiled(lambda x: x + 1)
    x = torch.zeros(4)
    made = [f(x) for _ in range(50)]
    assert len({t.data_ptr() for t in made}) == 50
    views = [t[1:] for t in made]
    made[3].add_(5)
    assert made[3].tolist() == [6.0] * 4 and views[3]._version == 1 and made[4]._version == 0
    del made
    gc.collect()
    assert all(v.tolist() in ([1.0] * 3, [6.0] * 3) for v in views)


def test_resized_shared_set_and_recorded() -> None:
    f = compiled(lambda x: x * 2)
    x = torch.ones(4)
    for _ in range(4):
        y, z, w = f(x), f(x), f(x)
        y.resize_(1000).fill_(3)
        assert y.sum() == 3000
        z.requires_grad_(True)
        (z * z).sum().backward()
        assert z.grad.tolist() == [4.0] * 4
        w.set_(torch.ones(2))
        assert w.tolist() == [1, 1]
        s = f(x).share_memory_()
        assert s.is_shared() and s.tolist() == [2.0] * 4
        n = f(x).numpy()
        n[0] = 9
        assert n.tolist() == [9, 2, 2, 2]


def test_under_inference_mode() -> None:
    fn = lambda x: x + 1  # noqa: E731
    f = pellucid.compile(fn, options={"strict": True})
    x = torch.ones(3)
    for inference, _ in itertools.product((True, False, True, False), range(3)):
        with torch.inference_mode(inference):
            got, want = f(x), fn(x)
            assert got.is_inference() == want.is_inference() == inference
            assert got.tolist() == [2, 2, 2]
        if inference:
            with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
                (got * torch.ones(3, requires_grad=True)).sum().backward()
        else:
            assert got._version == 0


def test_a_memory_profile_counts_them() -> None:
    f = compiled(lambda x: x + 1)
    x = torch.ones(1000)
    for _ in range(3):
        f(x)
    with torch.profiler.profile(profile_memory=True) as p:
        kept = [f(x) for _ in range(10)]
    assert len(kept) == 10
    assert sum(e.cpu_memory_usage for e in p.events() if e.name == "[memory]") >= 10 * 4000


def test_found_in_every_process() -> None:
    """Padding is garbage that differs from process to process: what is found does not hang on it."""
    code = "import torch; from pellucid.torchdoor import fresh; print(fresh.fresh_layout())"
    found = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
             for _ in range(4)}
    assert found == {f"{fresh.fresh_layout()}\n"}

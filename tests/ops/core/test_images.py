"""Convolution, pooling and resizing against eager, in value and memory format."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from pellucid.ops.errors import WouldRaise

from .harness import build, check
from .samples import images, values

IMAGES = list(images())


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("sample", IMAGES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_convolution_2d(sample: str, dtype: torch.dtype) -> None:
    x = images(dtype)[sample]
    for stride, padding, dilation in (((1, 1), (0, 0), (1, 1)), ((2, 1), (1, 2), (1, 2))):
        for weight, groups in ((values(6, 4, 3, 3, dtype=dtype), 1), (values(8, 1, 3, 2, dtype=dtype), 4),
                               (values(1, 4, 1, 1, dtype=dtype), 1)):
            for w in (weight, weight.to(memory_format=torch.channels_last)):
                args = (stride, padding, dilation, False, (0, 0), groups)
                check("convolution", (x, w, values(w.shape[0], dtype=dtype), *args), torch.convolution, sums=True)
        w = values(4, 3, 3, 3, dtype=dtype)
        check("convolution", (x, w, None, stride, padding, dilation, True, (0, 0), 1), torch.convolution, sums=True)
    w = values(4, 3, 2, 2, dtype=dtype)
    check("convolution", (x, w, None, (2, 2), (0, 0), (1, 1), True, (1, 1), 2), torch.convolution, sums=True)


def test_convolution_1d_and_3d() -> None:
    args1 = ((1,), (1,), (1,), False, (0,), 1)
    for x in (values(2, 4, 20), values(2, 20, 4).transpose(1, 2), values(2, 4, 40)[:, :, ::2]):
        for w in (values(6, 4, 3), values(6, 3, 4).transpose(1, 2), values(6, 4, 1)):
            check("convolution", (x, w, values(6), *args1), torch.convolution, sums=True)
    column = values(1, 20, 1).transpose(1, 2)
    check("convolution", (column, values(6, 1, 3), None, *args1), torch.convolution, sums=True)
    args3 = ((1, 2, 1), (0, 1, 0), (1, 1, 1), False, (0, 0, 0), 1)
    for dtype in (torch.float32, torch.float64):
        x = values(2, 4, 6, 6, 6, dtype=dtype)
        for y in (x, x.to(memory_format=torch.channels_last_3d)):
            check("convolution", (y, values(6, 4, 3, 3, 3, dtype=dtype), None, *args3), torch.convolution, sums=True)


def test_convolution_refuses() -> None:
    rest = ((1, 1), (0, 0), (1, 1), False, (0, 0), 1)
    with pytest.raises(WouldRaise, match="does not fit"):
        build("convolution", (values(1, 3, 8, 8), values(6, 4, 3, 3), None, *rest))
    with pytest.raises(WouldRaise, match="too large"):
        build("convolution", (values(1, 4, 2, 2), values(6, 4, 3, 3), None, *rest))
    with pytest.raises(WouldRaise, match="bias"):
        build("convolution", (values(1, 4, 8, 8), values(6, 4, 3, 3), values(5), *rest))


WINDOWS: list[Any] = [((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((3, 2), (1, 3), (1, 0))]


@pytest.mark.parametrize("sample", IMAGES)
@pytest.mark.parametrize("ceil", [False, True])
def test_pools(sample: str, ceil: bool) -> None:
    x = images()[sample]
    for k, s, p in WINDOWS:
        for d in ((1, 1), (2, 1)):
            check("max_pool", (x, k, s, p, d, ceil), lambda *a: F.max_pool2d(*a, return_indices=True))
        for include in (False, True):
            for divisor in (None, 5):
                check("avg_pool", (x, k, s, p, ceil, include, divisor), F.avg_pool2d, sums=True)


def test_max_pool_of_infinities_and_nan() -> None:
    x = torch.full((1, 1, 4, 4), -torch.inf)
    x[0, 0, 2, 2] = torch.nan
    check("max_pool", (x, (3, 3), (2, 2), (1, 1), (1, 1), False), lambda *a: F.max_pool2d(*a, return_indices=True))


@pytest.mark.parametrize("sample", IMAGES)
def test_adaptive_pools(sample: str) -> None:
    x = images()[sample]
    for size in ((1, 1), (3, 4), (9, None), (4, 5), (2, 3)):
        even = size in ((1, 1), (3, 4), (9, None))
        check("adaptive_avg_pool", (x, size), F.adaptive_avg_pool2d, sums=True, dynamic=even)
        check("adaptive_max_pool", (x, size), F.adaptive_max_pool2d, dynamic=even)


def test_pools_of_other_ranks() -> None:
    for x in (values(2, 4, 20), values(2, 20, 4).transpose(1, 2)):
        check("avg_pool", (x, (2,), (2,), (0,)), lambda x, k, s, p: F.avg_pool1d(x, k, s, p), sums=True)
        check("adaptive_avg_pool", (x, (5,)), lambda x, o: F.adaptive_avg_pool1d(x, o[0]), sums=True)
    x = values(2, 4, 6, 6, 6)
    for y in (x, x.to(memory_format=torch.channels_last_3d)):
        k = (2, 2, 2)
        check("avg_pool", (y, k, k, (0, 0, 0)), lambda x, k, s, p: F.avg_pool3d(x, k, s, p), sums=True)
        check("max_pool", (y, k, k, (0, 0, 0), (1, 1, 1)),
              lambda x, *a: F.max_pool3d(x, *a[:4], return_indices=True))
        check("adaptive_avg_pool", (y, (2, 1, 3)), F.adaptive_avg_pool3d, sums=True)
    check("max_pool", (values(4, 8, 8), (2, 2), (2, 2), (0, 0), (1, 1)),
          lambda x, *a: F.max_pool2d(x, *a[:4], return_indices=True))


@pytest.mark.parametrize("sample", IMAGES)
def test_resizing(sample: str) -> None:
    x = images()[sample]
    for size in ((18, 16), (13, 4), (9, 8), (1, 1)):
        check("upsample_nearest", (x, size), F.interpolate)
        check("upsample_nearest", (x, size, None, True), lambda x, s, _, e: F.interpolate(x, s, mode="nearest-exact"))
        for corners in (False, True):
            check("upsample_linear", (x, size, corners),
                  lambda x, s, c: F.interpolate(x, s, mode="bilinear", align_corners=c), sums=True, ulps=8)
    check("upsample_nearest", (x, (14, 12), (1.6, 1.6)), lambda x, s, f: F.interpolate(x, scale_factor=1.6))
    check("upsample_linear", (x, (14, 12), False, (1.6, 1.6)),
          lambda x, s, c, f: F.interpolate(x, scale_factor=1.6, mode="bilinear"), sums=True, ulps=8)


def test_resizing_of_other_ranks() -> None:
    for mode, op in (("nearest", "upsample_nearest"), ("linear", "upsample_linear")):
        check(op, (values(2, 4, 20), (33,)), lambda x, s, m=mode: F.interpolate(x, s, mode=m), sums=True, ulps=8)
    x = values(1, 2, 3, 4, 5)
    check("upsample_linear", (x, (6, 2, 7)), lambda x, s: F.interpolate(x, s, mode="trilinear"), sums=True, ulps=8)

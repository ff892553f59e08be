"""Softmax and normalisations against eager, in value and layout."""

from __future__ import annotations

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

from pellucid.ops.errors import WouldRaise

from .harness import build, check
from .samples import FLOATS, images, layouts, values

SAMPLES = [k for k, v in layouts().items() if v.ndim == 3]


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("sample", list(layouts()))
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(sample: str, name: str) -> None:
    x = layouts()[sample]
    for dim in range(-1, x.ndim):
        check(name, (x, dim), getattr(torch, name), sums=True)
        check(name, (x.half(), dim, torch.float32), lambda x, d, t: getattr(torch, name)(x, d, dtype=t), sums=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_dtypes(dtype: torch.dtype) -> None:
    for name in ("softmax", "log_softmax"):
        check(name, (values(7, 33, dtype=dtype) * 8, 1), getattr(torch, name), sums=True)
    rows = torch.tensor([[0.0, -math.inf], [-math.inf, -math.inf], [math.inf, 1.0]], dtype=dtype)
    check("softmax", (rows, 1), torch.softmax)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm(sample: str, dtype: torch.dtype) -> None:
    x = layouts(dtype)[sample]
    for k in (1, 2):
        shape = tuple(x.shape[-k:])
        if 0 in shape:
            continue
        w, b = values(*shape, dtype=dtype), values(*shape, dtype=dtype)
        for args in ((w, b), (w, None), (None, None)):
            check("layer_norm", (x, shape, *args, 1e-5), F.layer_norm, sums=True, ulps=4)
            check("native_layer_norm", (x, shape, *args, 1e-5), torch.native_layer_norm, sums=True, ulps=4)
            if args[1] is None:  # eager composes it of other operators for an empty tensor, with odd strides
                check("rms_norm", (x, shape, args[0], 1e-6), F.rms_norm, sums=True, ulps=4, strides=x.numel() > 0)


def test_mixed_precision_weights() -> None:
    x = values(3, 8, dtype=torch.bfloat16)
    check("layer_norm", (x, (8,), values(8), values(8)), F.layer_norm, sums=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # eager says that it takes its unfused path
        check("rms_norm", (x, (8,), values(8), None), F.rms_norm, sums=True, ulps=4)


def test_variance_is_two_pass() -> None:
    x = values(4, 512) + 1000.0
    check("layer_norm", (x, (512,)), F.layer_norm, sums=True, ulps=64)


@pytest.mark.parametrize("sample", list(images()))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_image_norms(sample: str, dtype: torch.dtype) -> None:
    x = images(dtype)[sample]
    w, b, m, v = (values(4, dtype=dtype) for _ in range(4))
    check("batch_norm", (x, w, b, m, v.abs(), 1e-5),
          lambda x, w, b, m, v, e: F.batch_norm(x, m, v, w, b, eps=e), sums=True, ulps=4)
    check("batch_norm", (x, None, None, m, v.abs(), 1e-5),
          lambda x, w, b, m, v, e: F.batch_norm(x, m, v, w, b, eps=e), sums=True, ulps=4)
    for groups in (1, 2, 4):
        check("group_norm", (x, groups, w, b, 1e-5), F.group_norm, sums=True, ulps=4)
    check("rms_norm", (x, (8,)), F.rms_norm, sums=True, ulps=4)


def test_group_norm_statistics() -> None:
    x, w = values(2, 4, 5), values(4)
    check("native_group_norm", (x, 2, w, w, 1e-5),
          lambda x, g, w, b, e: torch.native_group_norm(x, w, b, x.shape[0], x.shape[1], x[0, 0].numel(), g, e),
          sums=True, ulps=4)


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(WouldRaise, match="normalized_shape"):
        build("layer_norm", (values(2, 3), (4,)))
    with pytest.raises(WouldRaise, match="weight"):
        build("layer_norm", (values(2, 3), (3,), values(2)))
    with pytest.raises(WouldRaise, match="num_groups=3"):
        build("group_norm", (values(2, 4, 5), 3))

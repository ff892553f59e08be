"""Constant sizes that leave one lane of a vector loop to its tail, transposed: its neighbours are written already."""

from __future__ import annotations

import pytest
import torch

import pellucid

CASES = {
    "add": lambda a, b: a + b,
    "int32": lambda a, b: (a.long() * 3 + b.long()).to(torch.int32),
    "int16": lambda a, b: (a.int() + b.int()).to(torch.int16),
    "uint8": lambda a, b: (a.int() + b.int()).to(torch.uint8),
    "bool": lambda a, b: a > b,
    "half": lambda a, b: (a.float() * b.float()).half(),
    "bfloat16": lambda a, b: (a.float() * b.float()).bfloat16(),
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int64, torch.uint8], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_one_lane(name: str, dtype: torch.dtype) -> None:
    f = CASES[name]
    for n in (3, 9, 17, 33, 65):
        g = torch.Generator().manual_seed(n)
        a, b = ((torch.rand(n, n, generator=g) * 100).to(dtype) for _ in range(2))
        fast = pellucid.compile(f, dynamic=False)
        assert torch.equal(fast(a.t(), b), f(a.t(), b)), n
        assert torch.equal(fast(a, b), f(a, b)), n

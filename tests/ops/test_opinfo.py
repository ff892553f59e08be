"""A part of torch's operator database against eager; `make opinfo` goes through all of it."""

import pytest

pytest.importorskip("expecttest", reason="torch's operator database needs expecttest")

import torch  # noqa: E402

from tests.opinfo.check import check  # noqa: E402
from tests.opinfo.samples import OPERATORS, programs  # noqa: E402

FLOATS = ("add", "addcmul", "lerp", "atanh", "asinh", "diagonal_scatter", "nn.functional.relu", "cumsum", "logsumexp",
          "remainder", "var", "nn.functional.layer_norm", "matmul", "gather")
PAIRS = [(name, torch.float32) for name in FLOATS] + [
    ("lerp", torch.int64), ("addcmul", torch.bool), ("addr", torch.bool), ("isin", torch.bool),
    ("nn.functional.max_pool1d", torch.int64), ("nn.functional.interpolate.nearest", torch.bool),
    ("nn.functional.hardtanh", torch.uint8), ("arange", torch.bool), ("nn.functional.avg_pool3d", torch.bfloat16),
    ("round.decimals_0", torch.int64), ("acosh", torch.int64), ("bitwise_left_shift", torch.uint8),
    ("floor_divide", torch.int32), ("mul", torch.complex64), ("cumprod", torch.complex64), ("flip", torch.complex64)]


@pytest.mark.parametrize("name, dtype", PAIRS, ids=lambda p: str(p).removeprefix("torch."))
def test_as_eager(name, dtype):
    results = [check(name, p) for p in programs(name, dtype, 1)]
    assert results
    assert [r for r in results if r.status != "same"] == []


def test_complex_numbers_need_no_break():
    paths = {check("mul", p).path for p in programs("mul", torch.complex64, 2) if p.variant == "plain"}
    assert paths == {"opaque"}


def test_out_is_written_in_the_graph():
    assert {check("exp", p).path for p in programs("exp", torch.float32, 1) if p.variant == "out="} == {"lowered"}


def test_a_difference_is_found():
    name = "mul"
    program = next(programs(name, torch.float32, 1))
    from tests.opinfo.compare import Outcome, difference
    a = Outcome(torch.ones(2), None, ([], {}))
    for wrong in (torch.ones(2).double(), torch.ones(2, 1), torch.tensor([1.0, 1.0001]), torch.ones(4)[::2]):
        assert difference(a, Outcome(wrong, None, ([], {})), None, elementwise=True, unset=False)
    assert difference(a, Outcome(None, ValueError("x"), ([], {})), None, elementwise=True, unset=False)
    assert program.variant == "plain" and name in OPERATORS

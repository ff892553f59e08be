"""Floor division, remainders and truncated division of every pair of extreme values, alone and fused, as eager's."""

import pytest
import torch

import pellucid

INF, NAN = float("inf"), float("nan")
EXTREME = (INF, -INF, 3e38, -3e38, 1e30, 1e-38, -1e-38, 5e-39, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, -7.0, NAN)
OPERATIONS = {
    "floor_divide": lambda a, b: a // b,
    "div floor": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "div trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "remainder": lambda a, b: a % b,
    "fused": lambda a, b: torch.where((a * 1) // (b + 0) > 0, a // b, -(a // b)),
    "a number": lambda a, b: a // 3.0e-39,
}


def grid(dtype):
    n = len(EXTREME)
    v = torch.tensor(EXTREME, dtype=dtype)
    return v[:, None].expand(n, n).contiguous(), v[None].expand(n, n).contiguous()


def same(a, b):
    """Equal, with NaN equal to NaN and the zeros told apart."""
    alike = (a == b) & (torch.signbit(a) == torch.signbit(b))
    return a.dtype == b.dtype and bool((alike | (a.isnan() & b.isnan())).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_extreme_values(name, dtype):
    f = OPERATIONS[name]
    fast = pellucid.compile(f, options={"strict": True})
    a, b = grid(dtype)
    for x, y in ((a, b), (a.t(), b), (a.repeat(1, 3), b.repeat(1, 3)), (a[:, ::2], b[:, ::2])):
        with torch.no_grad():
            mine, eager = fast(x, y), f(x.contiguous(), y.contiguous())
            if name == "remainder":
                # torch's own answer depends on where the element lies: NaN in full vectors, the remainder in the rest
                lost = (x / y).isinf() & x.isfinite() & (y != 0)
                mine, eager = mine.masked_fill(lost, 0), eager.masked_fill(lost, 0)
            assert same(mine, eager)

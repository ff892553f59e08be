"""The call's frame: sharing, symbolic slots, and the verifier that watches it."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from pellucid.ir.types import Buffer
from pellucid.ir.verify import Malformed
from pellucid.schedule.memory import Packer, aligned, nbytes
from pellucid.schedule.verify import verify
from pellucid.shapes.dim import Dim, Sym

from .differential import check

S = Dim.of(Sym("s0"))


def test_a_freed_gap_is_used_again_best_fit_first():
    p = Packer()
    for b, n in ((0, 640), (1, 64), (2, 128), (3, 64)):
        p.take(b, n)
    p.release(0)
    p.release(2)
    p.take(4, 100)
    assert p.at[4] == (704, 128) and p.top == 896


def test_neighbouring_gaps_become_one():
    p = Packer()
    for b in range(3):
        p.take(b, 64)
    p.release(0)
    p.release(1)
    p.take(5, 128)
    assert p.at[5] == (0, 128) and p.top == 192


def test_symbolic_sizes_share_only_where_the_order_is_provable():
    p = Packer()
    p.take(0, S * 256)
    p.release(0)
    p.take(1, S * 128)       # surely no larger
    p.release(1)
    p.take(2, Dim.of(Sym("s1")) * 64)      # no order is known
    assert len(p.slots) == 2


def test_bytes_and_alignment():
    assert nbytes(Buffer(0, torch.float32, (3, 5), (8, 1))) == (2 * 8 + 4 + 1) * 4
    assert nbytes(Buffer(0, torch.float32, (0, 5), (5, 1))) == 0
    assert aligned(65) == 128 and aligned(S * 64) == S * 64


def chain(f, x, *ws):
    for w in ws:
        x = f(torch.tanh, f(F.linear, x, w))
    return x


def inputs(batch=4):
    g = torch.Generator().manual_seed(0)
    return torch.randn(batch, 32, generator=g), *[torch.randn(32, 32, generator=g) * 0.2 for _ in range(6)]


def test_a_long_chain_needs_two_buffers():
    assert check(chain, *inputs()).arena_bytes <= 2 * 4 * 32 * 4


def test_a_long_chain_of_symbolic_batch_needs_two_slots():
    plan = check(chain, *inputs(), dynamic=((0, 0),), others=(inputs(9),))
    assert len({str(p.offset) for p in plan.places}) <= 2


def test_verify_refuses_an_overlap():
    plan = check(chain, *inputs())
    first, second = plan.places[:2]
    bad = replace(plan, places=(first, replace(second, offset=first.offset, last=first.last + 2), *plan.places[2:]))
    bad = replace(bad, places=tuple(replace(p, first=0) for p in bad.places))
    with pytest.raises(Malformed, match="share memory while both are live"):
        verify(bad)

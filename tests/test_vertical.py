"""One test through all contracts: the transaction, code and binding, views, aliases, effects, errors, nesting."""

import pytest
import torch
from torch import nn

import pellucid

STRICT = {"strict": True}
kept: list[torch.Tensor] = []


@torch.library.custom_op("pellucid_test::keep", mutates_args=())
def keep(x: torch.Tensor) -> torch.Tensor:
    """An opaque operation that keeps its input beyond the call."""
    kept.append(x)
    return x * 2


@keep.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


class Everything(nn.Module):
    def __init__(self, nested: bool) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 6)
        inner = Inner()
        self.inner = pellucid.compile(inner, options=STRICT) if nested else inner
        self.calls = 0
        self.last = None

    def forward(self, x: torch.Tensor, *, ids: torch.Tensor, state: torch.Tensor) -> dict[str, torch.Tensor]:
        y = x + self.table(ids)
        state.add_(y.sum(0))
        self.calls += 1
        z = torch.ops.pellucid_test.keep(y)
        self.last = z
        out = self.inner(z)
        return {"out": out, "view": x[:, 1:].t(), "state": state, "twice": out * 2}


def pair() -> tuple[Everything, Everything]:
    torch.manual_seed(0)
    eager = Everything(False)
    torch.manual_seed(0)
    return eager, Everything(True)


def inputs(batch: int) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(batch)
    return {"x": torch.randn(batch, 6, generator=g), "ids": torch.randint(0, 10, (batch,), generator=g),
            "state": torch.randn(6, generator=g)}


@pytest.fixture(autouse=True)
def _fresh():
    kept.clear()
    pellucid.reset()


def test_every_contract_in_one_program():
    eager, base = pair()
    fast = pellucid.compile(base, options=STRICT)
    with torch.no_grad():
        for batch in (3, 3, 5, 4, 7, 3):
            a, b = inputs(batch), inputs(batch)
            want, got = eager(**a), fast(**b)
            assert list(want) == list(got)
            for k in want:
                torch.testing.assert_close(got[k], want[k])
                assert got[k].stride() == want[k].stride(), k
            assert got["view"].untyped_storage().data_ptr() == b["x"].untyped_storage().data_ptr()
            assert got["state"] is b["state"]
            torch.testing.assert_close(b["state"], a["state"])
            assert base.calls == eager.calls
            torch.testing.assert_close(base.last, eager.last)
    # what the opaque operation kept is still what it was given
    for mine, theirs in zip(kept[1::2], kept[::2]):
        torch.testing.assert_close(mine, theirs)


def test_an_index_error_is_eagers_own_and_nothing_is_done_twice():
    eager, base = pair()
    fast = pellucid.compile(base, options=STRICT)
    with torch.no_grad():
        fast(**inputs(3))
        fast(**inputs(3))
        calls, last, count = base.calls, base.last, len(kept)
        bad = inputs(3)
        bad["ids"][1] = 99
        state = bad["state"].clone()
        with pytest.raises(IndexError) as ours:
            fast(**bad)
        with pytest.raises(IndexError) as theirs:
            eager(**bad)
        assert str(ours.value) == str(theirs.value)
        assert base.calls == calls and base.last is last and len(kept) == count
        torch.testing.assert_close(bad["state"], state, rtol=0, atol=0)
        ok = inputs(3)
        fast(**ok)
        assert base.calls == calls + 1

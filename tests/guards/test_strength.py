"""No guard is too weak (a stale result) or too strong (a needless compile): the cases of strength_cases.py, run."""

import os
import pathlib

import pytest
import torch

import pellucid

from .strength_cases import CASES, page


@pytest.fixture(autouse=True)
def _state():
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.use_deterministic_algorithms(False)
    torch.set_float32_matmul_precision("highest")
    os.environ.pop("PELLUCID_TEST_FACTOR", None)


def same(a, b):
    if isinstance(a, torch.Tensor):
        return isinstance(b, torch.Tensor) and a.dtype is b.dtype and a.stride() == b.stride() \
            and a.requires_grad == b.requires_grad and torch.allclose(a, b, equal_nan=True)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def outcome(f, args):
    copies = [a.detach().clone().requires_grad_(a.requires_grad) if type(a) is torch.Tensor and a.is_leaf
              and a.storage_offset() == 0 and a.untyped_storage().nbytes() == a.nbytes and not a.is_conj() else a
              for a in args]
    torch.manual_seed(0)
    try:
        return f(*copies)
    except Exception as e:
        return type(e), str(e)


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.kind}: {c.name}")
def test_case(case, backend):
    # gradients are recorded where the llvm backend runs natively otherwise: the strong path is the one without
    with torch.set_grad_enabled("grad" in case.name):
        f, args, change = case.make()
        c = pellucid.compile(f, backend=backend, options={"strict": True})
        first = args()
        identical = case.name in ("two arguments become one object", "two written arguments overlap")
        run = (lambda g, a: g(*a)) if identical else outcome
        for _ in range(4):
            assert same(run(c, first), run(f, first))
        if case.name == "a third size":
            assert same(c(torch.ones(5, 3)), f(torch.ones(5, 3)))
        assert not pellucid.compiled_of(c).reasons
        change()
        before = len(pellucid.explain(c).entries), pellucid.counters()["compile_count"]
        if case.name == "a keyword more":
            assert same(c(*args(), a=1, b=2), f(*args(), a=1, b=2))
            return
        for _ in range(3):
            now = args()
            again = args() if identical else now
            if case.name == "two written arguments overlap":
                now, again = args(), args()
            assert same(run(c, now), run(f, again if identical and "overlap" in case.name else now))
        if case.kind == "strong":
            assert (len(pellucid.explain(c).entries), pellucid.counters()["compile_count"]) == before
            assert not pellucid.compiled_of(c).reasons


def test_the_page_lists_the_cases():
    assert sum(c.kind == "weak" for c in CASES) >= 60 and len(CASES) >= 120
    assert (pathlib.Path(__file__).parents[2] / "docs" / "guards.md").read_text() == page()

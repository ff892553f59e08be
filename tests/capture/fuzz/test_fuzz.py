"""A short, always equal run over programs made from the grammar, and the programs that once failed."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .grammar import Writer
from .run import KEPT, check


@settings(max_examples=40, deadline=None, derandomize=True, database=None, print_blob=False,
          suppress_health_check=list(HealthCheck))
@given(st.data())
def test_made_programs(data: st.DataObject) -> None:
    text = Writer(lambda options: data.draw(st.sampled_from(list(options)))).program()
    check(text, "made", ("eager",))


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("file", sorted(KEPT.glob("*.py")), ids=lambda f: f.stem)
def test_kept(file, backend: str) -> None:
    check(file.read_text(), f"kept_{file.stem}", (backend,))

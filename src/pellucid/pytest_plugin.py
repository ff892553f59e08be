"""pytest: `@pytest.mark.pellucid(max_breaks=0, max_compiles=2)` limits a test, the fixture `no_recompile` a block.

pellucid is imported only by a test that asks for one of the two.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

LIMITS = {"max_breaks": "graph_break", "max_compiles": "entry_published", "max_recompiles": "recompile",
          "max_eager": "eager_fallback"}
"""Keyword of the mark -> kind of event that it limits."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"pellucid({', '.join(f'{k}=n' for k in LIMITS)}): fail the test where "
                            "pellucid did more of these during it")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    mark = item.get_closest_marker("pellucid")
    if mark is None:
        return (yield)
    wrong = [k for k in mark.kwargs if k not in LIMITS] + [repr(a) for a in mark.args]
    if wrong:
        raise pytest.UsageError(f"@pytest.mark.pellucid has {', '.join(wrong)}; it takes {', '.join(LIMITS)}, each an "
                                "integer")
    from .events.logs import line
    from .events.record import record

    seen: dict[str, list[str]] = {LIMITS[k]: [] for k in mark.kwargs}
    stop = record.subscribe(lambda e: seen[e.kind].append(line(e)), list(seen))
    try:
        result = yield
    finally:
        stop()
    over = [f"{name}={limit}, but there were {len(seen[LIMITS[name]])}:\n" + "\n".join(
        f"  {s}" for s in seen[LIMITS[name]]) for name, limit in mark.kwargs.items() if len(seen[LIMITS[name]]) > limit]
    if over:
        pytest.fail("\n".join(over), pytrace=False)
    return result


@pytest.fixture
def no_recompile() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """`with no_recompile(): ...` fails where pellucid or torch.compile compiles anything in the block."""
    @contextlib.contextmanager
    def block() -> Iterator[None]:
        from .events.logs import line
        from .events.record import record
        from .torchdoor import dynamo

        seen: list[str] = []
        stop = record.subscribe(lambda e: seen.append(line(e)), ("entry_published", "recompile", "cache_miss"))
        before = dynamo.compilations()
        try:
            yield
        finally:
            stop()
        more = dynamo.compilations() - before
        if seen or more:
            told = [*seen, *([f"torch.compile compiled {more} frames"] if more else [])]
            pytest.fail("something was compiled in a no_recompile block:\n" + "\n".join(told), pytrace=False)
    return block

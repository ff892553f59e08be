"""pellucid: a model compiler for PyTorch that you can see through."""

from __future__ import annotations

from typing import Any

from .api import compile, compiled_of, counters, reset
from .events.logs import enable as _enable_logs
from .runtime.stance import set_stance
from .shapes.marks import mark_dynamic, mark_static, maybe_mark_dynamic

__version__ = "0.1.0"
__all__ = ["Call", "attempt", "bench", "compile", "compiled_of", "counters", "diagnose", "explain", "mark_dynamic",
           "mark_static", "matrix", "maybe_mark_dynamic", "metrics", "profile", "reset", "set_stance"]

LAZY = {
    "Call": ("calls", "Call"), "attempt": ("attempt", "attempt"), "bench": ("bench", "bench"),
    "diagnose": ("diagnose", "diagnose"), "metrics": ("metrics", "metrics"), "profile": ("profiling", "profile"),
}
"""Name -> (module of pellucid.diagnosis, name there), loaded when it is first asked for."""

_enable_logs()


def explain(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """What pellucid did with `fn`: see pellucid.diagnosis.explain.explain, loaded when it is first asked for."""
    from .diagnosis.explain import explain as run

    return run(fn, *args, **kwargs)


def matrix(fn: Any, calls: Any = None) -> Any:
    """Which call hit which compiled version of `fn`, and why the others missed: see pellucid.diagnosis.matrix.

    With `calls` (as for pellucid.bench; one example becomes the standard sequence of shapes) they are made, one after
    another from an empty table, and each is told: see pellucid.diagnosis.callmatrix. That works for what torch.compile
    made as well.
    """
    if calls is not None:
        from .diagnosis.callmatrix import watched

        return watched(fn, calls)
    from .diagnosis.matrix import matrix as run

    return run(fn)


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module, there = LAZY[name]
    return getattr(importlib.import_module(f".diagnosis.{module}", __name__), there)

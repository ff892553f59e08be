"""pellucid: a model compiler for PyTorch that you can see through."""

from __future__ import annotations

from typing import Any

from .api import compile, compiled_of, counters, reset
from .events.logs import enable as _enable_logs
from .runtime.stance import set_stance
from .shapes.marks import mark_dynamic, mark_static, maybe_mark_dynamic

__version__ = "0.1.0"
__all__ = ["compile", "compiled_of", "counters", "explain", "mark_dynamic", "mark_static", "maybe_mark_dynamic",
           "matrix", "reset", "set_stance"]

_enable_logs()


def explain(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """What pellucid did with `fn`: see pellucid.diagnose.explain.explain, loaded when it is first asked for."""
    from .diagnose.explain import explain as run

    return run(fn, *args, **kwargs)


def matrix(fn: Any) -> Any:
    """Which call hit which compiled version of `fn`, and why the others missed: see pellucid.diagnose.matrix."""
    from .diagnose.matrix import matrix as run

    return run(fn)

"""Python's garbage collector rests while a graph is compiled: a capture makes hundreds of thousands of objects that
stay alive until it ends, and each full collection would walk all of them and the program's own (half of the first
call of a model with 32 layers, measured by benchmarks/regional.py)."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_depth = 0
_enabled = True


@contextmanager
def resting() -> Iterator[None]:
    """No automatic collection within; afterwards as it was before. Threads and nested uses are counted."""
    global _depth, _enabled
    with _lock:
        if _depth == 0:
            _enabled = gc.isenabled()
            gc.disable()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth = max(_depth - 1, 0)
            if _depth == 0 and _enabled:
                gc.enable()


def _after_fork() -> None:
    """In a child only the forking thread goes on: compiles of the others will never end."""
    global _lock, _depth
    if _depth and _enabled:
        gc.enable()
    _lock, _depth = threading.Lock(), 0


os.register_at_fork(after_in_child=_after_fork)

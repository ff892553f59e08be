"""pellucid: a model compiler for PyTorch that you can see through."""

from __future__ import annotations

from .api import compile, compiled_of, counters, reset

__version__ = "0.1.0"
__all__ = ["compile", "compiled_of", "counters", "reset"]

"""LLVM code generation for CPUs. Importing it does not import llvmlite; the first compilation does."""

from __future__ import annotations

from .backend import LlvmTarget
from .module import parallel_axes

__all__ = ["LlvmTarget", "parallel_axes"]

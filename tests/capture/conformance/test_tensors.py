"""Tensors in captured programs."""

from __future__ import annotations

from .tensors import programs

test_tensors = programs.test()

"""Contexts in captured programs."""

from __future__ import annotations

from .contexts import programs

test_contexts = programs.test()

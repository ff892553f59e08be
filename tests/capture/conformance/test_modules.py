"""nn.Module in captured programs."""

from __future__ import annotations

from .modules import programs

test_modules = programs.test()

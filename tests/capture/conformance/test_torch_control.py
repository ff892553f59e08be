"""torch control, in captured programs."""

from __future__ import annotations

from .torch_control import programs

test_torch_control = programs.test()

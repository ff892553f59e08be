"""higher order, in captured programs."""

from __future__ import annotations

from .higher_order import programs

test_higher_order = programs.test()

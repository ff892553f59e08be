"""Containers, and all of itertools."""

from .containers import programs

test_containers = programs.test()

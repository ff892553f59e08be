"""Exceptions, with-statements, generators, comprehensions, iteration tools."""

from .flow import programs

test_flow = programs.test()

"""The standard library and numpy as model code uses them."""

from .stdlib import programs

test_stdlib = programs.test()

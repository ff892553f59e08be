"""Functions: parameters, closures, cells, defaults, decorators, recursion, lambdas, partials, statements."""

from .functions import programs

test_functions = programs.test()

"""Objects implemented in C that capture knows nothing of."""

from .opaque import programs

test_opaque = programs.test()

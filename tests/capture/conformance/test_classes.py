"""Classes, attributes, special methods, dataclasses, enums, metaclasses."""

from .classes import programs

test_classes = programs.test()

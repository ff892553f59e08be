"""Objects: classes, attributes, descriptors, special methods, dataclasses, named tuples, enums, ABCs."""

from .objects import programs

test_objects = programs.test()

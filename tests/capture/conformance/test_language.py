"""The language: calls, scopes, comprehensions, generators, exceptions, `with`, patterns, operators of statements."""

from .language import programs

test_language = programs.test()

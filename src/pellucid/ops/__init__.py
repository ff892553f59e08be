"""The operator catalogue. Importing it fills the tables in `registry`."""

from . import core, torch_level

__all__ = ["core", "torch_level"]

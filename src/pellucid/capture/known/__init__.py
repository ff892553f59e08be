"""What is known of callables without Python code: importing this package fills the tables in `values.builtin`."""

from . import (
           autocast,
           builtin_functions,
           checks,
           classes,
           containers,
           declared,
           deques,
           frames,
           getters,
           iteration,
           numpy_numbers,
           opaque,
           pure,
           torch_state,
)

__all__ = ["autocast", "builtin_functions", "checks", "classes", "containers", "declared", "deques", "frames",
           "getters",
           "iteration", "numpy_numbers", "opaque", "pure", "torch_state"]

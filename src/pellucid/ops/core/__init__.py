"""The core operators. Importing this package fills `registry.OPS`."""

from . import (  # noqa: F401
    activations,
    copies,
    creation,
    indexing,
    linalg,
    movement,
    normalisation,
    pointwise,
    reductions,
    views,
)

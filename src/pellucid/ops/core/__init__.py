"""The core operators. Importing this package fills `registry.OPS`."""

from . import (  # noqa: F401
    activations,
    attention,
    convolution,
    copies,
    creation,
    indexing,
    linalg,
    movement,
    normalisation,
    pointwise,
    pooling,
    reductions,
    resample,
    sorting,
    views,
)

"""torch-level expansions: every torch callable that the catalogue knows, as a function that emits core operators."""

from . import (  # noqa: F401
    activations,
    attention,
    casts,
    complex_views,
    convolution,
    creation,
    fused,
    gathering,
    indexing,
    inplace,
    joining,
    linalg,
    losses,
    normalization,
    ordering,
    pointwise,
    reductions,
    views,
)
from .declare import ATEN, MUTATES, RESULT_FIELDS
from .lookup import expansion_of, register_opaque
from .opaque import opaque

register_opaque()

__all__ = ["ATEN", "MUTATES", "RESULT_FIELDS", "expansion_of", "opaque"]

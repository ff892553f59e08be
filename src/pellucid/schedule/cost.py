"""What scalar functions and memory accesses cost, in units of one float addition; and when work is worth splitting."""

from __future__ import annotations

from ..shapes.dim import Size, floordiv, hint

SCALAR_COST: dict[str, int] = {
    "div": 3, "floordiv": 8, "truncdiv": 6, "mod": 8, "fmod": 8, "pow": 12, "sqrt": 4, "rsqrt": 5, "reciprocal": 3,
    "exp": 6, "exp2": 5, "expm1": 8, "log": 8, "log2": 8, "log1p": 8, "log10": 8, "sin": 10, "cos": 10, "tan": 14,
    "tanh": 9, "sigmoid": 8, "erf": 10, "atan2": 16, "asin": 12, "acos": 12, "atan": 12, "sinh": 10, "cosh": 10,
}
"""Functions that are not here cost 1."""

LOAD_COST = 1
GATHER_COST = 4

FREE = 1
"""An expression up to this cost is recomputed anywhere rather than kept."""
CHEAP = 5
"""An expression up to this cost, with one load, is recomputed by each of several consumers."""
INNER = 16
"""A loop of at least this many iterations pays for what is hoisted out of it."""

SPLIT = 32768
"""Work of fewer units than this is not split over threads: 16K simple elements stay on one, 64K do not."""

SCRATCH_BYTES = 1 << 20
"""A row scratch buffer may not be larger than this."""


def grain(work_per_iteration: Size) -> Size:
    """Iterations of a parallel loop that make up SPLIT units of work, at least one."""
    if isinstance(work_per_iteration, int):
        return max(1, SPLIT // max(1, work_per_iteration))
    return 1 + floordiv(SPLIT, work_per_iteration)


def worth_rows(rows: Size, total: Size) -> bool:
    """Whether a kernel over `rows` parallel rows may do `total` points of work: few rows must not do much."""
    return hint(rows) >= 8 or hint(total) <= 2 * SPLIT

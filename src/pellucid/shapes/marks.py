"""mark_dynamic, maybe_mark_dynamic and mark_static: what a user says of one tensor's sizes, kept on that tensor.

torch._dynamo's functions of these names are honoured as well. A mark holds for the sizes of that tensor object; the
sizes of later calls follow, since a size that was symbolic once stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..errors.types import OptionError
from ..torchdoor import marks
from .wishes import Wish, bounds_error


def mark_dynamic(t: torch.Tensor, dim: int | Sequence[int], *, min: int | None = None, max: int | None = None) -> None:
    """Size `dim` of `t` is symbolic from the first call on; a program that fixes it is a ConstraintError, which names
    the operation, the line and the equation. `min` and `max` (inclusive) promise its range.

    Raises OptionError where `t` is no tensor, `dim` none of its dimensions, or its size is outside the range.
    """
    _mark("mark_dynamic", t, dim, Wish("dynamic", min, max))


def maybe_mark_dynamic(t: torch.Tensor, dim: int | Sequence[int]) -> None:
    """Size `dim` of `t` is symbolic from the first call on where the program allows it, else constant."""
    _mark("maybe_mark_dynamic", t, dim, Wish("maybe"))


def mark_static(t: torch.Tensor, dim: int | Sequence[int] | None = None) -> None:
    """Size `dim` of `t` (all its sizes, where None) is a constant, also where it changes between calls."""
    _mark("mark_static", t, tuple(range(t.ndim)) if dim is None and isinstance(t, torch.Tensor) else dim,
          Wish("static"))


def _mark(function: str, t: Any, dim: Any, wish: Wish) -> None:
    if not isinstance(t, torch.Tensor):
        raise OptionError("bad-argument", f"{function}(): t is a {type(t).__name__}", "pass a tensor")
    why = bounds_error(wish.lo, wish.hi)
    if why is not None:
        raise OptionError("bad-argument", f"{function}(): min={wish.lo!r}, max={wish.hi!r}: {why}",
                          "give integers with min <= max")
    for d in (dim,) if type(dim) is int else tuple(dim) if isinstance(dim, Sequence) else (dim,):
        if type(d) is not int or not -t.ndim <= d < t.ndim:
            raise OptionError("bad-argument", f"{function}(): dim={d!r} of a tensor with {t.ndim} dimensions",
                              f"give an integer from {-t.ndim} to {t.ndim - 1}" if t.ndim else "a scalar has no sizes")
        size = t.shape[d]
        if (wish.lo is not None and size < wish.lo) or (wish.hi is not None and size > wish.hi):
            raise OptionError("bad-argument", f"{function}(): dim={d}: the size is {size}, outside min={wish.lo!r}, "
                              f"max={wish.hi!r}", "widen the range, or mark another tensor")
        marks.mark(t, d % t.ndim, wish.kind, wish.lo, wish.hi)

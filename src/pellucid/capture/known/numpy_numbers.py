"""NumPy's element-wise functions of plain numbers, as models use them for constants: numpy.sqrt(64)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy

from ..values.base import Value
from ..values.builtin import KNOWN, PURE
from ..values.constant import Const

if TYPE_CHECKING:
    from ..state import Capture

NUMBERS = (int, float, bool, numpy.float64)


def _ufunc(function: Any) -> Any:
    """Known where all arguments are plain numbers and the result is a float64; a warning (as of a logarithm of zero)
    is left to eager."""
    def call(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
        if kw or not args or not all(type(a) is Const and type(a.value) in NUMBERS for a in args):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                r = function(*[a.constant(cx) for a in args])
        except Exception:
            return None
        return Const(r) if type(r) is numpy.float64 else None
    return call


for _f in vars(numpy).values():
    if isinstance(_f, numpy.ufunc):
        KNOWN[_f] = _ufunc(_f)
PURE.add(numpy.float64)

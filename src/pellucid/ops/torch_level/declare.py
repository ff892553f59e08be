"""How an expansion is entered in the catalogue: by short names that stand for torch's callables and tensor methods."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional

from ...torchdoor.operators import structure_fields
from ..registry import FUNCTIONS, METHODS

Expansion = Callable[..., Any]

MUTATES: dict[Any, int] = {}
"""Torch callable, or tensor method's name -> position of the argument that it always writes in place."""

ATEN: dict[str, Expansion] = {}
"""Name of an operator of torch.ops.aten (without overload) -> expansion that takes that operator's arguments."""

RESULT_FIELDS: dict[str, tuple[str, ...]] = structure_fields()
"""Name of a torch function that returns a named tuple -> its fields; expansions return plain tuples."""

_SPACES = {"F": torch.nn.functional, "special": torch.special, "linalg": torch.linalg, "op": operator, "torch": torch,
           "Tensor": torch.Tensor}


def _enter(name: Any, fn: Expansion, mutates: int | None = None) -> None:
    """A callable itself, `space.attr` in one of _SPACES, `aten.attr`, or a bare name: torch.name, Tensor.name and
    aten's name."""
    if not isinstance(name, str):
        FUNCTIONS[name] = fn
        return
    space, dot, attr = name.rpartition(".")
    found = False
    if space == "aten":
        ATEN[attr] = fn
        return
    if not dot or mutates is not None:
        ATEN.setdefault(attr, fn)
    for where in (_SPACES[space],) if dot else (torch, torch.Tensor):
        target = getattr(where, attr, None)
        if target is None:
            continue
        found = True
        FUNCTIONS[target] = fn
        if mutates is not None:
            MUTATES[target] = mutates
        if where is torch.Tensor:
            METHODS[attr] = fn
            if mutates is not None:
                MUTATES[attr] = mutates
    if not found:
        raise AttributeError(f"torch has no callable named {name!r}")


def expansion(*names: Any, inplace: str = "") -> Callable[[Expansion], Expansion]:
    """Register the decorated expansion under each of `names` (see _enter).

    inplace: names, separated by blanks, whose callables do the same and write the result into their first argument.
    """
    def register(fn: Expansion) -> Expansion:
        for name in names:
            _enter(name, fn)
        if inplace:
            from .inplace import writing
            written = writing(fn)
            for name in inplace.split():
                _enter(name, written, mutates=0)
        return fn
    return register


def mutating(*names: str) -> Callable[[Expansion], Expansion]:
    """Register an expansion that writes its first argument by itself."""
    def register(fn: Expansion) -> Expansion:
        for name in names:
            _enter(name, fn, mutates=0)
        return fn
    return register

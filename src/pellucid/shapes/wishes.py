"""What a user asked of sizes: per-argument specifications of compile(dynamic={...}), parsed once.

    compile(f, dynamic={"x": {0: True}, "batch['ids']": {1: (2, 512)}, "n": True, "table": False})

A key names a value as explain() does: an argument, or an item or attribute reached from it. A value is True (symbolic,
an error where the program fixes it), "maybe" (symbolic where the program allows), False (always constant), a pair of
bounds (lo, hi; None where there is none; inclusive), or for a tensor a dict from dimension to one of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors.types import OptionError


@dataclass(frozen=True, slots=True)
class Wish:
    """kind is "dynamic" (fixing it is an error), "maybe" or "static"; lo..hi the sizes promised, None unbounded."""

    kind: str
    lo: int | None = None
    hi: int | None = None

    def __str__(self) -> str:
        between = "" if self.lo is None and self.hi is None else \
            f" within {'..' if self.lo is None else self.lo} to {'..' if self.hi is None else self.hi}"
        return f"{self.kind}{between}"


Wishes = tuple[tuple[str, "int | None", Wish], ...]
"""(name of the value, dimension or None for all of it, wish)"""

EXPECTED = "True, False, 'maybe', a pair (lo, hi), or for a tensor a dict from dimension to one of these"


def bounds_error(lo: Any, hi: Any) -> str | None:
    """Why (lo, hi) are no bounds of a size; None if they are."""
    for v in (lo, hi):
        if v is not None and (type(v) is not int or v < 0):
            return f"the bound {v!r} is no integer of at least 0"
    if lo is not None and hi is not None and lo > hi:
        return f"the lower bound {lo} is above the upper bound {hi}"
    return None


def parse(spec: Mapping[str, Any]) -> Wishes:
    """The wishes of a specification; OptionError names the argument, its value and what it may be."""
    out: list[tuple[str, int | None, Wish]] = []
    for name, value in spec.items():
        if type(name) is not str or not re.match(r"[A-Za-z_]\w*", name):
            raise OptionError("bad-argument", f"compile(): dynamic has the key {name!r}",
                              "name arguments of the function, as in dynamic={'x': {0: True}}")
        if isinstance(value, Mapping):
            for dim, each in value.items():
                if type(dim) is not int:
                    raise OptionError("bad-argument", f"compile(): dynamic[{name!r}] has the dimension {dim!r}",
                                      "give dimensions as integers, as in {0: True}")
                out.append((name, dim, _wish(each, f"dynamic[{name!r}][{dim}]")))
        else:
            out.append((name, None, _wish(value, f"dynamic[{name!r}]")))
    return tuple(out)


def _wish(value: Any, where: str) -> Wish:
    if value is True:
        return Wish("dynamic")
    if value is False:
        return Wish("static")
    if value == "maybe" or value is None:
        return Wish("maybe")
    if type(value) in (tuple, list) and len(value) == 2:
        why = bounds_error(*value)
        if why is not None:
            raise OptionError("bad-argument", f"compile(): {where}={value!r}: {why}", "give (lo, hi) with lo <= hi")
        return Wish("dynamic", *value)
    raise OptionError("bad-argument", f"compile(): {where}={value!r} is not acceptable", f"give {EXPECTED}")


def root(name: str) -> str:
    """The argument that a name starts from."""
    found = re.match(r"[A-Za-z_]\w*", name)
    assert found is not None
    return found.group()

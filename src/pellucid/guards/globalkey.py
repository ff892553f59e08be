"""The GlobalKey of the current thread: quick words for look-up, and the named record for people and guards."""

from __future__ import annotations

from typing import Any

from ..torchdoor import globalstate
from .types import GlobalKey

words = globalstate.words
"""The state as a tuple, compared and hashed as a whole: entries are looked up under it."""

unusual = globalstate.unusual

_EXTRA = {8: "anomaly mode", 9: "forward-mode AD", 10: "math SDP", 11: "flash SDP", 12: "memory-efficient SDP",
          13: "functorch level", 14: "not tracing", 15: "torch function disabled", 16: "no saved-tensor hooks"}


_interned: dict[tuple[Any, ...], GlobalKey] = {}


def named(w: tuple[Any, ...]) -> GlobalKey:
    """The record for a tuple of words; the same object for equal words."""
    key = _interned.get(w)
    if key is None:
        key = _interned.setdefault(w, GlobalKey(w[0], w[1], w[2] or (), w[3], w[17], w[6], w[7], w[4], w[5],
                                                tuple((name, w[i]) for i, name in _EXTRA.items())))
    return key


def current() -> GlobalKey:
    return named(words())


def differences(a: GlobalKey, b: GlobalKey) -> list[tuple[str, Any, Any]]:
    """(name, in a, in b) of each part that differs."""
    out = [(n, getattr(a, n), getattr(b, n)) for n in GlobalKey.__slots__
           if n != "extra" and getattr(a, n) != getattr(b, n)]
    mine, theirs = dict(a.extra), dict(b.extra)
    return out + [(n, mine.get(n), theirs.get(n)) for n in {**mine, **theirs} if mine.get(n) != theirs.get(n)]

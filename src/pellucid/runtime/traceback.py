"""Tracebacks without the compiler's own frames: what is left is what the user wrote or called."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

_OWN = str(Path(__file__).resolve().parents[1])


def own(file: str) -> bool:
    """Whether a code object's file is the compiler's: its package, or code that it generated."""
    return file.startswith("<pellucid") or file.startswith(_OWN)


def users_only(tb: TracebackType | None) -> TracebackType | None:
    """The traceback without entries of the compiler's frames."""
    kept = []
    dropped = False
    while tb is not None:
        if own(tb.tb_frame.f_code.co_filename):
            dropped = True
        else:
            kept.append(tb)
        tb = tb.tb_next
    if not dropped:
        return kept[0] if kept else None
    result: TracebackType | None = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result

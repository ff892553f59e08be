"""Tracebacks of interpreted code: lines that name the user's file, function and position."""

from __future__ import annotations

import dis
import types
from typing import Any

from .frames import Frame

_HERE = f"{__package__}."
_frames: dict[tuple[int, int], tuple[Any, Any, types.FrameType]] = {}


def _template() -> Any:
    yield


_NOP = bytes([dis.opmap["NOP"], 0])


def native_frame(code: types.CodeType, globals: dict[str, Any]) -> types.FrameType:
    """A frame object that has the code's file, names, positions and globals. It is the frame of a generator that never
    begins (so that it keeps no caller alive), filled up so that the code's table of positions fits."""
    key = (id(code), id(globals))
    found = _frames.get(key)
    if found is not None:
        return found[2]
    t = _template.__code__
    units = (len(code.co_code) - len(t.co_code)) // 2
    body, positions = t.co_code + _NOP * max(units, 0), code.co_linetable
    while units < 0:        # entries without a position for the rest of a body longer than the code, 8 units each
        n = min(8, -units)
        positions += bytes([0x80 | 15 << 3 | n - 1])
        units += n
    c = t.replace(co_filename=code.co_filename, co_name=code.co_name, co_qualname=code.co_qualname, co_code=body,
                  co_firstlineno=code.co_firstlineno, co_linetable=positions)
    frame = types.FunctionType(c, globals)().gi_frame
    _frames[key] = (code, globals, frame)
    return frame


def _own(tb: types.TracebackType) -> bool:
    name = tb.tb_frame.f_globals.get("__name__")
    return isinstance(name, str) and name.startswith(_HERE)


def trace(f: Frame, exc: BaseException) -> None:
    """exc passes f: the machine's own lines are dropped from its traceback, and f's is put on top."""
    tb = exc.__traceback__
    while tb is not None and _own(tb):
        tb = tb.tb_next
    index = max(f.index - 1, 0)
    frame = native_frame(f.code.original, f.globals)
    exc.__traceback__ = types.TracebackType(tb, frame, f.code.instrs[index].offset, f.code.line(index))

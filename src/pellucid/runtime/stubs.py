"""Python frames that look like the user's: tracebacks, inspect, warnings and logging name the user's line.

A stub is a function that only calls what it is given, compiled with the user's file name, function name and source
positions. Nested stubs, outermost first, put the user's call path on the real stack around a native operation.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any

from ..events.types import UserFrame

_PLAIN = "def f(op, *a): return op(*a)"
_KEYWORDS = "def f(op, *a, **k): return op(*a, **k)"

_codes: dict[tuple[UserFrame, bool], types.CodeType] = {}


def code_of(frame: UserFrame, keywords: bool) -> types.CodeType:
    """The stub's code for a user position; made once."""
    code = _codes.get((frame, keywords))
    if code is None:
        tree = ast.parse(_KEYWORDS if keywords else _PLAIN)
        line, end = frame.line, frame.end_line or frame.line
        col, end_col = (frame.col, frame.end_col) if frame.col is not None and frame.end_col is not None else (0, 0)
        for node in ast.walk(tree):
            if hasattr(node, "lineno"):
                node.lineno, node.end_lineno = line, end  # type: ignore[attr-defined]
                node.col_offset, node.end_col_offset = col, end_col  # type: ignore[attr-defined]
        module = compile(tree, frame.file, "exec", dont_inherit=True)
        code = next(c for c in module.co_consts if isinstance(c, types.CodeType))
        name = frame.function.rpartition(".")[2]
        code = _codes[frame, keywords] = code.replace(co_name=name, co_qualname=frame.function)
    return code


def stub(frame: UserFrame, globals_: dict[str, Any], keywords: bool) -> Callable[..., Any]:
    """A function whose frame says: the user's file, line, function and globals."""
    return types.FunctionType(code_of(frame, keywords), globals_)


def stubs(frames: Sequence[UserFrame], globals_: Sequence[dict[str, Any]], keywords: bool) -> list[Callable[..., Any]]:
    """One stub a frame, outermost first. Call the first with the others, then the operation and its arguments."""
    return [stub(f, g, keywords) for f, g in zip(frames, globals_)]

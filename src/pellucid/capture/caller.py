"""Built-in functions that look at the frame of their caller, answered from an interpreted frame of plain objects."""

from __future__ import annotations
import __future__

import functools
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

from .domain import Domain
from .executor import handled
from .frames import UNBOUND, Frame
from .interpreted import InterpretedGenerator, enter
from .tracebacks import native_frame


def slots_as_dict(f: Frame) -> dict[str, Any]:
    """What locals() gives in f: variables that have a value; cells by their contents."""
    if f.namespace is not None:
        return f.namespace
    out, cells = {}, f.code.cells
    for i, (name, v) in enumerate(zip(f.code.slots, f.locals)):
        if i in cells and type(v) is types.CellType:
            try:
                v = v.cell_contents
            except ValueError:
                continue
        if v is not UNBOUND:
            out[name] = v
    return out


def _super(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    if args or keywords:
        return NotImplemented
    if not f.code.argcount:
        raise RuntimeError("super(): no arguments")
    me = f.locals[0]
    if 0 in f.code.cells and type(me) is types.CellType:
        me = dom.cell_get(f, me)
    if me is UNBOUND:
        raise RuntimeError("super(): arg[0] deleted")
    if "__class__" not in f.code.slots[len(f.code.slots) - f.code.nfree :]:
        raise RuntimeError("super(): __class__ cell not found")
    cls = dom.cell_get(f, f.locals[f.code.slot("__class__")])
    if cls is UNBOUND:
        raise RuntimeError("super(): empty __class__ cell")
    return super(cls, me)


def _locals(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    return NotImplemented if args or keywords else slots_as_dict(f)


def _dir(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    return NotImplemented if args or keywords else sorted(slots_as_dict(f))


def _globals(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    return NotImplemented if args or keywords else f.globals


FUTURES = functools.reduce(operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))
"""Flags of `from __future__ import ...`, which compile(), eval() and exec() take from the code that calls them."""


def _evaluate(fn: Any, mode: str) -> Any:
    def rule(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
        if not args or len(args) > 3:
            return NotImplemented
        source, *rest = args
        space = rest[0] if rest else keywords.pop("globals", None)
        names = rest[1] if len(rest) > 1 else keywords.pop("locals", None)
        if space is None:
            space, names = f.globals, slots_as_dict(f) if names is None else names
        if isinstance(source, str | bytes | bytearray):
            if mode == "eval":
                source = source.lstrip(" \t") if isinstance(source, str) else source.lstrip(b" \t")
            source = compile(source, "<string>", mode, f.code.flags & FUTURES, True)
        return fn(source, space, *(() if names is None else (names,)), **keywords)

    return rule


def _compile(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    if len(args) > 4 or "dont_inherit" in keywords:
        return NotImplemented
    if len(args) == 4:
        args[3] |= f.code.flags & FUTURES
    else:
        keywords["flags"] = keywords.get("flags", 0) | f.code.flags & FUTURES
    return compile(*args, dont_inherit=True, **keywords)


def _exc_info(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    exc = handled(f)
    if exc is None:
        return NotImplemented
    return type(exc), exc, exc.__traceback__


def _exception(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    exc = handled(f)
    return NotImplemented if exc is None else exc


def _frame_below(f: Frame, depth: int) -> Frame | None:
    g: Frame | None = f
    while g is not None and depth > 0:
        g, depth = g.back, depth - 1
    return g


def _getframe(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    g = _frame_below(f, args[0] if args else 0)
    return NotImplemented if g is None else native_frame(g.code.original, g.globals)


def _getframemodulename(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    g = _frame_below(f, args[0] if args else keywords.get("depth", 0))
    return NotImplemented if g is None else g.globals.get("__name__")


def _next(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    if len(args) != 1 or type(args[0]) is not InterpretedGenerator or args[0].record.state == "done":
        return NotImplemented
    return enter(args[0].record, None)


def _send(dom: Domain, f: Frame, args: list[Any], keywords: dict[str, Any]) -> Any:
    if len(args) != 2 or type(args[0]) is not InterpretedGenerator or args[0].record.state == "done":
        return NotImplemented
    return enter(args[0].record, args[1])


CALLER_READING: dict[int, Callable[[Domain, Frame, list[Any], dict[str, Any]], Any]] = {
    id(super): _super, id(locals): _locals, id(vars): _locals, id(dir): _dir, id(globals): _globals,
    id(eval): _evaluate(eval, "eval"), id(exec): _evaluate(exec, "exec"), id(compile): _compile,
    id(sys.exc_info): _exc_info,
    id(sys._getframe): _getframe, id(next): _next, id(InterpretedGenerator.send): _send,
}
"""Function by identity -> what it answers for the frame f; NotImplemented: the function itself answers."""
for _name, _rule in (("exception", _exception), ("_getframemodulename", _getframemodulename)):
    if hasattr(sys, _name):
        CALLER_READING[id(getattr(sys, _name))] = _rule

"""Code as text, one line an instruction, without addresses."""

from __future__ import annotations

import types
from typing import Any

from .effects import EFFECTS, JUMP_EFFECTS
from .flow import READS, WRITES
from .types import CallArg, Code, Instr

_NO_ARG = frozenset(op for op in EFFECTS if op not in JUMP_EFFECTS and not callable(EFFECTS[op])) - {
    "LOAD_CONST", "LOAD_NAME", "STORE_NAME", "DELETE_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "STORE_GLOBAL",
    "DELETE_GLOBAL", "LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "UNARY", "BINARY", "COMPARE", "IS", "CONTAINS",
    "CONVERT_VALUE", "IMPORT_NAME", "IMPORT_FROM", "COPY_FREE_VARS", "UNSUPPORTED", "YIELD_VALUE"}
_FLAGS = ((1, "defaults"), (2, "kwdefaults"), (4, "annotations"), (8, "closure"))


def _arg(code: Code, instr: Instr) -> str:
    op, arg = instr.op, instr.arg
    if op in READS or op in WRITES:
        return code.slots[arg]
    if op in JUMP_EFFECTS:
        return f"-> {arg}"
    if op in ("UNARY", "BINARY", "COMPARE"):
        return arg.__name__
    if op in ("IS", "CONTAINS"):
        return "not" if arg else ""
    if op == "CALL":
        assert isinstance(arg, CallArg)
        names = "".join(f" {n}=" for n in arg.keywords)
        return f"{arg.positional}{names}{' method' if arg.method else ''}"
    if op == "MAKE_FUNCTION":
        return " ".join(n for bit, n in _FLAGS if arg & bit)
    if op == "YIELD_VALUE":
        return "" if arg is None else f"from {arg}"
    if op in _NO_ARG:
        return ""
    return _constant(arg) if op == "LOAD_CONST" else str(arg)


def _constant(value: Any) -> str:
    if isinstance(value, types.CodeType):
        return f"<code {value.co_qualname}>"
    if isinstance(value, tuple):
        return f"({', '.join(map(_constant, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(_constant, value)))}}})"
    return repr(value)


def to_text(code: Code) -> str:
    """Signature, variables, source lines, and `index op argument`, with the handler as `! target depth [lasti]`."""
    lines = [f"code {code.qualname}  args={code.argcount} posonly={code.posonly} kwonly={code.kwonly}"
             f"{' *args' if code.has_varargs else ''}{' **kwargs' if code.has_varkw else ''}"
             f"{' generator' if code.is_generator else ''}",
             f"slots {' '.join(code.slots)}" + (f"  cells {' '.join(code.slots[i] for i in sorted(code.cells))}"
                                                if code.cells else "")]
    line = None
    for i, instr in enumerate(code.instrs):
        text = f"{i:4}  {instr.op} {_arg(code, instr)}".rstrip()
        if instr.handler is not None:
            h = instr.handler
            text = f"{text:48} ! {h.target} {h.depth}{' lasti' if h.push_lasti else ''}"
        if (here := code.position(i).line) != line and here is not None:
            line = here
            lines.append(f"line {line}")
        lines.append(text)
    return "\n".join(lines) + "\n"

"""Loop programs and scalar expressions as text for people."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..shapes.dim import Size
from .types import (
    Axis,
    Buffer,
    Expr,
    Extern,
    Index,
    Literal,
    Load,
    Loop,
    Map,
    Program,
    Reduce,
    Scan,
    Scatter,
    SizeOf,
    Var,
    View,
)

SHORT = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16", torch.bfloat16: "bf16", torch.int8: "i8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool",
         torch.complex64: "c64", torch.complex128: "c128"}
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">",
          "ge": ">=", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}


def dtype_text(dtype: torch.dtype) -> str:
    return SHORT.get(dtype, str(dtype).removeprefix("torch."))


def sizes_text(sizes: Sequence[Size]) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"


def axis_text(a: Axis) -> str:
    return f"{a.name}_{a.id}"


def axes_text(axes: Sequence[Axis]) -> str:
    return ", ".join(f"{axis_text(a)}<{a.size}" for a in axes)


def buffer_text(b: Buffer) -> str:
    index = "" if b.index is None else f" {b.index}"
    return f"b{b.id}: {dtype_text(b.dtype)}{sizes_text(b.shape)} strides {sizes_text(b.strides)} {b.space}{index}"


def view_text(v: View, index: Sequence[str] | None = None) -> str:
    """`b3[i*64 + j]`: the address in elements of the buffer; without an index the window's shape and strides."""
    if index is None:
        offset = "" if v.offset == 0 else f" + {v.offset}"
        return f"b{v.buffer}{offset}:{dtype_text(v.dtype)}{sizes_text(v.shape)} strides {sizes_text(v.strides)}"
    parts = [] if v.offset == 0 else [str(v.offset)]
    for i, s in zip(index, v.strides):
        if s == 0 or i == "0":
            continue
        parts.append(i if s == 1 else f"{_tight(i)}*{_tight(str(s))}")
    return f"b{v.buffer}[{' + '.join(parts) or '0'}]"


def _tight(text: str) -> str:
    return text if text.replace("_", "").isalnum() else f"({text})"


def expr_text(e: Expr) -> str:
    return _expr(e, {})


def _expr(e: Expr, memo: dict[int, str]) -> str:
    if id(e) not in memo:
        memo[id(e)] = _expr_text(e, memo)
    return memo[id(e)]


def _expr_text(e: Expr, memo: dict[int, str]) -> str:
    if isinstance(e, Literal):
        plain = e.dtype in (torch.int64, torch.float32, torch.bool)
        return repr(e.value) if plain else f"{e.value!r}:{dtype_text(e.dtype)}"
    if isinstance(e, SizeOf):
        return f"<{e.size}>"
    if isinstance(e, Index):
        return axis_text(e.axis)
    if isinstance(e, Var):
        return f"v{e.id}"
    if isinstance(e, Load):
        text = view_text(e.view, [_expr(i, memo) for i in e.index])
        if e.mask is not None:
            text += f" if {_expr(e.mask, memo)} else {e.other.value if e.other else '?'}"
            text = f"({text})"
        return text
    args = [_expr(a, memo) for a in e.args]
    if e.fn in _INFIX and len(args) == 2:
        return f"({args[0]} {_INFIX[e.fn]} {args[1]})"
    if e.fn == "cast":
        return f"{dtype_text(e.dtype)}({args[0]})"
    return f"{e.fn}({', '.join(args)})"


def loop_text(loop: Loop) -> str:
    """One line: what is written, over which axes, and the value."""
    if isinstance(loop, Extern):
        params = "".join(f", {k}={v!r}" for k, v in loop.params)
        ins = ", ".join(view_text(v) for v in loop.ins)
        return f"{', '.join(view_text(v) for v in loop.outs)} = {loop.kind}({ins}{params})"
    if isinstance(loop, Scatter):
        at = view_text(loop.out, [expr_text(i) for i in loop.index])
        return f"scatter {axes_text(loop.axes)}: {at} {loop.combine or ''}= {expr_text(loop.value)}"
    at = view_text(loop.out, [axis_text(a) for a in loop.axes])
    if isinstance(loop, Map):
        return f"map {axes_text(loop.axes)}: {at} = {expr_text(loop.value)}"
    if isinstance(loop, Reduce):
        how = f"{loop.combiner}:{dtype_text(loop.acc)}"
        return f"reduce {axes_text(loop.axes)} over {axes_text(loop.reduce_axes)}: {at} = {how} {expr_text(loop.value)}"
    if isinstance(loop, Scan):
        along = axis_text(loop.axis)
        return f"scan {axes_text(loop.axes)} along {along}: {at} = {loop.combiner} {expr_text(loop.value)}"
    raise TypeError(f"{type(loop).__name__} is no loop")


def to_text(program: Program) -> str:
    """The whole program, one buffer or loop a line."""
    lines = [buffer_text(b) for b in program.buffers]
    lines += [f"{loop_text(loop)}  # call {origin}" for loop, origin in zip(program.loops, program.origins)]
    lines.append("return " + ", ".join(view_text(v) for v in program.outputs))
    return "\n".join(lines) + "\n"

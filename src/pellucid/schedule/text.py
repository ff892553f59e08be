"""Kernels and plans as text for people; and the key under which equal kernels are one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from ..ir.text import axis_text, buffer_text, dtype_text, expr_text, sizes_text, view_text
from ..ir.types import Call as CallExpr
from ..ir.types import Expr, Fold, For, Kernel, Let, Literal, Load, Running, SizeOf, Stmt, View, Write
from ..ir.types import Index as IndexExpr
from .types import KernelStep, NewOutput, Plan, ViewOfInput


def statement_lines(body: Sequence[Stmt], indent: str = "  ") -> list[str]:
    lines: list[str] = []
    for s in body:
        if isinstance(s, Let):
            lines.append(f"{indent}v{s.var.id}: {dtype_text(s.var.dtype)} = {expr_text(s.value)}")
        elif isinstance(s, Write):
            at = view_text(s.view, [expr_text(i) for i in s.index])
            lines.append(f"{indent}{at} {s.combine or ''}= {expr_text(s.value)}")
        elif isinstance(s, For):
            lines.append(f"{indent}{s.mode} {axis_text(s.axis)} < {s.axis.size}:")
            lines += statement_lines(s.body, indent + "  ")
        elif isinstance(s, Fold):
            axes = ", ".join(f"{axis_text(a)} < {a.size}" for a in s.axes)
            lines.append(f"{indent}fold{' vector' if s.vector else ''} {axes}:")
            lines += statement_lines(s.body, indent + "  ")
            for a in s.accumulators:
                lines.append(f"{indent}  v{a.var.id}: {dtype_text(a.var.dtype)} {a.combiner}= {expr_text(a.value)}")
        else:
            lines.append(f"{indent}running {axis_text(s.axis)} < {s.axis.size}:")
            lines.append(f"{indent}  v{s.var.id}: {dtype_text(s.var.dtype)} {s.combiner}= {expr_text(s.value)}")
            lines += statement_lines(s.body, indent + "  ")
    return lines


def kernel_text(kernel: Kernel) -> str:
    """The kernel as indented statements."""
    head = f"kernel {kernel.name}({', '.join(f'b{b.id}' for b in kernel.buffers)})"
    if kernel.symbols:
        head += f" sizes {sizes_text(kernel.symbols)}"
    rows = [f"  row b{r.id}: {dtype_text(r.dtype)}{sizes_text(r.shape)}" for r in kernel.rows]
    return "\n".join([head, *rows, *statement_lines(kernel.body)]) + "\n"


def to_text(plan: Plan) -> str:
    """The whole plan: buffers with their places, steps in order, outputs and commits."""
    places = {p.buffer: f" at {p.offset} for {p.nbytes} bytes, steps {p.first}..{p.last}" for p in plan.places}
    lines = [buffer_text(b) + places.get(b.id, "") for b in plan.buffers]
    lines.append(f"arena {plan.arena_bytes} bytes")
    for k, step in enumerate(plan.steps):
        if isinstance(step, KernelStep):
            flags = " can raise" if step.can_raise else ""
            lines.append(f"step {k}: {step.extent} iterations, grain {step.grain}{flags}")
            lines.append(kernel_text(step.kernel).rstrip())
        else:
            e = step.extern
            lines.append(f"step {k}: {', '.join(view_text(v) for v in e.outs)} = "
                         f"{e.kind}({', '.join(view_text(v) for v in e.ins)})")
    for k, o in enumerate(plan.outputs):
        if isinstance(o, NewOutput):
            what = f"b{o.buffer}"
        else:
            what = f"input {o.input}" if isinstance(o, ViewOfInput) else f"output {o.output}"
        whole = " itself" if getattr(o, "whole", False) else ""
        shape = f"{sizes_text(o.shape)} strides {sizes_text(o.strides)}"
        lines.append(f"output {k}: {what}{whole} {shape} offset {o.offset}")
    lines += [f"commit input {c.input} = b{c.buffer}" for c in plan.commits]
    lines += [f"needs {p}" for p in plan.preconditions]
    lines += [f"steps {a} and {b} not fused: {why}" for a, b, why in plan.not_fused]
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------ keys
def kernel_key(kernel: Kernel) -> str:
    """A hash of all that decides a kernel's code: statements, dtypes, strides; buffers by their place in the call."""
    names = {b.id: f"p{k}" for k, b in enumerate(kernel.buffers)}
    names.update({r.id: f"r{k}:{r.dtype}:{r.shape}" for k, r in enumerate(kernel.rows)})
    parts: list[str] = [str(kernel.symbols), str(kernel.can_raise), str(kernel.origins[:1]) if kernel.can_raise else ""]
    for s in kernel.body:
        _statement_key(s, names, parts)
    return hashlib.blake2s("\n".join(parts).encode(), digest_size=5).hexdigest()


def _statement_key(s: Stmt, names: dict[int, str], parts: list[str]) -> None:
    if isinstance(s, Let):
        parts.append(f"let {s.var.id} {_key(s.value, names)}")
    elif isinstance(s, Write):
        index = ",".join([_key(i, names) for i in s.index])
        parts.append(f"write {_view_key(s.view, names)}[{index}] {s.combine} {_key(s.value, names)}")
    elif isinstance(s, For):
        parts.append(f"for {s.axis.id} {s.axis.size} {s.mode}")
        for x in s.body:
            _statement_key(x, names, parts)
        parts.append("end")
    elif isinstance(s, Fold):
        parts.append(f"fold {[(a.id, str(a.size)) for a in s.axes]} {s.vector}")
        for x in s.body:
            _statement_key(x, names, parts)
        parts.extend([f"acc {a.var.id} {a.var.dtype} {a.combiner} {_key(a.value, names)}" for a in s.accumulators])
    elif isinstance(s, Running):
        parts.append(f"running {s.axis.id} {s.axis.size} {s.var.id} {s.var.dtype} {s.combiner} {_key(s.value, names)}")
        for x in s.body:
            _statement_key(x, names, parts)
        parts.append("end")


def _view_key(v: View, names: dict[int, str]) -> str:
    return f"{names[v.buffer]}:{v.dtype}:{v.strides}:{v.offset}"


def _key(e: Expr, names: dict[int, str]) -> str:
    if isinstance(e, CallExpr):
        return f"{e.fn}:{e.dtype}({','.join([_key(a, names) for a in e.args])})"
    if isinstance(e, Load):
        text = f"{_view_key(e.view, names)}[{','.join([_key(i, names) for i in e.index])}]"
        return text if e.mask is None else f"{text}if({_key(e.mask, names)}){e.other}"
    if isinstance(e, IndexExpr):
        return f"i{e.axis.id}"
    if isinstance(e, Literal):
        return f"{e.value!r}:{e.dtype}"
    return f"<{e.size}>" if isinstance(e, SizeOf) else f"v{e.id}:{e.dtype}"

"""What must hold of a plan and its kernels, checked in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from ..ir.types import Axis, Buffer, BufferId, Expr, Fold, For, Kernel, Let, Running, SizeOf, Stmt, View, Write
from ..ir.verify import Checker, Malformed
from ..ir.walk import walk
from ..shapes.dim import Dim, Size, Sym, evaluate, symbols
from .memory import nbytes, same_points, touched
from .text import kernel_text
from .types import KernelStep, NewOutput, Plan, ViewOfInput, ViewOfOutput

MODES = ("parallel", "vector", "serial")


def verify(plan: Plan, values: Mapping[Sym, int] | None = None) -> None:
    """Raise Malformed naming the step and the rule that it breaks. `values`: sizes to check the arena with, beside the
    symbols' hints."""
    buffers = {b.id: b for b in plan.buffers}
    for k, step in enumerate(plan.steps):
        if isinstance(step, KernelStep):
            verify_kernel(step.kernel)
            for b in step.kernel.buffers:
                if buffers.get(b.id) != b:
                    raise Malformed(f"step {k}: buffer {b.id} of kernel {step.kernel.name} is not the plan's")
    _order(plan, buffers)
    known = {s for p in plan.places for x in (p.offset, p.nbytes) for s in symbols(x)} | symbols(plan.arena_bytes)
    _arena(plan, buffers, {s: s.hint for s in known})
    if values is not None:
        _arena(plan, buffers, values)


def _order(plan: Plan, buffers: dict[BufferId, Buffer]) -> None:
    defined = {b.id for b in plan.buffers if b.space in ("input", "constant")}
    for k, step in enumerate(plan.steps):
        reads, writes = touched(step)
        for b in (*reads, *writes):
            if b not in buffers:
                raise Malformed(f"step {k}: buffer {b} is not in the plan")
        own = set(writes)
        for b in reads:
            if b not in defined and b not in own:
                raise Malformed(f"step {k}: buffer {b} is read before it is written")
        defined |= own
    placed = {p.buffer for p in plan.places}
    for buffer in plan.buffers:
        if buffer.space == "arena" and buffer.id in defined and buffer.id not in placed:
            raise Malformed(f"arena buffer {buffer.id} has no place")
    for k, o in enumerate(plan.outputs):
        if isinstance(o, NewOutput) and buffers[o.buffer].space != "output":
            raise Malformed(f"output {k}: buffer {o.buffer} does not own its storage")
        if isinstance(o, ViewOfOutput) and not (0 <= o.output < k):
            raise Malformed(f"output {k} is a view of output {o.output}, which is not before it")
        if type(o) not in (NewOutput, ViewOfInput, ViewOfOutput):
            raise Malformed(f"output {k} is a {type(o).__name__}")
    for c in plan.commits:
        if c.buffer not in buffers:
            raise Malformed(f"the commit of input {c.input} names buffer {c.buffer}, which is not in the plan")


def _arena(plan: Plan, buffers: dict[BufferId, Buffer], values: Mapping[Sym, int]) -> None:
    def number(s: Size) -> int:
        return evaluate(s, values)
    spans = []
    for p in plan.places:
        at, n = number(p.offset), number(p.nbytes)
        if at % 64:
            raise Malformed(f"buffer {p.buffer} lies at byte {at}, which is not a multiple of 64")
        if at + n > number(plan.arena_bytes):
            raise Malformed(f"buffer {p.buffer} ends at byte {at + n} of an arena of {number(plan.arena_bytes)}")
        if n != number(nbytes(buffers[p.buffer])):
            raise Malformed(f"buffer {p.buffer} needs {number(nbytes(buffers[p.buffer]))} bytes and has {n}")
        spans.append((at, at + n, p))
    for k, (lo, hi, p) in enumerate(spans):
        for lo2, hi2, q in spans[:k]:
            if max(lo, lo2) < min(hi, hi2) and p.first <= q.last and q.first <= p.last:
                old, new = (p, q) if p.first < q.first else (q, p)
                step = plan.steps[new.first] if new.first < len(plan.steps) else None
                if old.last == new.first and isinstance(step, KernelStep) and same_points(
                        step.kernel, old.buffer, new.buffer):
                    continue
                raise Malformed(f"buffers {p.buffer} and {q.buffer} share memory while both are live")


# ------------------------------------------------------------------ kernels
def verify_kernel(kernel: Kernel) -> None:
    """Scopes of axes and variables, dtypes, listed buffers and symbols, and the forms of loops that printers need."""
    try:
        _KernelChecker(kernel).run()
    except Malformed as e:
        raise Malformed(f"{e}\n  in {kernel_text(kernel)}") from None


class _KernelChecker:
    def __init__(self, kernel: Kernel):
        self.kernel = kernel
        self.buffers = {b.id: b for b in (*kernel.buffers, *kernel.rows)}
        self.symbols: set[Dim] = set(kernel.symbols)
        self.variables: dict[int, torch.dtype] = {}
        self.reads: set[BufferId] = set()
        self.writes: set[BufferId] = set()

    def run(self) -> None:
        k = self.kernel
        self.body(k.body, (), True)
        rows = {r.id for r in k.rows}
        if self.reads - rows != set(k.reads) or self.writes - rows != set(k.writes):
            raise Malformed(f"reads {sorted(self.reads)} and writes {sorted(self.writes)} are not those listed")

    def body(self, body: Sequence[Stmt], axes: tuple[Axis, ...], leading: bool) -> None:
        for s in body:
            self.statement(s, axes, leading and len(body) == 1)

    def statement(self, s: Stmt, axes: tuple[Axis, ...], leading: bool) -> None:
        if isinstance(s, Let):
            self.define(s.var.id, self.expr(s.value, axes))
            if s.value.dtype != s.var.dtype:
                raise Malformed(f"v{s.var.id} of {s.var.dtype} is bound to a value of {s.value.dtype}")
        elif isinstance(s, Write):
            self.write(s, axes)
        elif isinstance(s, For):
            if s.mode not in MODES:
                raise Malformed(f"unknown loop mode {s.mode!r}")
            if s.mode == "parallel" and not leading:
                raise Malformed("a parallel loop stands below or beside something else")
            if s.mode == "vector" and any(isinstance(x, For) for x in s.body):
                raise Malformed("a vector loop contains another loop")
            if s.mode == "vector" and any(isinstance(x, Fold) and x.vector for x in s.body):
                raise Malformed("a vector loop contains a fold that is vectorised itself")
            self.size(s.axis.size)
            self.body(s.body, (*axes, s.axis), leading and s.mode == "parallel")
        elif isinstance(s, Fold):
            for axis in s.axes:
                self.size(axis.size)
            inner = (*axes, *s.axes)
            self.body(s.body, inner, False)
            for a in s.accumulators:
                dtype = self.expr(a.value, inner)
                if dtype != a.var.dtype and not a.combiner.startswith("arg"):
                    raise Malformed(f"v{a.var.id} of {a.var.dtype} accumulates values of {dtype}")
                self.define(a.var.id, a.var.dtype)
        elif isinstance(s, Running):
            self.size(s.axis.size)
            self.expr(s.value, (*axes, s.axis))
            self.define(s.var.id, s.var.dtype)
            self.body(s.body, (*axes, s.axis), False)
        else:
            raise Malformed(f"{type(s).__name__} is no statement")

    def write(self, s: Write, axes: tuple[Axis, ...]) -> None:
        if s.view.buffer not in self.buffers:
            raise Malformed(f"buffer {s.view.buffer} is written but not listed")
        if self.expr(s.value, axes) != s.view.dtype:
            raise Malformed(f"a value of {s.value.dtype} is written to {s.view.dtype}")
        for i in s.index:
            self.expr(i, axes)
        self.view(s.view)
        self.writes.add(s.view.buffer)
        if s.combine is not None:
            self.reads.add(s.view.buffer)

    def define(self, number: int, dtype: torch.dtype) -> None:
        if number in self.variables:
            raise Malformed(f"v{number} is defined twice")
        self.variables[number] = dtype

    def expr(self, e: Expr, axes: tuple[Axis, ...]) -> torch.dtype:
        dtype = Checker(self.buffers, axes, None, self.variables).check(e)
        for x in walk([e]):
            if isinstance(x, SizeOf):
                self.size(x.size)
            elif hasattr(x, "view"):
                self.reads.add(x.view.buffer)
                self.view(x.view)
        return dtype

    def view(self, v: View) -> None:
        for s in (*v.strides, v.offset):
            self.size(s)

    def size(self, s: Size) -> None:
        if isinstance(s, Dim) and s not in self.symbols:
            raise Malformed(f"the size {s} is not among the kernel's symbols")

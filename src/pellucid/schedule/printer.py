"""From a loop nest whose axes are decided to a kernel's statements, in the IR's own types, and its parallel range.

Values used more than once become Lets; what does not depend on an inner loop is computed before it, once a row. Axes
and variables are numbered afresh in each kernel, so that equal code has equal text.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from ..ir.types import (
    Accumulator,
    Axis,
    Buffer,
    BufferId,
    Call,
    Expr,
    Fold,
    For,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Running,
    SizeOf,
    Stmt,
    Var,
    View,
    Write,
)
from ..shapes.dim import Dim, Size, product
from .cost import LOAD_COST, SCALAR_COST, grain
from .nest import Bucket, Nest
from .pool import Store, bits
from .text import kernel_key
from .work import Work, Works

Bound = dict[int, Var]
HALF = (torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class Emitted:
    """A kernel, the number of iterations of its parallel range, and the number below which it is not split."""

    kernel: Kernel
    extent: Size
    grain: Size


class Printer:
    """Prints one kernel. `lanes`: the row axis that is the vector axis, if it is not an inner one."""

    def __init__(self, works: Works, origins: tuple[int, ...], lanes: Axis | None = None):
        self.works, self.pool, self.lanes, self.origins = works, works.pool, lanes, origins
        self.axes: dict[int, Axis] = {}
        self.axis_count = 0
        self.indices: dict[int, Index] = {}
        self.variables: dict[int, Var] = {}
        """The kernel's variable for each variable of the pool (results of reductions)."""
        self.row_vars: Bound = {}
        self.count = 0
        self.buffers: dict[BufferId, None] = {}
        self.reads: dict[BufferId, None] = {}
        self.writes: dict[BufferId, None] = {}
        self.symbols: dict[Dim, None] = {}
        self.checks = False
        self.functions: dict[str, None] = {}

    # ---------------------------------------------------------------- whole kernels
    def nest(self, nest: Nest) -> Emitted:
        rows = [self._axis(a) for a in nest.rows]
        body: list[Stmt] = []
        work: Size = 0
        pending = sorted(nest.row_stores, key=lambda x: x[0])
        for b in nest.buckets:
            while pending and pending[0][0] <= b.phase:
                work = work + self._row_level(body, [pending.pop(0)[1]])
            work = work + self._bucket(body, b)
        if pending:
            work = work + self._row_level(body, [s for _, s in pending])
        if self.lanes is not None:
            body = [For(rows.pop(), tuple(body), "vector")]
            work = work * self.lanes.size
        for r in nest.scratch:
            self._sizes(r.shape)
        kind = "reduce" if any(b.accumulators for b in nest.buckets) else "map"
        return self._finish(tuple(body), rows, work, kind, tuple(nest.scratch))

    def scan(self, w: Work) -> Emitted:
        """Rows of all axes but one, each with a prefix loop."""
        pool = self.pool
        assert w.scan_axis is not None and w.combiner is not None
        rows = [self._axis(a) for a in w.axes if a.id != w.scan_axis.id]
        axis = self._axis(w.scan_axis)
        var = self._new_var(torch.float32 if w.value.dtype in HALF else w.value.dtype)
        number = self.works.new_var()
        self.variables[number] = var
        result = pool.call("cast", (pool.var(number, var.dtype),), w.out.dtype)
        body: list[Stmt] = []
        value = self._ref(pool.call("cast", (w.value,), var.dtype), {})
        work = self._count_work([w.value])
        self._write(body, [Store(w.out, tuple([pool.index(a) for a in w.axes]), result)], {})
        loop = Running(axis, var, w.combiner, value, tuple(body))
        return self._finish((loop,), rows, (work + 2) * axis.size, "scan")

    def scatter(self, w: Work) -> Emitted:
        """Serial loops in the order of the axes; an axis that is itself an index never collides, and may run in any."""
        plain = [i.axis for i in w.index if isinstance(i, Index)]
        others = 0
        for i in w.index:
            others |= 0 if isinstance(i, Index) else self.pool.info[id(i)].axes
        free = [a for a in w.axes if plain.count(a) == 1 and not others >> a.id & 1]
        serial = [a for a in w.axes if a not in free]
        body: list[Stmt] = []
        bound: Bound = {}
        work: Size = self._bind(body, [*w.index, w.value], bound, False)
        self._write(body, [Store(w.out, w.index, w.value, w.combiner)], bound)
        rows = [self._axis(a) for a in free]
        statements = tuple(body)
        if rows:
            work = work * rows[-1].size
            statements = (For(rows.pop(), statements, "vector"),)
        for a in reversed(serial):
            work = work * a.size
            statements = (For(self._axis(a), statements, "serial"),)
        return self._finish(statements, rows, work, "scatter")

    def _finish(self, statements: tuple[Stmt, ...], parallel: list[Axis], work: Size, kind: str,
                scratch: tuple[Buffer, ...] = ()) -> Emitted:
        for a in reversed(parallel):
            statements = (For(a, statements, "parallel"),)
        known = self.works.buffers
        buffers = tuple([known[b] for b in self.buffers if b in known])
        kernel = Kernel("", statements, buffers, tuple(self.symbols), scratch,
                        tuple([b for b in self.reads if b in known]), tuple([b for b in self.writes if b in known]),
                        self.origins, self.checks)
        top = sorted(self.functions, key=lambda f: -SCALAR_COST.get(f, 1))[:3]
        named = replace(kernel, name="_".join([kind, *top, kernel_key(kernel)]))
        return Emitted(named, product([a.size for a in parallel]), grain(work))

    # ---------------------------------------------------------------- levels
    def _row_level(self, body: list[Stmt], stores: list[Store]) -> Size:
        """Stores done once a row (or, in a flat pointwise kernel, once a point)."""
        work = self._bind(body, [e for s in stores for e in (s.value, *s.index)], self.row_vars, False)
        self._write(body, stores, self.row_vars)
        return work + len(stores)

    def _bucket(self, body: list[Stmt], b: Bucket) -> Size:
        own = bits(b.axes)
        for a in b.axes:  # loops of different phases may share an axis of the nest; each gets its own here
            self.axes.pop(a.id, None)
            self.indices.pop(a.id, None)
        axes = tuple([self._axis(a) for a in b.axes])
        roots = [e for s in b.stores for e in (s.value, *s.index)] + [e for _, _, e in b.accumulators]
        outer = self._bind(body, self._hoistable(roots, own), self.row_vars, True)
        inner: list[Stmt] = []
        bound = dict(self.row_vars)
        work = self._bind(inner, roots, bound, False)
        accumulators = [(v, c, self._ref(e, bound)) for v, c, e in b.accumulators]
        self._write(inner, b.stores, bound)
        if accumulators or self.lanes is not None:
            done = []
            for v, c, e in accumulators:
                self.variables[v.id] = self._new_var(v.dtype)
                done.append(Accumulator(self.variables[v.id], c, e))
            body.append(Fold(axes, tuple(inner), tuple(done), self.lanes is None and not b.ordered))
        else:
            statements = tuple(inner)
            for k, a in enumerate(reversed(axes)):
                statements = (For(a, statements, "serial" if k else "vector"),)
            body.extend(statements)
        return outer + (work + len(b.stores) + len(accumulators)) * product([a.size for a in axes])

    def _write(self, body: list[Stmt], stores: list[Store], bound: Bound) -> None:
        """All values first, then all writes: a write may go to the memory of something that another value loads."""
        values = [self._ref(s.value, bound) for s in stores]
        if len(stores) > 1:
            for k, (s, v) in enumerate(zip(stores, values)):
                if not isinstance(v, Var) and not isinstance(v, Literal):
                    var = bound.get(id(s.value))
                    if var is None:
                        var = bound[id(s.value)] = self._new_var(v.dtype)
                        body.append(Let(var, v))
                    values[k] = var
        for s, v in zip(stores, values):
            self.buffers.setdefault(s.view.buffer)
            self.writes.setdefault(s.view.buffer)
            if s.combine is not None:
                self.reads.setdefault(s.view.buffer)
            self._view_sizes(s.view)
            body.append(Write(s.view, tuple([self._ref(i, bound) for i in s.index]), v, s.combine))

    # ---------------------------------------------------------------- variables
    def _hoistable(self, roots: list[Expr], own: int) -> list[Expr]:
        """The largest parts of the roots that do not depend on the axes `own`."""
        found: list[Expr] = []
        seen: set[int] = set()
        stack = list(reversed(roots))
        info = self.pool.info
        while stack:
            e = stack.pop()
            if (not isinstance(e, Call) and not isinstance(e, Load)) or id(e) in seen:
                continue
            seen.add(id(e))
            facts = info[id(e)]
            if not own & facts.axes:
                found.append(e)
            elif isinstance(e, Call):
                stack.extend(reversed(e.args))
            elif not facts.normal:
                stack.extend(reversed(e.index))
                if e.mask is not None:
                    stack.append(e.mask)
        return found

    def _bind(self, body: list[Stmt], roots: list[Expr], bound: Bound, all_roots: bool) -> int:
        """Add Lets for what the roots use more than once (with `all_roots`, for each root). Returns the work."""
        uses: dict[int, int] = {}
        order: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(r, False) for r in reversed(roots)]
        work = 0
        info = self.pool.info
        while stack:
            e, leaving = stack.pop()
            if leaving:
                order.append(e)
                continue
            if not isinstance(e, Call) and not isinstance(e, Load):
                continue
            k = id(e)
            n = uses.get(k, 0)
            uses[k] = n + 1
            if n or k in bound:
                continue
            stack.append((e, True))
            if isinstance(e, Call):
                work += SCALAR_COST.get(e.fn, 1)
                self.functions.setdefault(e.fn)
                self.checks = self.checks or e.fn == "check_index"
                for a in reversed(e.args):
                    stack.append((a, False))
            else:
                work += LOAD_COST
                if not info[k].normal:
                    if e.mask is not None:
                        stack.append((e.mask, False))
                    for i in reversed(e.index):
                        stack.append((i, False))
        forced = {id(r) for r in roots} if all_roots else ()
        for e in order:
            k = id(e)
            if (uses[k] > 1 or k in forced) and k not in bound:
                value = self._ref(e, bound)
                if not isinstance(value, Var):
                    var = self._new_var(e.dtype)
                    body.append(Let(var, value))
                    bound[k] = var
        return work

    def _count_work(self, roots: list[Expr]) -> int:
        return sum(self.pool.info[id(r)].cost for r in roots)

    def _ref(self, e: Expr, bound: Bound) -> Expr:
        """The expression as it is printed: bound parts as variables, axes renumbered."""
        found = bound.get(id(e))
        if found is not None:
            return found
        if isinstance(e, Call):
            return Call(e.fn, tuple([self._ref(a, bound) for a in e.args]), e.dtype)
        if isinstance(e, Index):
            index = self.indices.get(e.axis.id)
            if index is None:
                index = self.indices[e.axis.id] = Index(self._axis(e.axis))
            return index
        if isinstance(e, Load):
            self.buffers.setdefault(e.view.buffer)
            self.reads.setdefault(e.view.buffer)
            self._view_sizes(e.view)
            mask = None if e.mask is None else self._ref(e.mask, bound)
            return Load(e.view, tuple([self._ref(i, bound) for i in e.index]), mask, e.other)
        if isinstance(e, Var):
            return self.variables[e.id]
        if isinstance(e, SizeOf):
            self._sizes((e.size,))
        return e

    # ---------------------------------------------------------------- numbering
    def _axis(self, a: Axis) -> Axis:
        new = self.axes.get(a.id)
        if new is None:
            new = self.axes[a.id] = Axis(self.axis_count, a.size, a.name)
            self.axis_count += 1
            self._sizes((a.size,))
        return new

    def _new_var(self, dtype: torch.dtype) -> Var:
        self.count += 1
        return Var(self.count - 1, dtype)

    def _sizes(self, sizes: tuple[Size, ...]) -> None:
        for s in sizes:
            if isinstance(s, Dim):
                self.symbols.setdefault(s)

    def _view_sizes(self, v: View) -> None:
        self._sizes(v.strides)
        self._sizes((v.offset,))

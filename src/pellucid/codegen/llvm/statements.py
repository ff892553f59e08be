"""Statements of a kernel as control flow: vector loops with a masked tail, serial loops, prefix loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from ...ir.types import Axis, Fold, For, Let, Running, Stmt, Write
from ...shapes.dim import hint
from . import cost, fold
from .expr import cast, value
from .function import I64, Function
from .loads import combine_values, store
from .types import V, vec

Emit = Callable[[list[str]], list[str]]
"""A loop body: from names of the carried values to their new names."""
Carried = Sequence[tuple[str, str]]
"""LLVM type and first value of what a loop carries."""


def statement(f: Function, s: Stmt) -> None:
    """Emit one statement at the current place."""
    if isinstance(s, Let):
        f.vars[s.var.id] = value(f, s.value)
    elif isinstance(s, Write):
        store(f, s, value(f, s.value))
    elif isinstance(s, For):
        if s.mode == "vector" and f.lanes == 1 and f.vector_axis is None:
            vector_for(f, s)
        else:
            serial_for(f, s)
    elif isinstance(s, Fold):
        fold.fold(f, s)
    elif isinstance(s, Running):
        running(f, s)
    else:
        raise TypeError(f"not a statement: {s!r}")


def block(f: Function, stmts: Sequence[Stmt]) -> None:
    for s in stmts:
        statement(f, s)


# ------------------------------------------------------------------ loops
def guarded(f: Function, lo: V, hi: V, emit: Callable[[], None]) -> None:
    """emit() if lo < hi; nothing it computes is visible after."""
    if lo.value is not None and hi.value is not None:
        if lo.value < hi.value:
            emit()
        return
    some, none = f.fresh("some"), f.fresh("none")
    f.line(f"br i1 {f.icmp('slt', lo, hi)}, label %{some}, label %{none}")
    f.block(some)
    emit()
    f.line(f"br label %{none}")
    f.block(none)


def counted(f: Function, lo: V, hi: V, step: int, carried: Carried, body: Callable[[V, list[str]], list[str]],
            runs: bool = True) -> list[str]:
    """for (i = lo; i < hi; i += step), at the current loop level; the carried values' names afterwards.

    runs: the loop surely runs once or more. The caller has pushed the level's scope.
    """
    known = False
    if lo.value is not None and hi.value is not None:
        known = True
        if lo.value >= hi.value:
            return [init for _, init in carried]
        if hi.value - lo.value <= step:
            return body(lo, [init for _, init in carried])
    head, done = f.fresh("loop"), f.fresh("done")
    before = f.label
    if not runs and not known:
        f.line(f"br i1 {f.icmp('slt', lo, hi)}, label %{head}, label %{done}")
    else:
        f.line(f"br label %{head}")
    f.block(head)
    # the phis' back edges are known only after the body: leave a place
    phis: list[str] = []
    f.lines.append(phis)
    i = V(f"%{f.fresh('i')}", I64, 1, f.depth)
    names = [f"%{f.fresh('c')}" for _ in carried]
    new = body(i, list(names))
    nxt = f.here(f"add i64 {i.name}, {step}")
    latch = f.label
    phis.append(f"  {i.name} = phi i64 [{lo.name}, %{before}], [{nxt}, %{latch}]")
    for (t, init), name, n in zip(carried, names, new):
        phis.append(f"  {name} = phi {t} [{init}, %{before}], [{n}, %{latch}]")
    f.line(f"br i1 {f.here(f'icmp slt i64 {nxt}, {hi.name}')}, label %{head}, label %{done}")
    f.block(done)
    if runs or known:
        return new
    return [f.here(f"phi {t} [{init}, %{before}], [{n}, %{latch}]") for (t, init), n in zip(carried, new)]


def in_axis(f: Function, axis: Axis, i: V) -> None:
    f.axes[axis.id] = i


def here(f: Function, v: V) -> V:
    """The value as one that varies at the current level, so that what depends on it is not placed before the loop."""
    return V(v.name, v.dtype, 1, f.depth)


def serial_for(f: Function, s: For) -> None:
    """A loop in order, in the lanes of an enclosing vector loop if there is one."""
    n = f.size(s.axis.size)

    def emit() -> None:
        f.push(cost.written(s.body))

        def body(i: V, _: list[str]) -> list[str]:
            in_axis(f, s.axis, i)
            block(f, s.body)
            return []

        counted(f, f.const(0), n, 1, (), body)
        f.pop()

    guarded(f, f.const(0), n, emit)


def vector_for(f: Function, s: For) -> None:
    """A loop in vector lanes: whole vectors, then the rest under a mask."""
    n = f.size(s.axis.size)
    vector_range(f, s.axis, f.const(0), n, s.body, aligned=True)


def vector_range(f: Function, axis: Axis, lo: V, hi: V, body: tuple[Stmt, ...], aligned: bool) -> None:
    """The body for axis = lo..hi in lanes."""
    lanes = pick_lanes(f, body, axis)

    def emit() -> None:
        f.push(cost.written(body))

        def once(names: list[str]) -> list[str]:
            block(f, body)
            return names

        in_lanes(f, axis, lo, hi, lanes, (), once, once, aligned)
        f.pop()

    guarded(f, lo, hi, emit)


def pick_lanes(f: Function, body: tuple[Stmt, ...], axis: Axis) -> int:
    """Lanes of a vector loop over `axis`: several 32-byte registers of the main element type in flight, the more the
    shorter the body; fewer where the axis is short, lanes are loaded one by one, or a reshaped axis must not be cut."""
    lanes = max(min(f.cpu.vector_bytes, 32) // cost.element_bytes(body), 2)
    work = cost.cost(body)
    if cost.has_loop(body):
        lanes *= 8 if work <= 4 else 4 if work <= 12 else 2
    else:
        lanes *= 4 if work <= 16 else 2
    lanes = min(lanes, 64)
    unit = cost.lane_limit(body, axis)
    least = 4 if isinstance(axis.size, int) else 8
    while lanes > least and (lanes > unit or lanes >= 2 * hint(axis.size)):
        lanes //= 2
    return lanes


def in_lanes(f: Function, axis: Axis, lo: V, hi: V, lanes: int, carried: Carried, full: Emit, rest: Emit,
             aligned: bool, exact: bool = False) -> list[str]:
    """Whole vectors by `full`, then what is left by `rest` with f.count set; carried values go through both.

    exact: hi - lo is a multiple of the lanes, so nothing is left. The caller has pushed the scope and made sure that
    lo < hi.
    """
    span = f.isub(hi, lo)
    whole = (span if exact else f.const(span.value // lanes * lanes) if span.value is not None
             else f.ibin("and", span, f.const(-lanes)))
    mid = f.iadd(lo, whole)
    outer = f.lanes, f.vector_axis, f.vector_aligned, dict(f.vars)
    f.lanes, f.vector_axis, f.vector_aligned = lanes, axis.id, aligned

    def body(i: V, names: list[str]) -> list[str]:
        f.axes[axis.id] = i
        return full(names)

    results = counted(f, lo, mid, lanes, carried, body, runs=False)
    f.vars = dict(outer[3])
    f.forget()
    if not exact and (mid.value is None or hi.value is None or mid.value < hi.value):
        f.axes[axis.id] = here(f, mid)
        f.count = f.isub(hi, mid)
        if f.count.value is not None:
            results = rest(results)
        else:
            results = _if(f, f.icmp("slt", mid, hi), carried, results, rest)
        f.count = None
        f.forget()
    f.lanes, f.vector_axis, f.vector_aligned = outer[:3]
    f.vars = outer[3]
    return results


def _if(f: Function, condition: str, carried: Carried, before: list[str], emit: Emit) -> list[str]:
    """The carried values after emit() if the condition holds, else as before."""
    then, done = f.fresh("then"), f.fresh("done")
    start = f.label
    f.line(f"br i1 {condition}, label %{then}, label %{done}")
    f.block(then)
    new = emit(before)
    end = f.label
    f.line(f"br label %{done}")
    f.block(done)
    return [f.here(f"phi {t} [{a}, %{start}], [{b}, %{end}]") for (t, _), a, b in zip(carried, before, new)]


def running(f: Function, s: Running) -> None:
    """A prefix loop: the running value is carried from point to point, sums and products of float32 in float64."""
    n = f.size(s.axis.size)
    c = fold.combiner(s.combiner, s.var.dtype)
    dtype = torch.float64 if c.wide else c.dtype
    if c.wide:
        c = fold.combiner(s.combiner, dtype)
    lanes = f.lanes

    def emit() -> None:
        f.push(cost.written(s.body))

        def body(i: V, names: list[str]) -> list[str]:
            in_axis(f, s.axis, i)
            v = cast(f, value(f, s.value), dtype)
            v = V(f.splat(v, lanes), dtype, lanes, f.depth)
            new = combine_values(f, s.combiner, V(names[0], dtype, lanes, f.depth), v)
            f.vars[s.var.id] = cast(f, new, s.var.dtype)
            block(f, s.body)
            return [new.name]

        counted(f, f.const(0), n, 1, [(vec(c.types[0], lanes), c.neutral(lanes)[0])], body)
        f.pop()

    guarded(f, f.const(0), n, emit)

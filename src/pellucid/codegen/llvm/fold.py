"""Reductions: accumulators in vector registers, cascaded so that float sums keep their accuracy, combined at the end.

A fold runs over its last axis in lanes (or, inside a vector loop, point by point in that loop's lanes). Partial sums of
float32 are flushed, every BLOCK vectors and at the end of each row, into a float64 total: the error is then that of
a sum of BLOCK terms, however long the fold is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from ...ir.types import Accumulator, Fold, Let, Stmt
from ...shapes.dim import product
from . import cost, statements
from .errors import CodegenError
from .expr import cast, extreme, value
from .function import Function
from .types import BITS, FLOATS, HALVES, UNSIGNED, V, constant, register, vec

BLOCK = 32
"""Terms that a lane adds up before its partial sum is flushed, where lanes are combined then."""
REGISTER_BITS = 256
SERIAL_BLOCK = 16
"""The same where each lane has a total of its own. Eager adds 16 terms before it cascades."""


@dataclass(frozen=True, slots=True)
class Combiner:
    """An accumulator's state: LLVM element types, first values, and how a state takes another.

    types    of the state in registers; `total` those of the flushed total
    wide     the total is in double
    """

    name: str
    dtype: torch.dtype
    types: tuple[str, ...]
    first: tuple[str, ...]
    wide: bool = False

    def neutral(self, lanes: int) -> list[str]:
        return [c if lanes == 1 else f"splat ({t} {c})" for t, c in zip(self.types, self.first)]

    @property
    def total_types(self) -> tuple[str, ...]:
        return ("double",) if self.wide else self.types

    @property
    def total_first(self) -> tuple[str, ...]:
        return (constant(0.0, "double"),) if self.wide else self.first


def _least(dtype: torch.dtype, largest: bool) -> int | float:
    """The neutral value of max (or of min, if `largest`)."""
    if dtype in FLOATS:
        return float("inf") if largest else float("-inf")
    if dtype is torch.bool:
        return largest
    info = torch.iinfo(dtype)
    return info.max if largest else info.min


def combiner(name: str, dtype: torch.dtype, of: torch.dtype | None = None, small: bool = False) -> Combiner:
    """The combiner `name` accumulating in `dtype`. For argmin and argmax `of` is the dtype of the values compared, and
    `small` says that flat indices fit in 32 bits. Half-precision values accumulate in float32, and products of float32
    in float64."""
    if dtype in HALVES:
        dtype = torch.float32
    if name == "prod" and dtype is torch.float32:
        dtype = torch.float64
    t = register(dtype)
    if name in ("argmin", "argmax"):
        assert of is not None
        index = "i32" if small else "i64"
        worst = constant(_least(of, name == "argmin"), register(of))
        return Combiner(name, of, (register(of), index), (worst, "-1"))
    if name == "sum":
        return Combiner(name, dtype, (t,), (constant(0, t),), dtype in FLOATS and t == "float")
    if name == "prod":
        return Combiner(name, dtype, (t,), (constant(1, t),))
    if name in ("any", "all"):
        return Combiner(name, dtype, (t,), (constant(int(name == "all"), t),))
    if name in ("min", "max"):
        return Combiner(name, dtype, (t,), (constant(_least(dtype, name == "min"), t),))
    raise CodegenError(f"unknown combiner {name!r}; known: sum prod min max any all argmin argmax")


def merge(f: Function, c: Combiner, lanes: int, depth: int, a: list[str], b: list[str], later: bool) -> list[str]:
    """State `a` with state `b` taken in. later: b's points all come after a's."""
    t = vec(c.types[0], lanes)
    fl = c.dtype in FLOATS
    if c.name == "sum":
        return [f.ins(f"{'fadd' if fl else 'add'} {t} {a[0]}, {b[0]}", depth)]
    if c.name == "prod":
        return [f.ins(f"{'fmul' if fl else 'mul'} {t} {a[0]}, {b[0]}", depth)]
    if c.name in ("any", "all"):
        return [f.ins(f"{'or' if c.name == 'any' else 'and'} {t} {a[0]}, {b[0]}", depth)]
    if c.name in ("min", "max"):
        return [extreme(f, c.name, c.dtype, lanes, depth, b[0], a[0])]
    return _merge_arg(f, c, lanes, depth, a, b, later)


def _merge_arg(f: Function, c: Combiner, lanes: int, depth: int, a: list[str], b: list[str], later: bool) -> list[str]:
    """Take b where it is more extreme, or NaN where a is not; where equal, the one that comes first. An index of -1
    is a state that has seen nothing."""
    t, it, m = vec(c.types[0], lanes), vec(c.types[1], lanes), vec("i1", lanes)
    greater = c.name == "argmax"
    if c.dtype in FLOATS:
        better = f.ins(f"fcmp {'ogt' if greater else 'olt'} {t} {b[0]}, {a[0]}", depth)
        a_nan = f.ins(f"fcmp uno {t} {a[0]}, {a[0]}", depth)
        b_nan = f.ins(f"fcmp uno {t} {b[0]}, {b[0]}", depth)
        ones = "true" if lanes == 1 else "splat (i1 true)"
        fresh_nan = f.ins(f"and {m} {b_nan}, {f.ins(f'xor {m} {a_nan}, {ones}', depth)}", depth)
        better = f.ins(f"or {m} {better}, {fresh_nan}", depth)
        both_nan = f.ins(f"and {m} {a_nan}, {b_nan}", depth)
        same = f.ins(f"or {m} {f.ins(f'fcmp oeq {t} {b[0]}, {a[0]}', depth)}, {both_nan}", depth)
    else:
        sign = "u" if c.dtype in UNSIGNED else "s"
        better = f.ins(f"icmp {sign}{'gt' if greater else 'lt'} {t} {b[0]}, {a[0]}", depth)
        same = f.ins(f"icmp eq {t} {b[0]}, {a[0]}", depth)
    # indices compare as unsigned, so that -1 (nothing seen) is behind every index
    if later:
        none = f.ins(f"icmp eq {it} {a[1]}, {'-1' if lanes == 1 else f'splat ({c.types[1]} -1)'}", depth)
        earlier = none
    else:
        earlier = f.ins(f"icmp ult {it} {b[1]}, {a[1]}", depth)
    take = f.ins(f"or {m} {better}, {f.ins(f'and {m} {same}, {earlier}', depth)}", depth)
    return [f.ins(f"select {m} {take}, {t} {b[0]}, {t} {a[0]}", depth),
            f.ins(f"select {m} {take}, {it} {b[1]}, {it} {a[1]}", depth)]


def horizontal(f: Function, c: Combiner, lanes: int, state: list[str]) -> list[str]:
    """All lanes of a state merged into one, by halves."""
    depth = f.depth
    while lanes > 1:
        half = lanes // 2
        low = ", ".join(f"i32 {k}" for k in range(half))
        high = ", ".join(f"i32 {k}" for k in range(half, lanes))
        parts: list[list[str]] = [[], []]
        for t, s in zip(c.types, state):
            vt = vec(t, lanes)
            for part, idx in zip(parts, (low, high)):
                if half == 1:
                    part.append(f.ins(f"extractelement {vt} {s}, i64 {0 if part is parts[0] else 1}", depth))
                else:
                    part.append(f.ins(f"shufflevector {vt} {s}, {vt} poison, <{half} x i32> <{idx}>", depth))
        state = merge(f, c, half, depth, parts[0], parts[1], later=False)
        lanes = half
    return state


class _Plan:
    """One fold's parts: its accumulators with their combiners, and how they are kept."""

    def __init__(self, f: Function, s: Fold):
        self.s = s
        total = product(a.size for a in s.axes)
        self.small = isinstance(total, int) and total < 2**31
        self.accumulators: tuple[Accumulator, ...] = s.accumulators
        self.combiners = [combiner(a.combiner, a.var.dtype, a.value.dtype, self.small) for a in s.accumulators]
        self.vector = s.vector and f.vector_axis is None and not cost.has_vector_loop(s.body)

        self.statements: tuple[Stmt, ...] = (*s.body, *(Let(a.var, a.value) for a in s.accumulators))

    def carried(self, lanes: int) -> list[tuple[str, str]]:
        return [(vec(t, lanes), n) for c in self.combiners for t, n in zip(c.types, c.neutral(lanes))]

    def split(self, names: list[str]) -> list[list[str]]:
        out, k = [], 0
        for c in self.combiners:
            out.append(names[k:k + len(c.types)])
            k += len(c.types)
        return out


def fold(f: Function, s: Fold) -> None:
    """Emit a Fold; afterwards its accumulators' variables are defined."""
    p = _Plan(f, s)
    last = s.axes[-1]
    n = f.size(last.size)
    if p.vector:
        lanes = statements.pick_lanes(f, p.statements, last)
        # the accumulators of a step must stay in registers, of which half are left to the rest
        while lanes > 8 and sum(lanes * BITS[t] for c in p.combiners for t in c.types) > 8 * REGISTER_BITS:
            lanes //= 2
    else:
        lanes = f.lanes
    limit = BLOCK * lanes * 2 if p.vector else SERIAL_BLOCK
    blocked = any(c.wide for c in p.combiners) and not (n.value is not None and n.value <= limit)
    if len(s.axes) == 1 and n.value is not None and n.value > 0 and not blocked:
        f.push(cost.written(s.body))
        states = _row(f, p, n, lanes)
        f.pop()
        if p.vector:
            states = [x for c, st in zip(p.combiners, p.split(states)) for x in horizontal(f, c, lanes, st)]
        _define(f, p, p.split(states), 1 if p.vector else lanes)
        return
    _general(f, p, n, lanes, blocked)


def _step(f: Function, p: _Plan, names: list[str], lanes: int, masked: bool) -> list[str]:
    """One point (of every lane): the fold's body, then each accumulator takes its value."""
    statements.block(f, p.s.body)
    live = f.live() if masked else None
    out: list[str] = []
    for a, c, old in zip(p.accumulators, p.combiners, p.split(names)):
        v = value(f, a.value)
        v = cast(f, v, c.dtype) if c.name not in ("argmin", "argmax") else v
        new = [f.splat(v, lanes)]
        if len(c.types) == 2:
            new.append(_flat_index(f, p, c.types[1], lanes))
        merged = merge(f, c, lanes, f.depth, old, new, later=True)
        if live is not None:
            merged = [f.ins(f"select {vec('i1', lanes)} {live}, {vec(t, lanes)} {x}, {vec(t, lanes)} {o}", f.depth)
                      for t, x, o in zip(c.types, merged, old)]
        out.extend(merged)
    return out


def _flat_index(f: Function, p: _Plan, element: str, lanes: int) -> str:
    """The number of the current point in the fold, in each lane."""
    flat = f.const(0)
    for axis in p.s.axes:
        flat = f.iadd(f.imul(flat, f.size(axis.size)), f.axes[axis.id])
    name = flat.name
    if element == "i32":
        name = f.ins(f"trunc i64 {name} to i32", flat.depth) if flat.value is None else name
    if flat.value is None:
        name = f.splat_name(name, element, lanes, flat.depth)
    elif lanes > 1:
        name = f"splat ({element} {name})"
    if p.vector and lanes > 1:
        name = f.ins(f"add {vec(element, lanes)} {name}, {f.iota(element, lanes)}", flat.depth)
    return name


def _row(f: Function, p: _Plan, n: V, lanes: int) -> list[str]:
    """The last axis from the neutral state, in registers throughout; the states' names. n > 0, scope pushed."""
    zero = f.const(0)
    if not p.vector:
        def point(i: V, names: list[str]) -> list[str]:
            f.axes[p.s.axes[-1].id] = i
            return _step(f, p, names, lanes, False)

        return statements.counted(f, zero, n, 1, p.carried(lanes), point)
    return statements.in_lanes(f, p.s.axes[-1], zero, n, lanes, p.carried(lanes),
                               lambda names: _step(f, p, names, lanes, False),
                               lambda names: _step(f, p, names, lanes, True), aligned=True)


# ------------------------------------------------------------------ totals in memory
def _general(f: Function, p: _Plan, n: V, lanes: int, blocked: bool) -> None:
    """Several axes, unknown sizes or long float sums: partial states are flushed into totals on the stack."""
    out_lanes = 1 if p.vector else lanes
    slots: list[list[str]] = []
    for c in p.combiners:
        row = []
        for t, first in zip(c.total_types, c.total_first):
            slot = f.new_slot(vec(t, out_lanes))
            init = first if out_lanes == 1 else f"splat ({t} {first})"
            f.line(f"store {vec(t, out_lanes)} {init}, ptr {slot}")
            row.append(slot)
        slots.append(row)

    def flush(states: list[str]) -> None:
        for c, st, row in zip(p.combiners, p.split(states), slots):
            if p.vector:
                st = horizontal(f, c, lanes, st)
            types = [vec(t, out_lanes) for t in c.total_types]
            old = [f.here(f"load {t}, ptr {slot}") for t, slot in zip(types, row)]
            if c.wide:
                wide = f.here(f"fpext {vec('float', out_lanes)} {st[0]} to {types[0]}")
                new = [f.here(f"fadd {types[0]} {old[0]}, {wide}")]
            else:
                new = merge(f, c, out_lanes, f.depth, old, st, later=True)
            for t, x, slot in zip(types, new, row):
                f.line(f"store {t} {x}, ptr {slot}")

    def nest(k: int) -> None:
        axis = p.s.axes[k]
        size = f.size(axis.size)
        if k == len(p.s.axes) - 1:
            def innermost() -> None:
                f.push(cost.written(p.s.body))
                if blocked:
                    _blocks(f, p, n, lanes, flush)
                else:
                    flush(_row(f, p, n, lanes))
                f.pop()

            statements.guarded(f, f.const(0), n, innermost)
            return

        def level() -> None:
            f.push(cost.written(p.s.body))

            def body(i: V, _: list[str]) -> list[str]:
                f.axes[axis.id] = i
                nest(k + 1)
                return []

            statements.counted(f, f.const(0), size, 1, (), body)
            f.pop()

        statements.guarded(f, f.const(0), size, level)

    nest(0)
    totals = []
    for c, row in zip(p.combiners, slots):
        types = [vec(t, out_lanes) for t in c.total_types]
        st = [f.here(f"load {t}, ptr {slot}") for t, slot in zip(types, row)]
        if c.wide:
            st = [f.here(f"fptrunc {types[0]} {st[0]} to {vec('float', out_lanes)}")]
        totals.append(st)
    _define(f, p, totals, out_lanes)


def _blocks(f: Function, p: _Plan, n: V, lanes: int, flush: Callable[[list[str]], None]) -> None:
    """The last axis in blocks, each flushed at its end; the caller has pushed the scope and n > 0."""
    axis = p.s.axes[-1]
    length = BLOCK * lanes if p.vector else SERIAL_BLOCK

    def one(b: V, _: list[str]) -> list[str]:
        f.forget()
        end = f.imin(f.iadd(b, f.const(length)), n)
        if p.vector:
            states = statements.in_lanes(f, axis, b, end, lanes, p.carried(lanes),
                                         lambda names: _step(f, p, names, lanes, False),
                                         lambda names: _step(f, p, names, lanes, True), aligned=True,
                                         exact=n.value is not None and n.value % lanes == 0)
        else:
            def point(i: V, names: list[str]) -> list[str]:
                f.axes[axis.id] = i
                return _step(f, p, names, lanes, False)

            states = statements.counted(f, b, end, 1, p.carried(lanes), point)
        flush(states)
        return []

    statements.counted(f, f.const(0), n, length, (), one)


def _define(f: Function, p: _Plan, states: list[list[str]], lanes: int) -> None:
    """Bind the accumulators' variables, converted to their dtypes."""
    for a, c, st in zip(p.accumulators, p.combiners, states):
        if len(c.types) == 2:
            name = st[1]
            if c.types[1] == "i32":
                name = f.ins(f"sext {vec('i32', lanes)} {name} to {vec('i64', lanes)}", f.depth)
            f.vars[a.var.id] = cast(f, V(name, torch.int64, lanes, f.depth), a.var.dtype)
        else:
            f.vars[a.var.id] = cast(f, V(st[0], c.dtype, lanes, f.depth), a.var.dtype)

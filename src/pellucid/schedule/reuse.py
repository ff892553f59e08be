"""Equal groups are scheduled once: a group's signature, and a kernel made again for other buffers.

A model's layers lower to the same loops over other buffers. The signature numbers axes, buffers and expressions in
order of appearance, so that two groups have equal signatures exactly when one's kernel is the other's under a renaming
of buffers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..ir.types import (
    Accumulator,
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
    SizeOf,
    Stmt,
    View,
    Write,
)
from .nest import Group
from .printer import Emitted
from .work import Works


def signature(group: Group, stored: set[BufferId]) -> tuple[tuple[Any, ...], list[BufferId]]:
    """(signature, buffers in order of appearance)."""
    tokens: list[Any] = [group.fixed]
    buffers: dict[BufferId, int] = {}
    axes: dict[int, int] = {}
    seen: dict[int, int] = {}
    put = tokens.append

    def axis(a: Any) -> int:
        n = axes.get(a.id)
        if n is None:
            n = axes[a.id] = len(axes)
            put(a.size)
        return n

    def view(v: View) -> None:
        n = buffers.get(v.buffer)
        if n is None:
            n = buffers[v.buffer] = len(buffers)
        tokens.extend((n, v.dtype, v.strides, v.offset))

    for r in group.rows:
        axis(r)
    for w in group.members:
        tokens.extend((w.kind, w.combiner, w.acc, w.out.buffer in stored, tuple([axis(a) for a in w.axes]),
                       tuple([axis(a) for a in w.red]), w.scan_axis is not None and axes.get(w.scan_axis.id),
                       tuple([(axes[a], axes[r.id]) for a, r in group.aligned[w.number].items()])))
        view(w.out)
        stack: list[Expr] = [w.value, *w.index]
        while stack:
            e = stack.pop()
            k = seen.get(id(e))
            if k is not None:
                put(-1 - k)
                continue
            seen[id(e)] = len(seen)
            if isinstance(e, Call):
                tokens.extend((e.fn, e.dtype, len(e.args)))
                stack.extend(e.args)
            elif isinstance(e, Load):
                put("load")
                view(e.view)
                stack.extend(e.index)
                if e.mask is not None:
                    put(e.other)
                    stack.append(e.mask)
            elif isinstance(e, Index):
                put(("i", axis(e.axis)))
            elif isinstance(e, Literal):
                tokens.extend((type(e.value), repr(e.value), e.dtype))
            elif isinstance(e, SizeOf):
                put(e.size)
            else:
                put(e)
    return tuple(tokens), list(buffers)


def again(works: Works, made: Emitted, before: list[BufferId], now: list[BufferId],
          origins: tuple[int, ...]) -> Emitted:
    """The kernel of `made`, with the buffers `before` replaced by `now`."""
    swap = dict(zip(before, now))
    k = made.kernel
    views: dict[int, View] = {}
    kernel = Kernel(k.name, tuple([_statement(s, swap, views) for s in k.body]),
                    tuple([works.buffers[swap[b.id]] for b in k.buffers]), k.symbols, k.rows,
                    tuple([swap[b] for b in k.reads]), tuple([swap[b] for b in k.writes]), origins, k.can_raise)
    return replace(made, kernel=kernel)


def _view(v: View, swap: dict[BufferId, BufferId], views: dict[int, View]) -> View:
    found = views.get(id(v))
    if found is None:
        found = views[id(v)] = View(swap.get(v.buffer, v.buffer), v.dtype, v.shape, v.strides, v.offset)
    return found


def _expr(e: Expr, swap: dict[BufferId, BufferId], views: dict[int, View]) -> Expr:
    if isinstance(e, Call):
        return Call(e.fn, tuple([_expr(a, swap, views) for a in e.args]), e.dtype)
    if isinstance(e, Load):
        mask = None if e.mask is None else _expr(e.mask, swap, views)
        return Load(_view(e.view, swap, views), tuple([_expr(i, swap, views) for i in e.index]), mask, e.other)
    return e


def _statement(s: Stmt, swap: dict[BufferId, BufferId], views: dict[int, View]) -> Stmt:
    if isinstance(s, Let):
        return Let(s.var, _expr(s.value, swap, views))
    if isinstance(s, Write):
        index = tuple([_expr(i, swap, views) for i in s.index])
        return Write(_view(s.view, swap, views), index, _expr(s.value, swap, views), s.combine)
    body = tuple([_statement(x, swap, views) for x in s.body])
    if isinstance(s, For):
        return For(s.axis, body, s.mode)
    if isinstance(s, Fold):
        accumulators = tuple([Accumulator(a.var, a.combiner, _expr(a.value, swap, views)) for a in s.accumulators])
        return Fold(s.axes, body, accumulators, s.vector)
    return replace(s, body=body, value=_expr(s.value, swap, views))

"""What a loop body costs and touches: lane counts, unrolling and hoisting are chosen from it."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ...ir.types import Axis, Call, Expr, Fold, For, Index, Let, Literal, Load, Running, Stmt, View, Write

WEIGHT = {"exp": 18, "exp2": 18, "expm1": 24, "log": 22, "log2": 26, "log10": 28, "log1p": 30, "tanh": 24,
          "sigmoid": 22, "erf": 40, "sin": 40, "cos": 40, "tan": 50, "pow": 80, "div": 4, "sqrt": 4, "rsqrt": 6,
          "reciprocal": 4, "mod": 12, "fmod": 12, "floordiv": 12, "truncdiv": 12}
"""Instructions of a function, roughly; 1 for those not named."""


def expressions(stmts: Iterable[Stmt]) -> Iterable[Expr]:
    """The expressions that statements evaluate, in nested loops too."""
    for s in stmts:
        if isinstance(s, Let):
            yield s.value
        elif isinstance(s, Write):
            yield s.value
            yield from s.index
        elif isinstance(s, For):
            yield from expressions(s.body)
        elif isinstance(s, Fold):
            yield from expressions(s.body)
            yield from (a.value for a in s.accumulators)
        elif isinstance(s, Running):
            yield s.value
            yield from expressions(s.body)


def nodes(exprs: Iterable[Expr]) -> list[Expr]:
    """All distinct nodes of expressions, those of load masks included, those of indices not."""
    seen: dict[int, Expr] = {}
    stack = list(exprs)
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen[id(e)] = e
        if isinstance(e, Call):
            stack.extend(e.args)
        elif isinstance(e, Load) and e.mask is not None:
            stack.append(e.mask)
    return list(seen.values())


def cost(stmts: Iterable[Stmt]) -> int:
    """Instructions of one run of the statements, nested loops counted as one iteration."""
    return sum(WEIGHT.get(e.fn, 1) for e in nodes(expressions(stmts)) if isinstance(e, Call))


def _depends(e: Expr, axis: Axis, memo: dict[int, bool]) -> bool:
    got = memo.get(id(e))
    if got is None:
        if isinstance(e, Index):
            got = e.axis.id == axis.id
        elif isinstance(e, Call):
            got = any(_depends(a, axis, memo) for a in e.args)
        elif isinstance(e, Load):
            got = any(_depends(a, axis, memo) for a in e.index)
        else:
            got = False
        memo[id(e)] = got
    return got


def _accesses(stmts: Iterable[Stmt]) -> Iterable[tuple[View, tuple[Expr, ...]]]:
    for e in nodes(expressions(stmts)):
        if isinstance(e, Load):
            yield e.view, e.index
    for s in stmts:
        if isinstance(s, Write):
            yield s.view, s.index
        elif isinstance(s, (For, Fold, Running)):
            yield from _accesses(s.body)


def lane_limit(stmts: Iterable[Stmt], axis: Axis) -> int:
    """The most lanes that suit the accesses: 8 where some are not contiguous along the axis, and for an index that
    divides the axis by a constant, the largest power of two in it."""
    stmts = tuple(stmts)
    memo: dict[int, bool] = {}
    limit = 64
    for view, index in _accesses(stmts):
        for stride, e in zip(view.strides, index):
            if stride == 0 or not _depends(e, axis, memo):
                continue
            while isinstance(e, Call) and e.fn in ("add", "sub"):
                varying = [a for a in e.args if _depends(a, axis, memo)]
                if len(varying) != 1:
                    break
                e = varying[0]
            if isinstance(e, Call) and e.fn in ("floordiv", "mod") and isinstance(e.args[1], Literal):
                d = int(e.args[1].value)  # type: ignore[arg-type]
                limit = min(limit, max(d & -d, 8))
            elif stride != 1 or not isinstance(e, Index):
                limit = min(limit, 8)
    return limit


def transposed(stmts: Iterable[Stmt], lanes: Axis, rows: Axis) -> bool:
    """Some access runs contiguously along `rows`, and not along the vector axis `lanes`."""
    for view, index in _accesses(tuple(stmts)):
        along = {e.axis.id: s for s, e in zip(view.strides, index) if isinstance(e, Index)}
        if along.get(rows.id) == 1 and along.get(lanes.id, 0) not in (0, 1):
            return True
    return False


def written(stmts: Iterable[Stmt]) -> frozenset[int]:
    """The buffers that statements write."""
    out: set[int] = set()
    for s in stmts:
        if isinstance(s, Write):
            out.add(s.view.buffer)
        elif isinstance(s, (For, Fold, Running)):
            out |= written(s.body)
    return frozenset(out)


def has_loop(stmts: Iterable[Stmt]) -> bool:
    return any(isinstance(s, (For, Fold, Running)) for s in stmts)


def has_vector_loop(stmts: Iterable[Stmt]) -> bool:
    return any((isinstance(s, For) and (s.mode == "vector" or has_vector_loop(s.body)))
               or (isinstance(s, Fold) and (s.vector or has_vector_loop(s.body)))
               or (isinstance(s, Running) and has_vector_loop(s.body)) for s in stmts)


def element_bytes(stmts: tuple[Stmt, ...]) -> int:
    """The size of the element type that most of the work is in: that of the widest data, but for int64 where other
    data is there too (indices), and for bool."""
    sizes = {e.dtype: 4 if e.dtype in (torch.float16, torch.bfloat16) else e.dtype.itemsize
             for e in nodes(expressions(stmts)) if isinstance(e, (Load, Call))}
    for s in stmts:
        if isinstance(s, Write):
            sizes[s.view.dtype] = s.view.dtype.itemsize
    main = {d: n for d, n in sizes.items() if d not in (torch.int64, torch.bool)} or sizes
    return max(main.values(), default=4)

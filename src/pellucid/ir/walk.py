"""Walking and rewriting scalar expressions, each object once: they are trees in name and shared graphs in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from .types import Call, Expr, Extern, Index, Load, Loop, Reduce, Scatter


def children(e: Expr) -> tuple[Expr, ...]:
    if isinstance(e, Call):
        return e.args
    if isinstance(e, Load):
        return e.index if e.mask is None else (*e.index, e.mask)
    return ()


def walk(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every distinct expression object below the roots, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        e = stack.pop()
        if id(e) not in seen:
            seen.add(id(e))
            yield e
            stack.extend(children(e))


def loads(roots: Iterable[Expr]) -> list[Load]:
    return [e for e in walk(roots) if isinstance(e, Load)]


def rebuild(e: Expr, parts: tuple[Expr, ...]) -> Expr:
    """e with other children (in the order of `children`)."""
    if isinstance(e, Call):
        return Call(e.fn, parts, e.dtype)
    if isinstance(e, Load):
        n = len(e.index)
        return Load(e.view, parts[:n], parts[n] if e.mask is not None else None, e.other)
    return e


def rewrite(e: Expr, rule: Callable[[Expr], Expr | None], memo: dict[int, Expr]) -> Expr:
    """e with `rule` applied from the leaves up: rule(x) gives the replacement of x, or None to keep it.

    `memo` maps the id of each expression done to its replacement; the caller keeps the expressions alive meanwhile.
    """
    found = memo.get(id(e))
    if found is not None:
        return found
    parts = children(e)
    new = e
    if parts:
        done = tuple([rewrite(p, rule, memo) for p in parts])
        for a, b in zip(parts, done):
            if a is not b:
                new = rebuild(e, done)
                break
    replaced = rule(new)
    result = new if replaced is None else replaced
    memo[id(e)] = result
    return result


def substitute_axes(e: Expr, values: dict[int, Expr], memo: dict[int, Expr] | None = None) -> Expr:
    """e with Index(axis) replaced by values[axis.id] where there is one."""
    def rule(x: Expr) -> Expr | None:
        return values.get(x.axis.id) if isinstance(x, Index) else None
    return rewrite(e, rule, {} if memo is None else memo)


def expressions(loop: Loop) -> tuple[Expr, ...]:
    """The scalar expressions of a loop."""
    if isinstance(loop, Extern):
        return ()
    if isinstance(loop, Scatter):
        return (*loop.index, loop.value)
    return (loop.value,)


def axes_of(loop: Loop) -> tuple:
    if isinstance(loop, Extern):
        return ()
    return loop.axes + loop.reduce_axes if isinstance(loop, Reduce) else loop.axes



"""Expressions built once each: structurally equal ones are the same object, with their axes, cost and loads known.

Everything the scheduler does with an expression (is it equal to that one, which axes does it need, is it cheap) is then
a look-up by identity. Loads at affine addresses are put in normal form on the way: a view with one dimension an axis,
in order of axis ids, so that two ways of naming one element become one object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from ..ir.affine import Affine, address
from ..ir.types import Axis, BufferId, Call, Expr, Index, Literal, Load, SizeOf, Var, View
from ..shapes.dim import Dim, Size
from ..shapes.env import prove
from .cost import GATHER_COST, LOAD_COST, SCALAR_COST

INT = torch.int64
HALF = (torch.float16, torch.bfloat16)


@dataclass(slots=True)
class Store:
    """One element written: `view[index] = value`, or an update of what is there."""

    view: View
    index: tuple[Expr, ...]
    value: Expr
    combine: str | None = None


OnLoad = Callable[[Load], Expr | None]


class Info:
    """Facts of a pooled expression. `axes`: a bit for each axis id it depends on; `cost`: of computing it once, shared
    parts counted at each use; `loads`: number of varying loads (at most); `checks`: it can raise; `normal`: a load in
    normal form."""

    __slots__ = ("axes", "cost", "loads", "checks", "normal")

    def __init__(self, axes: int, cost: int, loads: int, checks: bool, normal: bool = False):
        self.axes, self.cost, self.loads, self.checks, self.normal = axes, cost, loads, checks, normal


def bits(axes: Iterable[Axis]) -> int:
    """The set of axes as a bit mask."""
    mask = 0
    for a in axes:
        mask |= 1 << a.id
    return mask


def walked(at: Load | Store) -> list[tuple[Axis, Size]]:
    """The axes that an access in normal form walks, with their strides."""
    return [(i.axis, s) for i, s in zip(at.index, at.view.strides) if isinstance(i, Index)]


class Pool:
    """A table of expressions. All expressions handed to its methods as parts must come from it."""

    def __init__(self) -> None:
        self.table: dict[Any, Expr] = {}
        self.info: dict[int, Info] = {}
        self.indices: dict[int, Index] = {}
        self.normals: dict[Any, Load] = {}
        self.variables: dict[int, Var] = {}
        self.below: dict[int, list[Load]] = {}
        self.alias: dict[BufferId, BufferId] = {}
        """Buffers that are known to hold what another one holds: loads go there."""
        self.zero = self.literal(0, INT)

    # ---------------------------------------------------------------- leaves
    def literal(self, value: Any, dtype: torch.dtype) -> Literal:
        exact = (value, math.copysign(1.0, value)) if type(value) is float and value == 0 else value
        key = (type(value), "nan" if value != value else exact, dtype)
        return self._leaf(key, Literal, (value, dtype))

    def size(self, size: Size) -> Expr:
        return self._leaf((SizeOf, size), SizeOf, (size,)) if isinstance(size, Dim) else self.literal(size, INT)

    def index(self, axis: Axis) -> Index:
        found = self.indices.get(axis.id)
        if found is None:
            found = self.indices[axis.id] = Index(axis)
            self.info[id(found)] = Info(1 << axis.id, 0, 0, False)
        return found

    def var(self, number: int, dtype: torch.dtype, axes: int = 0) -> Var:
        found = self.variables.get(number)
        if found is None:
            found = self.variables[number] = Var(number, dtype)
            self.info[id(found)] = Info(axes, 0, 0, False)
        return found

    def _leaf(self, key: Any, kind: type, args: tuple[Any, ...]) -> Any:
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = kind(*args)
            self.info[id(found)] = Info(0, 0, 0, False)
        return found

    # ---------------------------------------------------------------- inner nodes
    def call(self, fn: str, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr:
        """The call, simplified where a rule of SIMPLIFY applies."""
        key = (fn, dtype, *map(id, args))
        found = self.table.get(key)
        if found is not None:
            return found
        rule = SIMPLIFY.get(fn)
        simple = rule(self, args, dtype) if rule is not None else None
        if simple is None:
            simple = Call(fn, args, dtype)
            self.info[id(simple)] = self._union(args, SCALAR_COST.get(fn, 1), 0, fn == "check_index")
        self.table[key] = simple
        return simple

    def _union(self, parts: Sequence[Expr], cost: int, loads: int, checks: bool) -> Info:
        axes = 0
        for e in parts:
            i = self.info[id(e)]
            axes |= i.axes
            cost += i.cost
            loads += i.loads
            checks = checks or i.checks
        return Info(axes, cost, loads, checks)

    def load(self, view: View, index: tuple[Expr, ...], mask: Expr | None = None, other: Literal | None = None) -> Expr:
        if mask is not None and isinstance(mask, Literal):
            if not mask.value:
                assert other is not None
                return self.literal(other.value, other.dtype)
            mask = None
        if mask is None:
            terms = _terms(view, index)
            if terms is not None:
                return self._normal(view.buffer, view.dtype, view.offset, terms)
            form = address(view, index)
            if form is not None:
                return self.normal_load(view.buffer, view.dtype, form)
        key = (Load, view, *map(id, index), id(mask), repr(other))
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = Load(view, index, mask, other if mask is not None else None)
            affine = all([isinstance(i, Index) or not self.info[id(i)].loads for i in index])
            parts = index if mask is None else (*index, mask)
            self.info[id(found)] = self._union(parts, LOAD_COST if affine else GATHER_COST, 1, False)
        return found

    def normal_load(self, buffer: BufferId, dtype: torch.dtype, form: Affine) -> Load:
        """The load at an affine address of a buffer, its view having one dimension an axis."""
        return self._normal(buffer, dtype, form.const, [(a.id, c, a) for a, c in form.terms])

    def _normal(self, buffer: BufferId, dtype: torch.dtype, offset: Size, terms: list[tuple[int, Size, Axis]]) -> Load:
        if len(terms) > 1:
            terms.sort(key=_first)
        key = (buffer, dtype, offset, tuple([t[:2] for t in terms]))
        found = self.normals.get(key)
        if found is None:
            view = View(buffer, dtype, tuple([a.size for _, _, a in terms]), tuple([c for _, c, _ in terms]), offset)
            found = self.normals[key] = Load(view, tuple([self.index(a) for _, _, a in terms]))
            axes = bits([a for _, _, a in terms])
            self.info[id(found)] = Info(axes, LOAD_COST, 1 if axes else 0, False, True)
        return found

    # ---------------------------------------------------------------- from elsewhere
    def intern(self, e: Expr, memo: dict[int, Expr], rename: dict[int, Expr]) -> Expr:
        """The pool's equal of an expression made anywhere, with axes replaced by id. `memo` is by identity of the given
        expressions, which the caller keeps alive."""
        found = memo.get(id(e))
        if found is not None:
            return found
        if isinstance(e, Call):
            new = self.call(e.fn, tuple([self.intern(a, memo, rename) for a in e.args]), e.dtype)
        elif isinstance(e, Index):
            new = rename[e.axis.id]
        elif isinstance(e, Load):
            index = tuple([self.intern(i, memo, rename) for i in e.index])
            mask = None if e.mask is None else self.intern(e.mask, memo, rename)
            new = self.load(self.aliased(e.view) if self.alias else e.view, index, mask, e.other)
        elif isinstance(e, Literal):
            new = self.literal(e.value, e.dtype)
        elif isinstance(e, SizeOf):
            new = self.size(e.size)
        else:
            raise TypeError(f"a program's expressions hold no {type(e).__name__}")
        memo[id(e)] = new
        return new

    # ---------------------------------------------------------------- rewriting pooled expressions
    def renamed(self, e: Expr, rename: dict[int, Expr], on_load: OnLoad | None = None) -> Expr:
        """e with axes replaced by id, all at once; `on_load` may then replace loads."""
        mask = 0
        for k, x in rename.items():
            if not isinstance(x, Index) or x.axis.id != k:
                mask |= 1 << k
        if on_load is None and not self.info[id(e)].axes & mask:
            return e
        return self._rewrite(e, {}, rename, mask, on_load)

    def replaced(self, e: Expr, memo: dict[int, Expr], rename: dict[int, Expr] | None = None) -> Expr:
        """e with the expressions in `memo` (by identity) replaced, the rest with axes replaced by id."""
        mask = 0
        for k, x in (rename or {}).items():
            if not isinstance(x, Index) or x.axis.id != k:
                mask |= 1 << k
        if not memo and not self.info[id(e)].axes & mask:
            return e
        return self._rewrite(e, memo, rename or {}, mask, None)

    def _rewrite(self, e: Expr, memo: dict[int, Expr], rename: dict[int, Expr], mask: int,
                 on_load: OnLoad | None) -> Expr:
        found = memo.get(id(e))
        if found is not None:
            return found
        new: Expr = e
        if isinstance(e, Call):
            args = tuple([self._rewrite(a, memo, rename, mask, on_load) for a in e.args])
            for a, b in zip(args, e.args):
                if a is not b:
                    new = self.call(e.fn, args, e.dtype)
                    break
        elif isinstance(e, Load):
            info = self.info[id(e)]
            if not info.normal:
                index = tuple([self._rewrite(i, memo, rename, mask, on_load) for i in e.index])
                where = None if e.mask is None else self._rewrite(e.mask, memo, rename, mask, on_load)
                if where is not e.mask or any([a is not b for a, b in zip(index, e.index)]):
                    new = self.load(e.view, index, where, e.other)
            elif info.axes & mask:
                new = self.load(e.view, tuple([rename.get(a.id) or self.index(a) for a, _ in walked(e)]))
            if on_load is not None and isinstance(new, Load):
                other = on_load(new)
                new = new if other is None else other
        elif isinstance(e, Index):
            new = rename.get(e.axis.id, e)
        memo[id(e)] = new
        return new

    def aliased(self, view: View) -> View:
        b = self.alias.get(view.buffer)
        return view if b is None else replace(view, buffer=b)

    def cost_along(self, root: Expr, axes: int) -> int:
        """The cost of the parts of an expression that depend on any of `axes` (a mask), shared parts once."""
        seen: set[int] = set()
        stack = [root]
        total = 0
        while stack:
            e = stack.pop()
            info = self.info[id(e)]
            if id(e) in seen or not info.axes & axes:
                continue
            seen.add(id(e))
            if isinstance(e, Call):
                total += SCALAR_COST.get(e.fn, 1)
                stack.extend(e.args)
            elif isinstance(e, Load):
                total += LOAD_COST if info.normal else GATHER_COST
                if not info.normal:
                    stack.extend(e.index)
        return total

    def loads_of(self, roots: Sequence[Expr]) -> list[Load]:
        """The distinct loads below the roots, those inside indices and masks included."""
        if len(roots) == 1:
            return self._loads_below(roots[0])
        found: dict[int, Load] = {}
        for r in roots:
            for e in self._loads_below(r):
                found[id(e)] = e
        return list(found.values())

    def _loads_below(self, root: Expr) -> list[Load]:
        known = self.below.get(id(root))
        if known is not None:
            return known
        found: list[Load] = []
        seen: set[int] = set()
        stack = [root]
        while stack:
            e = stack.pop()
            if isinstance(e, Call):
                if id(e) not in seen:
                    seen.add(id(e))
                    stack.extend(e.args)
            elif isinstance(e, Load) and id(e) not in seen:
                seen.add(id(e))
                found.append(e)
                if not self.info[id(e)].normal:
                    stack.extend(e.index)
                    if e.mask is not None:
                        stack.append(e.mask)
        self.below[id(root)] = found
        return found


def _terms(view: View, index: tuple[Expr, ...]) -> list[tuple[int, Size, Axis]] | None:
    """The address where each index is a loop variable of its own or 0 (the common case): (axis id, stride, axis)."""
    terms: list[tuple[int, Size, Axis]] = []
    seen = 0
    for i, s in zip(index, view.strides):
        if isinstance(i, Index):
            a = i.axis
            if seen >> a.id & 1:
                return None
            seen |= 1 << a.id
            if type(s) is not int or s != 0:
                terms.append((a.id, s, a))
        elif not isinstance(i, Literal) or i.value != 0:
            return None
    return terms


def _first(term: tuple[int, Size, Axis]) -> int:
    return term[0]


# ------------------------------------------------------------------ rules that keep every bit of the result
def _number(e: Expr) -> Any:
    return e.value if isinstance(e, Literal) else None



def _add(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    if dtype != INT:
        return None
    a, b = _number(args[0]), _number(args[1])
    if a is not None and b is not None:
        return p.literal(_wrap(a + b), dtype)
    return args[1] if a == 0 and a is not None else args[0] if b == 0 and b is not None else None


def _sub(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    a, b = _number(args[0]), _number(args[1])
    if b == 0 and b is not None and (not dtype.is_floating_point or math.copysign(1.0, b) > 0):
        return args[0]  # x - 0.0 is x, also for x = -0.0
    return p.literal(_wrap(a - b), dtype) if dtype == INT and a is not None and b is not None else None


def _mul(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    a, b = _number(args[0]), _number(args[1])
    if b == 1 and b is not None and dtype != torch.bool:
        return args[0]
    if a == 1 and a is not None and dtype != torch.bool:
        return args[1]
    if dtype != INT:
        return None
    if a is not None and b is not None:
        return p.literal(_wrap(a * b), dtype)
    return p.zero if (a == 0 and a is not None) or (b == 0 and b is not None) else None


def _div(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    b = _number(args[1])
    if b == 1:
        return args[0]
    if type(b) is float and b != 0 and math.frexp(b)[0] in (0.5, -0.5) and 1e-30 < abs(b) < 1e30 and dtype not in HALF:
        return p.call("mul", (args[0], p.literal(1.0 / b, dtype)), dtype)  # a power of two: the same real number
    return None


def _cast(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    e = args[0]
    if e.dtype == dtype:
        return e
    if isinstance(e, Literal) and not e.dtype.is_complex and not dtype.is_complex:
        if dtype == torch.bool:
            return p.literal(bool(e.value), dtype)
        if dtype.is_floating_point:
            value = float(torch.tensor(e.value, dtype=e.dtype).to(dtype))
            return p.literal(value, dtype)
        if not e.dtype.is_floating_point:
            return p.literal(int(torch.tensor(e.value, dtype=e.dtype).to(dtype)), dtype)
    return None


def _where(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    c = _number(args[0])
    if c is not None:
        return args[1] if c else args[2]
    return args[1] if args[1] is args[2] else None


def _and(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    if dtype != torch.bool:
        return None
    a, b = _number(args[0]), _number(args[1])
    if a is False or b is False:
        return p.literal(False, dtype)
    return args[1] if a is True else args[0] if b is True or args[0] is args[1] else None


def _or(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    if dtype != torch.bool:
        return None
    a, b = _number(args[0]), _number(args[1])
    if a is True or b is True:
        return p.literal(True, dtype)
    return args[1] if a is False else args[0] if b is False or args[0] is args[1] else None


def _not(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    v = _number(args[0])
    return p.literal(not v, dtype) if dtype == torch.bool and v is not None else None


def _compare(holds: Callable[[Any, Any], bool]) -> Callable[..., Expr | None]:
    def rule(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
        a, b = _number(args[0]), _number(args[1])
        exact = a is not None and b is not None and type(a) is not float and type(b) is not float
        return p.literal(holds(a, b), torch.bool) if exact else None
    return rule


def _not_negative(e: Expr) -> bool:
    return isinstance(e, Index) or (isinstance(e, Literal) and type(e.value) is int and e.value >= 0)


def _lt(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    a, b = args
    if isinstance(b, Literal) and type(b.value) is int and b.value == 0 and _not_negative(a):
        return p.literal(False, torch.bool)
    return _compare(lambda x, y: x < y)(p, args, dtype)


def _check_index(p: Pool, args: tuple[Expr, ...], dtype: torch.dtype) -> Expr | None:
    """A loop variable that surely is in range needs no check."""
    i, n = args
    size = n.size if isinstance(n, SizeOf) else _number(n)
    if isinstance(i, Index) and size is not None and prove("<=", i.axis.size, size):
        return i
    return None


def _wrap(v: int) -> int:
    return (v + 2**63) % 2**64 - 2**63


SIMPLIFY: dict[str, Callable[[Pool, tuple[Expr, ...], torch.dtype], Expr | None]] = {
    "add": _add, "sub": _sub, "mul": _mul, "div": _div, "cast": _cast, "where": _where, "and": _and, "or": _or,
    "not": _not, "eq": _compare(lambda a, b: a == b), "ne": _compare(lambda a, b: a != b),
    "lt": _lt, "check_index": _check_index, "le": _compare(lambda a, b: a <= b),
    "gt": _compare(lambda a, b: a > b), "ge": _compare(lambda a, b: a >= b)}

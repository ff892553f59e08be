"""Symbolic sizes: canonical integer polynomials over symbols, with floor division, modulo, min and max as atoms.

A size anywhere in the compiler is `Size = int | Dim`. A `Dim` is immutable, hashable and canonical: two equal
polynomials are the same value, so `==` is structural equality and never asks a question about run-time values.
To ask one (is s0 equal to 1?), go through `shapes.env.ShapeEnv`, which records the answer as a guard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Union


@dataclass(frozen=True, slots=True)
class Sym:
    """One unknown size. `name` is its identity within a capture; `lo`..`hi` its known range (hi None = unbounded)."""

    name: str
    hint: int = field(compare=False, default=2)
    lo: int = field(compare=False, default=0)
    hi: int | None = field(compare=False, default=None)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Func:
    """A non-polynomial atom: `fn` is one of floordiv, mod, min, max; `args` are sizes."""

    fn: str
    args: tuple["Size", ...]

    def __str__(self) -> str:
        a = [str(x) for x in self.args]
        if self.fn == "floordiv":
            return f"(({a[0]}) // ({a[1]}))"
        if self.fn == "mod":
            return f"(({a[0]}) % ({a[1]}))"
        return f"{self.fn}({', '.join(a)})"


Atom = Union[Sym, Func]
Monomial = tuple[Atom, ...]


def _order(m: Monomial) -> tuple[int, tuple[str, ...]]:
    return (-len(m), tuple(str(a) for a in m))


class Dim:
    """A canonical polynomial that is not a plain integer. Build by arithmetic on `Dim.of(sym)`, never directly."""

    __slots__ = ("terms", "_hash")
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms = terms
        self._hash = hash(terms)

    @staticmethod
    def of(sym: Sym) -> "Dim":
        return Dim((((sym,), 1),))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Dim) and self._hash == other._hash and self.terms == other.terms)

    def __bool__(self) -> bool:
        raise TypeError(f"the truth of the symbolic size {self} is a question for ShapeEnv.decide")

    def __add__(self, other: "Size") -> "Size":
        return _sum((self, other)) if isinstance(other, (int, Dim)) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> "Size":
        return Dim(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: "Size") -> "Size":
        return _sum((self, -other)) if isinstance(other, (int, Dim)) else NotImplemented

    def __rsub__(self, other: "Size") -> "Size":
        return _sum((other, -self)) if isinstance(other, (int, Dim)) else NotImplemented

    def __mul__(self, other: "Size") -> "Size":
        return _product(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: "Size") -> "Size":
        return floordiv(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rfloordiv__(self, other: "Size") -> "Size":
        return floordiv(other, self)

    def __mod__(self, other: "Size") -> "Size":
        return mod(self, other) if isinstance(other, (int, Dim)) else NotImplemented

    def __rmod__(self, other: "Size") -> "Size":
        return mod(other, self)

    def __str__(self) -> str:
        parts: list[str] = []
        for m, c in self.terms:
            body = "*".join(str(a) for a in m)
            text = str(abs(c)) if not m else body if abs(c) == 1 else f"{abs(c)}*{body}"
            parts.append(("-" if c < 0 else "") + text if not parts else (" - " if c < 0 else " + ") + text)
        return "".join(parts)

    __repr__ = __str__


Size = Union[int, Dim]


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Dim) else (((), int(size)),) if size else ()


def _canonical(terms: Mapping[Monomial, int]) -> Size:
    kept = [(m, c) for m, c in terms.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    return Dim(tuple(sorted(kept, key=lambda mc: _order(mc[0]))))


def _sum(sizes: Iterable[Size]) -> Size:
    total: dict[Monomial, int] = {}
    for s in sizes:
        for m, c in _terms(s):
            total[m] = total.get(m, 0) + c
    return _canonical(total)


def _product(a: Size, b: Size) -> Size:
    total: dict[Monomial, int] = {}
    for m1, c1 in _terms(a):
        for m2, c2 in _terms(b):
            m = tuple(sorted(m1 + m2, key=str))
            total[m] = total.get(m, 0) + c1 * c2
    return _canonical(total)


def exact_quotient(a: Size, b: Size) -> Size | None:
    """a / b where that is a polynomial with integer coefficients for every value of the symbols, else None."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b if b and a % b == 0 else None
    if isinstance(a, int) and a == 0:
        return 0
    divisor = _terms(b)
    if len(divisor) != 1:
        return 1 if a == b else None
    dm, dc = divisor[0]
    out: dict[Monomial, int] = {}
    for m, c in _terms(a):
        rest = list(m)
        for atom in dm:
            if atom not in rest:
                return None
            rest.remove(atom)
        if c % dc:
            return None
        out[tuple(rest)] = out.get(tuple(rest), 0) + c // dc
    return _canonical(out)


def floordiv(a: Size, b: Size) -> Size:
    """Python's floor division; b must not be zero at run time."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    q = exact_quotient(a, b)
    return q if q is not None else Dim((((Func("floordiv", (a, b)),), 1),))


def mod(a: Size, b: Size) -> Size:
    """Python's modulo; b must not be zero at run time."""
    if isinstance(a, int) and isinstance(b, int):
        return a % b
    return 0 if exact_quotient(a, b) is not None else Dim((((Func("mod", (a, b)),), 1),))


def _extreme(fn: str, a: Size, b: Size) -> Size:
    if a == b:
        return a
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if fn == "min" else max(a, b)
    (alo, ahi), (blo, bhi) = bounds(a), bounds(b)
    if ahi is not None and blo is not None and ahi <= blo:
        return a if fn == "min" else b
    if bhi is not None and alo is not None and bhi <= alo:
        return b if fn == "min" else a
    return Dim((((Func(fn, tuple(sorted((a, b), key=str))),), 1),))


def size_min(a: Size, b: Size) -> Size:
    return _extreme("min", a, b)


def size_max(a: Size, b: Size) -> Size:
    return _extreme("max", a, b)


def product(sizes: Iterable[Size]) -> Size:
    out: Size = 1
    for s in sizes:
        out = out * s
    return out


def symbols(size: Size) -> frozenset[Sym]:
    """The symbols that a size depends on."""
    if isinstance(size, int):
        return frozenset()
    found: set[Sym] = set()
    for m, _ in size.terms:
        for a in m:
            if isinstance(a, Sym):
                found.add(a)
            else:
                for x in a.args:
                    found |= symbols(x)
    return frozenset(found)


def evaluate(size: Size, values: Mapping[Sym, int]) -> int:
    """The integer that a size is, given each symbol's value."""
    if isinstance(size, int):
        return size
    total = 0
    for m, c in size.terms:
        for a in m:
            if isinstance(a, Sym):
                c *= values[a]
            else:
                x, y = (evaluate(v, values) for v in a.args)
                c *= {"floordiv": int.__floordiv__, "mod": int.__mod__, "min": min, "max": max}[a.fn](x, y)  # type: ignore[operator]
        total += c
    return total


def hint(size: Size) -> int:
    """The size in the example call that was captured."""
    return size if isinstance(size, int) else evaluate(size, {s: s.hint for s in symbols(size)})


def substitute(size: Size, values: Mapping[Sym, Size]) -> Size:
    """The size with symbols replaced by other sizes."""
    if isinstance(size, int):
        return size
    total: Size = 0
    for m, c in size.terms:
        term: Size = c
        for a in m:
            if isinstance(a, Sym):
                term = term * values.get(a, Dim.of(a))
            else:
                x, y = (substitute(v, values) for v in a.args)
                term = term * {"floordiv": floordiv, "mod": mod, "min": size_min, "max": size_max}[a.fn](x, y)
        total = total + term
    return total


Bounds = tuple[int | None, int | None]


def bounds(size: Size) -> Bounds:
    """A range that surely holds the size: (low, high), None = unbounded. Interval arithmetic on the symbols' ranges."""
    if isinstance(size, int):
        return size, size
    lo: int | None = 0
    hi: int | None = 0
    for m, c in size.terms:
        tlo, thi = _monomial_bounds(m)
        if c < 0:
            tlo, thi = thi, tlo
        lo = None if lo is None or tlo is None else lo + c * tlo
        hi = None if hi is None or thi is None else hi + c * thi
    return lo, hi


def _monomial_bounds(m: Monomial) -> Bounds:
    lo: int | None = 1
    hi: int | None = 1
    for a in m:
        alo, ahi = (a.lo, a.hi) if isinstance(a, Sym) else _func_bounds(a)
        if alo is None or alo < 0 or lo is None or lo < 0:
            return None, None
        lo = lo * alo
        hi = None if hi is None or ahi is None else hi * ahi
    return lo, hi


def _func_bounds(f: Func) -> Bounds:
    (alo, ahi), (blo, bhi) = bounds(f.args[0]), bounds(f.args[1])
    if f.fn == "mod":
        return (0, None if bhi is None else bhi - 1) if blo is not None and blo > 0 else (None, None)
    if f.fn == "floordiv":
        if alo is None or alo < 0 or blo is None or blo <= 0:
            return None, None
        return (0 if bhi is None else alo // bhi), (None if ahi is None else ahi // blo)
    if f.fn == "min":
        lo = None if alo is None or blo is None else min(alo, blo)
        his = [h for h in (ahi, bhi) if h is not None]
        return lo, min(his) if his else None
    los = [x for x in (alo, blo) if x is not None]
    return (max(los) if los else None), (None if ahi is None or bhi is None else max(ahi, bhi))

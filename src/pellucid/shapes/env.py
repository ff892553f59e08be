"""Questions about symbolic sizes: answered from ranges where that proves it, else from the example, with a guard."""

from __future__ import annotations

from dataclasses import dataclass, field

from .dim import Dim, Size, Sym, bounds, hint


@dataclass(frozen=True, slots=True)
class Range:
    """The sizes that a symbol may take, both ends included; hi None: any. What a policy answers for "symbolic, and
    between these"."""

    lo: int = 2
    hi: int | None = None


@dataclass(frozen=True, slots=True)
class SizeGuard:
    """`lhs op rhs` held in the captured call (op: == != < <=); an entry is valid only where it holds again.

    `cause` is the user's position and the operation that asked, for explain.
    """

    op: str
    lhs: Size
    rhs: Size
    cause: object = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.lhs} {self.op} {self.rhs}"


_HOLDS = {"==": int.__eq__, "!=": int.__ne__, "<": int.__lt__, "<=": int.__le__}
_NEGATED = {"==": ("!=", False), "!=": ("==", False), "<": ("<=", True), "<=": ("<", True)}


def holds(op: str, a: int, b: int) -> bool:
    return bool(_HOLDS[op](a, b))


def _difference(a: Size, b: Size) -> tuple[int | None, int | None]:
    """bounds(a - b); beside a plain integer without the work of a subtraction."""
    if type(b) is int:
        lo, hi = bounds(a)
        return (None if lo is None else lo - b), (None if hi is None else hi - b)
    if type(a) is int:
        lo, hi = bounds(b)
        return (None if hi is None else a - hi), (None if lo is None else a - lo)
    return bounds(a - b)


def prove(op: str, a: Size, b: Size) -> bool | None:
    """True or False where it is so for every value in the symbols' ranges, None where it depends."""
    if isinstance(a, int) and isinstance(b, int):
        return holds(op, a, b)
    return _verdict(op, *_difference(a, b))


def _verdict(op: str, lo: int | None, hi: int | None) -> bool | None:
    """Of `d op 0` for a d within lo..hi."""
    if op in ("==", "!="):
        apart = (lo is not None and lo > 0) or (hi is not None and hi < 0)
        same = True if (lo, hi) == (0, 0) else False if apart else None
        return same if op == "==" or same is None else not same
    if op == "<":
        return True if hi is not None and hi < 0 else False if lo is not None and lo >= 0 else None
    return True if hi is not None and hi <= 0 else False if lo is not None and lo > 0 else None


def _form(size: Size) -> tuple[tuple[object, ...], int, int]:
    """(terms, constant, sign) with size == sign * (terms + constant): the first coefficient of terms is positive."""
    assert isinstance(size, Dim)
    terms = tuple(t for t in size.terms if t[0])
    constant = sum(c for m, c in size.terms if not m)
    if terms[0][1] < 0:
        return tuple((m, -c) for m, c in terms), -constant, -1
    return terms, constant, 1


@dataclass(slots=True)
class ShapeEnv:
    """The symbols of one capture and the guards that its questions left."""

    symbols: list[Sym] = field(default_factory=list)
    guards: list[SizeGuard] = field(default_factory=list)
    cause: object = None
    facts: dict[tuple[object, ...], tuple[int | None, int | None]] = field(default_factory=dict)
    """Polynomial without its constant -> the range that the guards so far leave it."""

    def symbol(self, example: int, lo: int = 2, hi: int | None = None) -> Dim:
        """A new symbol for a size that was `example` in this call. Range 2.. unless told: 0 and 1 are other entries."""
        sym = Sym(f"s{len(self.symbols)}", example, lo, hi)
        self.symbols.append(sym)
        return Dim.of(sym)

    def decide(self, op: str, a: Size, b: Size) -> bool:
        """Whether `a op b` (op: == != < <= > >=), guarded where it is not provable."""
        if type(a) is int and type(b) is int:
            return holds(op, a, b) if op[0] != ">" else holds({">": "<", ">=": "<="}[op], b, a)
        if op[0] == ">":
            return self.decide({">": "<", ">=": "<="}[op], b, a)
        known = prove(op, a, b)
        if known is None and self.facts:
            known = self.implied(op, a, b)
        if known is not None:
            return known
        answer = holds(op, hint(a), hint(b))
        guard = SizeGuard(op, a, b, self.cause)
        if not answer:
            neg, swap = _NEGATED[op]
            guard = SizeGuard(neg, b if swap else a, a if swap else b, self.cause)
        if guard not in self.guards:
            self.guards.append(guard)
            self.learn(guard)
        return answer

    def implied(self, op: str, a: Size, b: Size) -> bool | None:
        """The answer that follows from the guards so far (a torch._check, an earlier branch), or None."""
        terms, constant, sign = _form(a - b)
        lo, hi = self.facts.get(terms, (None, None))
        lo, hi = None if lo is None else lo + constant, None if hi is None else hi + constant
        if sign < 0:
            lo, hi = None if hi is None else -hi, None if lo is None else -lo
        return _verdict(op, lo, hi)

    def learn(self, g: SizeGuard) -> None:
        """A guard holds in all that follows: the range that it leaves `lhs - rhs`."""
        if g.op == "!=":
            return
        terms, constant, sign = _form(g.lhs - g.rhs)
        # sign * (terms + constant) is == 0, < 0 or <= 0
        bound = -constant if g.op != "<" else -constant - sign
        lo, hi = self.facts.get(terms, (None, None))
        if g.op == "==" or sign > 0:
            hi = bound if hi is None else min(hi, bound)
        if g.op == "==" or sign < 0:
            lo = bound if lo is None else max(lo, bound)
        self.facts[terms] = lo, hi

    def same(self, a: Size, b: Size) -> bool:
        return a == b or self.decide("==", a, b)

    def concrete(self, size: Size) -> int:
        """The size as a plain integer, guarded to stay so."""
        if isinstance(size, int):
            return size
        value = hint(size)
        self.decide("==", size, value)
        return value

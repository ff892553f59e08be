"""The value table of a plan: constants, symbols, and the little program that computes expressions of symbols."""

from __future__ import annotations

from collections.abc import Sequence

from ...shapes.dim import Dim, Func, Size, Sym
from .records import SIZE_OPS


class Values:
    """Numbers values as they are asked for. `constants` is the table's content before a call; `program` computes the
    rest from the symbols, in order, as (op, to, a, b)."""

    def __init__(self) -> None:
        self.constants: list[int] = []
        self.program: list[tuple[int, int, int, int]] = []
        self.symbols: dict[Sym, int] = {}
        self._known: dict[Size, int] = {}
        self._runs: dict[tuple[Size, ...], int] = {}

    def _slot(self, initial: int = 0) -> int:
        self.constants.append(initial)
        return len(self.constants) - 1

    def symbol(self, sym: Sym) -> int:
        """The slot that a symbol is read into."""
        if sym not in self.symbols:
            self.symbols[sym] = self._known[Dim.of(sym)] = self._slot()
        return self.symbols[sym]

    def of(self, size: Size) -> int:
        """The number of a value equal to `size`. Raises ValueError where it names a symbol that nothing defines."""
        at = self._known.get(size)
        if at is None:
            at = self._known[size] = self._slot(int(size)) if not isinstance(size, Dim) else self._expression(size)
        return at

    def run(self, sizes: Sequence[Size]) -> int:
        """The number of the first of values that follow each other and equal `sizes`."""
        key = tuple(sizes)
        at = self._runs.get(key)
        if at is None:
            parts = [s if not isinstance(s, Dim) else self.of(s) for s in key]
            at = len(self.constants)
            for k, s in enumerate(key):
                slot = self._slot(0 if isinstance(s, Dim) else parts[k])
                if isinstance(s, Dim):
                    self.program.append((SIZE_OPS["copy"], slot, parts[k], parts[k]))
            self._runs[key] = at
        return at

    def _apply(self, op: str, a: int, b: int) -> int:
        to = self._slot()
        self.program.append((SIZE_OPS[op], to, a, b))
        return to

    def _expression(self, size: Dim) -> int:
        total: int | None = None
        for monomial, factor in size.terms:
            term = self.of(factor) if factor != 1 or not monomial else None
            for atom in monomial:
                part = self._atom(atom)
                term = part if term is None else self._apply("mul", term, part)
            assert term is not None
            total = term if total is None else self._apply("add", total, term)
        assert total is not None
        return total

    def _atom(self, atom: Sym | Func) -> int:
        if isinstance(atom, Sym):
            if atom not in self.symbols:
                raise ValueError(f"size symbol {atom} is used, but Plan.symbols does not say where it is read")
            return self.symbols[atom]
        a, b = (self.of(x) for x in atom.args)
        return self._apply(atom.fn, a, b)

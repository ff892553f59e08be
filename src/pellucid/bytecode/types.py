"""Canonical code: the same instructions on every Python version, with handler region and position on each."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Handler(NamedTuple):
    """Where an exception goes: cut the stack to `depth`, push a slot if `push_lasti`, push the exception, jump."""

    target: int
    depth: int
    push_lasti: bool


class Instr(NamedTuple):
    """One canonical instruction. `arg` is resolved: a constant, name, slot number, operator function, jump target
    (an index into `Code.instrs`) or count. `offset` is the byte offset in the original code. See effects.py for the
    operands of each op."""

    op: str
    arg: Any
    handler: Handler | None
    offset: int


class CallArg(NamedTuple):
    """Operands of CALL: callable, `positional` values, then one value for each of `keywords`. Nothing else is below."""

    positional: int
    keywords: tuple[str, ...]
    method: bool = False
    """The callable was loaded as a method of an object, so that x.f(1) need not make a bound method first."""


class Position(NamedTuple):
    """Source range of an instruction; columns count bytes of UTF-8, None where unknown."""

    line: int | None
    end_line: int | None
    col: int | None
    end_col: int | None


GENERATOR = 0x20
NATIVE_FLAGS = 0x80 | 0x100 | 0x200
"""Coroutine, iterable coroutine, asynchronous generator: such functions are run by Python itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A decoded code object. Compared by identity: `decode` returns the same Code for the same code object.

    `slots` names all variables of a frame in one index space, as the instructions number them: the `nlocals` locals
    (arguments first), then cells that are not also locals, then `nfree` free variables.
    """

    original: types.CodeType
    instrs: tuple[Instr, ...]
    name: str
    qualname: str
    file: str
    first_line: int
    flags: int
    argcount: int
    """Positional parameters, with the `posonly` first ones."""
    posonly: int
    kwonly: int
    has_varargs: bool
    has_varkw: bool
    slots: tuple[str, ...]
    nlocals: int
    nfree: int
    unsupported: tuple[tuple[int, str, str], ...] = ()
    """(index, original opcode, reason) of instructions that cannot be executed here."""
    _lazy: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def cells(self) -> frozenset[int]:
        """Slots that hold a cell (own cells and free variables)."""
        cells = self._lazy.get("cells")
        if cells is None:
            own = set(self.original.co_cellvars)
            free = len(self.slots) - self.nfree
            cells = frozenset(i for i, n in enumerate(self.slots) if i >= free or n in own)
            self._lazy["cells"] = cells
        return cells

    @property
    def is_generator(self) -> bool:
        return bool(self.flags & GENERATOR)

    def position(self, index: int) -> Position:
        """Source position of instruction `index`."""
        units = self._lazy.get("positions")
        if units is None:
            units = self._lazy["positions"] = tuple(Position(*p) for p in self.original.co_positions())
        found: Position = units[self.instrs[index].offset >> 1]
        return found

    def line(self, index: int) -> int:
        """Source line of instruction `index`, or of the nearest earlier one that has a line."""
        for i in range(index, -1, -1):
            line = self.position(i).line
            if line is not None:
                return line
        return self.first_line

    def slot(self, name: str) -> int:
        """Slot number of the variable `name`; ValueError if the code has none."""
        return self.slots.index(name)

    def __repr__(self) -> str:
        return f"<Code {self.qualname} {self.file}:{self.first_line}>"

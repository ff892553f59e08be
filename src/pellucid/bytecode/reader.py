"""What a version's table is made of: rules that turn one raw instruction into canonical ones.

CPython's calls carry a NULL, or a method and its object in two slots, below their arguments. Canonical code has
neither, so the reader follows the stack depth along the code, to know which of the three a CALL has and how many
such slots lie below each handler.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from .effects import EFFECTS, ENDS, JUMP_EFFECTS, effect
from .types import CallArg

# Kinds of rules. A rule is (kind, canonical op, detail, net stack effect or None when it depends on the argument).
# PLAIN: the argument is what it says; CONST and NAME: an index; GLOBAL: LOAD_GLOBAL's name and NULL bit; CONVERT:
# detail(number, reader) gives it; SPECIAL: detail(reader, number) emits what it needs.
PLAIN, CONST, NAME, GLOBAL, CONVERT, DROP, SPECIAL = range(7)
Rule = tuple[int, str, Any, Any]
EXTENDED = "prefix"


def _net(op: str) -> int | None:
    e = EFFECTS[op]
    return None if callable(e) else e[1] - e[0]


def drop(detail: str | None = None) -> Rule:
    """Not an instruction here. EXTENDED: its argument is the high part of the next one's."""
    return (DROP, "", detail, 0)


def plain(op: str) -> Rule:
    return (PLAIN, op, None, _net(op))


def const(op: str) -> Rule:
    return (CONST, op, None, _net(op))


def name(op: str) -> Rule:
    return (NAME, op, None, _net(op))


def load_global() -> Rule:
    return (GLOBAL, "LOAD_GLOBAL", None, 1)


def convert(op: str, f: Callable[[int, Reader], Any]) -> Rule:
    return (CONVERT, op, f, _net(op))


def special(f: Callable[[Reader, int], None]) -> Rule:
    return (SPECIAL, "", f, 0)


def jump(op: str, direction: int = 1, skip: int = 0) -> Rule:
    """A relative jump; `skip` bytes after its target are passed over too."""

    def rule(d: Reader, arg: int) -> None:
        d.jump_to(op, d.end + 2 * direction * arg + skip)

    return special(rule)


def unsupported(opcode: str, reason: str) -> Rule:
    """Decoded, but an error with this reason when it is executed."""

    def rule(d: Reader, arg: int) -> None:
        d.unsupported.append((len(d.ops), opcode, reason))
        d.emit("UNSUPPORTED", (opcode, reason))

    return special(rule)


class Reader:
    """State of decoding one code object; the version's rules call `emit`, `open_call` and `call`."""

    __slots__ = ("consts", "names", "ops", "args", "offsets", "at", "depth", "open", "alive", "known", "jumps",
                 "keywords", "unsupported", "end", "where")

    def __init__(self, code: types.CodeType, known: dict[int, tuple[int, Any]]) -> None:
        self.consts, self.names = code.co_consts, code.co_names
        self.ops: list[str] = []
        self.args: list[Any] = []
        self.offsets: list[int] = []
        self.jumps: list[tuple[int, int]] = []
        self.unsupported: list[tuple[int, str, str]] = []
        self.at, self.end = 0, 0
        self.where = [0] * (len(code.co_code) // 2 + 1)
        """Index of the canonical instruction by raw offset / 2."""
        self.depth = 0
        self.open: Any = None
        """Calls whose callable has a NULL or method pair: (depth of the callable, is a method, outer ones)."""
        self.alive = True
        self.known = known
        """Raw offset -> (depth, open) on arrival by a jump."""
        self.keywords: tuple[str, ...] = ()

    def emit(self, op: str, arg: Any = None) -> None:
        self.ops.append(op)
        self.args.append(arg)
        self.offsets.append(self.at)
        popped, pushed = effect(op, arg)
        self.depth += pushed - popped
        if op in ENDS:
            self.alive = False

    def jump_to(self, op: str, target: int) -> None:
        """Emit a jump to the raw offset `target`."""
        e = JUMP_EFFECTS[op]
        if self.alive:
            self.known.setdefault(target, (self.depth + e[1] - e[0], self.open))
        self.jumps.append((len(self.ops), target))
        self.emit(op, target)

    def take_const(self) -> Any:
        """Take back the LOAD_CONST just emitted and return its constant."""
        if self.ops[-1] != "LOAD_CONST":
            raise ValueError(f"offset {self.at}: a LOAD_CONST was expected before this instruction")
        self.ops.pop()
        self.offsets.pop()
        self.depth -= 1
        self.where[self.at >> 1] -= 1
        return self.args.pop()

    def open_call(self, depth: int, method: bool = False) -> None:
        self.open = (depth, method, self.open)

    def call(self, positional: int, keywords: tuple[str, ...] = ()) -> None:
        """A call with `positional` values that CPython counts as arguments, keyword values among them."""
        n, method = positional, False
        if self.open is not None and self.open[0] == self.depth - n - 1:
            _, method, self.open = self.open
        else:
            n += 1
        self.emit("CALL", CallArg(n - len(keywords), keywords, method))

    def call_ex(self, has_keywords: int) -> None:
        if self.open is not None and self.open[0] == self.depth - 2 - has_keywords:
            self.open = self.open[2]
        self.emit("CALL_EX", has_keywords)

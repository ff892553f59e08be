"""Code object -> Code: reads the raw bytes by the table of the running Python version."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from .effects import ENDS, effect
from .reader import CONST, CONVERT, DROP, EXTENDED, GLOBAL, NAME, PLAIN, SPECIAL, Reader, Rule
from .types import Code, Handler, Instr


def _regions(code: types.CodeType) -> list[tuple[int, int, int, int, bool]]:
    """The exception table: (start, end, target, depth, lasti), offsets in bytes, end exclusive. Varints, big end first,
    six bits each; format of CPython's InternalDocs/exception_handling.md."""
    table, out, numbers, value = code.co_exceptiontable, [], [], 0
    for byte in table:
        value = value << 6 | byte & 63
        if not byte & 64:
            numbers.append(value)
            value = 0
    for i in range(0, len(numbers), 4):
        start, size, target, depth_lasti = numbers[i : i + 4]
        out.append((2 * start, 2 * (start + size), 2 * target, depth_lasti >> 1, bool(depth_lasti & 1)))
    return out


def _scan(code: types.CodeType, regions: list[tuple[int, int, int, int, bool]], known: dict[int, Any]
          ) -> tuple[Reader, dict[int, int], list[int]]:
    """One pass over the bytes: the reader with all it emitted, the canonical depth kept by each handler (by its raw
    offset), and the offsets that were met before any way to them was."""
    raw = code.co_code
    n = len(raw)
    d = Reader(code, known)
    table, where, consts, names = TABLE, d.where, d.consts, d.names
    add_op, add_arg, add_offset = d.ops.append, d.args.append, d.offsets.append
    below: dict[int, int] = {}
    starts: dict[int, Any] = {}
    for r in regions:
        starts.setdefault(r[0], r)
    waiting = sorted(starts, reverse=True)
    waiting.append(n + 1)
    waiting.sort(reverse=True)
    next_start = waiting.pop()
    lost = []
    i = ext = count = depth = 0
    alive = True
    while i < n:
        where[i >> 1] = count
        if not alive:
            state = known.get(i)
            if state is not None:
                depth, d.open = state
                alive = True
        if i == next_start:
            next_start = waiting.pop()
            _, _, target, raw_depth, lasti = starts[i]
            if alive and target not in below:
                kept, pending = raw_depth, d.open
                while pending is not None:
                    kept, pending = kept - 1, pending[2]
                below[target] = kept
                known.setdefault(target, (kept + lasti + 1, d.open))
        kind, op, detail, net, size = table[raw[i]]
        arg: Any = raw[i + 1]
        if ext:
            arg |= ext
            ext = 0
        if kind == PLAIN:
            pass
        elif kind == CONST:
            arg = consts[arg]
        elif kind == NAME:
            arg = names[arg]
        elif kind == GLOBAL:
            if arg & 1:
                d.open = (depth, False, d.open)
            arg = names[arg >> 1]
        elif kind == CONVERT:
            arg = detail(arg, d)
        else:
            if kind == DROP:
                if detail is EXTENDED:
                    ext = arg << 8
                i += size
                continue
            if not alive:
                lost.append(i)
            d.at, d.end, d.depth, d.alive = i, i + size, depth, alive
            detail(d, arg)
            i, depth, alive, count = d.end, d.depth, d.alive, len(d.ops)
            continue
        if not alive:
            lost.append(i)
        add_op(op)
        add_arg(arg)
        add_offset(i)
        count += 1
        depth += net if net is not None else _net(op, arg)
        i += size
        if kind == PLAIN and op in ENDS:
            alive = False
    where[n >> 1] = count
    return d, below, lost


def _net(op: str, arg: Any) -> int:
    popped, pushed = effect(op, arg)
    return pushed - popped


def _decode(code: types.CodeType) -> Code:
    regions = _regions(code)
    known: dict[int, Any] = {}
    while True:
        d, below, lost = _scan(code, regions, known)
        if not any(i in known for i in lost):      # code that only later code jumps back to is read again
            break
    args, where = d.args, d.where
    for index, target in d.jumps:
        args[index] = where[target >> 1]
    handlers: list[Handler | None] = [None] * len(args)
    for start, end, target, depth, lasti in regions:
        handler = Handler(where[target >> 1], below.get(target, depth), lasti)
        for j in range(where[start >> 1], where[end >> 1]):
            handlers[j] = handler
    new = tuple.__new__
    instrs = tuple([new(Instr, t) for t in zip(d.ops, args, handlers, d.offsets)])
    names, free = code.co_varnames, code.co_freevars
    cells = code.co_cellvars
    if cells:
        cells = tuple([c for c in cells if c not in names])
    flags = code.co_flags
    return Code(code, instrs, code.co_name, code.co_qualname, code.co_filename, code.co_firstlineno, flags,
                code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, bool(flags & 4), bool(flags & 8),
                names + cells + free, len(names), len(free), tuple(d.unsupported))


_cache: dict[int, Code] = {}


def decode(code: types.CodeType) -> Code:
    """The canonical form of a code object, made once. The cache is by identity (hashing a code object is slow) and the
    result keeps the code object alive, so that an identity is never reused."""
    decoded = _cache.get(id(code))
    if decoded is None:
        decoded = _cache[id(code)] = _decode(code)
    return decoded


def _load() -> list[tuple[int, str, Any, Any, int]]:
    """The running version's rules by opcode number, each with the instruction's size in bytes; an error if that version
    has an opcode which its table does not list."""
    import dis

    major, minor = sys.version_info[:2]
    try:
        version = importlib.import_module(f"{__package__}.py{major}{minor}")
    except ModuleNotFoundError:
        raise ImportError(f"pellucid reads the bytecode of Python 3.11, 3.12 and 3.13, not {major}.{minor}") from None
    rules: dict[str, Rule] = version.RULES
    unlisted = sorted(n for n in dis.opmap if n not in rules and n not in version.PSEUDO)
    if unlisted:
        raise ImportError(f"Python {sys.version.split()[0]} has opcodes that pellucid's table for {major}.{minor} does "
                          f"not list: {', '.join(unlisted)}")
    table: list[tuple[int, str, Any, Any, int]] = [(SPECIAL, "", _not_an_opcode, 0, 2)] * 256
    for name, number in dis.opmap.items():
        if number < 256 and name in rules:
            table[number] = (*rules[name], 2 + 2 * version.caches(name, number))
    return table


def _not_an_opcode(d: Reader, arg: int) -> None:
    raise ValueError(f"byte offset {d.at} of the code object does not hold an opcode of this Python version")


TABLE = _load()

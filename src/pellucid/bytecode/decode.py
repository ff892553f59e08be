"""Code object -> Code: reads the raw bytes by the table of the running Python version."""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

from .effects import ENDS
from .reader import CONVERT, JUMP, PLAIN, SPECIAL, UNSUPPORTED, Reader, Rule
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


def _scan(code: types.CodeType, table: list[Rule], caches: list[int], regions: Any, known: dict[int, Any]
          ) -> tuple[Reader, dict[int, int], list[int]]:
    raw = code.co_code
    n = len(raw)
    d = Reader(code, known)
    where = d.where
    ops, args, offsets = d.ops, d.args, d.offsets
    depths: dict[int, int] = {}
    starts = {}
    for r in regions:
        starts.setdefault(r[0], r)
    lost = []
    i, ext = 0, 0
    while i < n:
        where[i >> 1] = len(ops)
        if not d.alive:
            state = known.get(i)
            if state is not None:
                d.depth, d.open = state
                d.alive = True
        if i in starts and d.alive:
            _, _, target, depth, lasti = starts[i]
            if target not in depths:
                below, o = depth, d.open
                while o is not None:
                    below, o = below - 1, o[2]
                depths[target] = below
                known.setdefault(target, (below + lasti + 1, d.open))
        o = raw[i]
        arg = raw[i + 1] | ext
        ext = 0
        kind, op, detail, net = table[o]
        if not d.alive and kind:
            lost.append(i)
        d.at = i
        i += 2 + caches[o]
        if kind == PLAIN:
            if net is None:
                d.emit(op, arg)
            else:
                ops.append(op)
                args.append(arg)
                offsets.append(d.at)
                d.depth += net
                if op in ENDS:
                    d.alive = False
        elif kind == CONVERT:
            arg = detail(arg, d)
            if net is None:
                d.emit(op, arg)
            else:
                ops.append(op)
                args.append(arg)
                offsets.append(d.at)
                d.depth += net
        elif kind == SPECIAL:
            d.end = i
            detail(d, arg)
        elif kind == JUMP:
            direction, skip = detail
            d.jump_to(op, i + 2 * direction * arg + skip)
        elif kind == UNSUPPORTED:
            d.unsupported.append((len(ops), op_names[o], detail))
            d.emit(op, (op_names[o], detail))
        elif op_names[o] == "EXTENDED_ARG":
            ext = arg << 8
    where[n >> 1] = len(ops)
    return d, depths, lost


def _decode(code: types.CodeType) -> Code:
    regions = _regions(code)
    known: dict[int, Any] = {}
    while True:
        d, depths, lost = _scan(code, TABLE, CACHE_BYTES, regions, known)
        if not any(i in known for i in lost):      # code that only later code jumps back to is read again
            break
    args, where = d.args, d.where
    for index, target in d.jumps:
        args[index] = where[target >> 1]
    handlers: list[Handler | None] = [None] * len(args)
    for start, end, target, depth, lasti in regions:
        handler = Handler(where[target >> 1], depths.get(target, depth), lasti)
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


def _load() -> tuple[list[Rule], list[int], list[str]]:
    """The running version's table; an error if that version has an opcode which the table does not list."""
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
    unknown = (SPECIAL, "", _not_an_opcode, 0)
    table = [unknown] * 256
    for name, number in dis.opmap.items():
        if number < 256 and name in rules:
            table[number] = rules[name]
    if minor >= 13:
        entries = dis._inline_cache_entries  # type: ignore[attr-defined]
        caches = [2 * entries.get(dis.opname[i], 0) for i in range(256)]
    else:
        caches = [2 * n for n in dis._inline_cache_entries]  # type: ignore[attr-defined]
    return table, caches, list(dis.opname)


def _not_an_opcode(d: Reader, arg: int) -> None:
    raise ValueError(f"byte offset {d.at} of the code object does not hold an opcode of this Python version")


TABLE, CACHE_BYTES, op_names = _load()

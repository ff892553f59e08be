"""What can be known of a Code without running it: successors, live variables, loops, stack depths."""

from __future__ import annotations

from typing import NamedTuple

from .effects import ENDS, JUMP_EFFECTS, effect
from .types import Code

READS = frozenset({"LOAD_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL", "LOAD_DEREF", "STORE_DEREF",
                   "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF"})
"""Ops that look at the slot in their argument (DELETE_FAST: whether it is bound; *_DEREF: the cell in it)."""
WRITES = frozenset({"STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL"})
FRAME_READERS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe", "stack"})
"""Names whose use may read all variables of the frame."""


def successors(code: Code, index: int) -> tuple[int, ...]:
    """Instructions that may come next, its exception handler last."""
    instr = code.instrs[index]
    out = []
    if instr.op not in ENDS:
        out.append(index + 1)
    if instr.op in JUMP_EFFECTS:
        out.append(instr.arg)
    if instr.handler is not None:
        out.append(instr.handler.target)
    return tuple(out)


def _live(code: Code) -> list[int]:
    """Per instruction, the bit set of slots that are read later if execution goes on there."""
    instrs = code.instrs
    n = len(instrs)
    use, keep = [0] * n, [-1] * n
    always = 0
    for i, instr in enumerate(instrs):
        op = instr.op
        if op in READS:
            use[i] = 1 << instr.arg
        if op in WRITES:
            keep[i] = ~(1 << instr.arg)
        elif op == "COPY_FREE_VARS":
            keep[i] = ~(((1 << code.nfree) - 1) << len(code.slots) - code.nfree)
        elif op in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR"):
            if instr.arg in FRAME_READERS:
                always = (1 << len(code.slots)) - 1
            elif instr.arg == "super":
                always |= 1
                if "__class__" in code.slots:
                    always |= 1 << code.slot("__class__")
    after = [successors(code, i) for i in range(n)]
    live = [always] * (n + 1)
    changed = True
    while changed:
        changed = False
        for i in range(n - 1, -1, -1):
            handler = instrs[i].handler
            out = 0
            for j in after[i]:
                out |= live[j]
            s = always | use[i] | out & keep[i]
            if handler is not None:      # an exception comes before the write
                s |= live[handler.target]
            if s != live[i]:
                live[i] = s
                changed = True
    return live[:n]


def live_slots(code: Code, index: int) -> frozenset[int]:
    """Slots whose values are read at or after instruction `index`, on any way, exception handlers included.

    A frame that goes on at `index` needs only these. Where the code may read its own frame (locals(), eval, super()
    ...) what that could read is always live.
    """
    live = code._lazy.get("live")
    if live is None:
        live = code._lazy["live"] = _live(code)
    bits = live[index]
    return frozenset(i for i in range(len(code.slots)) if bits >> i & 1)


class Loop(NamedTuple):
    """A natural loop: `head` is where each round begins; `body` all its instructions, the head included."""

    head: int
    body: frozenset[int]


def loops(code: Code) -> tuple[Loop, ...]:
    """The loops of a code, by the position of their heads. A loop entered in its middle is not one."""
    found = code._lazy.get("loops")
    if found is None:
        found = code._lazy["loops"] = _loops(code)
    return found


def _loops(code: Code) -> tuple[Loop, ...]:
    n = len(code.instrs)
    after = [successors(code, i) for i in range(n)]
    before: list[list[int]] = [[] for _ in range(n)]
    for i, js in enumerate(after):
        for j in js:
            before[j].append(i)
    dominators = [-1] * n            # bit sets; -1: all
    dominators[0] = 1
    changed = True
    while changed:
        changed = False
        for i in range(1, n):
            d = -1
            for p in before[i]:
                d &= dominators[p]
            d = d | 1 << i if before[i] else -1
            if d != dominators[i]:
                dominators[i] = d
                changed = True
    bodies: dict[int, set[int]] = {}
    for i, js in enumerate(after):
        if dominators[i] == -1:
            continue
        for head in js:
            if dominators[i] >> head & 1:
                body = bodies.setdefault(head, {head})
                todo = [i]
                while todo:
                    k = todo.pop()
                    if k not in body:
                        body.add(k)
                        todo.extend(p for p in before[k] if dominators[p] != -1)
    return tuple(Loop(head, frozenset(bodies[head])) for head in sorted(bodies))


def depths(code: Code) -> list[int | None]:
    """Stack depth before each instruction, None where it is never reached; ValueError if the code is inconsistent."""
    instrs = code.instrs
    found: list[int | None] = [None] * len(instrs)
    todo = [(0, 0)]
    while todo:
        i, depth = todo.pop()
        where = f"{code.qualname} ({code.file}): instruction {i}"
        if not 0 <= i < len(instrs):
            raise ValueError(f"{where}: out of range, the code has {len(instrs)}")
        if found[i] is not None:
            if found[i] != depth:
                raise ValueError(f"{where}: reached with stack depths {found[i]} and {depth}")
            continue
        found[i] = depth
        instr = instrs[i]
        popped, pushed = effect(instr.op, instr.arg)
        if popped > depth:
            raise ValueError(f"{where}: {instr.op} takes {popped} values, {depth} are there")
        if instr.op not in ENDS:
            todo.append((i + 1, depth - popped + pushed))
        jump = JUMP_EFFECTS.get(instr.op)
        if jump is not None:
            todo.append((instr.arg, depth - jump[0] + jump[1]))
        if instr.handler is not None:
            target, below, lasti = instr.handler
            if below > depth:
                raise ValueError(f"{where}: its handler keeps {below} values, {depth} are there")
            todo.append((target, below + lasti + 1))
    return found


def verify(code: Code) -> None:
    """ValueError if jumps, handlers or stack depths of a code do not fit together."""
    depths(code)
    for i, instr in enumerate(code.instrs):
        if instr.op in JUMP_EFFECTS and not 0 <= instr.arg < len(code.instrs):
            raise ValueError(f"{code.qualname}: instruction {i} jumps to {instr.arg}, out of range")

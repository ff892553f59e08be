"""Which variables of a frame are still read after an instruction."""

from __future__ import annotations

from ..bytecode.effects import ENDS, JUMP_EFFECTS
from ..bytecode.types import Code

_READS = frozenset(("LOAD_FAST", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_FROM_DICT_OR_DEREF", "MAKE_CELL",
                    "LOAD_FAST_AND_CLEAR", "DELETE_FAST"))


def live_at(code: Code, index: int) -> frozenset[int]:
    """Slots that some way on from instruction `index` reads before it writes them; cells always count."""
    table = code._lazy.get("live")
    if table is None:
        table = code._lazy["live"] = _analyse(code)
    return table[index] | code.cells


def _analyse(code: Code) -> list[frozenset[int]]:
    instrs = code.instrs
    n = len(instrs)
    live: list[frozenset[int]] = [frozenset()] * (n + 1)
    changed = True
    while changed:
        changed = False
        for i in range(n - 1, -1, -1):
            ins = instrs[i]
            out = live[i + 1] if ins.op not in ENDS else frozenset()
            if ins.op in JUMP_EFFECTS:
                out = out | live[ins.arg]
            if ins.op == "STORE_FAST":
                out = out - {ins.arg}
            elif ins.op in _READS:
                out = out | {ins.arg}
            if ins.handler is not None:
                out = out | live[ins.handler.target]
            if out != live[i]:
                live[i] = out
                changed = True
    return live

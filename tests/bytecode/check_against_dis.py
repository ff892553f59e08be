"""Cross-checks the decoder with dis on whole modules: python check_against_dis.py module ...

Exit status 1 if there was a difference."""

from __future__ import annotations

import bisect
import dis
import importlib.util
import sys
import types

import run_corpus

run_corpus.load()

from pellucid.bytecode.decode import decode  # noqa: E402
from pellucid.bytecode.effects import JUMP_EFFECTS  # noqa: E402
from pellucid.bytecode.flow import depths, verify  # noqa: E402

DROPPED = {"CACHE", "NOP", "RESUME", "PRECALL", "EXTENDED_ARG", "KW_NAMES", "PUSH_NULL", "TO_BOOL", "END_FOR",
           "SET_FUNCTION_ATTRIBUTE"}
SAME = {"LOAD_NAME", "STORE_NAME", "LOAD_ATTR", "STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "IMPORT_NAME",
        "IMPORT_FROM", "LOAD_FAST", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF", "LOAD_CONST", "POP_TOP", "RETURN_VALUE",
        "BUILD_TUPLE", "BUILD_LIST", "BUILD_MAP", "COPY", "SWAP", "POP_EXCEPT", "PUSH_EXC_INFO", "RERAISE",
        "LOAD_GLOBAL"}
SLOTS = {"LOAD_FAST", "STORE_FAST", "LOAD_DEREF", "STORE_DEREF"}


def codes(code: types.CodeType):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def check(code: types.CodeType) -> list[str]:
    d = decode(code)
    wrong = []
    at: dict[int, list[int]] = {}
    for i, instr in enumerate(d.instrs):
        at.setdefault(instr.offset, []).append(i)
    raw = list(dis.get_instructions(code))
    offsets = [r.offset for r in raw]

    following, index = {}, len(d.instrs)
    for o in reversed(offsets):
        index = at[o][0] if o in at else index
        following[o] = index
    first_at = following.__getitem__        # the first canonical instruction at or after a raw offset

    previous = 0
    for k, r in enumerate(raw):
        here = at.get(r.offset, [])
        name = r.opname
        if not here:
            # a keyword-names constant that CALL_KW takes; the constant of nothing else may vanish
            vanished = (name == "LOAD_CONST" and raw[k + 1].opname == "CALL_KW"
                        or name == "POP_TOP" and raw[k - 1].opname == "END_FOR")
            if name not in DROPPED and not vanished:
                wrong.append(f"{r.offset} {name}: lost")
            continue
        if here[0] < previous:
            wrong.append(f"{r.offset} {name}: out of order")
        previous = here[-1]
        if name in SAME:
            instr = d.instrs[here[0]]
            if len(here) != 1 or instr.op != name:
                wrong.append(f"{r.offset} {name}: decoded as {[d.instrs[i].op for i in here]}")
            mine = d.slots[instr.arg] if name in SLOTS else instr.arg
            if name not in ("POP_TOP", "RETURN_VALUE", "PUSH_EXC_INFO", "POP_EXCEPT") and r.arg is not None:
                theirs = r.argval
                if mine is not theirs and mine != theirs:
                    wrong.append(f"{r.offset} {name}: argument {mine!r}, dis says {theirs!r}")
        if r.opcode in dis.hasjrel or r.opcode in getattr(dis, "hasjump", ()):
            jump = next(i for i in here if d.instrs[i].op in JUMP_EFFECTS)
            target = r.argval
            if d.instrs[jump].op in ("FOR_ITER", "SEND"):      # passes over END_FOR, POP_TOP, END_SEND
                t = offsets.index(target)
                if raw[t].opname in ("END_FOR", "END_SEND"):
                    t += 2 if sys.version_info >= (3, 13) and raw[t].opname == "END_FOR" else 1
                target = offsets[t]
            if d.instrs[jump].arg != first_at(target):
                wrong.append(f"{r.offset} {name}: jumps to {d.instrs[jump].arg}, dis says {first_at(target)}")
        if tuple(d.position(here[0])) != (r.positions.lineno, r.positions.end_lineno, r.positions.col_offset,
                                          r.positions.end_col_offset):
            wrong.append(f"{r.offset} {name}: position {d.position(here[0])}, dis says {r.positions}")
    expected: dict[int, tuple[int, bool]] = {}
    for e in dis._parse_exception_table(code):
        for o in offsets[bisect.bisect_left(offsets, e.start):bisect.bisect_left(offsets, e.end)]:
            expected[o] = first_at(e.target), e.lasti
    for i, instr in enumerate(d.instrs):
        mine = instr.handler and (instr.handler.target, instr.handler.push_lasti)
        if mine != expected.get(instr.offset):
            wrong.append(f"{instr.offset} {instr.op} {i}: handler {mine}, dis says {expected.get(instr.offset)}")
    try:
        verify(d)
        reached = depths(d)
        calls = sum(r.opname in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") for r in raw)
        mine = sum(i.op in ("CALL", "CALL_EX") for i in d.instrs) - sum(r.opname == "LOAD_SUPER_ATTR" for r in raw)
        if calls != mine or not reached:
            wrong.append(f"{mine} calls, dis says {calls}")
    except ValueError as e:
        wrong.append(str(e))
    return [f"{code.co_qualname} ({code.co_filename}): {w}" for w in wrong]


def main(modules: list[str]) -> int:
    wrong, count = [], 0
    for module in modules:
        spec = importlib.util.find_spec(module)
        with open(spec.origin, encoding="utf8") as f:
            code = compile(f.read(), spec.origin, "exec")
        for c in codes(code):
            if decode(c).unsupported:
                continue
            count += 1
            wrong += check(c)
    for w in wrong[:40]:
        print(w)
    print(f"{count} code objects, {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

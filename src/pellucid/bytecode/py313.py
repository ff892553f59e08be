"""Every opcode of Python 3.13: how it is said canonically."""

from __future__ import annotations

import dis

from .py312 import MODERN
from .reader import Reader, Rule, convert, drop, jump, plain, special, unsupported
from .rules import COMPARE, call, intrinsics

PSEUDO = frozenset({
    "JUMP", "JUMP_NO_INTERRUPT", "LOAD_CLOSURE", "LOAD_METHOD", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_ATTR",
    "LOAD_ZERO_SUPER_METHOD", "POP_BLOCK", "SETUP_CLEANUP", "SETUP_FINALLY", "SETUP_WITH", "STORE_FAST_MAYBE_NULL",
    "RESERVED", *(n for n in dis.opmap if n.startswith("INSTRUMENTED_")),
})
"""Names that the compiler or the monitoring machinery uses inside; `co_code` never holds them."""


def caches(name: str, number: int) -> int:
    """Number of cache entries behind an instruction."""
    return dis._inline_cache_entries.get(name, 0)  # type: ignore[attr-defined, no-any-return]


def _compare(i: int, d: Reader) -> object:
    return COMPARE[i >> 5]


def _push_null_above(d: Reader, arg: int) -> None:
    d.open_call(d.depth - 1)


def _call_kw(d: Reader, arg: int) -> None:
    """The names of the keywords are the constant just loaded."""
    names = d.take_const()
    d.call(arg, names)


def _end_for(d: Reader, arg: int) -> None:
    """END_FOR and the POP_TOP behind it: never reached, since FOR_ITER passes over both."""
    d.where[d.end >> 1] = len(d.ops)
    d.end += 2


def _make_function(d: Reader, arg: int) -> None:
    d.emit("MAKE_FUNCTION", 0)


def _set_function_attribute(d: Reader, flag: int) -> None:
    """Follows MAKE_FUNCTION at once: the attribute becomes an operand of that."""
    d.args[-1] |= flag
    d.depth -= 1


def _load_load(d: Reader, arg: int) -> None:
    d.emit("LOAD_FAST", arg >> 4)
    d.emit("LOAD_FAST", arg & 15)


def _store_load(d: Reader, arg: int) -> None:
    d.emit("STORE_FAST", arg >> 4)
    d.emit("LOAD_FAST", arg & 15)


def _store_store(d: Reader, arg: int) -> None:
    d.emit("STORE_FAST", arg >> 4)
    d.emit("STORE_FAST", arg & 15)


def _format_simple(d: Reader, arg: int) -> None:
    d.emit("FORMAT_VALUE", False)


def _format_with_spec(d: Reader, arg: int) -> None:
    d.emit("FORMAT_VALUE", True)


RULES: dict[str, Rule] = {
    **{n: r for n, r in MODERN.items() if n != "LOAD_CLOSURE"},
    "CALL": special(call), "CALL_KW": special(_call_kw), "PUSH_NULL": special(_push_null_above),
    "COMPARE_OP": convert("COMPARE", _compare), "TO_BOOL": drop(),
    "MAKE_FUNCTION": special(_make_function), "SET_FUNCTION_ATTRIBUTE": special(_set_function_attribute),
    "LOAD_FAST_LOAD_FAST": special(_load_load), "STORE_FAST_LOAD_FAST": special(_store_load),
    "STORE_FAST_STORE_FAST": special(_store_store),
    "CONVERT_VALUE": plain("CONVERT_VALUE"), "FORMAT_SIMPLE": special(_format_simple),
    "FORMAT_WITH_SPEC": special(_format_with_spec),
    "CALL_INTRINSIC_1": intrinsics(dis._intrinsic_1_descs),  # type: ignore[attr-defined]
    "CALL_INTRINSIC_2": intrinsics(dis._intrinsic_2_descs),  # type: ignore[attr-defined]
    # an exhausted FOR_ITER pops its iterator and passes over END_FOR and POP_TOP
    "FOR_ITER": jump("FOR_ITER", skip=4), "END_FOR": special(_end_for),
    "ENTER_EXECUTOR": unsupported("ENTER_EXECUTOR", "CPython's own just-in-time code"),
    "EXIT_INIT_CHECK": unsupported("EXIT_INIT_CHECK", "a frame that CPython makes for __init__"),
}
"""TO_BOOL only precedes a jump or UNARY_NOT, which test for themselves; so does COMPARE_OP's to-bool bit."""

"""Every opcode of Python 3.12: how it is said canonically."""

from __future__ import annotations

import dis

from .reader import Reader, Rule, convert, drop, jump, name, plain, special, unsupported
from .rules import (
    COMMON,
    COMPARE,
    binary_slice,
    call,
    end_send,
    format_value,
    intrinsics,
    kw_names,
    load_attr,
    load_super_attr,
    push_null_below,
    return_const,
    store_slice,
)

PSEUDO = frozenset({
    "JUMP", "JUMP_NO_INTERRUPT", "LOAD_METHOD", "LOAD_SUPER_METHOD", "LOAD_ZERO_SUPER_ATTR", "LOAD_ZERO_SUPER_METHOD",
    "POP_BLOCK", "SETUP_CLEANUP", "SETUP_FINALLY", "SETUP_WITH", "STORE_FAST_MAYBE_NULL", "RESERVED",
    *(n for n in dis.opmap if n.startswith("INSTRUMENTED_")),
})
"""Names that the compiler or the monitoring machinery uses inside; `co_code` never holds them."""


def caches(name: str, number: int) -> int:
    """Number of cache entries behind an instruction."""
    return dis._inline_cache_entries[number]  # type: ignore[attr-defined, no-any-return]


def compare(i: int, d: Reader) -> object:
    return COMPARE[i >> 4]


MODERN: dict[str, Rule] = {
    **COMMON,
    "LOAD_ATTR": special(load_attr), "LOAD_SUPER_ATTR": special(load_super_attr),
    "LOAD_FAST_CHECK": plain("LOAD_FAST"), "LOAD_FAST_AND_CLEAR": plain("LOAD_FAST_AND_CLEAR"),
    "LOAD_LOCALS": plain("LOAD_LOCALS"), "LOAD_FROM_DICT_OR_DEREF": plain("LOAD_FROM_DICT_OR_DEREF"),
    "LOAD_FROM_DICT_OR_GLOBALS": name("LOAD_FROM_DICT_OR_GLOBALS"),
    "BINARY_SLICE": special(binary_slice), "STORE_SLICE": special(store_slice),
    "RETURN_CONST": special(return_const),
    "END_FOR": drop(), "END_SEND": special(end_send), "CLEANUP_THROW": plain("CLEANUP_THROW"),
    "INTERPRETER_EXIT": unsupported("INTERPRETER_EXIT", "the end of CPython's own entry frame"),
    # jumps
    "JUMP_FORWARD": jump("JUMP"), "JUMP_BACKWARD": jump("JUMP", -1), "JUMP_BACKWARD_NO_INTERRUPT": jump("JUMP", -1),
    "POP_JUMP_IF_TRUE": jump("POP_JUMP_IF_TRUE"), "POP_JUMP_IF_FALSE": jump("POP_JUMP_IF_FALSE"),
    "POP_JUMP_IF_NONE": jump("POP_JUMP_IF_NONE"), "POP_JUMP_IF_NOT_NONE": jump("POP_JUMP_IF_NOT_NONE"),
    "SEND": jump("SEND", skip=2),
}
"""What 3.12 and later say alike. SEND passes over the END_SEND that it jumps to."""

RULES: dict[str, Rule] = {
    **MODERN,
    "KW_NAMES": special(kw_names), "CALL": special(call), "PUSH_NULL": special(push_null_below),
    "COMPARE_OP": convert("COMPARE", compare), "FORMAT_VALUE": special(format_value),
    "MAKE_FUNCTION": plain("MAKE_FUNCTION"),
    "CALL_INTRINSIC_1": intrinsics(dis._intrinsic_1_descs),  # type: ignore[attr-defined]
    "CALL_INTRINSIC_2": intrinsics(dis._intrinsic_2_descs),  # type: ignore[attr-defined]
    # an exhausted FOR_ITER pops its iterator and passes over the END_FOR that it jumps to
    "FOR_ITER": jump("FOR_ITER", skip=2),
}

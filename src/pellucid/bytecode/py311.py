"""Every opcode of Python 3.11: how it is said canonically."""

from __future__ import annotations

import dis
import operator

from .reader import Reader, Rule, convert, drop, jump, name, plain, special, unsupported
from .rules import ASYNC, COMMON, COMPARE, call, format_value, kw_names, load_method, push_null_below

PSEUDO: frozenset[str] = frozenset()


def caches(name: str, number: int) -> int:
    """Number of cache entries behind an instruction."""
    return dis._inline_cache_entries[number]  # type: ignore[attr-defined, no-any-return]


def _compare(i: int, d: Reader) -> object:
    return COMPARE[i]


def _unary_positive(i: int, d: Reader) -> object:
    return operator.pos


def _jump_or_pop(test: str) -> Rule:
    """JUMP_IF_X_OR_POP: a copy is tested, and the value stays where the jump is taken."""

    def rule(d: Reader, arg: int) -> None:
        d.emit("COPY", 1)
        d.jump_to(test, d.end + 2 * arg)
        d.emit("POP_TOP")

    return special(rule)


def _load_classderef(d: Reader, arg: int) -> None:
    d.emit("LOAD_LOCALS")
    d.emit("LOAD_FROM_DICT_OR_DEREF", arg)


def _import_star(d: Reader, arg: int) -> None:
    d.emit("IMPORT_STAR")
    d.emit("POP_TOP")


def _print_expr(d: Reader, arg: int) -> None:
    d.emit("INTRINSIC", ("PRINT", 1))
    d.emit("POP_TOP")


RULES: dict[str, Rule] = {
    **COMMON,
    "PRECALL": drop(), "KW_NAMES": special(kw_names), "CALL": special(call), "PUSH_NULL": special(push_null_below),
    "LOAD_ATTR": name("LOAD_ATTR"), "LOAD_METHOD": special(load_method),
    "LOAD_CLASSDEREF": special(_load_classderef),
    "COMPARE_OP": convert("COMPARE", _compare), "UNARY_POSITIVE": convert("UNARY", _unary_positive),
    "FORMAT_VALUE": special(format_value), "LIST_TO_TUPLE": plain("LIST_TO_TUPLE"),
    "MAKE_FUNCTION": plain("MAKE_FUNCTION"), "IMPORT_STAR": special(_import_star),
    "PREP_RERAISE_STAR": plain("PREP_RERAISE_STAR"), "PRINT_EXPR": special(_print_expr),
    "ASYNC_GEN_WRAP": unsupported("ASYNC_GEN_WRAP", ASYNC),
    # jumps
    "JUMP_FORWARD": jump("JUMP"), "JUMP_BACKWARD": jump("JUMP", -1), "JUMP_BACKWARD_NO_INTERRUPT": jump("JUMP", -1),
    "POP_JUMP_FORWARD_IF_TRUE": jump("POP_JUMP_IF_TRUE"), "POP_JUMP_BACKWARD_IF_TRUE": jump("POP_JUMP_IF_TRUE", -1),
    "POP_JUMP_FORWARD_IF_FALSE": jump("POP_JUMP_IF_FALSE"), "POP_JUMP_BACKWARD_IF_FALSE": jump("POP_JUMP_IF_FALSE", -1),
    "POP_JUMP_FORWARD_IF_NONE": jump("POP_JUMP_IF_NONE"), "POP_JUMP_BACKWARD_IF_NONE": jump("POP_JUMP_IF_NONE", -1),
    "POP_JUMP_FORWARD_IF_NOT_NONE": jump("POP_JUMP_IF_NOT_NONE"),
    "POP_JUMP_BACKWARD_IF_NOT_NONE": jump("POP_JUMP_IF_NOT_NONE", -1),
    "JUMP_IF_TRUE_OR_POP": _jump_or_pop("POP_JUMP_IF_TRUE"), "JUMP_IF_FALSE_OR_POP": _jump_or_pop("POP_JUMP_IF_FALSE"),
    "FOR_ITER": jump("FOR_ITER"), "SEND": jump("SEND"),
}

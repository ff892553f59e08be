"""Rules that several Python versions share: operators, names, containers, jumps, exceptions."""

from __future__ import annotations

import operator
from typing import Any

from .reader import EXTENDED, Reader, Rule, const, convert, drop, load_global, name, plain, special, unsupported
from .types import CallArg

BINARY = (
    operator.add, operator.and_, operator.floordiv, operator.lshift, operator.matmul, operator.mul, operator.mod,
    operator.or_, operator.pow, operator.rshift, operator.sub, operator.truediv, operator.xor, operator.iadd,
    operator.iand, operator.ifloordiv, operator.ilshift, operator.imatmul, operator.imul, operator.imod, operator.ior,
    operator.ipow, operator.irshift, operator.isub, operator.itruediv, operator.ixor,
)
"""Operator function by the argument of BINARY_OP (CPython's opcode.h, NB_*)."""
COMPARE = (operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge)


def binary(i: int, d: Reader) -> Any:
    return BINARY[i]


def function(f: Any) -> Any:
    """The argument is always the operator function f."""
    return lambda i, d: f


def unpack_ex(i: int, d: Reader) -> tuple[int, int]:
    return i & 255, i >> 8


def assertion_error(i: int, d: Reader) -> Any:
    return AssertionError


ASYNC = "asynchronous code is run by Python itself"


def push_null_below(d: Reader, arg: int) -> None:
    """PUSH_NULL before the callable is loaded (3.11, 3.12)."""
    d.open_call(d.depth)


def load_method(d: Reader, arg: int) -> None:
    d.emit("LOAD_ATTR", d.names[arg])
    d.open_call(d.depth - 1, True)


def load_attr(d: Reader, arg: int) -> None:
    """LOAD_ATTR whose low bit says that a call of the method follows (3.12 on)."""
    d.emit("LOAD_ATTR", d.names[arg >> 1])
    if arg & 1:
        d.open_call(d.depth - 1, True)


def load_super_attr(d: Reader, arg: int) -> None:
    """super, class, self -> attribute. Said as the call that it is; `super()` finds class and self in its frame."""
    if arg & 2:
        d.emit("CALL", CallArg(2, ()))
    else:
        d.emit("POP_TOP")
        d.emit("POP_TOP")
        d.emit("CALL", CallArg(0, ()))
    d.emit("LOAD_ATTR", d.names[arg >> 2])
    if arg & 1:
        d.open_call(d.depth - 1, True)


def yield_value(d: Reader, arg: int) -> None:
    """The argument is the index of the SEND when this is a `yield from`."""
    i = len(d.ops) - 1
    d.emit("YIELD_VALUE", i if i >= 0 and d.ops[i] == "SEND" else None)


def format_value(d: Reader, arg: int) -> None:
    """Conversion in the low two bits, a format specification on the stack if bit 4 is set (3.11, 3.12)."""
    has_spec = bool(arg & 4)
    if arg & 3:
        if has_spec:
            d.emit("SWAP", 2)
        d.emit("CONVERT_VALUE", arg & 3)
        if has_spec:
            d.emit("SWAP", 2)
    d.emit("FORMAT_VALUE", has_spec)


def kw_names(d: Reader, arg: int) -> None:
    d.keywords = d.consts[arg]


def call(d: Reader, arg: int) -> None:
    names, d.keywords = d.keywords, ()
    d.call(arg, names)


def call_function_ex(d: Reader, arg: int) -> None:
    d.call_ex(arg & 1)


def binary_slice(d: Reader, arg: int) -> None:
    d.emit("BUILD_SLICE", 2)
    d.emit("SUBSCR")


def store_slice(d: Reader, arg: int) -> None:
    d.emit("BUILD_SLICE", 2)
    d.emit("STORE_SUBSCR")


def return_const(d: Reader, arg: int) -> None:
    d.emit("LOAD_CONST", d.consts[arg])
    d.emit("RETURN_VALUE")


def end_send(d: Reader, arg: int) -> None:
    """Receiver, result -> result; passed over when SEND jumps, reached from CLEANUP_THROW only."""
    d.emit("SWAP", 2)
    d.emit("POP_TOP")


INTRINSICS = {
    "INTRINSIC_PRINT": ("INTRINSIC", ("PRINT", 1)),
    "INTRINSIC_TYPEALIAS": ("INTRINSIC", ("TYPEALIAS", 1)),
    "INTRINSIC_IMPORT_STAR": ("IMPORT_STAR", None),
    "INTRINSIC_STOPITERATION_ERROR": ("STOPITERATION_ERROR", None),
    "INTRINSIC_UNARY_POSITIVE": ("UNARY", operator.pos),
    "INTRINSIC_LIST_TO_TUPLE": ("LIST_TO_TUPLE", None),
    "INTRINSIC_PREP_RERAISE_STAR": ("PREP_RERAISE_STAR", None),
}
UNSUPPORTED_INTRINSICS = {
    "INTRINSIC_ASYNC_GEN_WRAP": ASYNC,
    **dict.fromkeys(("INTRINSIC_TYPEVAR", "INTRINSIC_PARAMSPEC", "INTRINSIC_TYPEVARTUPLE",
                     "INTRINSIC_SUBSCRIPT_GENERIC", "INTRINSIC_TYPEVAR_WITH_BOUND",
                     "INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
                     "INTRINSIC_SET_FUNCTION_TYPE_PARAMS", "INTRINSIC_SET_TYPEPARAM_DEFAULT"),
                    "the hidden function that makes type parameters is run by Python itself"),
    "INTRINSIC_1_INVALID": "not an instruction", "INTRINSIC_2_INVALID": "not an instruction",
}


def intrinsics(descriptions: list[str]) -> Rule:
    """Rule for CALL_INTRINSIC_1 or _2; `descriptions` is the version's list of names. ImportError for unknown ones."""
    unlisted = set(descriptions) - INTRINSICS.keys() - UNSUPPORTED_INTRINSICS.keys()
    if unlisted:
        names = ", ".join(sorted(unlisted))
        raise ImportError(f"this Python has intrinsics that pellucid's table does not list: {names}")

    def rule(d: Reader, arg: int) -> None:
        what = descriptions[arg]
        if what in INTRINSICS:
            d.emit(*INTRINSICS[what])
        else:
            d.unsupported.append((len(d.ops), what, UNSUPPORTED_INTRINSICS[what]))
            d.emit("UNSUPPORTED", (what, UNSUPPORTED_INTRINSICS[what]))

    return special(rule)


COMMON: dict[str, Rule] = {
    "CACHE": drop(), "NOP": drop(), "RESUME": drop(), "EXTENDED_ARG": drop(EXTENDED),
    # stack and variables
    "POP_TOP": plain("POP_TOP"), "COPY": plain("COPY"), "SWAP": plain("SWAP"),
    "LOAD_CONST": const("LOAD_CONST"),
    "LOAD_FAST": plain("LOAD_FAST"), "STORE_FAST": plain("STORE_FAST"), "DELETE_FAST": plain("DELETE_FAST"),
    "LOAD_CLOSURE": plain("LOAD_FAST"),
    "MAKE_CELL": plain("MAKE_CELL"), "COPY_FREE_VARS": plain("COPY_FREE_VARS"),
    "LOAD_DEREF": plain("LOAD_DEREF"), "STORE_DEREF": plain("STORE_DEREF"), "DELETE_DEREF": plain("DELETE_DEREF"),
    "LOAD_NAME": name("LOAD_NAME"), "STORE_NAME": name("STORE_NAME"),
    "DELETE_NAME": name("DELETE_NAME"), "SETUP_ANNOTATIONS": plain("SETUP_ANNOTATIONS"),
    "LOAD_GLOBAL": load_global(), "STORE_GLOBAL": name("STORE_GLOBAL"),
    "DELETE_GLOBAL": name("DELETE_GLOBAL"),
    "STORE_ATTR": name("STORE_ATTR"), "DELETE_ATTR": name("DELETE_ATTR"),
    "LOAD_BUILD_CLASS": plain("LOAD_BUILD_CLASS"), "LOAD_ASSERTION_ERROR": convert("LOAD_CONST", assertion_error),
    # operators
    "UNARY_NEGATIVE": convert("UNARY", function(operator.neg)),
    "UNARY_INVERT": convert("UNARY", function(operator.invert)), "UNARY_NOT": plain("UNARY_NOT"),
    "BINARY_OP": convert("BINARY", binary), "IS_OP": plain("IS"), "CONTAINS_OP": plain("CONTAINS"),
    "BINARY_SUBSCR": plain("SUBSCR"), "STORE_SUBSCR": plain("STORE_SUBSCR"), "DELETE_SUBSCR": plain("DELETE_SUBSCR"),
    # containers and strings
    "BUILD_TUPLE": plain("BUILD_TUPLE"), "BUILD_LIST": plain("BUILD_LIST"), "BUILD_SET": plain("BUILD_SET"),
    "BUILD_MAP": plain("BUILD_MAP"), "BUILD_CONST_KEY_MAP": plain("BUILD_CONST_KEY_MAP"),
    "BUILD_STRING": plain("BUILD_STRING"), "BUILD_SLICE": plain("BUILD_SLICE"),
    "LIST_APPEND": plain("LIST_APPEND"), "SET_ADD": plain("SET_ADD"), "MAP_ADD": plain("MAP_ADD"),
    "LIST_EXTEND": plain("LIST_EXTEND"), "SET_UPDATE": plain("SET_UPDATE"), "DICT_UPDATE": plain("DICT_UPDATE"),
    "DICT_MERGE": plain("DICT_MERGE"), "UNPACK_SEQUENCE": plain("UNPACK_SEQUENCE"),
    "UNPACK_EX": convert("UNPACK_EX", unpack_ex), "GET_ITER": plain("GET_ITER"),
    # calls and generators
    "CALL_FUNCTION_EX": special(call_function_ex), "RETURN_VALUE": plain("RETURN_VALUE"),
    "RETURN_GENERATOR": plain("RETURN_GENERATOR"), "YIELD_VALUE": special(yield_value),
    "GET_YIELD_FROM_ITER": plain("GET_YIELD_FROM_ITER"),
    "IMPORT_NAME": name("IMPORT_NAME"), "IMPORT_FROM": name("IMPORT_FROM"),
    # exceptions, with, match
    "RAISE_VARARGS": plain("RAISE"), "RERAISE": plain("RERAISE"), "PUSH_EXC_INFO": plain("PUSH_EXC_INFO"),
    "POP_EXCEPT": plain("POP_EXCEPT"), "CHECK_EXC_MATCH": plain("CHECK_EXC_MATCH"),
    "CHECK_EG_MATCH": plain("CHECK_EG_MATCH"), "BEFORE_WITH": plain("ENTER_WITH"),
    "WITH_EXCEPT_START": plain("WITH_EXCEPT_START"), "GET_LEN": plain("GET_LEN"),
    "MATCH_SEQUENCE": plain("MATCH_SEQUENCE"), "MATCH_MAPPING": plain("MATCH_MAPPING"),
    "MATCH_KEYS": plain("MATCH_KEYS"), "MATCH_CLASS": plain("MATCH_CLASS"),
    # asynchronous
    "GET_AWAITABLE": unsupported("GET_AWAITABLE", ASYNC), "GET_AITER": unsupported("GET_AITER", ASYNC),
    "GET_ANEXT": unsupported("GET_ANEXT", ASYNC),
    "END_ASYNC_FOR": unsupported("END_ASYNC_FOR", ASYNC), "BEFORE_ASYNC_WITH": unsupported("BEFORE_ASYNC_WITH", ASYNC),
}

"""Operands and results of every canonical instruction: (popped, pushed), and what differs when it jumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from .types import CallArg

Effect = tuple[int, int]


def _call(a: CallArg) -> Effect:
    return 1 + a.positional + len(a.keywords), 1


EFFECTS: dict[str, Union[Effect, Callable[[Any], Effect]]] = {
    # stack
    "POP_TOP": (1, 0),
    "COPY": lambda n: (n, n + 1),
    "SWAP": lambda n: (n, n),
    # variables
    "LOAD_CONST": (0, 1),
    "LOAD_FAST": (0, 1),
    "STORE_FAST": (1, 0),
    "DELETE_FAST": (0, 0),
    "LOAD_FAST_AND_CLEAR": (0, 1),
    "MAKE_CELL": (0, 0),
    "COPY_FREE_VARS": (0, 0),
    "LOAD_DEREF": (0, 1),
    "STORE_DEREF": (1, 0),
    "DELETE_DEREF": (0, 0),
    "LOAD_FROM_DICT_OR_DEREF": (1, 1),
    "LOAD_NAME": (0, 1),
    "STORE_NAME": (1, 0),
    "DELETE_NAME": (0, 0),
    "LOAD_LOCALS": (0, 1),
    "LOAD_FROM_DICT_OR_GLOBALS": (1, 1),
    "LOAD_GLOBAL": (0, 1),
    "STORE_GLOBAL": (1, 0),
    "DELETE_GLOBAL": (0, 0),
    "SETUP_ANNOTATIONS": (0, 0),
    # attributes: object; value, object
    "LOAD_ATTR": (1, 1),
    "STORE_ATTR": (2, 0),
    "DELETE_ATTR": (1, 0),
    # operators: left, right; container, index; value, container, index
    "UNARY": (1, 1),
    "UNARY_NOT": (1, 1),
    "BINARY": (2, 1),
    "COMPARE": (2, 1),
    "IS": (2, 1),
    "CONTAINS": (2, 1),
    "SUBSCR": (2, 1),
    "STORE_SUBSCR": (3, 0),
    "DELETE_SUBSCR": (2, 0),
    # containers and strings
    "BUILD_TUPLE": lambda n: (n, 1),
    "BUILD_LIST": lambda n: (n, 1),
    "BUILD_SET": lambda n: (n, 1),
    "BUILD_MAP": lambda n: (2 * n, 1),
    "BUILD_CONST_KEY_MAP": lambda n: (n + 1, 1),
    "BUILD_STRING": lambda n: (n, 1),
    "BUILD_SLICE": lambda n: (n, 1),
    "CONVERT_VALUE": (1, 1),
    "FORMAT_VALUE": lambda has_spec: (1 + has_spec, 1),
    "LIST_APPEND": lambda n: (n + 1, n),
    "SET_ADD": lambda n: (n + 1, n),
    "MAP_ADD": lambda n: (n + 2, n),
    "LIST_EXTEND": lambda n: (n + 1, n),
    "SET_UPDATE": lambda n: (n + 1, n),
    "DICT_UPDATE": lambda n: (n + 1, n),
    "DICT_MERGE": lambda n: (n + 1, n),
    "LIST_TO_TUPLE": (1, 1),
    "UNPACK_SEQUENCE": lambda n: (1, n),
    "UNPACK_EX": lambda a: (1, a[0] + 1 + a[1]),
    # jumps and iteration
    "JUMP": (0, 0),
    "POP_JUMP_IF_TRUE": (1, 0),
    "POP_JUMP_IF_FALSE": (1, 0),
    "POP_JUMP_IF_NONE": (1, 0),
    "POP_JUMP_IF_NOT_NONE": (1, 0),
    "GET_ITER": (1, 1),
    "FOR_ITER": (1, 2),
    # functions
    "MAKE_FUNCTION": lambda flags: (1 + (flags & 15).bit_count(), 1),
    "CALL": _call,
    "CALL_EX": lambda has_keywords: (2 + has_keywords, 1),
    "RETURN_VALUE": (1, 0),
    "RETURN_GENERATOR": (0, 1),
    "YIELD_VALUE": (1, 1),
    "GET_YIELD_FROM_ITER": (1, 1),
    "SEND": (2, 2),
    "CLEANUP_THROW": (3, 2),
    "LOAD_BUILD_CLASS": (0, 1),
    # imports
    "IMPORT_NAME": (2, 1),
    "IMPORT_FROM": (1, 2),
    "IMPORT_STAR": (1, 1),
    # exceptions and with
    "RAISE": lambda n: (n, 0),
    "RERAISE": (1, 0),
    "PUSH_EXC_INFO": (1, 2),
    "POP_EXCEPT": (1, 0),
    "CHECK_EXC_MATCH": (2, 2),
    "CHECK_EG_MATCH": (2, 2),
    "PREP_RERAISE_STAR": (2, 1),
    "STOPITERATION_ERROR": (1, 1),
    "ENTER_WITH": (1, 2),
    "WITH_EXCEPT_START": (4, 5),
    # match
    "GET_LEN": (1, 2),
    "MATCH_SEQUENCE": (1, 2),
    "MATCH_MAPPING": (1, 2),
    "MATCH_KEYS": (2, 3),
    "MATCH_CLASS": (3, 1),
    # what Python does in one C helper: name and number of operands
    "INTRINSIC": lambda a: (a[1], 1),
    "UNSUPPORTED": (0, 0),
}
"""Popped counts what the instruction looks at from the top, also where it leaves it."""

JUMP_EFFECTS: dict[str, Effect] = {
    "JUMP": (0, 0),
    "POP_JUMP_IF_TRUE": (1, 0),
    "POP_JUMP_IF_FALSE": (1, 0),
    "POP_JUMP_IF_NONE": (1, 0),
    "POP_JUMP_IF_NOT_NONE": (1, 0),
    "FOR_ITER": (1, 0),
    "SEND": (2, 1),
}
"""The same for the way to the jump target. FOR_ITER pops the exhausted iterator; SEND replaces it by its result."""

ENDS = frozenset({"JUMP", "RETURN_VALUE", "RAISE", "RERAISE"})
"""Instructions after which the next one is not reached."""


def effect(op: str, arg: Any) -> Effect:
    """(popped, pushed) of an instruction that does not jump."""
    e = EFFECTS[op]
    return e(arg) if callable(e) else e

"""operator.itemgetter, attrgetter and methodcaller objects, said in Python; functools.cmp_to_key."""

from __future__ import annotations

import functools
import operator
import threading
from typing import TYPE_CHECKING, Any

from ..polyfills import polyfill
from ..values.base import Invoke, Value
from ..values.identity import ThreadIdVal
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

GETTERS: dict[type, str] = {operator.itemgetter: "call_itemgetter", operator.attrgetter: "call_attrgetter",
                            operator.methodcaller: "call_methodcaller"}


def call_getter(cx: Capture, obj: Any, args: list[Value]) -> Invoke:
    """obj(args[0]); what obj was made with it tells as pickle asks for it."""
    made = obj.__reduce__()
    kwargs = {}
    if type(made[0]) is functools.partial:
        kwargs, made = made[0].keywords, (None, (*made[0].args, *made[1]))
    return Invoke(polyfill(cx, GETTERS[type(obj)]), [*args, cx.literal(tuple(made[1])), cx.literal(dict(kwargs))])


@known(operator.concat)
def _concat(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
    return Invoke(polyfill(cx, "concat"), args, kw)


@known(functools.cmp_to_key)
def _cmp_to_key(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
    return Invoke(polyfill(cx, "cmp_to_key"), args, kw)


@known(threading.get_ident)
def _get_ident(cx: Capture, args: list[Value], kw: dict[str, Value]) -> Any:
    return ThreadIdVal()

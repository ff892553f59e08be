"""C functions that only compute from their arguments, and those said in Python: itertools, heapq, bisect."""

from __future__ import annotations

import binascii
import bisect
import collections
import datetime
import functools
import heapq
import inspect
import itertools
import json
import math
import operator
import os
import re
import struct
import sys
import types
from typing import Any

import torch

from ..polyfills import POLYFILLS, polyfill
from ..values.base import Invoke, NotConstant
from ..values.builtin import KNOWN, PURE, TYPE_METHODS
from ..values.constant import FALSE, TRUE, Const
from .classes import CLASS_METHODS

PURE.update((
    len, int, float, complex, str, bytes, repr, ascii, chr, ord, hex, oct, bin, round, divmod, pow, abs, hash, format,
    operator.index, isinstance, issubclass, operator.itemgetter, operator.attrgetter,
    operator.methodcaller, operator.truth,
    str.maketrans, int.from_bytes, float.fromhex,
    torch.dtype.to_real, torch.promote_types, torch.can_cast, torch.finfo, torch.iinfo, torch.device, torch.typename,
    torch.get_default_dtype, torch.is_storage, torch.get_num_threads,
))
PURE.update(
    (
        inspect.unwrap,
        inspect.isfunction,
        inspect.isclass,
        inspect.ismethod,
        inspect.isroutine,
        sys.getrecursionlimit,
        sys.intern,
    )
)
PURE.update(f for n, f in vars(math).items() if callable(f))


def _said(target: Any, name: str) -> None:
    def call(cx: Any, args: Any, kw: Any) -> Any:
        return Invoke(polyfill(cx, name), args, kw)
    KNOWN[target] = call


for _name in ("chain", "islice", "repeat", "count", "cycle", "product", "accumulate", "starmap", "takewhile",
              "dropwhile", "pairwise", "zip_longest", "combinations", "combinations_with_replacement", "permutations",
              "compress", "filterfalse", "groupby", "tee"):
    _said(getattr(itertools, _name), _name)
CLASS_METHODS["from_iterable"] = lambda cx, cls, args, kw: (
    Invoke(polyfill(cx, "chain_from_iterable"), args, kw) if cls.obj is itertools.chain else None)
for _target, _name in ((functools.reduce, "reduce"), (operator.countOf, "count_of"), (operator.indexOf, "index_of"),
                       (collections._count_elements, "count_elements")):  # type: ignore[attr-defined]
    _said(_target, _name)
for _module in (heapq, bisect):
    for _name, _target in vars(_module).items():
        if type(_target) is types.BuiltinFunctionType and _name.strip("_") in POLYFILLS:
            _said(_target, _name.strip("_"))

# ------------------------------------------------------------------ text, bytes, paths, dates
PURE.update((re.compile, re.escape, struct.pack, struct.unpack, struct.calcsize, struct.unpack_from, os.fspath,
             binascii.hexlify, binascii.b2a_base64, binascii.a2b_base64, datetime.date, datetime.timedelta,
             datetime.datetime, datetime.time, datetime.timezone, operator.inv, operator.length_hint,
             inspect.iscoroutinefunction))
PURE.update(getattr(sys.modules.get("posix"), n) for n in ("_path_normpath", "_path_splitroot_ex")
            if hasattr(sys.modules.get("posix"), n))


def _on_constants(fn: Any) -> Any:
    """Known where all arguments are constants; what comes of them is new each time."""
    def call(cx: Any, args: Any, kw: Any) -> Any:
        if not all(type(a) is Const for a in (*args, *kw.values())):
            return None
        try:
            return cx.literal(fn(*[a.constant(cx) for a in args], **{k: a.constant(cx) for k, a in kw.items()}))
        except Exception as e:
            raise cx.reraise(e) from None
    return call


for _f in (re.match, re.search, re.fullmatch, re.split, re.findall, re.sub, re.subn, json.loads):
    KNOWN[_f] = _on_constants(_f)


def _dumps(cx: Any, args: Any, kw: Any) -> Any:
    """json.dumps() of what is wholly known, without code of the program's own in between."""
    if "cls" in kw or "default" in kw:
        return None
    try:
        xs, ks = [a.constant(cx) for a in args], {k: a.constant(cx) for k, a in kw.items()}
    except NotConstant:
        return None
    try:
        return Const(json.dumps(*xs, **ks))
    except Exception as e:
        raise cx.reraise(e) from None


KNOWN[json.dumps] = _dumps
for _name in ("index", "count"):
    TYPE_METHODS[range][_name] = lambda cx, s, args, kw, _name=_name: cx.literal(
        _in_program(cx, getattr(s.constant(cx), _name), *[a.constant(cx) for a in args]))


def _in_program(cx: Any, fn: Any, *args: Any) -> Any:
    try:
        return fn(*args)
    except Exception as e:
        raise cx.reraise(e) from None


def _is_method(cx: Any, args: Any, kw: Any) -> Any:
    return TRUE if args[0].pytype(cx) is types.MethodType else FALSE


KNOWN[inspect.ismethod] = _is_method

"""C functions that only compute from their arguments, and iterators of itertools said in Python."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import operator
import sys
from typing import Any

import torch

from ..polyfills import polyfill
from ..values.base import Invoke
from ..values.builtin import KNOWN, PURE

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


def _generator(target: Any, name: str) -> None:
    def call(cx: Any, args: Any, kw: Any) -> Any:
        return Invoke(polyfill(cx, name), args, kw)
    KNOWN[target] = call


for _target, _name in ((itertools.chain, "chain"), (itertools.islice, "islice"), (itertools.repeat, "repeat"),
                       (itertools.count, "count"), (itertools.cycle, "cycle"), (itertools.product, "product"),
                       (itertools.accumulate, "accumulate"), (itertools.starmap, "starmap"),
                       (itertools.takewhile, "takewhile"), (itertools.dropwhile, "dropwhile"),
                       (itertools.pairwise, "pairwise"), (itertools.zip_longest, "zip_longest"),
                       (itertools.combinations, "combinations"), (functools.reduce, "reduce")):
    _generator(_target, _name)

"""Finding what expands a torch callable: its own entry, that of the operator whose overload it is, or the opaque path."""

from __future__ import annotations

import functools
from typing import Any

from ...torchdoor.operators import OpOverload, OpOverloadPacket, effects
from ..registry import FUNCTIONS, METHODS
from .declare import ATEN, Expansion
from .opaque import opaque


def expansion_of(target: Any) -> Expansion | None:
    """The expansion of a torch callable, an operator overload, or a Tensor method's name; None where there is none.

    Called as fn(builder, *args, **kwargs) with exactly the arguments of torch. Operators without an entry get the
    opaque path, which may still refuse the call.
    """
    if isinstance(target, str):
        fn = METHODS.get(target)
    elif isinstance(target, (OpOverload, OpOverloadPacket)):
        fn = FUNCTIONS.get(target) or _overload(target)
    else:
        try:
            fn = FUNCTIONS.get(target)
        except TypeError:
            return None
    if fn is not None:
        return fn
    if effects(target) is None:
        return None

    def run(builder: Any, *args: Any, **kwargs: Any) -> Any:
        return opaque(builder, target, args, kwargs)
    return run


def _overload(target: Any) -> Expansion | None:
    """torch.ops.aten.name or .name.overload: the entry of that name, for calls that name the first argument `self`."""
    name = target.__name__.partition(".")[0]
    namespace = getattr(target, "namespace", None) or target._qualified_op_name.partition("::")[0]
    fn = ATEN.get(name) if namespace == "aten" else None
    return None if fn is None else functools.partial(_renamed, fn)


def _renamed(fn: Expansion, builder: Any, *args: Any, **kwargs: Any) -> Any:
    if "self" in kwargs:
        args = (kwargs.pop("self"), *args)
    return fn(builder, *args, **kwargs)

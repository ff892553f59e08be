"""How a pointwise operator is made: one registration gives its shape rule and its lowering to a Map.

`kind` says in which dtype operands meet and what the result is:
    same      promoted dtype in, the same out
    float     integers become the default float dtype
    compare   promoted dtype in, bool out
    logical   operands become bool, bool out
    int       promoted dtype, which must be integer or bool
float16 and bfloat16 are computed in float32 and rounded once, when the operator's result is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import Node, TensorMeta
from ...ir.build import Lowering, cast
from ...ir.types import Expr
from ..errors import Unsupported, WouldRaise
from ..meta import broadcast_pair
from ..promote import HALVES, float_type, math_type, result_type
from ..registry import lowering, op
from ..strides import contiguous, elementwise
from .exprs import element

CPU = torch.device("cpu")


def pointwise_meta(env: Any, dtype: torch.dtype, operands: tuple[Any, ...], number_counts: bool = True) -> TensorMeta:
    """Meta of an elementwise result: broadcast shape, TensorIterator's strides.

    operands       Vals, numbers and Nones
    number_counts  a number is an operand of eager's iterator (false where eager passes it as a parameter)
    """
    first: TensorMeta | None = None
    shape: Any = ()
    number = False
    plain = True
    for x in operands:
        if type(x) is Val:
            m = x.meta
            if first is None or (m.shape and not first.shape):
                first = m
            s = m.shape
            if s != shape:
                shape = s if not shape else broadcast_pair(env, shape, s)
            if plain and m.strides != contiguous(s):
                plain = False
        elif x is not None:
            number = True
    if first is None:
        raise WouldRaise("a pointwise operator needs at least one tensor operand")
    if plain and 0 not in shape:
        return TensorMeta(dtype, shape, contiguous(shape), 0, first.device)
    strides = elementwise(env, shape, [(x.meta.shape, x.meta.strides) for x in operands if type(x) is Val],
                          number and number_counts)
    return TensorMeta(dtype, shape, strides, 0, first.device)


def common(kind: str, name: str, operands: tuple[Any, ...]) -> tuple[torch.dtype, torch.dtype]:
    """(dtype that operands are converted to, dtype of the result)."""
    if kind == "logical":
        return torch.bool, torch.bool
    dtype = result_type(*operands)
    if dtype.is_complex:
        raise Unsupported(f"{name}: complex operands have no rule")
    if kind == "float":
        dtype = float_type(dtype)
    elif kind == "int" and dtype.is_floating_point:
        raise WouldRaise(f"{name}: operands of dtype {dtype} are not supported; convert them to an integer dtype")
    return dtype, torch.bool if kind == "compare" else dtype


Body = Callable[..., Expr]


def pointwise(name: str, arity: int, kind: str, body: Body, *, params: tuple[Any, ...] = (), exact: bool = False,
              number_counts: bool = True, autocast: str | None = None, bools: bool = True,
              names: tuple[str, ...] = ("self", "other", "third"), can_raise: bool = False,
              dense: bool = False) -> None:
    """Register pointwise core operator `name` of `arity` operands (tensors or numbers) and further constant `params`.

    body(dtype, *operand expressions, *params) -> expression; operands are in `dtype`, the dtype computed in.
    exact   numbers beside float16/bfloat16 tensors keep float32 precision (eager rounds them first elsewhere)
    dense   the result is contiguous whatever the operand's layout is
    bools   whether the promoted dtype may be bool (sub refuses every bool operand, as eager does)
    """
    @op(name, *names[:arity], *params, autocast=autocast, can_raise=can_raise)
    def rule(builder: GraphBuilder, *args: Any) -> TensorMeta:
        operands = args[:arity]
        inner, outer = common(kind, name, operands)
        if not bools and (inner is torch.bool or name == "sub" and any([_is_bool(x) for x in operands])):
            raise WouldRaise(f"{name}: bool operands are not supported; convert one of them to an integer dtype")
        meta = pointwise_meta(builder.env, outer, operands, number_counts)
        return replace(meta, strides=contiguous(meta.shape)) if dense else meta

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        out = lx.out(node)
        operands = node.args[:arity]
        inner = operand_dtype(lx, kind, name, operands)
        dtype = math_type(inner)
        get = [element(lx, x, dtype, out.shape, None if exact and inner in HALVES and not is_tensor(x) else inner)
               for x in operands]
        rest = node.args[arity:]
        lx.map(out, lambda *i: cast(body(dtype, *[g(i) for g in get], *rest), out.dtype))


def _is_bool(x: Any) -> bool:
    return x is True or x is False or (type(x) is Val and x.meta.dtype is torch.bool)


def is_tensor(x: Any) -> bool:
    return type(x).__name__ == "Ref"


def operand_dtype(lx: Lowering, kind: str, name: str, operands: tuple[Any, ...]) -> torch.dtype:
    return common(kind, name, tuple([lx.meta(x) if is_tensor(x) else x for x in operands]))[0]

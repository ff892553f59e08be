"""Operands of a torch call under autocast, cast as the operator's policy says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F

from ..graph.build import GraphBuilder, Val
from ..graph.types import TensorMeta
from ..ops.errors import Unsupported, WouldRaise
from ..torchdoor.autocast import State, policy, probe
from ..torchdoor.operators import operator_by_name, operator_name

if TYPE_CHECKING:
    from .state import Capture

_OTHER_NAMES: dict[Any, str] = {
    F.cross_entropy: "cross_entropy_loss", F.grid_sample: "grid_sampler", F.max_pool3d: "max_pool3d",
    F.adaptive_max_pool3d: "adaptive_max_pool3d", "__matmul__": "matmul", "__rmatmul__": "matmul",
    torch.concat: "cat", torch.concatenate: "cat"}
"""torch callables that come to an operator of another name."""

COMPOSED = frozenset(("einsum", "tensordot", "inner", "chain_matmul", "linalg_multi_dot", "lstm", "gru", "rnn_tanh",
                      "rnn_relu", "bilinear", "hstack", "vstack", "dstack", "column_stack", "row_stack", "block_diag",
                      "linalg_matrix_power", "matrix_power", "linalg_norm", "linalg_pinv", "corrcoef", "cov", "istft"))
"""Operators that call others which autocast casts: which, depends on their operands."""


def prepare(cx: Capture, target: Any, name: str, fn: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
            ) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """(expansion, args, kwargs) that give under autocast what torch gives."""
    if kwargs.get("out") is not None:
        return fn, args, kwargs
    state = cx.autocast
    assert state is not None
    if name.startswith("aten."):
        name = name.split(".")[1]
    else:
        name = _OTHER_NAMES.get(target, name)
    if name in COMPOSED or target is F.pad and kwargs.get("mode", args[2] if len(args) > 2 else "") != "constant":
        return _probed(target, state), args, kwargs
    how = policy(name)
    if how is None:
        return fn, args, kwargs
    to = state.dtype if how == "lower" else torch.float32 if how == "float32" else _widest(args, kwargs, state.dtype)
    return fn, [_cast(x, to) for x in args], {k: _cast(x, to) for k, x in kwargs.items()}


def _eligible(x: Any) -> bool:
    return type(x) is Val and x.meta.dtype.is_floating_point and x.meta.dtype is not torch.float64


def _cast(x: Any, to: torch.dtype) -> Any:
    if type(x) in (tuple, list):
        return type(x)([_cast(y, to) for y in x])
    return x.builder.emit("to_dtype", x, to) if _eligible(x) and x.meta.dtype is not to else x


def _widest(args: Any, kwargs: dict[str, Any], lower: torch.dtype) -> torch.dtype:
    """float32 if an operand is, else the autocast dtype; eager refuses any other."""
    found: set[torch.dtype] = set()

    def look(x: Any) -> None:
        if type(x) in (tuple, list):
            for y in x:
                look(y)
        elif _eligible(x):
            found.add(x.meta.dtype)
    look([*args, *kwargs.values()])
    if torch.float32 in found:
        return torch.float32
    if found - {lower}:
        raise WouldRaise("Unexpected floating ScalarType in at::autocast::prioritize")
    return lower


def _probed(target: Any, state: State) -> Callable[..., Any]:
    """The call as one opaque node whose shapes and dtypes are those of a call on zeros."""
    def run(builder: GraphBuilder, *args: Any, **kwargs: Any) -> Any:
        name = operator_name(target)
        if name is None:
            raise Unsupported("an operator that autocast casts inside", "call it outside autocast")

        def zeros(x: Any) -> Any:
            if type(x) in (tuple, list):
                return type(x)([zeros(y) for y in x])
            if type(x) is not Val:
                return x
            m, known = x.meta, builder.env.concrete
            return torch.empty_strided([known(s) for s in m.shape], [known(s) for s in m.strides],
                                       dtype=m.dtype).zero_()
        got = probe(operator_by_name(name), [zeros(x) for x in args], {k: zeros(x) for k, x in kwargs.items()}, state)
        parts = got if isinstance(got, (tuple, list)) else (got,)
        metas = tuple(TensorMeta(t.dtype, tuple(t.shape), tuple(t.stride())) for t in parts)
        frozen = tuple([tuple(x) if type(x) is list else x for x in args])
        made = builder.emit("opaque", name, frozen, tuple(kwargs.items()), metas)
        return made if isinstance(got, (tuple, list)) else made[0]
    return run

"""Calls of torch operators without an entry: shapes by torch's meta functions, values by the dispatcher at run time."""

from __future__ import annotations

import operator
from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...graph.types import TensorMeta
from ...shapes.dim import Dim
from ...torchdoor.meta import is_alias_of, run_on_meta, stand_in
from ...torchdoor.operators import effects, operator_by_name, operator_name
from ..core import extra_opaque  # noqa: F401  registers the core operators
from ..errors import Unsupported, WouldRaise
from ..registry import METHODS
from ..strides import contiguous
from .args import only_cpu

_PLAIN = (int, float, bool, complex, str, type(None), torch.dtype, torch.memory_format, torch.layout)
UNTRUE = frozenset(("as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter",
                    "linear_cross_entropy", "svd", "angle", "eig", "flip", "fliplr", "flipud", "embedding_bag",
                    "_embedding_bag", "_embedding_bag_forward_only"))
"""Operators whose results on the CPU have other shapes, strides or offsets than torch's meta functions say."""
UNTRUE_STRIDES = frozenset(("copysign", "frexp", "max_unpool2d", "max_unpool3d", "irfft", "irfft2", "irfftn", "hfft",
                            "hfft2", "hfftn", "fftshift", "ifftshift", "fft_irfft", "fft_irfft2", "fft_irfftn",
                            "fft_hfft", "fft_hfft2", "fft_hfftn", "fft_fftshift", "fft_ifftshift"))
"""The same of operands that are not contiguous."""
_EAGER_ERRORS = (RuntimeError, TypeError, ValueError, IndexError, AssertionError)


def opaque(b: GraphBuilder, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, draws: bool = True) -> Any:
    """Emit target(*args, **kwargs) as one core node `opaque` (`opaque_python` for operators not of torch's own).

    target: an operator overload or packet, a torch callable that carries an operator's name, or a Tensor method's name.
    Symbolic sizes are fixed by guards. Returns a Val, or a tuple or list of them as eager does. Refused are operators
    that write, alias, or whose shapes depend on data, and those without a meta implementation. One that draws random
    numbers is a node `opaque_rng`, which stays in its place and is drawn from torch's generator.
    draws=False: the arguments are such that an operator that could draw random numbers does not.
    """
    name = operator_name(target)
    known = effects(target)
    if name is None or known is None:
        raise Unsupported(f"{getattr(target, '__name__', target)} is not an operator that torch describes by a schema")
    short = name.rpartition(":")[2]
    untrue = short in UNTRUE or (short in UNTRUE_STRIDES and not all(
        x.meta.strides == contiguous(x.meta.shape) for x in _tensors((args, tuple(kwargs.values())))))
    for flag, why in ((untrue, "torch's meta function differs from its kernel"),
                      (known.writes, "it writes its arguments"), (known.aliases, "it returns a view of an argument"),
                      (known.data_shape, "its result's shape depends on data")):
        if flag:
            raise Unsupported(f"operator {name} has no entry in the catalogue, and {why}")
    if kwargs.get("out") is not None:
        raise Unsupported("out= is not supported", "assign the result instead of passing out=")
    args, kwargs = _static(b, args), {k: _static(b, v) for k, v in kwargs.items()}
    operands = _tensors((args, tuple(kwargs.values())))
    drawn = known.rng and draws
    if not operands and not drawn and not known.makes:
        raise Unsupported(f"operator {name} has no entry in the catalogue and no tensor operand")
    for_meta = dict(kwargs)
    if for_meta.get("device") is not None or not operands:
        only_cpu(kwargs.get("device"))
        for_meta["device"] = "meta"
    results = _on_meta(operator_by_name(name), args, for_meta, name)
    several = isinstance(results, (tuple, list))
    parts = list(results) if several else [results]
    if not all(isinstance(r, torch.Tensor) for r in parts):
        raise Unsupported(f"operator {name} returns something else than tensors")
    b.complex = b.complex or any(r.dtype.is_complex for r in parts)
    metas = tuple(TensorMeta(r.dtype, tuple(r.shape), tuple(r.stride())) for r in parts)
    if any(r.requires_grad for r in parts):
        raise Unsupported("a new tensor with requires_grad=True", "create it before the compiled call")
    core = "opaque_python" if known.custom else "opaque_rng" if drawn else "opaque"
    vals = b.emit(core, name, _frozen(args), tuple((k, _frozen(v)) for k, v in kwargs.items()), metas)
    return (list(vals) if isinstance(results, list) else vals) if several else vals[0]


def instead(b: GraphBuilder, target: Any, args: list[Any], kwargs: dict[str, Any], refusal: Unsupported) -> Any:
    """The call as an opaque one where its own entry refuses it (complex operands, rare arguments); where that cannot be
    either, the entry's own refusal."""
    name = _OPERATORS.get(target) if callable(target) else None
    if name is not None:
        if not args or type(args[0]) is not Val:
            raise refusal
        target = getattr(torch, name)
    mark = len(b.nodes)
    try:
        if type(target) is str and target[-1] == "_" and target[:-1] in METHODS:
            known = effects(target[:-1])
            if known is None or known.rng:  # bernoulli(p) reads probabilities where bernoulli_(p) fills
                raise refusal
            from .inplace import store

            return store(b, args[0], opaque(b, target[:-1], tuple(args), kwargs), *args[1:])
        return opaque(b, target, tuple(args), kwargs)
    except Unsupported:
        del b.nodes[mark:]
        raise refusal from None


_OPERATORS: dict[Any, str] = {
    operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "true_divide",
    operator.neg: "neg", operator.matmul: "matmul", operator.pow: "pow", operator.eq: "eq", operator.ne: "ne"}
"""Python's operators -> the torch function that they call for a tensor on the left."""


def _static(b: GraphBuilder, x: Any) -> Any:
    if type(x) is Dim:
        return b.env.concrete(x)
    if type(x) in (tuple, list, torch.Size):
        return (list if type(x) is list else tuple)([_static(b, y) for y in x])
    if type(x) is torch.device:
        return str(x)
    if type(x) is not Val and type(x) not in _PLAIN:
        raise Unsupported(f"an operator without an entry gets an argument of type {type(x).__name__}")
    return x


def _frozen(x: Any) -> Any:
    return tuple([_frozen(y) for y in x]) if type(x) in (tuple, list) else x


def _tensors(x: Any) -> list[Val]:
    if type(x) in (tuple, list):
        return [v for y in x for v in _tensors(y)]
    return [x] if type(x) is Val else []


def _on_meta(fn: Any, args: Any, kwargs: dict[str, Any], name: str) -> Any:
    stands: dict[int, torch.Tensor] = {}

    def swap(x: Any) -> Any:
        if type(x) is Val:
            if x.id not in stands:
                m = x.meta
                concrete = x.builder.env.concrete
                stands[x.id] = stand_in(m.dtype, tuple(map(concrete, m.shape)), tuple(map(concrete, m.strides)))
            return stands[x.id]
        return type(x)([swap(y) for y in x]) if type(x) in (tuple, list) else x
    try:
        results = run_on_meta(fn, swap(args), {k: swap(v) for k, v in kwargs.items()})
    except NotImplementedError as e:
        raise Unsupported(f"operator {name} has neither an entry in the catalogue nor a meta implementation") from e
    except KeyError as e:  # of a table of dtypes inside the meta function
        raise Unsupported(f"operator {name}: torch's meta function does not know the dtype {e}") from e
    except _EAGER_ERRORS as e:
        raise WouldRaise(str(e)) from e
    for r in results if isinstance(results, (tuple, list)) else (results,):
        if isinstance(r, torch.Tensor) and any(is_alias_of(r, s) for s in stands.values()):
            raise Unsupported(f"operator {name} has no entry in the catalogue, and it returns a view of an argument")
    return results

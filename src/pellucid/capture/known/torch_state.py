"""torch functions that read or set state instead of computing tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ...guards.types import Source
from ...torchdoor import stateful
from ..values.base import Broken, Value
from ..values.builtin import KNOWN
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.tensor import META_METHODS, TensorVal
from .register import known

if TYPE_CHECKING:
    from ..state import Capture

Args = list[Value]
Kw = dict[str, Value]


def constant(value: Any, *targets: Any) -> None:
    v = Const(value)
    for t in targets:
        if t is not None:
            KNOWN[t] = lambda cx, args, kw: v


constant(False, torch.jit.is_scripting, torch.jit.is_tracing, *stateful.NOT_TRACING, *stateful.TORCH_FUNCTION_TESTS)
constant(True, torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling, *stateful.COMPILING)
constant(False, torch.compiler.is_exporting)
constant(None, *stateful.LOGGING)


@known(torch.is_grad_enabled)
def _is_grad_enabled(cx: Capture, args: Args, kw: Kw) -> Any:
    return TRUE if cx.grad else FALSE


@known(*stateful.SET_GRAD)
def _set_grad(cx: Capture, args: Args, kw: Kw) -> Any:
    cx.grad = bool(args[0].truth(cx))
    cx.asks_grad |= cx.grad
    return NONE


def _read(fn: Any) -> None:
    """State that is part of the entry's GlobalKey: read now."""
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return cx.literal(fn(*[a.constant(cx) for a in args]))
    KNOWN[fn] = call


for _fn in (torch.is_inference_mode_enabled, torch.is_autocast_enabled, torch.get_autocast_dtype,
            torch.is_autocast_cache_enabled,
            torch.get_default_dtype, torch.get_default_device, torch.is_deterministic_algorithms_warn_only_enabled,
            torch.are_deterministic_algorithms_enabled,
            *stateful.READ_STATE):
    if _fn is not None:
        _read(_fn)


def _precision_now(_: Any) -> str:
    return torch.get_float32_matmul_precision()


@known(torch.get_float32_matmul_precision)
def _precision(cx: Capture, args: Args, kw: Kw) -> Any:
    """Guarded here: compiled products are float32 throughout, so that nothing else looks at it."""
    now = torch.get_float32_matmul_precision()
    source = Source("call0", Source("const", None, "torch", torch), "precision", _precision_now)
    cx.guard_once((source, "="), "equal", source, now, "get_float32_matmul_precision")
    return Const(now)


def _meta(name: str) -> Any:
    method = META_METHODS[name]

    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        v = args[0] if args else kw.get("input")
        if type(v) is TensorVal:
            return method(cx, v, args[1:], {})
        return None
    return call


for _name in ("is_floating_point", "is_complex", "is_signed", "numel", "is_conj", "is_neg"):
    KNOWN[getattr(torch, _name)] = _meta(_name)


@known(torch.is_tensor)
def _is_tensor(cx: Capture, args: Args, kw: Kw) -> Any:
    return TRUE if issubclass(args[0].pytype(cx), torch.Tensor) else FALSE


@known(torch.manual_seed, torch.seed, torch.save, torch.load)
def _effectful(cx: Capture, args: Args, kw: Kw) -> Any:
    raise Broken("PB103", "a torch function that changes global state or does input or output")


@known(torch.is_same_size)
def _is_same_size(cx: Capture, args: Args, kw: Kw) -> Any:
    a, b = args
    if type(a) is TensorVal and type(b) is TensorVal:
        x, y = a.graph_value(cx).meta.shape, b.graph_value(cx).meta.shape
        return TRUE if len(x) == len(y) and all(cx.env.same(p, q) for p, q in zip(x, y)) else FALSE
    return None

"""torch functions that read or set state instead of computing tensors."""

from __future__ import annotations

import contextlib
import inspect
import types
from typing import TYPE_CHECKING, Any

import torch

from ...guards.types import Source
from ...torchdoor import flags, stateful
from ..polyfills import polyfill
from ..values.base import Broken, Invoke, Value
from ..values.builtin import KNOWN
from ..values.constant import FALSE, NONE, TRUE, Const
from ..values.mapping import DictVal
from ..values.sequence import TupleVal
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
constant(True, torch.compiler.is_dynamo_compiling, *stateful.COMPILING)
_CALL_IMPL = torch.nn.Module._call_impl.__code__


@known(torch.compiler.is_compiling)
def _is_compiling(cx: Capture, args: Args, kw: Kw) -> Any:
    """Module calls leave out hooks with always_call while compiling, which is not what eager does."""
    return FALSE if cx.machine.frame.code.original is _CALL_IMPL else TRUE
constant(False, torch.compiler.is_exporting)
constant(None, *stateful.LOGGING, *stateful.TRACING_STATE)


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
        if cx.flags and fn in cx.flags:
            return cx.literal(cx.flags[fn])
        return cx.literal(fn(*[a.constant(cx) for a in args]))
    KNOWN[fn] = call


def _set(setter: Any, getter: Any) -> None:
    """A setting changes in its place among the graph's calls, which the graph's runs do too."""
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        value = args[0].constant(cx)
        cx.flags[getter] = value
        cx.builder.record("function", setter, (value,), {}, None, cx.stack(), (), (cx.grad, cx.autocast))
        return NONE
    KNOWN[setter] = call


for _setter, _getter in flags.GETTERS.items():
    _set(_setter, _getter)
    _read(_getter)


for _fn in (torch.is_inference_mode_enabled,
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


@known(*stateful.NO_FUNCTION_OVERRIDES)
def _no_overrides(cx: Capture, args: Args, kw: Kw) -> Any:
    """No tensor that capture accepts overrides torch functions, so that there is nothing to switch off."""
    return Invoke(cx.fixed(contextlib.nullcontext), [], {})


for _test, _of in ((inspect.isclass, type), (inspect.isfunction, types.FunctionType),
                   (inspect.ismethod, types.MethodType)):
    def _is_kind(cx: Capture, args: Args, kw: Kw, of: type = _of) -> Any:
        return TRUE if issubclass((args or [*kw.values()])[0].pytype(cx), of) else FALSE
    KNOWN[_test] = _is_kind


@known(*stateful.PROFILER_ENTER)
def _profiler_enter(cx: Capture, args: Args, kw: Kw) -> Any:
    """Ranges for the profiler: inside compiled code they have no extent of their own."""
    return TRUE


@known(*stateful.PROFILER_EXIT)
def _profiler_exit(cx: Capture, args: Args, kw: Kw) -> Any:
    return NONE


@known(*stateful.GROUP_TENSORS)
def _group_tensors(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "group_tensors"), args, kw)


@known(getattr(torch, "_foreach_norm", None))
def _foreach_norm(cx: Capture, args: Args, kw: Kw) -> Any:
    return Invoke(polyfill(cx, "foreach_norm"), args, kw)


def _foreach(name: str) -> None:
    def call(cx: Capture, args: Args, kw: Kw) -> Any:
        return Invoke(polyfill(cx, "foreach"), [Const(name), args[0], TupleVal(args[1:]), DictVal(items={**kw})])
    KNOWN[getattr(torch, f"_foreach_{name}")] = call


for _name in ("add", "sub", "mul", "div", "neg", "sqrt", "abs", "exp", "log", "maximum", "minimum",
              "addcmul", "addcdiv", "lerp", "reciprocal", "pow", "clamp_min", "clamp_max"):
    for _form in (_name, f"{_name}_"):
        if hasattr(torch, f"_foreach_{_form}") and hasattr(torch.Tensor, _form):
            _foreach(_form)
_foreach("zero_")


@known(torch.result_type)
def _result_type(cx: Capture, args: Args, kw: Kw) -> Any:
    """By the operands' dtypes, and which of them have no dimensions."""
    operands = []
    for a in args:
        m = a.graph_value(cx).meta if type(a) is TensorVal else None
        operands.append(a.constant(cx) if m is None else torch.empty((1,) * m.ndim, dtype=m.dtype))
    return Const(torch.result_type(*operands))


@known(torch.is_same_size)
def _is_same_size(cx: Capture, args: Args, kw: Kw) -> Any:
    a, b = args
    if type(a) is TensorVal and type(b) is TensorVal:
        x, y = a.graph_value(cx).meta.shape, b.graph_value(cx).meta.shape
        return TRUE if len(x) == len(y) and all(cx.env.same(p, q) for p, q in zip(x, y)) else FALSE
    return None

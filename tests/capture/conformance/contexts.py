"""Contexts in captured programs: autocast, grad modes, devices, defaults, profiling ranges, attention back ends."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from .harness import Programs, one

programs = Programs()
Tensor = torch.Tensor


def grad() -> tuple[Any, ...]:
    return ((torch.arange(6.0).reshape(2, 3) - 2).requires_grad_(),)


def square() -> tuple[Any, ...]:
    return (torch.arange(16.0).reshape(4, 4) / 7 - 1,)


def square_grad() -> tuple[Any, ...]:
    return ((torch.arange(16.0).reshape(4, 4) / 7 - 1).requires_grad_(),)


def heads() -> tuple[Any, ...]:
    return (torch.arange(64.0).reshape(1, 2, 4, 8) / 64,)


# ------------------------------------------------------------------ autocast
@programs(square, square_grad)
def autocast_inside(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        z = F.softmax(y, -1)
    return y, z, x @ x


@programs(square)
def autocast_default_dtype(x: Tensor) -> Any:
    with torch.autocast("cpu"):
        return torch.mm(x, x), F.linear(x, x), torch.bmm(x[None], x[None])


@programs(square)
def autocast_float16(x: Tensor) -> Any:
    with torch.autocast(device_type="cpu", dtype=torch.float16):
        return x @ x


@programs(square)
def autocast_nested(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = x @ x
        with torch.autocast("cpu", enabled=False):
            b = a.float() @ x
        c = x @ x
        with torch.autocast("cpu", dtype=torch.float16):
            d = x @ x
    return a, b, c, d


@programs(square)
def autocast_disabled(x: Tensor) -> Any:
    with torch.autocast("cpu", enabled=False):
        return x @ x


@programs.factory(square)
def autocast_decorator() -> Any:
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def inner(x: Tensor) -> Tensor:
        return x @ x

    def fn(x: Tensor) -> Any:
        return inner(x) + 1, x @ x

    return fn


@programs.factory(square)
def autocast_around_the_call() -> Any:
    @torch.autocast("cpu", dtype=torch.bfloat16)
    def fn(x: Tensor) -> Any:
        return x @ x, torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")

    return fn


@programs(square)
def autocast_asked(x: Tensor) -> Any:
    before = torch.is_autocast_enabled("cpu")
    with torch.autocast("cpu"):
        inside = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    return x, before, inside, torch.is_autocast_enabled("cpu")


@programs(square)
def autocast_other_device(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return x + 1, x.softmax(-1), x.sum(), x.exp(), (x @ x).sum()


@programs(square)
def autocast_promoted(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        return torch.cat([x, y]), torch.stack([y, x]), x + y, y * 2


@programs(square)
def autocast_losses(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        return F.mse_loss(y, x), F.cross_entropy(y, torch.tensor([0, 1, 2, 3])), F.layer_norm(y, (4,)), F.gelu(y)


@programs.factory(square)
def autocast_model() -> Any:
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2))

    def fn(x: Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = net(x)
        return y, y.float().sum()

    return fn


@programs(heads)
def autocast_attention(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.scaled_dot_product_attention(x, x, x)


@programs(square)
def autocast_convolution(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return F.conv2d(x.reshape(1, 1, 4, 4), torch.ones(2, 1, 3, 3)), F.conv1d(x[None], torch.ones(1, 4, 2))


@programs(square)
def autocast_raises(x: Tensor) -> Any:
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            raise ValueError("out")
    except ValueError:
        return x @ x, torch.is_autocast_enabled("cpu")


@programs(square, breaks=True)
def autocast_with_a_break(x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ x
        print("inside")
        z = x @ x
    return y, z, x @ x


# ------------------------------------------------------------------ grad modes
@programs(one, grad)
def no_grad(x: Tensor) -> Any:
    with torch.no_grad():
        y = x * 2
    return y, x * 3, torch.is_grad_enabled()


@programs(one, grad)
def enable_grad(x: Tensor) -> Any:
    with torch.no_grad():
        with torch.enable_grad():
            y = x * 2
        z = x * 2
    return y, z


@programs.factory(one, grad)
def grad_decorators() -> Any:
    @torch.no_grad()
    def a(x: Tensor) -> Tensor:
        return x * 2

    @torch.no_grad
    def b(x: Tensor) -> Tensor:
        return x * 3

    @torch.enable_grad()
    def c(x: Tensor) -> Tensor:
        return x * 4

    @torch.set_grad_enabled(False)
    def d(x: Tensor) -> Tensor:
        return x * 5

    def fn(x: Tensor) -> Any:
        return a(x), b(x), c(x), d(x)

    return fn


@programs(grad)
def set_grad_enabled_function(x: Tensor) -> Any:
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    return y, x * 2


@programs(grad)
def set_grad_enabled_context(x: Tensor) -> Any:
    with torch.set_grad_enabled(x.shape[0] > 5):
        y = x * 2
    return y


@programs.factory(one, grad)
def no_grad_around_the_call() -> Any:
    @torch.no_grad()
    def fn(x: Tensor) -> Any:
        return x * 2, torch.is_grad_enabled()

    return fn


@programs(one, breaks=True)
def inference_mode(x: Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
        inside = torch.is_inference_mode_enabled()
    return y.sum().item() if False else x + 1, inside, torch.is_inference_mode_enabled()


@programs(one, breaks=True)
def inference_result(x: Tensor) -> Any:
    with torch.inference_mode():
        y = x * 2
    return y, y.is_inference()


@programs(grad)
def detached_and_back(x: Tensor) -> Any:
    with torch.no_grad():
        w = (x * 2).clone()
    return (x * w).sum(), w.requires_grad


@programs(grad)
def generator_no_grad(x: Tensor) -> Any:
    @torch.no_grad()
    def inner(y: Tensor) -> Any:
        return [y * k for k in range(2)]

    return inner(x), x * 2


# ------------------------------------------------------------------ devices and defaults
@programs(one, breaks=True)
def device_context(x: Tensor) -> Any:
    with torch.device("cpu"):
        return torch.zeros(3) + x, torch.arange(3)


@programs(one)
def device_objects(x: Tensor) -> Any:
    d = torch.device("cpu")
    return torch.zeros(2, device=d), d.type, d.index, d == x.device, str(d), torch.device("cuda:1").index


@programs(one)
def default_dtype(x: Tensor) -> Any:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    y = torch.zeros(2)
    torch.set_default_dtype(before)
    return y, x + torch.ones(3)


@programs(one, breaks=True)
def default_device(x: Tensor) -> Any:
    torch.set_default_device("cpu")
    y = torch.zeros(2)
    torch.set_default_device(None)
    return y


# ------------------------------------------------------------------ profiling, attention back ends, others
@programs(one)
def record_function(x: Tensor) -> Any:
    with torch.profiler.record_function("part"):
        y = x * 2
    with torch.autograd.profiler.record_function("other"):
        return y + 1


@programs(heads)
def sdpa_math(x: Tensor) -> Any:
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(x, x, x)


@programs(heads)
def sdpa_flash(x: Tensor) -> Any:
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        return F.scaled_dot_product_attention(x, x, x, is_causal=True)


@programs(one, breaks=True)
def null_and_stack(x: Tensor) -> Any:
    with contextlib.nullcontext(), contextlib.ExitStack() as s:
        s.enter_context(torch.no_grad())
        y = x * 2
    return y, torch.is_grad_enabled()


@programs(one)
def deterministic_read(x: Tensor) -> Any:
    return x, torch.are_deterministic_algorithms_enabled(), torch.get_float32_matmul_precision(), \
        torch.backends.cudnn.enabled, torch.backends.mkldnn.is_available()


@programs(one, breaks=True)
def cudnn_flags(x: Tensor) -> Any:
    with torch.backends.cudnn.flags(enabled=False):
        return x * 2


@programs(one, breaks=True)
def anomaly(x: Tensor) -> Any:
    with torch.autograd.detect_anomaly(check_nan=False):
        return x * 2


@programs.factory(one)
def own_context() -> Any:
    class Mode:
        def __init__(self) -> None:
            self.depth = 0

        def __enter__(self) -> Any:
            self.depth += 1
            return self

        def __exit__(self, *exc: Any) -> bool:
            self.depth -= 1
            return False

    mode = Mode()

    def fn(x: Tensor) -> Any:
        with mode as m, torch.no_grad():
            y = x * m.depth
        return y, mode.depth

    return fn


@programs.factory(one)
def generator_context() -> Any:
    @contextlib.contextmanager
    def scaled(k: int) -> Any:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            yield k * 2
        finally:
            torch.set_grad_enabled(before)

    def fn(x: Tensor) -> Any:
        with scaled(3) as k:
            y = x * k
        return y, torch.is_grad_enabled()

    return fn


@programs(grad, breaks=True)
def saved_tensor_hooks(x: Tensor) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
    return y.sum()


@programs(one)
def disabled_torch_function(x: Tensor) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        return x * 2

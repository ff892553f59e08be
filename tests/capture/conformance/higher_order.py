"""torch's higher-order functions in captured programs: checkpoint, cond, vmap, func, autograd.Function, custom ops."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import while_loop
from torch._higher_order_ops.associative_scan import associative_scan
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from .harness import Programs, one

programs = Programs()
Tensor = torch.Tensor
with warnings.catch_warnings():         # forward mode loads decompositions at its first use, which warn once
    warnings.simplefilter("ignore")
    torch.func.jvp(torch.sin, (torch.ones(1),), (torch.ones(1),))


def grad() -> tuple[Any, ...]:
    return ((torch.arange(6.0).reshape(2, 3) - 2).requires_grad_(),)


# ------------------------------------------------------------------ checkpoint
@programs(one, grad, breaks=True)
def checkpointed(x: Tensor) -> Any:
    return checkpoint(lambda y: (y * 2).sin(), x, use_reentrant=False)


@programs.factory(one, grad, breaks=True)
def checkpointed_module() -> Any:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh())

    def fn(x: Tensor) -> Any:
        return checkpoint(net, x, use_reentrant=False) + 1

    return fn


@programs.factory(grad, breaks=True)
def checkpointed_layers() -> Any:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))

    def fn(x: Tensor) -> Any:
        return checkpoint_sequential(net, 2, x, use_reentrant=False)

    return fn


# ------------------------------------------------------------------ cond, while
@programs(one, breaks=True)
def cond_of_tensor(x: Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,))


@programs(one, breaks=True)
def cond_of_size(x: Tensor) -> Any:
    return torch.cond(torch.tensor(x.shape[0] > 1), lambda y: y + 1, lambda y: y - 1, [x])


@programs()
def cond_of_a_known_number(x: Tensor) -> Any:
    return torch.cond(x.shape[0] > 1, lambda y, z: y + z, lambda y, z: y - z, (x, x * 2))


@programs()
def while_of_numbers(x: Tensor) -> Any:
    return while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (0, x))


@programs()
def scan_of_a_tensor(x: Tensor) -> Any:
    return associative_scan(lambda a, b: a + b, x, 1, combine_mode="generic")


@programs()
def scan_of_pairs_from_the_end(x: Tensor) -> Any:
    def combine(a: Any, b: Any) -> Any:
        return a[0] * b[0], b[0] * a[1] + b[1]

    return associative_scan(combine, (x, x + 1), 1, reverse=True, combine_mode="generic")


@programs()
def checkpointed_without_gradients(x: Tensor) -> Any:
    with torch.no_grad():
        return checkpoint(lambda y, k: (y * k).sin(), x, k=2, use_reentrant=False)


@programs.factory()
def module_moved_to_where_it_is() -> Any:
    torch.manual_seed(0)
    net = nn.Linear(3, 4)

    def fn(x: Tensor) -> Any:
        return net.to(torch.float32)(x), net.to("cpu") is net, net.to(device="cpu", dtype=torch.float32) is net

    return fn


@programs.factory(breaks=True)
def module_moved_to_another_dtype() -> Any:
    torch.manual_seed(0)
    net = nn.Linear(3, 4)

    def fn(x: Tensor) -> Any:
        y = net.to(torch.float64)(x.double())
        return y, net.to(torch.float32).weight.dtype

    return fn


# ------------------------------------------------------------------ vmap and func
@programs(one, breaks=True)
def vmapped(x: Tensor) -> Any:
    return torch.vmap(lambda row: row * row.sum())(x)


@programs(one, breaks=True)
def vmapped_dims(x: Tensor) -> Any:
    return torch.vmap(torch.dot, in_dims=(1, None))(x, torch.ones(2))


@programs(one, breaks=True)
def func_grad(x: Tensor) -> Any:
    return torch.func.grad(lambda y: (y**3).sum())(x)


@programs(one, breaks=True)
def func_vjp(x: Tensor) -> Any:
    y, pull = torch.func.vjp(torch.sin, x)
    return y, pull(torch.ones_like(y))


@programs(one, breaks=True)
def func_jvp(x: Tensor) -> Any:
    return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))


@programs(one, breaks=True)
def func_jacrev(x: Tensor) -> Any:
    return torch.func.jacrev(lambda y: y.sin().sum(0))(x)


@programs.factory()
def functional_call() -> Any:
    torch.manual_seed(0)
    net = nn.Linear(3, 2)

    def fn(x: Tensor) -> Any:
        return torch.func.functional_call(net, {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}, (x,)), net(x)

    return fn


@programs.factory(breaks=True)
def functional_gradients() -> Any:
    torch.manual_seed(0)
    net = nn.Linear(3, 2)

    def fn(x: Tensor) -> Any:
        params = {k: v.detach() for k, v in net.named_parameters()}
        return torch.func.grad(lambda p: torch.func.functional_call(net, p, (x,)).square().sum())(params)

    return fn


# ------------------------------------------------------------------ autograd.Function
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return g * 3 * x * x


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor, k: float) -> Tensor:
        return x * k

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.k = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return g * ctx.k, None


class Pair(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Any:
        ctx.save_for_backward(a, b)
        ctx.mark_non_differentiable(m := a > b)
        return a * b, m

    @staticmethod
    def backward(ctx: Any, g: Tensor, _: Any) -> Any:
        a, b = ctx.saved_tensors
        return (g * b if ctx.needs_input_grad[0] else None), (g * a if ctx.needs_input_grad[1] else None)


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g


@programs(one, grad)
def function_applied(x: Tensor) -> Any:
    return Cube.apply(x) + 1


@programs(one, grad)
def function_with_setup(x: Tensor) -> Any:
    return Scale.apply(x, 2.5)


@programs(one, grad)
def function_of_two(x: Tensor) -> Any:
    y, m = Pair.apply(x, x + 1)
    return y, m


@programs(one, grad)
def function_chain(x: Tensor) -> Any:
    return Straight.apply(Cube.apply(x * 0.5)).sum()


@programs.factory(one, grad)
def function_in_a_module() -> Any:
    class Rounded(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return Straight.apply(x) * 2

    m = Rounded()

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


# ------------------------------------------------------------------ autograd inside
@programs(grad, breaks=True)
def autograd_grad(x: Tensor) -> Any:
    y = (x * x).sum()
    (g,) = torch.autograd.grad(y, x)
    return g + 1


@programs(one, breaks=True)
def backward_inside(x: Tensor) -> Any:
    w = torch.ones(3, requires_grad=True)
    (x * w).sum().backward()
    return w.grad


@programs.factory(breaks=True)
def training_step() -> Any:
    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def fn(x: Tensor) -> Any:
        loss = net(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach(), [p.detach().clone() for p in net.parameters()]

    return fn


# ------------------------------------------------------------------ custom operators
@torch.library.custom_op("pellucid_conformance::double", mutates_args=())
def double(x: Tensor) -> Tensor:
    return x * 2


@double.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


double.register_autograd(lambda ctx, g: g * 2)


@torch.library.custom_op("pellucid_conformance::fill", mutates_args={"x"})
def fill(x: Tensor, k: float) -> None:
    x.fill_(k)


@programs(one, grad)
def custom_operator(x: Tensor) -> Any:
    return double(x) + 1


@programs(one, grad)
def custom_operator_by_name(x: Tensor) -> Any:
    return torch.ops.pellucid_conformance.double(x) + torch.ops.pellucid_conformance.double.default(x)


@programs(one, breaks=True)
def custom_operator_that_writes(x: Tensor) -> Any:
    y = x.clone()
    fill(y, 3.0)
    return y + x


@programs(one)
def aten_operators(x: Tensor) -> Any:
    return torch.ops.aten.add.Tensor(x, x), torch.ops.aten.relu(x), torch.ops.aten.mul(x, 2)


@programs(one)
def flexible_attention_score(x: Tensor) -> Any:
    q = x.reshape(1, 1, 2, 3)
    return F.scaled_dot_product_attention(q, q, q, attn_mask=torch.ones(2, 2, dtype=torch.bool).tril())


# ------------------------------------------------------------------ trees and foreach
@programs()
def tree_map(x: Tensor) -> Any:
    from torch.utils import _pytree as pytree

    return pytree.tree_map(lambda v: v * 2, {"a": x, "b": [x, (x + 1,)]})


@programs()
def foreach(x: Tensor) -> Any:
    items = [x, x + 1]
    return torch._foreach_add(items, 1.0), torch._foreach_mul(items, items), torch._foreach_norm(items)


@programs()
def foreach_in_place(x: Tensor) -> Any:
    items = [x.clone(), x + 1]
    torch._foreach_mul_(items, 2.0)
    torch._foreach_addcmul_(items, [x, x], [x, x], value=0.5)
    return items

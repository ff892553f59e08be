"""Tensors in captured programs: operators, views, writes, attributes, sizes, dtypes, values handed to Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .harness import Programs, one

programs = Programs()
Tensor = torch.Tensor


def grad() -> tuple[Any, ...]:
    return ((torch.arange(6.0).reshape(2, 3) - 2).requires_grad_(),)


@programs()
def arithmetic(x: Tensor) -> Any:
    return x + 1, 1 - x, x / 2, 2 / (x + 0.5), x // 2, x % 2, x**2, 2**x, -x, +x, abs(x), x @ x.T, divmod(7, 2)


@programs()
def comparison_and_bits(x: Tensor) -> Any:
    i = x.long()
    return x > 0, x <= 1, x == x, x != 0, i & 3, i | 1, i ^ 2, ~(x > 0), i << 1, i >> 1, (x > 0) & (x < 2)


@programs()
def augmented(x: Tensor) -> Any:
    y = x.clone()
    y += 1
    y *= 2
    y -= x
    y /= 3
    y **= 2
    z = y
    z //= 1
    return y, z is y


@programs()
def in_place_views(x: Tensor) -> Any:
    y = x.clone()
    y[0].add_(1)
    y[:, 1] = 7
    y.t()[2].mul_(3)
    y.view(-1)[0] = -1
    y[y > 5] = 0
    return y


@programs()
def argument_written(x: Tensor) -> Any:
    x.add_(1).mul_(2)
    x[0] = 5
    v = x[1:]
    v.zero_()
    return x, v


@programs()
def indexing(x: Tensor) -> Any:
    i = torch.tensor([1, 0])
    return (
        x[0],
        x[-1, 1:],
        x[..., 0],
        x[None],
        x[:, [0, 2]],
        x[i],
        x[i, i],
        x[:, ::2],
        x[0, 1].shape,
    )


@programs()
def shapes(x: Tensor) -> Any:
    s = x.shape
    return (
        s,
        s[0] * s[1],
        s.numel(),
        len(s),
        s[:1] + s[1:],
        list(s),
        s == (2, 3),
        x.size(-1),
        x.size(),
        s + (4,),
        torch.Size([1, 2]),
        tuple(s),
        x.dim(),
        x.ndim,
        x.numel(),
        x.nelement(),
        x.stride(),
        x.element_size(),
        x.nbytes,
    )


@programs()
def views(x: Tensor) -> Any:
    return (
        x.view(3, 2),
        x.reshape(-1),
        x.t(),
        x.permute(1, 0),
        x.unsqueeze(0).squeeze(0),
        x.flatten(),
        x.expand(2, 2, 3),
        x.unfold(1, 2, 1),
        x.diagonal(),
        x.narrow(1, 0, 2),
        x.view_as(x),
        x.T,
        x.mT,
        x.movedim(0, 1),
        x.unbind(0),
    )


@programs()
def output_is_input(x: Tensor) -> Any:
    return x, x.view(3, 2), x.contiguous() is x, x.to(torch.float32) is x, x.float() is x, x.reshape(2, 3)


@programs()
def dtypes(x: Tensor) -> Any:
    return (
        x.dtype,
        x.double(),
        x.to(torch.int32),
        x.half().dtype,
        x.bool(),
        x.type(torch.int64),
        x.dtype.is_floating_point,
        torch.finfo(x.dtype).max,
        torch.iinfo(torch.int32).min,
        torch.finfo(torch.float16).eps,
        x.dtype.itemsize,
        x.to(torch.zeros(1, dtype=torch.float64)),
        x.type_as(torch.zeros(1).long()),
        str(x.dtype),
    )


@programs()
def promotion(x: Tensor) -> Any:
    i = torch.arange(3)
    return (
        x + i,
        i + 1.5,
        i / 2,
        i * True,
        torch.result_type(x, i),
        torch.promote_types(torch.int32, torch.float16),
        torch.can_cast(torch.float32, torch.int32),
        i.float() + x.double(),
    )


@programs()
def reductions(x: Tensor) -> Any:
    return (
        x.sum(),
        x.mean(0),
        x.max(),
        x.max(1),
        x.argmax(),
        x.min(dim=0).values,
        x.prod(),
        x.std(),
        x.var(1),
        x.norm(),
        x.any(),
        x.all(),
        x.amax(0),
        x.logsumexp(1),
        x.cumsum(1),
        x.median(),
        torch.aminmax(x),
    )


@programs()
def named_results(x: Tensor) -> Any:
    r = x.sort(dim=1, descending=True)
    v, i = x.topk(2)
    return r.values, r.indices, v, i, r[0], type(r).__name__, torch.max(x, 1).indices


@programs()
def functions(x: Tensor) -> Any:
    return (
        torch.where(x > 0, x, -x),
        torch.clamp(x, -1, 1),
        torch.cat([x, x], 1),
        torch.stack((x, x)),
        x.gather(1, x.abs().long() % 3),
        torch.outer(x[0], x[1]),
        torch.tril(x),
        x.roll(1),
        x.flip(0),
        torch.einsum("ij,kj->ik", x, x),
        x.masked_fill(x > 0, 0),
        torch.lerp(x, x + 1, 0.5),
        x.split(1),
        x.chunk(2, 1),
        torch.meshgrid(x[0], x[1], indexing="ij"),
    )


@programs()
def factories(x: Tensor) -> Any:
    return (
        torch.zeros(2),
        torch.ones_like(x),
        torch.full((2,), 3.0),
        torch.arange(1, 7, 2),
        torch.eye(2),
        torch.linspace(0, 1, 3),
        torch.tensor([[1, 2], [3, 4]]),
        x.new_zeros(2),
        x.new_tensor([1.0]),
        torch.as_tensor(x),
        torch.empty(0).shape,
        torch.tensor(x.shape),
    )


@programs()
def out_arguments(x: Tensor) -> Any:
    y = torch.empty(2, 3)
    r = torch.add(x, 1, out=y)
    return y, r is y, x


@programs(one, grad)
def detached(x: Tensor) -> Any:
    y = (x * 2).detach()
    return y, y.requires_grad, x.detach() + 1, x.data * 2


@programs(grad)
def leaf_attributes(x: Tensor) -> Any:
    y = x * 2
    return y, x.is_leaf, y.is_leaf, x.requires_grad, y.requires_grad, x.grad, x.grad_fn


@programs(one)
def flags(x: Tensor) -> Any:
    return (
        x.device,
        x.layout,
        x.is_cuda,
        x.is_sparse,
        x.is_contiguous(),
        x.t().is_contiguous(),
        x.is_floating_point(),
        x.is_complex(),
        x.get_device(),
        torch.is_tensor(x),
        isinstance(x, torch.Tensor),
        type(x) is torch.Tensor,
        hasattr(x, "names"),
        x.is_signed(),
    )


@programs(one, breaks=True)
def values_to_python(x: Tensor) -> Any:
    return x.sum().item(), x.tolist(), float(x[0, 0]), int(x[1, 1]), bool(x[0, 0] < 0), x[0, 1].item() * 2


@programs(one, breaks=True)
def numpy_and_back(x: Tensor) -> Any:
    a = x.numpy()
    return torch.from_numpy(a * 2) + x, np.asarray(x).shape


@programs(one, breaks=True)
def dynamic_shapes(x: Tensor) -> Any:
    return (
        x.nonzero(),
        torch.where(x > 0),
        x.masked_select(x > 0),
        x[x > 0],
        torch.unique(x.round()),
        x.argwhere(),
        x[torch.tensor([True, False])],
    )


@programs(one, breaks=True)
def requires_grad_set(x: Tensor) -> Any:
    y = (x + 1).requires_grad_()
    return y, y * 2


@programs(one, breaks=True)
def formatted(x: Tensor) -> Any:
    return f"{x.sum():.2f}", str(x), repr(x[0])


@programs(one)
def iteration(x: Tensor) -> Any:
    total = 0
    for row in x:
        for v in row:
            total = total + v
    a, b = x
    return total, a - b, len(x), [r.sum() for r in x], *x.unbind(1)


@programs(one, breaks=True)
def errors(x: Tensor) -> Any:
    out = []
    for f in (
        lambda: x @ x,
        lambda: x.view(4),
        lambda: x[5],
        lambda: x.nothing,
        lambda: len(x.sum()),
        lambda: torch.cat([]),
    ):
        try:
            f()
        except Exception as e:
            out.append(type(e).__name__)
    return x, out


@programs(one, breaks=True)
def complex_numbers(x: Tensor) -> Any:
    c = torch.complex(x, x)
    return c.real, c.imag, c.abs(), torch.view_as_real(c), c * 2j, c.is_complex()


@programs(one)
def copies(x: Tensor) -> Any:
    y = torch.empty_like(x)
    y.copy_(x)
    y[0].copy_(x[1])
    y.fill_(3.0)[1].zero_()
    return y, x.clone(memory_format=torch.contiguous_format), x.t().contiguous()


class Tagged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


@programs(one, breaks=True)
def subclass(x: Tensor) -> Any:
    y = x.as_subclass(Tagged)
    return (y + 1).as_subclass(torch.Tensor), type(y * 2).__name__


@programs(one, grad, breaks=True)
def tensor_subclass_parameter(x: Tensor) -> Any:
    w = torch.nn.Parameter(torch.ones(3), requires_grad=False)
    return x * w, isinstance(w, torch.nn.Parameter)

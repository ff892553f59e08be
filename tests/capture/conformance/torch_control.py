"""What torch.compiler and torch.jit say about functions, inside captured programs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .harness import Programs

programs = Programs()
Tensor = torch.Tensor


@torch.compiler.disable
def disabled(x: Tensor) -> Tensor:
    return x * 2


@programs(breaks=True)
def calls_disabled(x: Tensor) -> Any:
    return disabled(x + 1) + 1


@torch.compiler.disable(recursive=False)
def disabled_alone(x: Tensor) -> Tensor:
    return x * 2


@programs(breaks=True)
def calls_disabled_alone(x: Tensor) -> Any:
    return disabled_alone(x) + 1


@programs.factory(breaks=True)
def disabled_method() -> Any:
    class M(nn.Module):
        @torch.compiler.disable
        def inner(self, x: Tensor) -> Tensor:
            return x + 3

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x) * 2

    m = M()

    def fn(x: Tensor) -> Any:
        return m(x)

    return fn


@programs.factory(breaks=True)
def disabled_module() -> Any:
    m = torch.compiler.disable(nn.ReLU())

    def fn(x: Tensor) -> Any:
        return m(x) + 1

    return fn


@torch.compiler.assume_constant_result
def three() -> int:
    return 3


@programs()
def constant_result(x: Tensor) -> Any:
    return x * three()


@torch.compiler.allow_in_graph
def allowed(x: Tensor) -> Tensor:
    return x.sin() * 2


@programs()
def allowed_in_graph(x: Tensor) -> Any:
    return allowed(x) + 1


@programs()
def compiling(x: Tensor) -> Any:
    return x + 1 if torch.compiler.is_exporting() or torch.jit.is_scripting() or torch.jit.is_tracing() else x - 1


@torch.jit.script
def scripted(x: Tensor) -> Tensor:
    return x * 2 + 1


@programs(breaks=True)
def calls_scripted(x: Tensor) -> Any:
    return scripted(x) + 1


@programs.factory(breaks=True)
def scripted_module() -> Any:
    m = torch.jit.script(nn.Sequential(nn.ReLU(), nn.Tanh()))

    def fn(x: Tensor) -> Any:
        return m(x) + 1

    return fn


@torch.jit.ignore
def ignored(x: Tensor) -> Tensor:
    return x * 5


@torch.jit.unused
def unused(x: Tensor) -> Tensor:
    return x * 6


@programs()
def calls_ignored(x: Tensor) -> Any:
    return ignored(x) + unused(x)


@programs(breaks=True)
def graph_break(x: Tensor) -> Any:
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


@programs.factory()
def nested_compile() -> Any:
    import pellucid

    inner = pellucid.compile(lambda x: x * 3, backend="eager")

    def fn(x: Tensor) -> Any:
        return inner(x) + 1

    return fn


@programs.factory()
def nested_torch_compile() -> Any:
    inner = torch.compile(lambda x: x * 3, backend="eager")

    def fn(x: Tensor) -> Any:
        return inner(x) + 1

    return fn


@programs.factory()
def annotated_and_overloaded() -> Any:
    from typing import cast, overload

    @overload
    def pick(x: int) -> int: ...
    @overload
    def pick(x: Tensor) -> Tensor: ...
    def pick(x: Any) -> Any:
        return x + 1

    def fn(x: Tensor) -> Any:
        return pick(x), cast(int, pick(2)), torch.jit.annotate(list[int], [1])

    return fn


@programs()
def checks(x: Tensor) -> Any:
    torch._check(x.shape[0] == 2)
    torch._check(x.ndim == 2, lambda: "two dimensions")
    return x * 2


@programs()
def failing_check(x: Tensor) -> Any:
    torch._check(x.shape[0] == 5, lambda: f"got {x.shape[0]}")
    return x


@programs(breaks=True)
def asserted_value(x: Tensor) -> Any:
    assert x.sum() < 100, "too large"
    return x + 1

"""One function through every stage: program, kernels and plan must agree with eager, values, shapes and strides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from pellucid.graph.passes import run_passes
from pellucid.graph.types import Graph
from pellucid.graph.verify import verify as verify_graph
from pellucid.ir.lower import lower
from pellucid.ir.types import Kernel
from pellucid.ir.verify import verify as verify_program
from pellucid.runtime.reference import ReferenceRunner, run_program
from pellucid.schedule import schedule
from pellucid.schedule.types import KernelStep, Plan
from pellucid.schedule.verify import verify as verify_plan

from .tracing import eager, symbols, trace


def kernels(plan: Plan) -> list[Kernel]:
    return [s.kernel for s in plan.steps if isinstance(s, KernelStep)]


def plan_of(graph: Graph, values: dict | None = None) -> Plan:
    verify_graph(graph)
    graph = run_passes(graph)
    verify_graph(graph)
    program = lower(graph)
    verify_program(program)
    plan = schedule(program, graph)
    verify_plan(plan, values)
    return plan


def check(fn: Callable[..., Any], *inputs: torch.Tensor, dynamic: tuple = (), others: tuple = (), exact: bool = False,
          **tolerance: float) -> Plan:
    """Compile fn for `inputs` and compare with eager on them, and on each tuple of inputs in `others`."""
    graph = trace(fn, *inputs, dynamic=dynamic)
    plan = plan_of(graph, symbols(graph, inputs))
    program = lower(run_passes(graph))
    run = ReferenceRunner().make(plan, None)
    for xs in (inputs, *others):
        want = fn(eager, *[x.clone() for x in xs])
        want = want if isinstance(want, tuple) else (want,)
        plain = run_program(program, xs, symbols(graph, xs))[:len(want)]
        got = run(*xs)
        for g, p, w in zip(got, plain, want, strict=True):
            assert (g.dtype, g.shape, g.stride()) == (w.dtype, w.shape, w.stride())
            if exact:
                assert torch.equal(g, w) and torch.equal(p, w)
            else:
                torch.testing.assert_close(p, w, equal_nan=True, **tolerance)
                torch.testing.assert_close(g, w, equal_nan=True, **tolerance)
    return plan

"""From a segment's graph to the function that runs it: the compiled plan, torch's own operators, or another backend.

Every runner keeps the transaction of the call: if it raises StepFailed, nothing visible has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ..codegen.types import Unit
from ..errors.types import OptionError
from ..graph.to_fx import to_fx
from ..graph.types import Graph, TensorMeta
from ..ops.registry import OPS
from ..options import OWN_BACKENDS, Options
from ..schedule.types import Plan
from ..torchdoor import autocast, backends, flags, generators
from .errors import StepFailed

Run = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Runner:
    """run(*inputs) -> sequence of outputs, or None where the graph has nothing to do."""

    run: Run | None
    backend: str
    plan: Plan | None = None
    unit: Unit | None = None


def make_runner(graph: Graph, options: Options, grad: bool, inputs: Sequence[Any], callable_id: int | None = None,
                entry_id: int | None = None) -> Runner:
    """The runner that `options` ask for. `inputs` are the call's values of the graph's inputs.

    With `grad` the graph is replayed with torch's own operators, which record autograd's graph as eager does.
    """
    if not graph.calls and not graph.outputs:
        return Runner(None, "none")
    if options.backend == "eager" or (options.backend == "llvm" and (
            grad or _returns_views_for_autograd(graph) or _writes_leaves(graph) or autocasts(graph)
            or sets_flags(graph))):
        return replay_runner(graph)
    if options.backend == "llvm":
        from ..pipeline import compile_graph

        compiled = compile_graph(graph, runner=options.runner, callable_id=callable_id, entry_id=entry_id)
        return Runner(_guarded(graph, compiled.run), f"llvm/{compiled.runner}", compiled.plan, compiled.unit)
    module = to_fx(graph)
    made = resolve_backend(options)(module, list(inputs), **_keywords(options))
    if not callable(made):
        raise OptionError("bad-backend", f"the backend {options.backend!r} returned {type(made).__name__}, "
                          "which is not callable", "return a function that takes the graph's inputs")
    name = options.backend if isinstance(options.backend, str) else getattr(options.backend, "__name__", "callable")
    return Runner(replay(graph, made), name)


def _returns_views_for_autograd(graph: Graph) -> bool:
    """Whether an output is a view of an input that requires grad, though nothing is recorded: made by detach(), say.

    How autograd sees such a view depends on the operator that made it, so that operator has to run."""
    inputs = [g.value for g in graph.inputs]
    known = {g.value for g in graph.inputs if isinstance(g.meta, TensorMeta) and g.meta.requires_grad}
    known |= {m.value for m in graph.mutations if inputs[m.input] in known}
    return any(v not in known and graph.roots.get(v) in known for v in graph.outputs)


def _writes_leaves(graph: Graph) -> bool:
    """Whether an input that requires grad is written though grad mode is on at the start: under no_grad(), which the
    commit at the end of a plan no longer is, so that the writing operators have to run where they stand."""
    metas = [graph.inputs[m.input].meta for m in graph.mutations]
    return torch.is_grad_enabled() and any(isinstance(m, TensorMeta) and m.requires_grad for m in metas)


def replay_runner(graph: Graph) -> Runner:
    """The graph with torch's own operators."""
    return Runner(replay(graph, to_fx(graph).forward), "eager")


def static_only(options: Options) -> bool:
    """Whether the backend may assume the sizes of the example inputs, so that no size may be symbolic."""
    return isinstance(options.backend, str) and options.backend not in ("llvm", "eager")


def resolve_backend(options: Options) -> Callable[..., Any]:
    """The backend as callable(GraphModule, example_inputs); OptionError for a name that nobody has registered."""
    if not isinstance(options.backend, str):
        return options.backend
    if options.backend in OWN_BACKENDS:
        return lambda module, inputs: module
    try:
        return backends.registered(options.backend)
    except KeyError as e:
        raise OptionError("bad-argument", f"compile(): backend={options.backend!r}: {e.args[0]}",
                          "name one of these, or pass a callable") from e


def _keywords(options: Options) -> dict[str, Any]:
    """torch.compile hands mode and options to a backend only where they were given."""
    out: dict[str, Any] = {}
    if options.backend_options:
        out["options"] = dict(options.backend_options)
    if options.mode is not None and options.mode != "default":
        out["mode"] = options.mode
    return out


def autocasts(graph: Graph) -> bool:
    """Whether some call runs under autocast; such graphs are replayed, so that torch itself casts."""
    return any(len(c.global_state) > 1 and c.global_state[1] is not None for c in graph.calls)


def sets_flags(graph: Graph) -> bool:
    """Whether the program changes one of torch's settings, which has to happen between its operators."""
    return any(c.kind == "function" and c.outs is None and c.target in flags.GETTERS for c in graph.calls)


def draws_random(graph: Graph) -> bool:
    return any(OPS[n.op].rng for n in graph.nodes if n.op in OPS)


def _guarded(graph: Graph, run: Run) -> Run:
    """`run`, with the random generators put back if a step fails after they were drawn from."""
    if not draws_random(graph):
        return run

    def drawing(*inputs: Any) -> Any:
        state = generators.save()
        try:
            return run(*inputs)
        except StepFailed:
            generators.restore(state)
            raise
    return drawing


def replay(graph: Graph, module: Run) -> Run:
    """Run `module` on real tensors as a transaction: inputs it writes to, and generators, are put back on error."""
    written = tuple(m.input for m in graph.mutations)
    random = draws_random(graph)
    grad = torch.is_grad_enabled()
    keeps = [keep for used, keep in ((autocasts(graph), autocast.kept), (sets_flags(graph), flags.kept)) if used]

    def run(*inputs: Any) -> Any:
        state = generators.save() if random else None
        backs = [keep() for keep in keeps]
        saved = [(inputs[i], inputs[i].detach().clone()) for i in written]
        try:
            return module(*inputs)
        except Exception as e:
            torch.set_grad_enabled(grad)
            for back in backs:
                back()
            with torch.no_grad():
                for tensor, before in saved:
                    tensor.detach().copy_(before)
            if state is not None:
                generators.restore(state)
            raise StepFailed(f"{type(e).__name__}: {e}") from e
    return run

"""torch.compile(model, backend="pellucid"): Dynamo captures, pellucid compiles the graphs that it hands over.

The graph comes as a GraphModule of torch-level calls over tensors and symbolic integers. It is run symbolically through
the same capture as any module, so that the operator catalogue, the pipeline and the tables are those of compile().
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import fx

from .options import OWN_BACKENDS, parse
from .runtime.compiled import Compiled
from .runtime.target import target


def dynamo_backend(gm: fx.GraphModule, example_inputs: Sequence[Any], *, mode: str | None = None,
                   options: dict[str, Any] | None = None) -> Callable[..., Any]:
    """A function of the graph's inputs that returns the tuple of its outputs. Entry point "pellucid" of torch's
    backends. Sizes among the inputs are symbolic from the first call, since Dynamo has decided that they vary."""
    backend = (options or {}).pop("backend", "llvm") if options else "llvm"
    if backend not in OWN_BACKENDS:
        raise ValueError(f"options['backend']={backend!r}: expected one of {', '.join(OWN_BACKENDS)}")
    symbolic = any(not hasattr(x, "shape") for x in example_inputs)
    parsed = parse(backend=backend, mode=mode, dynamic=True if symbolic else None, options=options)
    # Dynamo's own module writes its forward at the first call, when its graph may have been cleared already.
    module = fx.GraphModule(gm, gm.graph)
    return Compiled(target(module.forward), parsed).call

"""Models of torchvision and timm against eager and torch.compile: error, breaks and graphs, first call.

    python benchmarks/vision.py                         all rows, printed as one table
    python benchmarks/vision.py tv:resnet18 timm:levit_128s+train
    python benchmarks/vision.py --write docs/vision.md --counts counts.json

Needs both libraries. Random weights, batches of two small images, float32, one thread; each row in a forked process
of its own under --limit seconds. What is compared, and how, is said in benchmarks/models.py; a row +train runs the
model in training mode with gradients, and its outputs are followed by the gradients of all parameters and the buffers
after it.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import os
import time
import warnings
from pathlib import Path
from typing import Any

from models import HEAD, LIMIT, compare, in_process, line, summary, tensors_of


def run(model: Any, forward: Any, x: Any) -> Any:
    """The outputs; in training mode those, the gradients and the buffers."""
    import torch

    if not model.training:
        with torch.no_grad():
            return forward(x)
    for p in model.parameters():
        p.grad = None
    out = forward(x)
    outs = tensors_of(dict(out) if isinstance(out, dict) else out)
    weights = torch.Generator().manual_seed(2)
    sum((t * torch.randn(t.shape, generator=weights).to(t.dtype)).sum() for t in outs).backward()
    grads = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return [t.detach() for t in outs] + grads + [b.clone() for b in model.buffers()]


def measure(name: str) -> dict[str, Any]:
    """One row's figures, measured in this process."""
    import torch
    from zoo.libraries import make
    from zoo.row import _no_zeros, floor

    import pellucid

    torch.set_num_threads(1)
    model, x = make(name)
    _no_zeros(model)
    ours, wide = copy.deepcopy(model), copy.deepcopy(model).double()
    eager = run(model, model, x)
    again = run(model, model, x)
    exact = tensors_of(run(wide, wide, x.double()))
    exact_again = tensors_of(run(wide, wide, x.double()))
    fast = pellucid.compile(ours, options={"strict": True})
    out: dict[str, Any] = {"name": name, "kind": "training" if model.training else "eval"}
    try:
        start = time.perf_counter()
        first = run(ours, fast, x)
        out["first"] = time.perf_counter() - start
        second = run(ours, fast, x)
        out["error"], out["eager_error"], wrong = compare(first, eager, exact, floor(model))
        out["wrong"] = wrong or compare(second, again, exact_again, floor(model))[2]
    except pellucid.errors.types.PellucidError as e:
        out["wrong"] = f"{type(e).__name__}: {str(e).splitlines()[0]}"
    counts = pellucid.counters()
    out["breaks"], out["graphs"] = counts["graph_break_count"], counts["compile_count"]
    out["eager_calls"] = counts["eager_fallback_count"]
    return out


def dynamo(name: str) -> dict[str, Any]:
    """Breaks and graphs of torch.compile for one row."""
    import torch
    from torch._dynamo.utils import counters
    from zoo.libraries import make

    model, x = make(name)
    graphs = []

    def backend(gm: Any, example: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    run(model, torch.compile(model, backend=backend), x)
    return {"torch_breaks": sum(counters["graph_break"].values()), "torch_graphs": len(graphs)}


def main() -> None:
    os.environ.update(OMP_NUM_THREADS="1")
    from zoo.libraries import load, names

    warnings.simplefilter("ignore")
    try:
        load()
    except ImportError as e:
        raise SystemExit(f"benchmarks/vision.py needs torchvision and timm: {e}") from None
    import timm
    import torch
    import torchvision

    import pellucid  # noqa: F401  loaded before processes are forked

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help="rows; all where none is named")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one row and one compiler")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    parser.add_argument("--counts", type=Path, help="file that keeps torch.compile's breaks and graphs")
    given = parser.parse_args()
    for n in given.names:
        if n not in names():
            parser.error(f"no row named {n!r}; the rows are {', '.join(names())}")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    counts = json.loads(given.counts.read_text()) if given.counts and given.counts.exists() else {}
    rows = []
    print(HEAD)
    for n in given.names or names():
        if n not in counts:
            counts[n] = in_process(dynamo, n, given.limit, "torch_wrong")
            if given.counts:
                given.counts.write_text(json.dumps(counts))
        rows.append({"name": n, **in_process(measure, n, given.limit), **counts[n]})
        print(line(rows[-1]), flush=True)
    print("\n" + summary(rows))
    if given.write:
        given.write.write_text(
            "# Models of torchvision and timm\n\nMade by `python benchmarks/vision.py --write docs/vision.md` "
            f"(torch {torch.__version__}, torchvision {torchvision.__version__}, timm {timm.__version__}, one thread); "
            "what is compared and how is said there.\nTimes were taken on a busy machine and are for orientation only."
            f"\n\n{summary(rows)}\n\n{HEAD}\n" + "\n".join(map(line, rows)) + "\n"
        )


if __name__ == "__main__":
    main()

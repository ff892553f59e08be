"""Architectures of transformers against eager and torch.compile: error, breaks and graphs, first call.

    python benchmarks/models.py                  all rows, printed as one table
    python benchmarks/models.py bert mixtral     some rows
    python benchmarks/models.py --write docs/models.md --counts counts.json

Each row runs in a process of its own (forked once the libraries are loaded) under a time limit (seconds, --limit). A
forward in eval mode under no_grad, float32, one thread. "ours" and "eager's" error: largest difference from the float64
result over its largest value, worst output. ok: each output is at most twice as far from float64 as eager's or within
4 eps sqrt(K), K the longest reduction; its shape, dtype and strides, and the type of the whole, are eager's; no
internal error (strict). Breaks and graphs of torch.compile are counted by its own counters with a backend that runs the
graph as it is.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

LIMIT = 180


def tensors_of(output: Any) -> list[Any]:
    """All tensors of a model's output, in order."""
    import torch

    if isinstance(output, torch.Tensor):
        return [output]
    if isinstance(output, dict):
        output = list(output.values())
    return [t for item in output for t in tensors_of(item)] if isinstance(output, (list, tuple)) else []


def compare(ours: Any, eager: Any, exact: list[Any], floor: float) -> tuple[float, float, str]:
    """(our error, eager's error, what is wrong or "")."""
    mine, theirs = tensors_of(ours), tensors_of(eager)
    if type(ours) is not type(eager) or len(mine) != len(theirs) or len(mine) != len(exact):
        return (
            0.0,
            0.0,
            f"structure: {type(ours).__name__} of {len(mine)}, eager {type(eager).__name__} of {len(theirs)}",
        )
    worst, worst_eager, wrong = 0.0, 0.0, ""
    for i, (a, b, t) in enumerate(zip(mine, theirs, exact)):
        if (a.shape, a.dtype, a.stride()) != (b.shape, b.dtype, b.stride()):
            wrong = wrong or (
                f"output {i}: {a.dtype} {tuple(a.shape)} strides {a.stride()}, "
                f"eager {b.dtype} {tuple(b.shape)} strides {b.stride()}"
            )
            continue
        if not a.numel():
            continue
        scale = float(t.double().abs().max().clamp_min(1e-30))
        e, ee = (float((x.double() - t.double()).abs().max()) / scale for x in (a, b))
        if not e <= max(2 * ee, floor):
            wrong = wrong or f"output {i}: error {e:.1e}, eager {ee:.1e}, floor {floor:.1e}"
        worst, worst_eager = max(worst, e), max(worst_eager, ee)
    return worst, worst_eager, wrong


def measure(name: str) -> dict[str, Any]:
    """One row's figures, measured in this process."""
    import torch
    from zoo import ROWS
    from zoo.row import build, exactly, floor

    import pellucid

    torch.set_num_threads(1)
    row = ROWS[name]
    model, inputs = build(row), row.inputs()
    out: dict[str, Any] = {"name": name, "kind": row.kind, "model": row.model}
    with torch.no_grad():
        torch.manual_seed(1)
        eager = model(**inputs)
        exact = tensors_of(exactly(row, model, inputs))
        fast = pellucid.compile(model, options={"strict": True})
        torch.manual_seed(1)
        start = time.perf_counter()
        try:
            first = fast(**inputs)
            out["first"] = time.perf_counter() - start
            torch.manual_seed(1)
            second = fast(**inputs)
            out["error"], out["eager_error"], wrong = compare(first, eager, exact, floor(model))
            out["wrong"] = wrong or compare(second, eager, exact, floor(model))[2]
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
    from zoo import ROWS
    from zoo.row import build

    row = ROWS[name]
    model, inputs = build(row), row.inputs()
    graphs = []

    def backend(gm: Any, example: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    with torch.no_grad():
        torch.compile(model, backend=backend)(**inputs)
    return {"torch_breaks": sum(counters["graph_break"].values()), "torch_graphs": len(graphs)}


def in_process(work: Callable[[str], dict[str, Any]], name: str, limit: float, key: str = "wrong") -> dict[str, Any]:
    """work(name) in a forked process of its own; {key: what happened} where it fails or takes too long."""
    import multiprocessing

    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(send, work, name, key))
    child.start()
    send.close()
    try:
        return dict(receive.recv()) if receive.poll(limit) else {key: f"more than {limit:.0f} s"}
    except EOFError:
        return {key: "the process died"}
    finally:
        child.kill()
        child.join()


def _child(send: Any, work: Callable[[str], dict[str, Any]], name: str, key: str) -> None:
    try:
        send.send(work(name))
    except Exception as e:
        text = f"{type(e).__name__}: {(str(e).splitlines() or ['no message'])[0]}"
        send.send({key: text[:200]})


HEAD = (
    "| model | kind | ours: breaks | graphs | torch.compile: breaks | graphs | error | eager's | first call s | |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---|"
)


def line(r: dict[str, Any]) -> str:
    def number(key: str, form: str = "{}") -> str:
        return form.format(r[key]) if r.get(key) is not None else "-"

    theirs = r.get("torch_wrong")
    note = r.get("wrong") or ("more breaks than torch.compile" if more_breaks(r) else "ok")
    if r.get("eager_calls"):
        note += f"; {r['eager_calls']} eager calls"
    if theirs:
        note += f"; torch.compile: {theirs}"
    return (
        f"| {r['name']} | {r.get('kind', '-')} | {number('breaks')} | {number('graphs')} | {number('torch_breaks')} | "
        f"{number('torch_graphs')} | {number('error', '{:.1e}')} | {number('eager_error', '{:.1e}')} | "
        f"{number('first', '{:.2f}')} | {note} |"
    )


def more_breaks(r: dict[str, Any]) -> bool:
    return r.get("breaks") is not None and r.get("torch_breaks") is not None and r["breaks"] > r["torch_breaks"]


def summary(rows: list[dict[str, Any]]) -> str:
    whole = sum(r.get("breaks") == 0 and not r.get("eager_calls") and not r.get("wrong") for r in rows)
    right = sum(not r.get("wrong") for r in rows)
    more = [r["name"] for r in rows if more_breaks(r)]
    theirs = sum(r.get("torch_breaks") == 0 for r in rows)
    return (
        f"{len(rows)} architectures: {right} right, {whole} captured whole ({theirs} by torch.compile); more "
        f"breaks than torch.compile: {', '.join(more) or 'none'}."
    )


def main() -> None:
    os.environ.update(OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1")
    from zoo import ROWS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="name", help="rows; all where none is named")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one row and one compiler")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    parser.add_argument("--counts", type=Path, help="file that keeps torch.compile's breaks and graphs")
    parser.add_argument("--keep", type=Path, help="file that keeps measured rows: a run goes on where one ended")
    given = parser.parse_args()
    for n in given.names:
        if n not in ROWS:
            parser.error(f"no row named {n!r}; the rows are {', '.join(ROWS)}")
    import torch
    import transformers

    import pellucid  # noqa: F401  loaded before processes are forked

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    counts = json.loads(given.counts.read_text()) if given.counts and given.counts.exists() else {}
    kept = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    rows: list[dict[str, Any]] = []
    print(HEAD)
    for n in given.names or ROWS:
        if n not in counts:
            counts[n] = in_process(dynamo, n, given.limit, "torch_wrong")
            if given.counts:
                given.counts.write_text(json.dumps(counts))
        if n not in kept:
            kept[n] = in_process(measure, n, given.limit)
            if given.keep:
                given.keep.write_text(json.dumps(kept))
        rows.append({"name": n, "kind": ROWS[n].kind, **kept[n], **counts[n]})
        print(line(rows[-1]), flush=True)
    print("\n" + summary(rows))
    if given.write:
        given.write.write_text(
            "# Architectures\n\nMade by `python benchmarks/models.py --write docs/models.md` (rows named, or kept with "
            "--keep from an earlier run, where not all are here) "
            f"(torch {torch.__version__}, transformers {transformers.__version__}, one thread); what is compared "
            "and how is said there.\nTimes were taken on a busy machine and are for orientation only.\n\n"
            f"Measured here: {len(rows)} of the {len(ROWS)} rows of the list; the others are not in the table and "
            f"nothing is said of them.\n\n{summary(rows)}\n\n{HEAD}\n"
            + "\n".join(map(line, rows)) + "\n"
        )


if __name__ == "__main__":
    main()

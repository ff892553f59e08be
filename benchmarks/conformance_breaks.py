"""Counts, per conformance program, where capture breaks here and in torch.compile, and lists where ours breaks more.

    python benchmarks/conformance_breaks.py [--files language classes] [--only NAME ...] [--all] [--ours]

Each program is called once by each compiler with backend="eager". Ours: breaks and calls left to Python. torch.compile:
Dynamo's counters of graph breaks and of frames given up. Also shown: whether each captures it with fullgraph=True.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import importlib
import io
import logging
import pathlib
import sys
import warnings
from typing import Any

import torch

import pellucid
from pellucid.events.record import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "capture" / "conformance"
sys.path.insert(0, str(ROOT))


def quietly(fn: Any, program: Any) -> BaseException | None:
    """The exception that the call ended with, if any; all text is swallowed."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(
        io.StringIO()
    ):
        warnings.simplefilter("ignore")
        try:
            fn(*copy.deepcopy(program.arguments[0]()))
        except Exception as e:
            return e
    return None


def ours(program: Any) -> list[str]:
    """What broke, one line each."""
    pellucid.reset()
    fn = pellucid.compile(program.make(), backend="eager")
    quietly(fn, program)
    lines = [
        f"{e.message}  [{e.cause.where if e.cause else ''}]"
        for kind in ("graph_break", "eager_fallback")
        for e in record.events(kind)
        if not e.message.startswith("the program raises")
    ]
    return [line.replace(str(FOLDER) + "/", "") for line in lines]


def theirs(program: Any) -> list[str]:
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    quietly(torch.compile(program.make(), backend="eager"), program)
    broke = [str(k).split("\n")[0] for k, n in counters["graph_break"].items() for _ in range(n)]
    return broke + [str(k).split("\n")[0] for k, n in counters["unimplemented"].items() for _ in range(n)]


def theirs_whole(program: Any) -> bool:
    torch._dynamo.reset()
    plain = quietly(program.make(), program)
    error = quietly(torch.compile(program.make(), backend="eager", fullgraph=True), program)
    return type(error) is type(plain)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", nargs="*")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--all", action="store_true", help="show every program, not only those where ours breaks more")
    parser.add_argument("--ours", action="store_true", help="show our breaks only; torch.compile is not run")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    names = options.files or sorted(
        p.stem for p in FOLDER.glob("*.py") if p.stem not in ("harness", "__init__") and p.stem[:5] != "test_"
    )
    more = total = mine = whole = 0
    for name in names:
        module = importlib.import_module(f"tests.capture.conformance.{name}")
        for program in module.programs.known:
            if options.only and program.name not in options.only:
                continue
            total += 1
            a = ours(program)
            mine += not a
            if not a and not options.all:
                continue
            if options.ours:
                print(f"{name}.{program.name}: {len(a)}", *(f"\n    ours: {x}" for x in a), flush=True)
                continue
            b, all_of_it = theirs(program), theirs_whole(program)
            whole += all_of_it
            worse = bool(a) and (all_of_it or len(a) > len(b))
            more += worse
            if options.all or worse:
                print(f"{name}.{program.name}: ours {len(a)}, torch.compile {len(b)}"
                      f"{' (fullgraph)' if all_of_it else ''}", *(f"\n    ours: {x}" for x in a),
                      *(f"\n    torch.compile: {x[:150]}" for x in b), flush=True)
    print(f"{total} programs; captured whole here: {mine}; ours breaks more in {more}")


if __name__ == "__main__":
    main()

"""What torch.compile did: its compilations, breaks, limits and counters, read from its metrics and its logs.

Breaks come from the break logs (the "graph_break" counter misses some, and counts one in a helper twice), recompiles
from the compilation metrics. Shape memory on disk is switched off while watching: it would hide recompiles.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

LIMIT = re.compile(r"hit config\.(\w*limit\w*) \((\d+)\)\s+function: '([^']+)' \(([^)]*)\)")
PLACE = re.compile(r"in user code at (.+?):(\d+)\n")
REASON = re.compile(r"Graph Break Reason: (.*)", re.S)
FRAME = re.compile(r'  File "([^"]+)", line (\d+), in (\S+)')
INTEGERS_VARY = ("import torch._dynamo", "", "torch._dynamo.config.allow_unspec_int_on_nn_module = True")
"""Lines of a program that let integer attributes of modules vary; torch.compile's own hint names the switch."""
LIMIT_LOGGERS = ("torch._dynamo.convert_frame",)


@dataclass(frozen=True, slots=True)
class SeenBreak:
    file: str
    line: int
    function: str
    reason: str
    """The whole text of the log's reason."""


@dataclass(frozen=True, slots=True)
class SeenCompile:
    file: str
    line: int
    function: str
    seconds: float
    reason: str | None
    """Why no earlier version fitted, one line a version; None for the first version."""
    failure: str | None
    version: int


@dataclass(slots=True)
class Watch:
    """Filled while watching; `take` empties it."""

    breaks: list[SeenBreak] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)

    def take(self) -> tuple[list[SeenCompile], list[SeenBreak], list[str]]:
        """What came since the last take."""
        compiles = [_compile(m) for m in self.fresh() if m.co_name is not None]
        breaks, self.breaks = self.breaks, []
        limits, self.limits = self.limits, []
        return compiles, breaks, limits

    def fresh(self) -> list[Any]:
        from torch._dynamo.utils import get_compilation_metrics

        out = [m for m in get_compilation_metrics() if id(m) not in self.seen]
        self.seen.update(map(id, out))
        self.kept += out        # an id stays taken while the object lives
        return out


def _compile(m: Any) -> SeenCompile:
    seconds = m.entire_frame_compile_time_s or 0.0
    version = int(str(m.compile_id).rsplit("/", 1)[-1].split("_")[0]) if m.compile_id else 0
    failure = f"{m.fail_type}: {m.fail_reason}" if m.fail_type else None
    return SeenCompile(m.co_filename, m.co_firstlineno, m.co_name, seconds, m.recompile_reason, failure, version)


class _Reader(logging.Handler):
    def __init__(self, read: Callable[[str], None]):
        super().__init__(logging.DEBUG)
        self.read = read

    def emit(self, record: logging.LogRecord) -> None:
        self.read(record.getMessage())


def parse_break(text: str) -> SeenBreak | None:
    """A message of the break logs."""
    place, why = PLACE.search(text), REASON.search(text)
    if place is None or why is None:
        return None
    reason = why.group(1).split("\nUser code traceback:")[0].strip()
    file, line = place.group(1), int(place.group(2))
    function = next((f[2] for f in reversed(FRAME.findall(text)) if f[0] == file and int(f[1]) == line), "")
    return SeenBreak(file, line, function, reason)


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """Watch torch.compile from an empty state: versions, breaks and limits seen until the block is left.

    Everything compiled before is forgotten (torch.compiler.reset), its logs of breaks go to the watch alone, and shape
    memory on disk (automatic_dynamic_local_pgo) is off.
    """
    import torch._dynamo as dynamo
    from torch._dynamo import config

    dynamo.reset()
    watch = Watch()
    watch.fresh()

    def on_break(text: str) -> None:
        seen = parse_break(text)
        if seen is not None:
            watch.breaks.append(seen)

    def on_limit(text: str) -> None:
        if LIMIT.search(text):
            watch.limits.append(text)
    names = [n for n in logging.root.manager.loggerDict if n.startswith("torch._dynamo") and
             n.endswith("__graph_breaks")]
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(_listening(logging.getLogger(name), on_break, logging.DEBUG))
        for name in LIMIT_LOGGERS:
            stack.enter_context(_listening(logging.getLogger(name), on_limit, logging.WARNING))
        stack.enter_context(config.patch(automatic_dynamic_local_pgo=False, automatic_dynamic_remote_pgo=False))
        yield watch


@contextlib.contextmanager
def _listening(log: logging.Logger, read: Callable[[str], None], level: int) -> Iterator[None]:
    before = log.level, log.propagate, log.disabled
    handler = _Reader(read)
    log.addHandler(handler)
    log.setLevel(level)
    log.propagate, log.disabled = False, False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.level, log.propagate, log.disabled = before
        log.manager._clear_cache() if hasattr(log.manager, "_clear_cache") else None


def limit_of(text: str) -> str:
    """`recompile_limit 8 in forward (model.py:7)` from the warning."""
    found = LIMIT.search(text)
    assert found is not None
    return f"{found[1]} {found[2]} reached in {found[3]} ({found[4]}): later calls run in Python, and no error says so"


def compilations() -> int:
    """Frames that torch.compile has tried to compile in this process; 0 while it is not loaded."""
    utils = sys.modules.get("torch._dynamo.utils")
    return int(utils.counters["frames"]["total"]) if utils is not None else 0


def original(fn: Any) -> Any:
    """What torch.compile was given, of something that it returned; None for anything else."""
    from torch import nn

    if isinstance(fn, nn.Module):
        inner = fn._modules.get("_orig_mod")
        return inner if type(fn).__name__ == "OptimizedModule" else None
    return getattr(fn, "_torchdynamo_orig_callable", None) if hasattr(fn, "_torchdynamo_wrapper_id") else None

"""Logging sinks: PELLUCID_LOGS=name,name selects what is printed to stderr, as TORCH_LOGS does for torch.compile."""

from __future__ import annotations

import logging
import os
import sys

from .record import record
from .types import Event

LOGS: dict[str, tuple[str, ...]] = {
    "graph_breaks": ("graph_break",),
    "guards": ("guard",),
    "recompiles": ("recompile", "limit_reached"),
    "dynamic": ("promote_dynamic",),
    "graph": ("capture",),
    "ir": ("ir",),
    "schedule": ("schedule",),
    "kernels": ("kernel",),
    "plan": ("plan",),
    "fallbacks": ("eager_fallback", "internal_error", "storm"),
    "notices": ("notice",),
}
"""Log name -> event kinds it shows."""

logger = logging.getLogger("pellucid")


class UnknownLog(ValueError):
    """PELLUCID_LOGS names a log that does not exist."""


def selected(text: str) -> frozenset[str]:
    """The event kinds that a PELLUCID_LOGS value selects; "all" selects every log."""
    kinds: set[str] = set()
    for name in filter(None, (part.strip().lstrip("+") for part in text.split(","))):
        if name == "all":
            kinds.update(k for ks in LOGS.values() for k in ks)
        elif name in LOGS:
            kinds.update(LOGS[name])
        else:
            raise UnknownLog(f"PELLUCID_LOGS: unknown log {name!r}; known logs: {', '.join(LOGS)}, all")
    return frozenset(kinds)


def line(event: Event) -> str:
    """One event as a person reads it: kind, message, where in the user's program, and its text indented below."""
    where = f"  [{event.cause.where}]" if event.cause and event.cause.where else ""
    ids = "".join(f" {n}={v}" for n, v in (("callable", event.callable_id), ("entry", event.entry_id),
                                           ("continuation", event.continuation_id)) if v is not None)
    text = event.data.get("text")
    below = "".join(f"\n    {part}" for part in str(text).splitlines()) if text else ""
    return f"[{event.kind}{ids}] {event.message}{where}{below}"


def enable(text: str | None = None) -> None:
    """Print the selected events on stderr from now on. Without a text, PELLUCID_LOGS decides."""
    kinds = selected(os.environ.get("PELLUCID_LOGS", "") if text is None else text)
    if not kinds:
        return
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("pellucid %(message)s"))
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False

    def sink(event: Event) -> None:
        logger.info("%s", line(event))
    record.subscribe(sink, kinds)

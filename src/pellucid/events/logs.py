"""Logging sinks: PELLUCID_LOGS=name,name selects what is printed to stderr, as TORCH_LOGS does for torch.compile."""

from __future__ import annotations

import logging
import os
import sys

from .record import record
from .types import Event

LOGS: dict[str, tuple[str, ...]] = {
    "graph_breaks": ("graph_break",),
    "guards": ("guard", "guard_failed"),
    "recompiles": ("recompile", "guard_failed", "limit_reached"),
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
    """One event as a person reads it: kind, message, and where in the user's program."""
    where = f"  [{event.cause.where}]" if event.cause and event.cause.where else ""
    ids = "".join(f" {n}={v}" for n, v in (("callable", event.callable_id), ("entry", event.entry_id),
                                           ("continuation", event.continuation_id)) if v is not None)
    return f"[{event.kind}{ids}] {event.message}{where}"


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
        if event.kind in kinds:
            logger.info("%s", line(event))
    record.subscribe(sink)

"""Where events go beside memory and logs: JSON lines, a trace for Chrome or Perfetto, OpenTelemetry's spans.

Each function subscribes to the record and returns what ends that; nothing is paid while nobody listens.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import forking
from .record import record
from .types import Event


def plain(event: Event) -> dict[str, Any]:
    """An event as JSON can hold it; what is not data (a graph, an object) as text."""
    cause = event.cause
    return {
        "number": event.number, "seconds": event.seconds, "kind": event.kind, "callable": event.callable_id,
        "entry": event.entry_id, "continuation": event.continuation_id, "message": str(event.message),
        "operation": cause.operation if cause else None,
        "stack": [{"file": f.file, "line": f.line, "function": f.function} for f in cause.stack] if cause else [],
        "data": {k: _data(v) for k, v in event.data.items()},
    }


def _data(value: object) -> Any:
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _data(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): _data(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_data(v) for v in value]
    return str(value)


def json_lines(path: str | Path, kinds: Iterable[str] | None = None) -> Callable[[], None]:
    """Append each later event to the file, one JSON object a line. Returns the function that closes it."""
    file = open(path, "a", encoding="utf-8")
    lock = forking.short(threading.Lock())

    def sink(event: Event) -> None:
        line = json.dumps(plain(event))
        with lock:
            file.write(line + "\n")
            file.flush()
    unsubscribe = record.subscribe(sink, kinds)

    def close() -> None:
        unsubscribe()
        file.close()
    return close


def chrome_trace(events: Iterable[Event] | None = None, torch_trace: str | Path | None = None) -> dict[str, Any]:
    """A trace in the Trace Event Format, for chrome://tracing or ui.perfetto.dev: what took time as a span, the rest as
    instants, times in microseconds.

    events: those of the record, if not given. torch_trace: a file that torch.profiler's export_chrome_trace wrote: its
    events are put on the same time line (both count from the epoch).
    """
    out: list[dict[str, Any]] = []
    process = os.getpid()
    base = 0
    if torch_trace is not None:
        other = json.loads(Path(torch_trace).read_text())
        base = int(other.get("baseTimeNanoseconds", 0))
        out += other["traceEvents"]
    for e in record.events() if events is None else events:
        end = (e.seconds * 1e9 - base) / 1e3
        spent = e.data.get("seconds")
        common = {"name": e.kind, "cat": "pellucid", "pid": process, "tid": f"callable {e.callable_id}",
                  "args": plain(e)}
        if isinstance(spent, float):
            out.append({**common, "ph": "X", "ts": end - 1e6 * spent, "dur": 1e6 * spent})
        else:
            out.append({**common, "ph": "i", "s": "p", "ts": end})
    return {"traceEvents": out, "displayTimeUnit": "ms", "baseTimeNanoseconds": base}


def opentelemetry(tracer: Any = None, kinds: Iterable[str] | None = None) -> Callable[[], None]:
    """Make a span of each later event with OpenTelemetry's API, which has to be installed; returns what ends it."""
    try:
        from opentelemetry import trace
    except ImportError as e:
        raise ImportError("events.sinks.opentelemetry() needs OpenTelemetry: pip install opentelemetry-api") from e
    tracer = tracer or trace.get_tracer("pellucid")

    def sink(event: Event) -> None:
        spent = event.data.get("seconds")
        end = int(event.seconds * 1e9)
        start = end - int(spent * 1e9) if isinstance(spent, float) else end
        span = tracer.start_span(f"pellucid.{event.kind}", start_time=start)
        for name, value in plain(event).items():
            if isinstance(value, (str, int, float)):
                span.set_attribute(f"pellucid.{name}", value)
        span.end(end_time=end)
    return record.subscribe(sink, kinds)

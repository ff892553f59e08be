"""metrics(): counters of this process as data, and in Prometheus' text format."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ..api import counters
from ..events.record import record
from ..runtime.compiled import live

PREFIX = "pellucid_"
HELP = {
    "compile_count": "Versions compiled.", "recompilation_count": "Versions compiled because a guard failed.",
    "graph_break_count": "Versions that end at a graph break.", "eager_fallback_count": "Calls left to Python.",
    "internal_error_count": "Faults inside the compiler.", "limit_reached_count": "Tables that reached their limit.",
    "promote_dynamic_count": "Sizes that became symbolic.", "capture_count": "Segments captured.",
    "cache_hit_count": "Calls and continuations that a compiled version served.",
    "cache_miss_count": "Calls that no version fitted.",
}
"""Name -> the help line; a test compares the names with pellucid.counters()."""


@dataclass(frozen=True, slots=True)
class EntryMetrics:
    callable: str
    table: int
    entry: int
    hits: int
    compile_seconds: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """counters: as pellucid.counters(). eager: reason -> calls. entries: of all callables that exist. compile_seconds:
    of all events kept."""

    counters: dict[str, int]
    eager: dict[str, int]
    compile_seconds: float
    entries: tuple[EntryMetrics, ...]

    def json(self) -> dict[str, Any]:
        return {"schema": "pellucid.metrics/1", "counters": self.counters, "eager": self.eager,
                "compile_seconds": self.compile_seconds,
                "entries": [{"callable": e.callable, "table": e.table, "entry": e.entry, "hits": e.hits,
                             "compile_seconds": e.compile_seconds} for e in self.entries]}

    def prometheus(self) -> str:
        """The exposition format (version 0.0.4), to be served as it is."""
        lines = []
        for name, value in self.counters.items():
            metric = PREFIX + name.removesuffix("_count") + "_total"
            lines += [f"# HELP {metric} {HELP[name]}", f"# TYPE {metric} counter", f"{metric} {value}"]
        lines += _family("eager_reason_total", "counter", "Calls left to Python, by reason.",
                         [({"reason": r}, n) for r, n in self.eager.items()])
        lines += _family("compile_seconds_total", "counter", "Seconds spent compiling.", [({}, self.compile_seconds)])
        lines += _family("entry_hits_total", "counter", "Calls that a version served.", [
            ({"callable": e.callable, "table": str(e.table), "entry": str(e.entry)}, e.hits) for e in self.entries])
        lines += _family("entries", "gauge", "Versions that exist.", [({}, len(self.entries))])
        return "\n".join(lines) + "\n"


def _family(name: str, kind: str, told: str, samples: list[tuple[dict[str, str], float]]) -> list[str]:
    lines = [f"# HELP {PREFIX}{name} {told}", f"# TYPE {PREFIX}{name} {kind}"]
    for labels, value in samples:
        inside = ",".join(f'{k}="{_escaped(v)}"' for k, v in labels.items())
        lines.append(f"{PREFIX}{name}{'{' + inside + '}' if inside else ''} {value}")
    return lines


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def metrics() -> Metrics:
    """What happened in this process since its start or the last reset(). Reading costs; calls do not pay for it."""
    eager: Counter[str] = Counter()
    entries = []
    for c in sorted(live, key=lambda c: c.id):
        for why, n in c.reasons.items():
            eager[why.split("; newest:")[0]] += n
        for t in c.all_tables():
            entries += [EntryMetrics(f"{c.target.name}#{c.id}", t.number, e.number, e.hits, e.compile_seconds)
                        for e in t.entries]
    times = [e.data.get("seconds") for e in record.events("entry_published")]
    spent = sum(t for t in times if isinstance(t, float))
    return Metrics(counters(), dict(eager), spent, tuple(entries))


class Collector:
    """For prometheus_client: `REGISTRY.register(pellucid.diagnosis.metrics.Collector())`."""

    def collect(self) -> Any:
        """Families of the current metrics, made by prometheus_client (pip install 'pellucid[diagnose]')."""
        from prometheus_client.parser import text_string_to_metric_families

        return list(text_string_to_metric_families(metrics().prometheus()))

"""Sinks: JSON lines, Chrome's trace beside torch.profiler's, and no sink after it was closed."""

import json
import sys

import pytest
import torch

import pellucid
from pellucid.events import sinks
from pellucid.events.record import record


def test_json_lines(tmp_path):
    path = tmp_path / "events.jsonl"
    close = sinks.json_lines(path)
    pellucid.compile(lambda x, n: x[:n])(torch.ones(4), 2)
    close()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {"cache_miss", "capture", "entry_published", "guard"} <= {r["kind"] for r in rows}
    guard = next(r for r in rows if r["kind"] == "guard" and r["stack"])
    assert guard["stack"][-1]["file"] == __file__ and guard["callable"] is not None
    pellucid.compile(lambda x: x + 3)(torch.ones(4))
    assert len(path.read_text().splitlines()) == len(rows)


def test_a_chrome_trace_with_torchs_events(tmp_path):
    from torch.profiler import ProfilerActivity, profile

    record.clear()
    path = tmp_path / "torch.json"
    with profile(activities=[ProfilerActivity.CPU]) as p:
        pellucid.compile(lambda x: torch.tanh(x) + 1)(torch.ones(4))
        torch.ones(4) + 1
    p.export_chrome_trace(str(path))
    trace = json.loads(json.dumps(sinks.chrome_trace(torch_trace=path)))
    own = [e for e in trace["traceEvents"] if e.get("cat") == "pellucid"]
    other = [e for e in trace["traceEvents"] if e.get("name") == "aten::add" and "ts" in e]
    published = next(e for e in own if e["name"] == "entry_published")
    assert published["ph"] == "X" and published["dur"] > 0
    assert other and abs(published["ts"] - other[-1]["ts"]) < 60e6, "one time line"


def test_opentelemetry_is_asked_for_by_name():
    if "opentelemetry" in sys.modules:
        pytest.skip("it is installed")
    try:
        import opentelemetry  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install opentelemetry-api"):
            sinks.opentelemetry()


def test_spans_of_a_tracer(monkeypatch):
    import types

    spans = []

    class Span:
        def __init__(self, name, start_time):
            self.name, self.start, self.set = name, start_time, {}

        def set_attribute(self, name, value):
            self.set[name] = value

        def end(self, end_time):
            self.stop = end_time
            spans.append(self)
    tracer = types.SimpleNamespace(start_span=Span)
    package = types.ModuleType("opentelemetry")
    package.trace = types.SimpleNamespace(get_tracer=lambda name: tracer)
    monkeypatch.setitem(sys.modules, "opentelemetry", package)
    stop = sinks.opentelemetry(kinds=("entry_published",))
    pellucid.compile(lambda x: x + 5)(torch.ones(4))
    stop()
    (span,) = spans
    assert span.name == "pellucid.entry_published" and span.stop > span.start and "pellucid.callable" in span.set

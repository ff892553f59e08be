"""metrics(): the counters, eager calls by reason, entries; and a text that Prometheus' own parser reads."""

import json

import pytest
import torch

import pellucid
from pellucid.diagnosis import metrics as module


def test_what_happened_is_counted_and_labels_are_escaped():
    pellucid.reset()
    before = sum(pellucid.metrics().eager.values())         # of callables that other tests left
    fast = pellucid.compile(lambda x, s: x * len(s), options={"recompile_limit": 1})
    for s in ("a", "a", 'b"\n', "c\\"):
        fast(torch.ones(2), s)
    m = pellucid.metrics()
    assert set(m.counters) == set(module.HELP), "each counter has its help line"
    assert m.counters["compile_count"] == 1 and m.counters["eager_fallback_count"] == 2
    assert sum(m.eager.values()) - before == 2 and m.compile_seconds > 0
    (entry,) = [e for e in m.entries if e.hits or e.compile_seconds]
    assert entry.hits == 1
    assert json.loads(json.dumps(m.json()))["schema"] == "pellucid.metrics/1"
    text = m.prometheus()
    assert "pellucid_compile_total 1\n" in text and 'pellucid_eager_reason_total{reason="' in text
    assert all(line.startswith(("#", "pellucid_")) for line in text.splitlines())


def test_prometheus_reads_it():
    parser = pytest.importorskip("prometheus_client.parser")
    pellucid.compile(lambda x: x + 1)(torch.ones(2))
    families = {f.name: f for f in parser.text_string_to_metric_families(pellucid.metrics().prometheus())}
    assert families["pellucid_compile"].samples[0].value == pellucid.counters()["compile_count"]
    assert {f.name for f in module.Collector().collect()} == set(families)

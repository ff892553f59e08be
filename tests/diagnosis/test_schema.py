"""Reports as JSON conform to docs/schemas.json, and what does not is told where."""

import json
from pathlib import Path

import torch

import pellucid
from pellucid.diagnosis.schema import reports, schema_of, unlike

PUBLISHED = json.loads((Path(__file__).parents[2] / "docs" / "schemas.json").read_text())


def test_reports_conform():
    made = reports()
    assert set(made) == set(PUBLISHED)
    for name, found in made.items():
        for report in found:
            assert unlike(report, PUBLISHED[name]) == []


def test_another_program_conforms():
    def program(x, n):
        print(n)
        return x * n

    report = pellucid.diagnose(pellucid.compile(program), [(torch.ones(3), n) for n in (1, 2, 3)], timed=False).json()
    assert unlike(json.loads(json.dumps(report)), PUBLISHED["pellucid.diagnosis/1"]) == []


def test_what_does_not_conform_is_told():
    schema = schema_of([{"a": 1, "b": [{"c": "x"}]}, {"a": 2.5, "b": []}])
    assert unlike({"a": 3, "b": [{"c": "y"}], "more": None}, schema) == []
    assert unlike({"b": [{"c": 4}]}, schema) == ["$.a is missing", "$.b[0].c is integer, not string"]

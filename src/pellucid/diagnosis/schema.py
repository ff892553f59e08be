"""The JSON that `--json` prints, as JSON Schema: read off reports of programs of every story, and checked in tests.

    python -m pellucid.diagnosis.schema > docs/schemas.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}


def schema_of(values: Iterable[Any]) -> dict[str, Any]:
    """The schema that all of these values, as json.loads gives them, conform to: types, and the keys that all have."""
    found = list(values)
    out: dict[str, Any] = {}
    types = {_TYPES.get(type(v), "object" if isinstance(v, dict) else "array") for v in found}
    if "number" in types:
        types.discard("integer")
    out["type"] = sorted(types) if len(types) != 1 else next(iter(types))
    records = [v for v in found if isinstance(v, dict)]
    if records:
        keys = {k: None for v in records for k in v}
        out["properties"] = {k: schema_of([v[k] for v in records if k in v]) for k in keys}
        out["required"] = [k for k in keys if all(k in v for v in records)]
    items = [x for v in found if isinstance(v, list) for x in v]
    if items:
        out["items"] = schema_of(items)
    return out


def unlike(value: Any, schema: dict[str, Any], at: str = "$") -> list[str]:
    """Where a value is not as the schema says; empty if it conforms. What the schema does not name is allowed."""
    allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    kind = _TYPES.get(type(value), "object" if isinstance(value, dict) else "array")
    if kind not in allowed and not (kind == "integer" and "number" in allowed):
        return [f"{at} is {kind}, not {' or '.join(allowed)}"]
    if isinstance(value, dict):
        missing = [f"{at}.{k} is missing" for k in schema.get("required", ()) if k not in value]
        return missing + [w for k, v in value.items() if k in schema.get("properties", {})
                          for w in unlike(v, schema["properties"][k], f"{at}.{k}")]
    if isinstance(value, list) and "items" in schema:
        return [w for k, v in enumerate(value) for w in unlike(v, schema["items"], f"{at}[{k}]")]
    return []


def reports() -> dict[str, list[Any]]:
    """Reports of small programs by their schema's name: with a break, with recompiles, stable."""
    import torch

    import pellucid

    def breaks(x: Any) -> Any:
        if x.sum() > 0:
            x = x + 1
        return x * 2

    def churns(x: Any) -> Any:
        return x.softmax(-1) * x.shape[0]

    def stable(x: Any) -> Any:
        return torch.tanh(x @ x)

    one, sizes = [(torch.ones(8, 8),)] * 4, [(torch.ones(n, n),) for n in range(2, 8)]
    made: list[Any] = []
    for fn, calls in ((breaks, one), (churns, sizes), (stable, one)):
        fast = pellucid.compile(fn)
        made += [pellucid.diagnose(fast, calls, seconds=0.02).json(), pellucid.matrix(fast, calls).json(),
                 pellucid.bench(fast, calls, seconds=0.02).json(), pellucid.profile(fast, calls).json()]
        made.append(pellucid.diagnose(fast, calls, timed=False).json())
    made += [pellucid.attempt(breaks, stable, one, seconds=0.02).json(), pellucid.metrics().json()]
    out: dict[str, list[Any]] = {}
    for report in made:
        report = json.loads(json.dumps(report))
        out.setdefault(report["schema"], []).append(report)
    return out


if __name__ == "__main__":
    print(json.dumps({name: {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": name,
                             **schema_of(found)} for name, found in sorted(reports().items())}, indent=1))

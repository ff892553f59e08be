"""The call matrix of watched calls, by either compiler: each call, what happened in it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .bench_report import seconds
from .calls import cloned, parse, standard
from .observation import Observation
from .observe import compiled, observe, system_of


@dataclass(frozen=True, slots=True)
class Matrix:
    """`text()` for people, `json()` for programs; a notebook shows it as a table."""

    observation: Observation

    def json(self) -> dict[str, Any]:
        return {"schema": "pellucid.matrix/1", **self.observation.json()}

    def rows(self) -> list[tuple[str, ...]]:
        """(call, arguments, label, outcome, time, of which compiling, why)."""
        return [(str(c.number), c.signature, c.label, c.outcome, seconds(c.seconds),
                 seconds(c.compile_seconds) if c.compile_seconds else "", c.why) for c in self.observation.calls]

    def text(self) -> str:
        o = self.observation
        lines = [f"{o.name} by {o.system}: {len(o.calls)} calls, {len(o.compiles)} compiles, {len(o.breaks)} places of "
                 "breaks"]
        for n, arguments, label, outcome, took, compiling, why in self.rows():
            told = f", {compiling} of it compiling" if compiling else ""
            lines.append(f"{n:>4s}  {outcome:8s} {took:>9s}{told}  ({arguments}){' ' + label if label else ''}"
                         + (f"\n        {why}" if why else ""))
        lines += [f"break at {b.where}: {b.reason[:160]}" for b in o.breaks]
        return "\n".join([*lines, *(f"note: {n}" for n in o.notes)])

    __str__ = text

    def _repr_html_(self) -> str:
        from .tables import table_html
        return table_html(("call", "arguments", "label", "outcome", "time", "compiling", "why"), self.rows())


def watched(fn: Any, calls: Any, system: str | None = None) -> Matrix:
    """Make the calls from an empty table and write down each. One example alone becomes the standard sequence: the same
    shape twice, a second batch size twice, the first again."""
    mixture = parse(calls)
    if len(mixture) == 1:
        mixture = standard(mixture[0])
    kind = system or system_of(fn) or "pellucid"
    return Matrix(observe(compiled(fn, kind), tuple(map(cloned, mixture)), kind))

"""All handlers by canonical op."""

from __future__ import annotations

from ...bytecode.effects import EFFECTS
from ..executor import Handler
from . import calls, containers, exceptions, flow, match, operators, stack, variables

HANDLERS: dict[str, Handler] = {}
for family in (stack, variables, operators, containers, flow, calls, exceptions, match):
    HANDLERS.update(family.HANDLERS)  # type: ignore[arg-type]
if HANDLERS.keys() != EFFECTS.keys():
    raise ImportError(f"handlers and canonical ops differ: {sorted(HANDLERS.keys() ^ EFFECTS.keys())}")

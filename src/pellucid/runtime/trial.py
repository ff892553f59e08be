"""A call that breaks often is timed against Python, and left to Python where that is faster.

A graph that is entered between two breaks wins what its tensor work is worth and costs a microsecond or two. Where
a call has many breaks with little between them nothing can be won, so it is measured: the first calls of an entry that
cross OFTEN breaks are timed, then as many are run by Python, and what was faster by the least times is what later calls
of the entry do. The choice is an event, a reason that is counted, and stands in explain.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ..events.record import record

if TYPE_CHECKING:
    from .compiled import Compiled
    from .types import Entry

OFTEN = 16
"""Breaks crossed in one call."""
SAMPLES = 4
MARGIN = 1.05
"""Python takes over unless it takes this many times as long as the compiled call."""


class Trial:
    """What is known of one entry's times, in seconds. python: calls of the entry run by Python now."""

    __slots__ = ("compiled", "eager", "crossed", "python", "decided", "why")

    def __init__(self) -> None:
        self.compiled: list[float] = []
        self.eager: list[float] = []
        self.crossed = 0
        self.python = self.decided = False
        self.why = "it has many breaks and is timed against Python"

    @property
    def timing(self) -> bool:
        """Calls are run by Python to time them."""
        return self.python and not self.decided


def crossed_often(me: Compiled, entry: Entry, crossed: int, seconds: float) -> None:
    """A call that began with `entry` compiled nothing and crossed many breaks."""
    trial = entry.trial
    if trial is None:
        trial = entry.trial = Trial()
    if trial.decided or trial.python:
        return
    trial.compiled.append(seconds)
    trial.crossed = crossed
    if len(trial.compiled) >= SAMPLES:
        trial.python = True
        if me.fast is not None:
            me.fast.pause(entry)


def by_python(me: Compiled, entry: Entry, args: Any, kwargs: Any) -> Any:
    """The call by Python alone; timed until enough is known."""
    trial: Trial = entry.trial
    me.fell_back(trial.why, entry_id=entry.number)
    if trial.decided:
        return me.target.call(*args, **kwargs)
    start = time.perf_counter()
    result = me.target.call(*args, **kwargs)
    trial.eager.append(time.perf_counter() - start)
    if len(trial.eager) >= SAMPLES:
        _decide(me, trial)
    return result


def _decide(me: Compiled, trial: Trial) -> None:
    trial.decided = True
    compiled, eager = min(trial.compiled), min(trial.eager)
    trial.python = eager < MARGIN * compiled
    what = "left to Python" if trial.python else "kept compiled"
    trial.why = (f"{trial.crossed} breaks in a call, with little between them: {1e3 * compiled:.3g} ms compiled, "
                 f"{1e3 * eager:.3g} ms in Python: {what}")
    record.emit("storm", callable_id=me.id, message=f"{me.target.name}: {trial.why}")

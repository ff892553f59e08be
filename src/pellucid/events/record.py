"""The one append-only record of what happened: events with ids and causes, bounded in memory, with subscribers."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable

from .. import forking
from .types import KINDS, Cause, Event

Sink = Callable[[Event], None]


class Record:
    """Keeps the newest `capacity` events and exact counts by kind. Emitting is safe from any thread."""

    def __init__(self, capacity: int = 20_000):
        self._events: deque[Event] = deque(maxlen=capacity)
        self._counts: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._sinks: tuple[tuple[Sink, frozenset[str] | None], ...] = ()
        self._lock = forking.short(threading.Lock())

    def emit(self, kind: str, *, callable_id: int | None = None, entry_id: int | None = None,
             continuation_id: int | None = None, cause: Cause | None = None, message: str = "",
             **data: object) -> Event:
        """Append one event; `kind` is one of events.types.KINDS, `data` its further numbers and names."""
        if kind not in KINDS:
            raise ValueError(f"unknown event kind {kind!r}; known: {', '.join(KINDS)}")
        event = Event(next(self._numbers), time.time(), kind, callable_id, entry_id, continuation_id, cause, message,
                      data)
        with self._lock:
            self._events.append(event)
            self._counts[kind] += 1
        for sink, kinds in self._sinks:
            if kinds is None or kind in kinds:
                sink(event)
        return event

    def repeat(self, kind: str) -> None:
        """One more of what was emitted often already: counted exactly, not kept."""
        with self._lock:
            self._counts[kind] += 1

    def wanted(self, kind: str) -> bool:
        """Whether a subscriber listens to the kind: what is costly to put into words is made only then."""
        return any(kinds is None or kind in kinds for _, kinds in self._sinks)

    def subscribe(self, sink: Sink, kinds: Iterable[str] | None = None) -> Callable[[], None]:
        """Call `sink` with each later event (of the `kinds`, where given); returns a function that ends that."""
        heard = None if kinds is None else frozenset(kinds)
        if heard is not None and not heard <= set(KINDS):
            raise ValueError(f"unknown event kinds {sorted(heard - set(KINDS))}; known: {', '.join(KINDS)}")
        pair = (sink, heard)
        with self._lock:
            self._sinks = (*self._sinks, pair)

        def unsubscribe() -> None:
            with self._lock:
                self._sinks = tuple(p for p in self._sinks if p is not pair)
        return unsubscribe

    def events(self, kind: str | None = None, callable_id: int | None = None) -> list[Event]:
        """The events kept, oldest first, of a kind and of a callable where these are given."""
        with self._lock:
            kept = list(self._events)
        return [e for e in kept if (kind is None or e.kind == kind)
                and (callable_id is None or e.callable_id == callable_id)]

    def count(self, kind: str) -> int:
        """How many events of the kind were ever emitted (also those no longer kept)."""
        with self._lock:
            return self._counts[kind]

    def clear(self) -> None:
        with self._lock:
            self._events.clear()
            self._counts.clear()


record = Record()
emit = record.emit
subscribe = record.subscribe

"""The one append-only record of what happened: events with ids and causes, bounded in memory, with subscribers."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, deque
from collections.abc import Callable

from .types import KINDS, Cause, Event

Sink = Callable[[Event], None]


class Record:
    """Keeps the newest `capacity` events and exact counts by kind. Emitting is safe from any thread."""

    def __init__(self, capacity: int = 20_000):
        self._events: deque[Event] = deque(maxlen=capacity)
        self._counts: Counter[str] = Counter()
        self._numbers = itertools.count()
        self._sinks: tuple[Sink, ...] = ()
        self._lock = threading.Lock()

    def emit(self, kind: str, *, callable_id: int | None = None, entry_id: int | None = None,
             continuation_id: int | None = None, cause: Cause | None = None, message: str = "",
             **data: object) -> Event:
        """Append one event; `kind` is one of events.types.KINDS, `data` its further numbers and names."""
        if kind not in KINDS:
            raise ValueError(f"unknown event kind {kind!r}; known: {', '.join(KINDS)}")
        event = Event(next(self._numbers), time.time(), kind, callable_id, entry_id, continuation_id, cause, message, data)
        with self._lock:
            self._events.append(event)
            self._counts[kind] += 1
        for sink in self._sinks:
            sink(event)
        return event

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Call `sink` with each later event; returns a function that ends that."""
        with self._lock:
            self._sinks = (*self._sinks, sink)

        def unsubscribe() -> None:
            with self._lock:
                self._sinks = tuple(s for s in self._sinks if s is not sink)
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

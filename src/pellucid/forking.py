"""A fork waits for the compiles of other threads: a child has only the thread that forked, so that a lock which another
thread held, or a half-written module of LLVM, would stay as it is for ever.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

WAIT = 10.0     # seconds; a compile that itself waits for something of the forking thread must not stop it for good


class Gate:
    """Counts the compiles in progress by thread; while it is held, none begins."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.depths: dict[int, int] = {}

    def enter(self) -> None:
        with self.changed:
            me = threading.get_ident()
            self.depths[me] = self.depths.get(me, 0) + 1

    def leave(self) -> None:
        with self.changed:
            me = threading.get_ident()
            self.depths[me] -= 1
            if not self.depths[me]:
                del self.depths[me]
                self.changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Wait until no other thread compiles, and let none begin."""
        me = threading.get_ident()
        self.changed.acquire()
        self.changed.wait_for(lambda: self.depths.keys() <= {me}, seconds)

    def release(self) -> None:
        self.changed.release()

    def others_ended(self) -> None:
        """In a child: its compiles are those of the thread that forked."""
        me = threading.get_ident()
        depth = self.depths.get(me)
        self.changed, self.depths = threading.Condition(), {} if depth is None else {me: depth}


_gate = Gate()


@contextmanager
def compiling() -> Iterator[None]:
    """What no other thread may fork in the middle of."""
    _gate.enter()
    try:
        yield
    finally:
        _gate.leave()


# -------------------------------------------------------------------- short locks
_short: weakref.WeakSet[Any] = weakref.WeakSet()


def short(lock: Any) -> Any:
    """This lock, free in a child unless the thread that forked holds it. For what is held in the middle of nothing
    that a reader could find half done."""
    _short.add(lock)
    return lock


def _before() -> None:
    """LLVM's lock is also held by who gives code back, outside any compile: the thread that forks takes it first."""
    _gate.hold(WAIT)
    library = getattr(sys.modules.get("llvmlite.binding.ffi"), "lib", None)
    lock = getattr(library, "_lock", nullcontext())
    _llvm.append(lock)
    lock.__enter__()


def _in_parent() -> None:
    _llvm.pop().__exit__(None, None, None)
    _gate.release()


def _in_child() -> None:
    _llvm.pop().__exit__(None, None, None)
    _gate.others_ended()
    for lock in list(_short):
        owned = getattr(lock, "_is_owned", None)
        if owned is None or not owned():
            lock._at_fork_reinit()


_llvm: list[Any] = []
os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

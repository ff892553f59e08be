"""options={"stall": "never"}: what a call would compile is compiled by one background thread, and published from there.

A capture beside a running program is as sound as one within a call: every value that it uses is guarded as it was read,
so that an entry is valid only where all of them hold at once.
"""

from __future__ import annotations

import atexit
import os
import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from ..errors.types import PellucidError
from ..guards import globalkey

if TYPE_CHECKING:
    from .compiled import Compiled
    from .table import Table

WAITING = "it is being compiled in the background"
OTHER_STATE = "the background thread cannot take on this call's modes"


class Worker:
    """One thread that runs tasks in order, started when there is a first one; anew in a forked child."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.thread: threading.Thread | None = None
        self.lock = threading.Lock()

    def put(self, task: Callable[[], None]) -> None:
        with self.lock:
            if self.thread is None:
                self.thread = threading.Thread(target=self.run, name="pellucid-compile", daemon=True)
                self.thread.start()
        self.tasks.put(task)

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()
            del task

    def stop(self) -> None:
        """Let the task in progress end before the interpreter does."""
        if self.thread is not None and self.thread.is_alive():
            self.tasks.put(None)
            self.thread.join(10)


_worker = Worker()
atexit.register(lambda: _worker.stop())


def _after_fork() -> None:
    global _worker
    _worker = Worker()


os.register_at_fork(after_in_child=_after_fork)


def working_here() -> bool:
    """Whether this is the background thread."""
    return threading.current_thread() is _worker.thread


class Background:
    """The tasks of one Compiled: at most one a table at a time."""

    def __init__(self, compiled: Compiled):
        self.compiled = weakref.ref(compiled)
        self.pending: set[int] = set()
        self.pid = os.getpid()
        self.idle = threading.Condition()
        self.error: PellucidError | None = None

    def ask(self, table: Table, slots: Sequence[Any]) -> str:
        """Have an entry made for this call; why the call goes on in Python. Raises the error of a task that failed
        before (a graph break under fullgraph, say)."""
        self.own_tasks()
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        words = globalkey.words()
        if words[4]:
            return OTHER_STATE
        with self.idle:
            if table.number in self.pending:
                return WAITING
            self.pending.add(table.number)
        mine, held = weakref.ref(self), [tuple(slots)]
        _worker.put(lambda: _compile(mine, table, held, words))
        return WAITING

    def own_tasks(self) -> None:
        """In a forked child: the parent's tasks are not its own."""
        if self.pid != os.getpid():
            self.pid, self.pending, self.idle = os.getpid(), set(), threading.Condition()

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being compiled; whether that was so in time (seconds)."""
        self.own_tasks()
        with self.idle:
            return self.idle.wait_for(lambda: not self.pending, timeout)

    def done(self, table: Table) -> None:
        with self.idle:
            self.pending.discard(table.number)
            self.idle.notify_all()


def _compile(owner: weakref.ref[Background], table: Table, held: list[tuple[Any, ...]], words: tuple[Any, ...]) -> None:
    me = owner()
    compiled = me.compiled() if me is not None else None
    if me is None or compiled is None:
        return
    try:
        with torch.inference_mode(words[1]), torch.set_grad_enabled(words[0]):
            if globalkey.words() == words:
                compiled.miss(table, held.pop())
    except PellucidError as e:
        me.error = e
    except Exception as e:
        compiled.background_fault(table, e)
    finally:
        me.done(table)

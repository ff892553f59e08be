"""Where the native call path is hung in: from the first native plan on (or, where no entry has a graph, from the
WARMth hit of one), a class's `__call__` is a built-in."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from .compiled import Compiled
from .table import Table
from .types import Entry


def install(compiled: Compiled, instance: Any, slow: Callable[..., Any] | None = None,
            watch: Callable[[Any], None] | None = None) -> None:
    """`instance` is the only one of its class. `slow` is the whole call in Python (without the instance), where it is
    more than compiled.call; `watch` adds what must be unchanged for it to be skipped."""
    cls, alive = type(instance), weakref.ref(instance)

    def published(compiled: Compiled, table: Table, entry: Entry) -> None:
        if entry.code.backend == "llvm/native":
            begin(compiled)

    def begin(compiled: Compiled) -> None:
        from .native.attach import attach
        from .native.vectorcall import hang

        with compiled.lock:
            if published not in compiled.on_publish:
                return
            compiled.on_publish.remove(published)
            compiled.on_warm = None
            fast = attach(compiled, slow, watch)
            if fast is None:
                return
            for table in compiled.roots.values():
                for entry in reversed(table.entries):
                    fast.published(compiled, table, entry)
            compiled.fast = fast
        cls.__call__ = staticmethod(fast.function)  # type: ignore[method-assign, assignment, operator]
        me = alive()
        if me is not None:
            hang(me, fast.native)
    compiled.on_publish.append(published)
    if compiled.options.backend == "llvm":
        compiled.on_warm = begin

"""Where the native call path is hung in: from the first native plan on, a class's `__call__` is a built-in."""

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
        if entry.code.backend != "llvm/native":
            return
        from .native.attach import attach
        from .native.vectorcall import hang

        compiled.on_publish.remove(published)
        fast = attach(compiled, slow, watch)
        if fast is None:
            return
        compiled.fast = fast
        fast.published(compiled, table, entry)
        cls.__call__ = staticmethod(fast.function)  # type: ignore[method-assign, assignment, operator]
        me = alive()
        if me is not None:
            hang(me, fast.native)
    compiled.on_publish.append(published)

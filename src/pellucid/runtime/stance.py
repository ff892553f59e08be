"""set_stance: what calls that would compile do on this thread, as torch.compiler.set_stance says it.

Native entries do not ask. So while any thread is to run eagerly they are taken down, and every call of every callable
goes the way through Python, where the thread's stance is looked at.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from .. import forking
from ..errors.types import OptionError, PellucidError

STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager")
F = TypeVar("F", bound=Callable[..., Any])


class RecompileError(PellucidError):
    """A call would compile while the stance is "fail_on_recompile"; names the guards that failed."""


class _Local(threading.local):
    stance = "default"


_local = _Local()
_lock = forking.short(threading.Lock())
_forced: set[int] = set()
"""Threads whose stance is force_eager (a thread that ended with it counts until its number is used again)."""
on_change: list[Callable[[bool], None]] = []
"""Called with whether native entries must be down, when that changes."""


def current() -> str:
    """This thread's stance."""
    return _local.stance


def forced_anywhere() -> bool:
    """Whether some thread is to run eagerly, so that no native entry may be up."""
    return bool(_forced)


def _put(stance: str) -> None:
    _local.stance = stance
    me = threading.get_ident()
    with _lock:
        before = bool(_forced)
        (_forced.add if stance == "force_eager" else _forced.discard)(me)
        after = bool(_forced)
        if before != after:
            for hook in on_change:
                hook(after)


class set_stance:  # noqa: N801  (a function to its users, as torch's is)
    """set_stance(stance): from now on, on this thread; as a context manager or decorator, while that lasts.

    default             compile where no version fits
    eager_on_recompile  use the versions there are; a call that none fits runs in Python, and is counted
    fail_on_recompile   such a call raises RecompileError, which names the guards that failed
    force_eager         every call runs in Python

    Raises OptionError for another stance.
    """

    def __init__(self, stance: str):
        if stance not in STANCES:
            raise OptionError("bad-argument", f"set_stance(): stance={stance!r} is not acceptable",
                              f"give one of {', '.join(map(repr, STANCES))}")
        self.stance, self.stack, self.previous = stance, list[str](), current()
        self.fresh = True
        _put(stance)

    def __enter__(self) -> set_stance:
        self.stack.append(self.previous if self.fresh else current())
        self.fresh = False
        _put(self.stance)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        _put(self.stack.pop())

    def __call__(self, fn: F) -> F:
        """As a decorator: the stance holds during calls of `fn` only."""
        _put(self.previous)
        stance = self.stance

        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            before = current()
            _put(stance)
            try:
                return fn(*args, **kwargs)
            finally:
                _put(before)
        return call  # type: ignore[return-value]

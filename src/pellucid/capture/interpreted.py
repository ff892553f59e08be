"""Generators whose frames are the machine's, as objects that native code can use too."""

from __future__ import annotations

import warnings
from collections.abc import Generator as AbstractGenerator
from typing import Any

from . import native
from .domain import Domain
from .executor import Machine, Returned, Yielded, handled, resume, throw
from .frames import UNBOUND, Frame, Generator
from .tracebacks import native_frame

GLOBALS = globals()
"""Functions of this module are the machine's own, never interpreted by itself."""


def enter(record: Generator, value: Any) -> Frame:
    """The generator's frame, ready to go on with `value` sent into it; the errors of CPython's send."""
    if record.state == "running":
        raise ValueError("generator already executing")
    if record.state == "created":
        if value is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        return resume(record, UNBOUND)
    return resume(record, value)


def _text(value: Any, name: str) -> str:
    if type(value) is not str:
        raise TypeError(f"{name} must be set to a string object")
    return value


class InterpretedGenerator:
    """A generator whose frame is the machine's. Native code that resumes it starts a machine of its own."""

    __slots__ = ("domain", "record", "_name", "_qualname", "__weakref__")

    def __init__(self, domain: Domain, record: Generator) -> None:
        self.domain, self.record = domain, record
        function, code = record.frame.function, record.frame.code
        self._name: str = getattr(function, "__name__", code.name)
        self._qualname: str = getattr(function, "__qualname__", code.qualname)

    @property
    def __name__(self) -> str:
        return self._name

    @__name__.setter
    def __name__(self, value: str) -> None:
        self._name = _text(value, "__name__")

    @__name__.deleter
    def __name__(self) -> None:
        _text(None, "__name__")

    def __setattr__(self, name: str, value: Any) -> None:
        # a class cannot hold a property of this name
        object.__setattr__(self, "_qualname" if name == "__qualname__" else name,
                           _text(value, name) if name == "__qualname__" else value)

    def __delattr__(self, name: str) -> None:
        if name == "__qualname__":
            _text(None, name)
        object.__delattr__(self, name)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("cannot pickle 'generator' object")

    def __iter__(self) -> InterpretedGenerator:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        if self.record.state == "done":
            raise StopIteration
        f = enter(self.record, value)
        f.back, f.depth = None, 0
        return self._outcome(Machine(self.domain), f, None)

    def throw(self, kind: Any, value: Any = None, tb: Any = None) -> Any:
        if native.THROW_WARNS and (value is not None or tb is not None):
            warnings.warn(native.THROW_WARNS, DeprecationWarning, stacklevel=2)
        exc = native.thrown(kind, value, tb)
        if self.record.state == "done":
            raise exc
        if self.record.state == "running":
            raise ValueError("generator already executing")
        m = Machine(self.domain)
        f, raising = throw(m, None, self.record, exc, None)
        if raising is not None and raising.__context__ is None and (cur := handled(f)) is not None:
            native.set_context(raising, cur)
        return self._outcome(m, f, raising)

    def _outcome(self, m: Machine, f: Frame, raising: Any) -> Any:
        outcome = m.run(f, raising)
        if type(outcome) is Yielded:
            return outcome.value
        assert type(outcome) is Returned, outcome
        raise StopIteration() if outcome.value is None else StopIteration(outcome.value)

    def close(self) -> Any:
        if self.record.state == "created":
            self.record.state = "done"
        if self.record.state == "done":
            return None
        try:
            self.throw(GeneratorExit())
        except GeneratorExit:
            return None
        except StopIteration as e:
            return e.value if native.CLOSE_RETURNS else None
        raise RuntimeError("generator ignored GeneratorExit")

    def __del__(self) -> None:
        if self.record.state == "suspended":
            self.close()

    def __getattr__(self, name: str) -> Any:
        if name == "__qualname__":
            return self._qualname
        raise AttributeError(f"'generator' object has no attribute '{name}'")

    @property
    def gi_frame(self) -> Any:
        f = self.record.frame
        return None if self.record.state == "done" else native_frame(f.code.original, f.globals)

    @property
    def gi_running(self) -> bool:
        return self.record.state == "running"

    @property
    def gi_suspended(self) -> bool:
        return self.record.state == "suspended"

    @property
    def gi_yieldfrom(self) -> Any:
        """What a suspended `yield from` takes its items from, or None."""
        f = self.record.frame
        if self.record.state != "suspended":
            return None
        instr = f.code.instrs[f.index - 1]
        return f.stack[-1] if instr.op == "YIELD_VALUE" and instr.arg is not None else None

    @property
    def gi_code(self) -> Any:
        return self.record.frame.code.original


AbstractGenerator.register(InterpretedGenerator)

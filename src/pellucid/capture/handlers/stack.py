"""Stack shuffling and constants."""

from __future__ import annotations

from typing import Any

from ..executor import Machine
from ..frames import Frame


def POP_TOP(m: Machine, f: Frame, arg: Any) -> None:
    f.stack.pop()


def COPY(m: Machine, f: Frame, n: int) -> None:
    f.stack.append(f.stack[-n])


def SWAP(m: Machine, f: Frame, n: int) -> None:
    s = f.stack
    s[-1], s[-n] = s[-n], s[-1]


def LOAD_CONST(m: Machine, f: Frame, value: Any) -> None:
    f.stack.append(m.domain.const(f, value))


HANDLERS = {h.__name__: h for h in (POP_TOP, COPY, SWAP, LOAD_CONST)}

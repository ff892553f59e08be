"""What code generation hands on: machine code by kernel, and the interface of a target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..ir.types import Kernel


@dataclass(frozen=True, slots=True)
class Unit:
    """A block of code for several kernels: its text, its object code (or b""), and the entry names by kernel name.

    Each entry has the C signature
        void entry(void **buffers, int64_t *sizes, int64_t begin, int64_t end, int32_t *status)
    buffers: data pointers in the order of Kernel.buffers; sizes: values of Kernel.symbols; begin..end: the part of the
    parallel range to do; status: set to 1 + the number of the torch-level call when an index was out of range.
    """

    text: str
    object_code: bytes
    entries: dict[str, str]


class CodeTarget(Protocol):
    """A code generator. `accepts` is "loops" (kernels) or "graph" (core graph, StableHLO)."""

    name: str
    accepts: str

    def compile(self, kernels: tuple[Kernel, ...]) -> Unit: ...

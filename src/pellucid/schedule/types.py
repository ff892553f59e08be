"""What the scheduler hands on: a plan of steps over buffers whose addresses and sizes are known to the runner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

import torch

from ..graph.types import SymbolDef
from ..ir.types import Buffer, BufferId, Extern, Kernel
from ..shapes.dim import Size
from ..shapes.env import SizeGuard


@dataclass(frozen=True, slots=True)
class Place:
    """Where an arena buffer lies in the call's frame: bytes from its start, aligned to 64; and its length in bytes."""

    buffer: BufferId
    offset: Size
    nbytes: Size
    first: int
    """Index of the first step that touches it."""
    last: int


@dataclass(frozen=True, slots=True)
class KernelStep:
    kernel: Kernel
    extent: Size
    """Number of iterations of the kernel's parallel range (product of its leading parallel axes; 1 if none)."""
    grain: Size
    """Iterations below which it is not split over threads."""
    gil: str = "hold"
    stream: int = 0
    can_raise: bool = False


@dataclass(frozen=True, slots=True)
class ExternStep:
    extern: Extern
    gil: str = "hold"
    stream: int = 0
    can_raise: bool = False


Step = Union[KernelStep, ExternStep]


@dataclass(frozen=True, slots=True)
class NewOutput:
    """A fresh tensor over buffer `buffer`, which owns its storage: shape and strides as eager's."""

    buffer: BufferId
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0


@dataclass(frozen=True, slots=True)
class ViewOfInput:
    """A real view of input number `input`; offset is in elements from the input's own first element."""

    input: int
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size
    whole: bool = False
    """The input tensor object itself, not a view of it."""


@dataclass(frozen=True, slots=True)
class ViewOfOutput:
    """A view of (or, if whole, the same object as) output number `output`, which comes earlier; offset is in elements
    from that output's own first element (negative where the earlier one starts later)."""

    output: int
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size
    whole: bool = False


Output = Union[NewOutput, ViewOfInput, ViewOfOutput]


@dataclass(frozen=True, slots=True)
class Commit:
    """After the last step that can raise: input number `input` takes the contents of `buffer` (same strides)."""

    input: int
    buffer: BufferId
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything the runner needs for one segment's graph, as data.

    Buffers of space "input" have the number of the graph input as `index`; of space "output" the number of the
    `NewOutput`. `symbols` says where sizes are read. `preconditions` are checked by the runner before the first step.
    """

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    places: tuple[Place, ...]
    arena_bytes: Size
    outputs: tuple[Output, ...]
    commits: tuple[Commit, ...] = ()
    symbols: tuple[SymbolDef, ...] = ()
    preconditions: tuple[SizeGuard, ...] = ()
    not_fused: tuple[tuple[int, int, str], ...] = ()
    """(step, step, reason) for neighbouring pairs that were not fused."""
    notes: tuple[str, ...] = ()

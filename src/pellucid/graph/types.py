"""The graph that capture hands on: one trace, two views (torch-level calls, and core nodes that they expand to).

A core node computes a new value or names a view of one. Every value has a `TensorMeta` with eager's exact shape and
strides, and a `root`: the value whose storage it lives in (itself, unless the node is a view). The graph is
functional: an in-place write makes a new root (`assign`), and what a caller must see is in `Graph.mutations`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

import torch

from ..events.types import UserStack
from ..shapes.dim import Size, Sym
from ..shapes.env import SizeGuard


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """What is known of a tensor without its data. Strides and offset count elements; offset is from the root's data."""

    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0
    device: torch.device = torch.device("cpu")
    requires_grad: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class ScalarMeta:
    """A Python number that is only known at run time: kind is "int", "float" or "bool"."""

    kind: str


Meta = Union[TensorMeta, ScalarMeta]
ValueId = int


@dataclass(frozen=True, slots=True)
class Ref:
    """A use of a graph value as an operand."""

    value: ValueId


Operand = Union[Ref, Size, float, bool, complex, str, None, torch.dtype, tuple["Operand", ...]]


@dataclass(frozen=True, slots=True)
class Node:
    """One core operation. `op` names a catalogue entry; `args` are in the entry's parameter order, all of them.

    `outs` are the ids of the values it makes with their metas; `roots` says in whose storage each lives.
    """

    op: str
    args: tuple[Any, ...]
    outs: tuple[ValueId, ...]
    metas: tuple[TensorMeta, ...]
    roots: tuple[ValueId, ...]
    call: int
    """Index of the torch-level call that this node belongs to, in `Graph.calls`."""


@dataclass(frozen=True, slots=True)
class TorchCall:
    """One call as the user's program made it. `target` is the torch callable, or a method's name for kind "method"."""

    kind: str
    target: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outs: Any
    """Structure of `Ref`s that the call returned (a Ref, or a tuple, list or None)."""
    stack: UserStack
    mutates: tuple[ValueId, ...] = ()
    global_state: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphInput:
    """A value from outside: its index is its position in the graph's calling convention."""

    value: ValueId
    meta: Meta
    source: Any
    """guards.types.Source"""
    role: str = "input"
    """input | parameter | buffer | constant (a tensor that the captured code holds)"""


def read_size(value: Any, dim: int | None) -> int:
    """Size `dim` of a tensor, its stride ~dim where that is negative, or with None the integer that `value` is."""
    return int(value if dim is None else value.shape[dim] if dim >= 0 else value.stride(~dim))


def size_access(dim: int | None) -> str:
    """The Python text that reads the same, to follow the value's: `.shape[1]`, `.stride(0)` or nothing."""
    return "" if dim is None else f".shape[{dim}]" if dim >= 0 else f".stride({~dim})"


@dataclass(frozen=True, slots=True)
class SymbolDef:
    """Where a symbol's value is read at run time: size `dim` of graph input `input`; dim None: the input itself; a
    negative dim ~k: stride k."""

    sym: Sym
    input: int
    dim: int | None

    def read(self, value: Any) -> int:
        """The symbol's value, of the input's."""
        return read_size(value, self.dim)

    @property
    def access(self) -> str:
        """The Python text that follows the input's to read the symbol."""
        return size_access(self.dim)


@dataclass(frozen=True, slots=True)
class Mutation:
    """Input number `input` must hold `value` after the call; written at commit."""

    input: int
    value: ValueId


@dataclass(frozen=True, slots=True)
class Graph:
    inputs: tuple[GraphInput, ...]
    nodes: tuple[Node, ...]
    calls: tuple[TorchCall, ...]
    outputs: tuple[ValueId, ...]
    mutations: tuple[Mutation, ...] = ()
    symbols: tuple[SymbolDef, ...] = ()
    size_guards: tuple[SizeGuard, ...] = ()
    metas: dict[ValueId, Meta] = field(default_factory=dict)
    roots: dict[ValueId, ValueId] = field(default_factory=dict)
    objects: dict[ValueId, ValueId] = field(default_factory=dict)
    """Value -> first value of the same tensor object, where it is not that one itself."""

"""The builder that lowerings write through: from graph nodes to buffers, views and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..graph.types import Graph, Node, Ref, TensorMeta, ValueId
from ..shapes.dim import Dim, Size
from .types import (
    Axis,
    Buffer,
    Call,
    Expr,
    Extern,
    Index,
    Literal,
    Load,
    Loop,
    Map,
    Program,
    Reduce,
    Scan,
    Scatter,
    SizeOf,
    View,
)


class Lowering:
    """Collects the loops of one graph. A lowering reads operands by `view`, defines outputs by `map`, `reduce` ..."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.buffers: list[Buffer] = []
        self.loops: list[Loop] = []
        self.origins: list[int] = []
        self._buffer_of: dict[ValueId, Buffer] = {}
        self._axes = 0
        self._call = 0
        for i, g in enumerate(graph.inputs):
            if isinstance(g.meta, TensorMeta):
                self._new(g.value, g.meta, "input", i)

    def _new(self, value: ValueId, meta: TensorMeta, space: str = "arena", index: int | None = None) -> Buffer:
        b = Buffer(len(self.buffers), meta.dtype, meta.shape, meta.strides, space, index, meta.device.type)
        self.buffers.append(b)
        self._buffer_of[value] = b
        return b

    def node(self, node: Node) -> None:
        """Lower one node by its catalogue entry; views cost nothing."""
        from ..ops.registry import OPS

        entry = OPS[node.op]
        self._call = node.call
        if entry.view:
            return
        if entry.lower is None:
            raise NotImplementedError(f"core operator {node.op} has no lowering")
        entry.lower(self, node)

    def program(self) -> Program:
        return Program(tuple(self.buffers), tuple(self.loops), tuple(self.origins),
                       tuple(self.view(Ref(o)) for o in self.graph.outputs))

    # ---------------------------------------------------------------- operands and results
    def meta(self, ref: Ref) -> TensorMeta:
        m = self.graph.metas[ref.value]
        assert isinstance(m, TensorMeta)
        return m

    def view(self, ref: Ref) -> View:
        """The operand's window in the buffer of its root."""
        m = self.meta(ref)
        b = self._buffer_of[self.graph.roots[ref.value]]
        return View(b.id, m.dtype, m.shape, m.strides, m.offset)

    def out(self, node: Node, k: int = 0) -> View:
        """The buffer of the node's k-th output, made on first use, as a view of the output's own shape."""
        value, meta = node.outs[k], node.metas[k]
        b = self._buffer_of.get(value) or self._new(value, meta)
        return View(b.id, meta.dtype, meta.shape, meta.strides, 0)

    def temporary(self, dtype: torch.dtype, shape: Sequence[Size]) -> View:
        """A contiguous arena buffer that is no graph value."""
        strides: list[Size] = []
        step: Size = 1
        for s in reversed(shape):
            strides.append(step)
            step = step * s
        b = Buffer(len(self.buffers), dtype, tuple(shape), tuple(reversed(strides)))
        self.buffers.append(b)
        return View(b.id, dtype, b.shape, b.strides, 0)

    # ---------------------------------------------------------------- loops
    def axes(self, shape: Sequence[Size], prefix: str = "i") -> tuple[Axis, ...]:
        made = tuple(Axis(self._axes + k, s, f"{prefix}{k}") for k, s in enumerate(shape))
        self._axes += len(made)
        return made

    def append(self, loop: Loop) -> None:
        self.loops.append(loop)
        self.origins.append(self._call)

    def map(self, out: View, body: Callable[..., Expr]) -> None:
        """out[i0, i1, ...] = body(Index(i0), Index(i1), ...)"""
        axes = self.axes(out.shape)
        self.append(Map(out, axes, body(*[Index(a) for a in axes])))

    def reduce(self, out: View, reduce_shape: Sequence[Size], combiner: str, body: Callable[..., Expr],
               acc: torch.dtype) -> None:
        """out[i...] = combiner over r... of body((Index(i)...), (Index(r)...))"""
        axes, red = self.axes(out.shape), self.axes(reduce_shape, "r")
        value = body(tuple(Index(a) for a in axes), tuple(Index(a) for a in red))
        self.append(Reduce(out, axes, red, combiner, value, acc))

    def scan(self, out: View, dim: int, combiner: str, body: Callable[..., Expr]) -> None:
        axes = self.axes(out.shape)
        self.append(Scan(out, axes, axes[dim], combiner, body(*[Index(a) for a in axes])))

    def scatter(self, out: View, shape: Sequence[Size], body: Callable[..., tuple[Sequence[Expr], Expr]],
                combine: str | None = None) -> None:
        """At each point of `shape`, body(Index...) -> (index expressions into out, value)."""
        axes = self.axes(shape)
        index, value = body(*[Index(a) for a in axes])
        self.append(Scatter(out, axes, tuple(index), value, combine))

    def extern(self, kind: str, ins: Sequence[View], outs: Sequence[View], can_raise: bool = False,
               **params: Any) -> None:
        self.append(Extern(kind, tuple(ins), tuple(outs), tuple(sorted(params.items())), can_raise))


# ------------------------------------------------------------------ small makers of expressions
def load(view: View, index: Sequence[Expr]) -> Load:
    return Load(view, tuple(index))


def broadcast_load(view: View, index: Sequence[Expr]) -> Load:
    """Element of a view that broadcasts (by torch's rules) to an index space of len(index) dimensions."""
    own = index[len(index) - len(view.shape):]
    zero = Literal(0, torch.int64)
    return Load(view, tuple(zero if type(s) is int and s == 1 else i for s, i in zip(view.shape, own)))


def size_expr(size: Size) -> Expr:
    return SizeOf(size) if isinstance(size, Dim) else Literal(size, torch.int64)


def cast(e: Expr, dtype: torch.dtype) -> Expr:
    return e if e.dtype == dtype else Call("cast", (e,), dtype)


def call(fn: str, *args: Expr, dtype: torch.dtype | None = None) -> Expr:
    return Call(fn, args, args[0].dtype if dtype is None else dtype)

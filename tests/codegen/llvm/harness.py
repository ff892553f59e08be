"""Kernels built by hand and called through ctypes, for tests and benchmarks of the LLVM code generator."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

import torch

from pellucid.codegen.llvm import LlvmTarget, parallel_axes
from pellucid.codegen.llvm.jit import Loaded, load
from pellucid.ir.types import (
    Accumulator,
    Axis,
    Buffer,
    Expr,
    Fold,
    For,
    Index,
    Kernel,
    Literal,
    Load,
    Stmt,
    Var,
    View,
    Write,
)
from pellucid.shapes.dim import Dim, Size

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_numbers = itertools.count()


class Builder:
    """Collects the buffers of one kernel; tensors become buffers, views of them keep strides and offset."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.tensors: list[torch.Tensor] = []
        self.rows: list[Buffer] = []
        self.symbols: list[Dim] = []
        self.values: list[int] = []
        self._ids = itertools.count()

    def tensor(self, t: torch.Tensor, shape: Sequence[Size] | None = None,
               strides: Sequence[Size] | None = None) -> View:
        """A buffer over a tensor's storage from its own first element on, seen with its strides (or those given)."""
        b = Buffer(next(self._ids), t.dtype, tuple(t.shape if shape is None else shape),
                   tuple(t.stride() if strides is None else strides))
        self.buffers.append(b)
        self.tensors.append(t)
        return View(b.id, b.dtype, b.shape, b.strides)

    def row(self, dtype: torch.dtype, shape: Sequence[Size]) -> View:
        strides: list[Size] = []
        n: Size = 1
        for s in reversed(shape):
            strides.insert(0, n)
            n = n * s
        b = Buffer(next(self._ids), dtype, tuple(shape), tuple(strides), "row")
        self.rows.append(b)
        return View(b.id, dtype, b.shape, b.strides)

    def symbol(self, dim: Dim, value: int) -> Dim:
        self.symbols.append(dim)
        self.values.append(value)
        return dim

    def axis(self, size: Size) -> Axis:
        return Axis(next(self._ids), size)

    def var(self, dtype: torch.dtype) -> Var:
        return Var(next(self._ids), dtype)

    def kernel(self, body: Sequence[Stmt], name: str | None = None, can_raise: bool = False) -> Kernel:
        ids = tuple(b.id for b in self.buffers)
        return Kernel(name or f"t{next(_numbers)}", tuple(body), tuple(self.buffers), tuple(self.symbols),
                      tuple(self.rows), ids, ids, (4,), can_raise)

    def extent(self, kernel: Kernel) -> int:
        from pellucid.shapes.dim import evaluate, product

        n = product(a.size for a in parallel_axes(kernel))
        if isinstance(n, int):
            return n
        values = {m[0]: v for d, v in zip(self.symbols, self.values) for m, _ in d.terms if len(m) == 1}
        return evaluate(n, values)  # type: ignore[arg-type]

    def run(self, body: Sequence[Stmt], split: Sequence[int] = (), target: LlvmTarget | None = None) -> int:
        """Compile, link and call, the range cut at `split`; the status."""
        kernel = self.kernel(body)
        unit = (target or LlvmTarget()).compile((kernel,))
        loaded = load(unit)
        return self.call(kernel, loaded, split)

    def call(self, kernel: Kernel, loaded: Loaded, split: Sequence[int] = ()) -> int:
        entry = ENTRY(loaded.addresses[kernel.name])
        pointers = (ctypes.c_void_p * max(len(self.tensors), 1))(*[t.data_ptr() for t in self.tensors])
        sizes = (ctypes.c_int64 * max(len(self.values), 1))(*self.values)
        status = ctypes.c_int32(0)
        cuts = [0, *split, self.extent(kernel)]
        for a, b in zip(cuts, cuts[1:]):
            entry(pointers, sizes, a, b, ctypes.byref(status))
        return status.value


def lit(value: int | float | bool, dtype: torch.dtype = torch.int64) -> Literal:
    return Literal(value, dtype)


def at(view: View, *axes: Axis | Expr) -> Load:
    return Load(view, tuple(Index(a) if isinstance(a, Axis) else a for a in axes))


def put(view: View, axes: Sequence[Axis | Expr], value: Expr, combine: str | None = None) -> Write:
    return Write(view, tuple(Index(a) if isinstance(a, Axis) else a for a in axes), value, combine)


def nest(axes: Sequence[Axis], modes: Sequence[str], body: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """For loops over axes, outermost first."""
    out = tuple(body)
    for a, m in zip(reversed(axes), reversed(modes)):
        out = (For(a, out, m),)
    return out


def map_kernel(fn: Callable[..., Expr], inputs: Sequence[torch.Tensor], out: torch.Tensor,
               modes: Sequence[str] | None = None) -> tuple[Builder, tuple[Stmt, ...]]:
    """out[i...] = fn(input[i...] ...), the last axis a vector one."""
    b = Builder()
    views = [b.tensor(t) for t in inputs]
    o = b.tensor(out)
    axes = [b.axis(n) for n in out.shape]
    modes = modes or ["parallel"] * (len(axes) - 1) + ["vector"]
    return b, nest(axes, modes, [put(o, axes, fn(*[at(v, *axes) for v in views]))])


def fold_kernel(combiner: str, x: torch.Tensor, dims: Sequence[int], out: torch.Tensor, acc: torch.dtype,
                vector: bool = True, fn: Callable[[Expr], Expr] | None = None) -> tuple[Builder, tuple[Stmt, ...]]:
    """out[kept...] = combiner over dims of fn(x), the kept axes parallel."""
    b = Builder()
    v, o = b.tensor(x), b.tensor(out)
    axes = [b.axis(n) for n in x.shape]
    kept = [a for k, a in enumerate(axes) if k not in dims]
    e: Expr = at(v, *axes)
    var = b.var(acc)
    accumulator = Accumulator(var, combiner, fn(e) if fn else e)
    body: list[Stmt] = [Fold(tuple(axes[d] for d in dims), (), (accumulator,), vector), put(o, kept, var)]
    return b, nest(kept, ["parallel"] * len(kept), body)


def dense(values: Sequence[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


__all__ = ["Builder", "at", "dense", "fold_kernel", "lit", "map_kernel", "nest", "put"]

"""Loops evaluated by whole-array torch operations: each loop axis becomes a tensor dimension.

The plainest meaning of the loop IR, for tests and for machines without native pieces. Expressions are evaluated over a
`Space`, the list of axes around them; a value has one dimension an axis of its space, of size 1 where it does not
depend on the axis. Buffers are flat tensors, viewed by as_strided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..ir.affine import Affine, address
from ..ir.types import (
    Axis,
    Buffer,
    BufferId,
    Call,
    Expr,
    Fold,
    For,
    Index,
    Kernel,
    Let,
    Literal,
    Load,
    Map,
    Reduce,
    Running,
    Scan,
    Scatter,
    SizeOf,
    Stmt,
    Var,
    View,
    Write,
)
from ..shapes.dim import Size, Sym, evaluate
from .errors import IndexFailed

Space = tuple[Axis, ...]
HALF = (torch.float16, torch.bfloat16)

FUNCTIONS: dict[str, Callable[..., torch.Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "neg": torch.neg, "abs": torch.abs,
    "div": torch.true_divide, "floordiv": torch.floor_divide, "mod": torch.remainder, "fmod": torch.fmod,
    "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "min": torch.minimum, "max": torch.maximum, "pow": torch.pow, "sign": torch.sign,
    "reciprocal": torch.reciprocal, "rsqrt": torch.rsqrt, "sqrt": torch.sqrt, "floor": torch.floor,
    "ceil": torch.ceil, "trunc": torch.trunc, "round": torch.round, "exp": torch.exp, "exp2": torch.exp2,
    "expm1": torch.expm1, "log": torch.log, "log2": torch.log2, "log1p": torch.log1p, "log10": torch.log10,
    "sin": torch.sin, "cos": torch.cos, "tan": torch.tan, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "erf": torch.erf, "atan2": torch.atan2, "asin": torch.asin, "acos": torch.acos, "atan": torch.atan,
    "sinh": torch.sinh, "cosh": torch.cosh, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le,
    "gt": torch.gt, "ge": torch.ge, "isnan": torch.isnan, "isinf": torch.isinf, "and": torch.bitwise_and,
    "or": torch.bitwise_or, "xor": torch.bitwise_xor, "not": torch.bitwise_not, "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift, "where": torch.where,
}


def _fma(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    if a.dtype == torch.float32:  # a product of two float32 is exact in float64
        return (a.double() * b.double() + c.double()).float()
    return a * b + c


def _check_index(i: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    wrapped = torch.where(i < 0, i + n, i)
    if bool(((wrapped < 0) | (wrapped >= n)).any()):
        raise IndexFailed(f"an index is out of range for a dimension of size {int(n.max())}")
    return wrapped


FUNCTIONS["fma"] = _fma
FUNCTIONS["check_index"] = _check_index


def neutral(combiner: str, dtype: torch.dtype) -> int | float | bool:
    """The value that a combiner starts from."""
    if combiner in ("sum", "any", "argmin", "argmax"):
        return 0
    if combiner in ("prod", "all"):
        return 1
    low = combiner == "max"
    if dtype == torch.bool:
        return not low
    if dtype.is_floating_point:
        return -math.inf if low else math.inf
    info = torch.iinfo(dtype)
    return info.min if low else info.max


class Memory:
    """The flat tensors behind buffers, and the values of symbols, during one evaluation."""

    def __init__(self, flats: dict[BufferId, torch.Tensor], symbols: Mapping[Sym, int]):
        self.flats, self.symbols = flats, symbols

    def size(self, s: Size) -> int:
        return s if type(s) is int else evaluate(s, self.symbols)

    def sizes(self, sizes: Sequence[Size]) -> tuple[int, ...]:
        return tuple([self.size(s) for s in sizes])

    def flat(self, view: View) -> torch.Tensor:
        flat = self.flats[view.buffer]
        return flat if flat.dtype == view.dtype else flat.view(view.dtype)

    def tensor(self, view: View) -> torch.Tensor:
        """The view as a tensor that shares the buffer's memory."""
        flat = self.flat(view)
        return flat.as_strided(self.sizes(view.shape), self.sizes(view.strides),
                               flat.storage_offset() + self.size(view.offset))

    def new(self, buffer: Buffer) -> torch.Tensor:
        return torch.empty(self.extent(buffer), dtype=buffer.dtype, device=buffer.device)

    def extent(self, buffer: Buffer) -> int:
        """Elements that the buffer spans."""
        shape = self.sizes(buffer.shape)
        if 0 in shape:
            return 0
        return 1 + sum((n - 1) * s for n, s in zip(shape, self.sizes(buffer.strides)))


def flat_of(tensor: torch.Tensor) -> torch.Tensor:
    """A strided tensor's memory from its first element on, as one dimension."""
    t = tensor.detach()
    if t.is_conj() or t.is_neg():
        raise TypeError("a lazily conjugated or negated tensor has no memory of its own: call resolve_conj() or "
                        "resolve_neg() on it")
    extent = 0 if 0 in t.shape else 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    return t.as_strided((extent,), (1,), t.storage_offset())


class Evaluator:
    """Evaluates expressions, loops and statements over a `Memory`."""

    def __init__(self, memory: Memory, written: frozenset[BufferId] = frozenset()):
        self.memory = memory
        self.written = written
        """Buffers whose loads must be copies, since a later statement may overwrite them."""
        self.vars: dict[int, torch.Tensor] = {}
        self.fixed: dict[int, int] = {}
        """Axes of serial loops that are run one by one: id -> current value."""
        self.private: dict[BufferId, tuple[tuple[Axis, ...], int]] = {}
        """Row buffers: the parallel axes that each iteration has its own copy for, and the copy's extent."""

    # ---------------------------------------------------------------- expressions
    def eval(self, e: Expr, space: Space, memo: dict[int, torch.Tensor] | None = None) -> torch.Tensor:
        """The value of e over space: a tensor of len(space) dimensions."""
        if memo is None:
            memo = {}
        found = memo.get(id(e))
        if found is None:
            found = memo[id(e)] = _EVAL[type(e)](self, e, space, memo)
        return found

    def _literal(self, e: Literal, space: Space, memo: Any) -> torch.Tensor:
        return torch.full((1,) * len(space), e.value, dtype=e.dtype)

    def _size_of(self, e: SizeOf, space: Space, memo: Any) -> torch.Tensor:
        return torch.full((1,) * len(space), self.memory.size(e.size), dtype=e.dtype)

    def _index(self, e: Index, space: Space, memo: Any) -> torch.Tensor:
        if e.axis.id in self.fixed:
            return torch.full((1,) * len(space), self.fixed[e.axis.id], dtype=torch.int64)
        at = _position(space, e.axis)
        shape = [1] * len(space)
        shape[at] = -1
        return torch.arange(self.memory.size(e.axis.size)).reshape(shape)

    def _var(self, e: Var, space: Space, memo: Any) -> torch.Tensor:
        v = self.vars[e.id]
        return v.reshape(v.shape + (1,) * (len(space) - v.ndim))

    def _call(self, e: Call, space: Space, memo: Any) -> torch.Tensor:
        args = [self.eval(a, space, memo) for a in e.args]
        if e.fn == "cast":
            return args[0].to(e.dtype)
        args = [a.float() if a.dtype in HALF else a for a in args]
        out = FUNCTIONS[e.fn](*args)
        return out if out.dtype == e.dtype else out.to(e.dtype)

    def _load(self, e: Load, space: Space, memo: Any) -> torch.Tensor:
        mask = None if e.mask is None else self.eval(e.mask, space, memo)
        flat = self.memory.flat(e.view)
        if mask is None:
            direct = self._strided(e.view, e.index, space)
            if direct is not None:
                return direct.clone() if e.view.buffer in self.written else direct
        at = self._address(e.view, e.index, space, memo)
        if mask is None:
            return flat[at]
        if e.other is None:
            raise TypeError("a masked load needs `other`, the value where the mask is false")
        value = flat[torch.where(mask, at, 0)] if flat.numel() else torch.zeros((1,) * len(space), dtype=e.dtype)
        return torch.where(mask, value, torch.full((), e.other.value, dtype=e.dtype))

    # ---------------------------------------------------------------- addresses
    def _strided(self, view: View, index: tuple[Expr, ...], space: Space) -> torch.Tensor | None:
        """The elements that an affine index names over space, as a view of the buffer; None if it is not affine."""
        form = address(view, index)
        if form is None:
            return None
        base, steps = self._concrete(view, form, space)
        if any(s < 0 for s in steps):
            return None
        flat = self.memory.flat(view)
        shape = tuple([1 if s == 0 else self.memory.size(a.size) for a, s in zip(space, steps)])
        if 0 in shape:
            return flat.new_empty(shape)
        return flat.as_strided(shape, steps, flat.storage_offset() + base)

    def _concrete(self, view: View, form: Affine, space: Space) -> tuple[int, list[int]]:
        base = self.memory.size(form.const)
        steps = [0] * len(space)
        for axis, c in form.terms:
            if axis.id in self.fixed:
                base += self.memory.size(c) * self.fixed[axis.id]
            else:
                steps[_position(space, axis)] += self.memory.size(c)
        if view.buffer in self.private:
            step = self.private[view.buffer][1]
            for axis in reversed(self.private[view.buffer][0]):
                steps[_position(space, axis)] += step
                step *= self.memory.size(axis.size)
        return base, steps

    def _address(self, view: View, index: tuple[Expr, ...], space: Space, memo: Any) -> torch.Tensor:
        at = torch.full((1,) * len(space), self.memory.size(view.offset), dtype=torch.int64)
        for e, stride in zip(index, self.memory.sizes(view.strides)):
            at = at + self.eval(e, space, memo) * stride
        if view.buffer in self.private:
            axes, step = self.private[view.buffer]
            for axis in reversed(axes):
                at = at + self._index(Index(axis), space, None) * step
                step *= self.memory.size(axis.size)
        return at

    # ---------------------------------------------------------------- writes
    def shape(self, space: Space) -> tuple[int, ...]:
        return self.memory.sizes([a.size for a in space])

    def store(self, view: View, index: tuple[Expr, ...], value: torch.Tensor, space: Space,
              combine: str | None = None, memo: dict[int, torch.Tensor] | None = None) -> None:
        """view[index] = value at each point of space, in the order of the space (its last axis fastest)."""
        if value.dtype != view.dtype:
            raise TypeError(f"a value of {value.dtype} is written to buffer {view.buffer} of {view.dtype}")
        shape = self.shape(space)
        if 0 in shape:
            return
        if combine is None:
            direct = self._strided(view, index, space)
            if direct is not None and direct.shape == shape:
                direct.copy_(value.clone() if _shares(direct, value) else value)
                return
        at = self._address(view, index, space, memo if memo is not None else {}).expand(shape).reshape(-1)
        scatter(self.memory.flat(view), at, value.expand(shape).reshape(-1), combine)

    # ---------------------------------------------------------------- reductions
    def reduce(self, combiner: str, value: torch.Tensor, space: Space, kept: int, acc: torch.dtype) -> torch.Tensor:
        """value over space, combined over the axes from number `kept` on."""
        shape = self.shape(space)
        n = math.prod(shape[kept:])
        full = value.expand(shape).reshape(shape[:kept] + (n,))
        if n == 0:
            return torch.full(shape[:kept], neutral(combiner, acc), dtype=acc)
        return _REDUCE[combiner](full, acc)

    # ---------------------------------------------------------------- loops
    def loop(self, loop: Map | Reduce | Scan | Scatter) -> None:
        axes = loop.axes
        memo: dict[int, torch.Tensor] = {}
        if isinstance(loop, Map):
            self.store(loop.out, tuple([Index(a) for a in axes]), self.eval(loop.value, axes, memo), axes)
        elif isinstance(loop, Reduce):
            space = axes + loop.reduce_axes
            value = self.reduce(loop.combiner, self.eval(loop.value, space, memo), space, len(axes), loop.acc)
            self.store(loop.out, tuple([Index(a) for a in axes]), value.to(loop.out.dtype), axes)
        elif isinstance(loop, Scan):
            value = self.eval(loop.value, axes, memo).expand(self.shape(axes))
            done = prefix(loop.combiner, value, _position(axes, loop.axis))
            self.store(loop.out, tuple([Index(a) for a in axes]), done, axes)
        elif isinstance(loop, Scatter):
            self.store(loop.out, loop.index, self.eval(loop.value, axes, memo), axes, loop.combine or "last", memo)
        else:
            raise TypeError(f"{type(loop).__name__} is no loop")

    # ---------------------------------------------------------------- statements
    def kernel(self, kernel: Kernel) -> None:
        """Run a kernel's statements. Its row buffers get one copy an iteration of the leading parallel axes."""
        axes: list[Axis] = []
        body = kernel.body
        while len(body) == 1 and isinstance(body[0], For) and body[0].mode == "parallel":
            axes.append(body[0].axis)
            body = body[0].body
        copies = math.prod(self.shape(tuple(axes)))
        for row in kernel.rows:
            extent = self.memory.extent(row)
            self.private[row.id] = (tuple(axes), extent)
            self.memory.flats[row.id] = poison(torch.empty(copies * extent, dtype=row.dtype))
        self.statements(kernel.body, ())

    def statements(self, body: tuple[Stmt, ...], space: Space) -> None:
        for s in body:
            _STATEMENT[type(s)](self, s, space)

    def _let(self, s: Let, space: Space) -> None:
        self.vars[s.var.id] = self.eval(s.value, space)

    def _write(self, s: Write, space: Space) -> None:
        memo: dict[int, torch.Tensor] = {}
        self.store(s.view, s.index, self.eval(s.value, space, memo), space, s.combine, memo)

    def _for(self, s: For, space: Space) -> None:
        if s.mode != "serial":
            self.statements(s.body, space + (s.axis,))
        elif (nest := _scatter_nest(s)) is not None:
            axes, lets, write = nest
            inner = space + axes
            self.statements(lets, inner)
            memo: dict[int, torch.Tensor] = {}
            value = self.eval(write.value, inner, memo)
            self.store(write.view, write.index, value, inner, write.combine or "last", memo)
        else:
            for i in range(self.memory.size(s.axis.size)):
                self.fixed[s.axis.id] = i
                self.statements(s.body, space)
            self.fixed.pop(s.axis.id, None)

    def _fold(self, s: Fold, space: Space) -> None:
        inner = space + s.axes
        self.statements(s.body, inner)
        memo: dict[int, torch.Tensor] = {}
        for a in s.accumulators:
            value = self.eval(a.value, inner, memo)
            self.vars[a.var.id] = self.reduce(a.combiner, value, inner, len(space), a.var.dtype)

    def _running(self, s: Running, space: Space) -> None:
        inner = space + (s.axis,)
        value = self.eval(s.value, inner).to(s.var.dtype)
        shape = value.shape[:-1] + (self.memory.size(s.axis.size),)
        self.vars[s.var.id] = prefix(s.combiner, value.expand(shape), len(inner) - 1)
        self.statements(s.body, inner)


_EVAL: dict[type, Callable[..., torch.Tensor]] = {
    Literal: Evaluator._literal, SizeOf: Evaluator._size_of, Index: Evaluator._index, Var: Evaluator._var,
    Call: Evaluator._call, Load: Evaluator._load}
_STATEMENT: dict[type, Callable[..., None]] = {
    Let: Evaluator._let, Write: Evaluator._write, For: Evaluator._for, Fold: Evaluator._fold,
    Running: Evaluator._running}


def _position(space: Space, axis: Axis) -> int:
    for k, a in enumerate(space):
        if a.id == axis.id:
            return k
    raise ValueError(f"axis {axis.name}#{axis.id} is used outside its loop; loops here: {[a.id for a in space]}")


def _shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def poison(t: torch.Tensor) -> torch.Tensor:
    """Fresh memory with a value that shows if it is ever read: nan, or a large number."""
    if t.dtype.is_floating_point or t.dtype.is_complex:
        return t.fill_(math.nan)
    return t.fill_(True if t.dtype == torch.bool else torch.iinfo(t.dtype).max)


def _scatter_nest(s: For) -> tuple[tuple[Axis, ...], tuple[Let, ...], Write] | None:
    """Serial loops around Lets and one Write that reads nothing it writes: one ordered scatter."""
    axes = [s.axis]
    body = s.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].mode == "serial":
        axes.append(body[0].axis)
        body = body[0].body
    lets = tuple([x for x in body[:-1] if isinstance(x, Let)])
    write = body[-1] if body else None
    if not isinstance(write, Write) or len(lets) != len(body) - 1:
        return None
    exprs = [x.value for x in lets] + [write.value, *write.index]
    if any(v.buffer == write.view.buffer for e in exprs for v in loaded_views(e)):
        return None
    return tuple(axes), lets, write


def loaded_views(e: Expr) -> list[View]:
    """The views that an expression loads from."""
    found: list[View] = []
    seen: set[int] = set()
    stack = [e]
    while stack:
        x = stack.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if isinstance(x, Load):
            found.append(x.view)
            stack.extend(x.index)
            if x.mask is not None:
                stack.append(x.mask)
        elif isinstance(x, Call):
            stack.extend(x.args)
    return found


def scatter(flat: torch.Tensor, at: torch.Tensor, value: torch.Tensor, combine: str | None) -> None:
    """flat[at] = value (the last of equal addresses stays), or combine= value in order."""
    value = value.clone() if _shares(flat, value) else value
    if combine is None or combine == "last":
        order = torch.arange(at.numel())
        winner = torch.full((flat.numel(),), -1).scatter_reduce_(0, at, order, "amax")
        wins = winner[at] == order
        flat[at[wins]] = value[wins]
    elif combine == "sum":
        flat.index_put_((at,), value, accumulate=True)
    else:
        flat.scatter_reduce_(0, at, value, {"prod": "prod", "min": "amin", "max": "amax"}[combine])


def prefix(combiner: str, value: torch.Tensor, dim: int) -> torch.Tensor:
    """Inclusive prefix combination along `dim`, in value's dtype (half types accumulate in float32)."""
    dtype = value.dtype
    x = value.float() if dtype in HALF else value.to(torch.uint8) if dtype == torch.bool else value
    if combiner == "sum":
        return torch.cumsum(x, dim, dtype=x.dtype).to(dtype)
    if combiner == "prod":
        return torch.cumprod(x, dim, dtype=x.dtype).to(dtype)
    return (torch.cummax if combiner == "max" else torch.cummin)(x, dim).values.to(dtype)


def _arg(which: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def reduce(x: torch.Tensor, acc: torch.dtype) -> torch.Tensor:
        return which(x.to(torch.uint8) if x.dtype == torch.bool else x, dim=-1)
    return reduce


_REDUCE: dict[str, Callable[..., torch.Tensor]] = {
    "sum": lambda x, acc: torch.sum(x.to(acc), -1, dtype=acc),
    "prod": lambda x, acc: torch.prod(x.to(acc), -1, dtype=acc),
    "min": lambda x, acc: torch.amin(x.to(acc), -1), "max": lambda x, acc: torch.amax(x.to(acc), -1),
    "any": lambda x, acc: torch.any(x, -1).to(acc), "all": lambda x, acc: torch.all(x, -1).to(acc),
    "argmin": _arg(torch.argmin), "argmax": _arg(torch.argmax),
}

"""What must hold of a loop program, checked in tests before and after each pass."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .text import expr_text, loop_text
from .types import (
    SCALAR_FUNCTIONS,
    Axis,
    Buffer,
    BufferId,
    Call,
    Expr,
    Extern,
    Index,
    Literal,
    Load,
    Loop,
    Program,
    Reduce,
    Scan,
    Scatter,
    SizeOf,
    Var,
    View,
)

COMBINERS = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf")
SAME_DTYPE = ("add", "sub", "mul", "neg", "abs", "fma", "div", "floordiv", "truncdiv", "mod", "fmod", "min", "max",
              "pow", "sign", "reciprocal", "rsqrt", "sqrt", "floor", "ceil", "trunc", "round", "and", "or", "xor",
              "not")
ARITY = {"fma": 3, "where": 3, **dict.fromkeys(
    ("add", "sub", "mul", "div", "floordiv", "truncdiv", "mod", "fmod", "min", "max", "pow", "atan2", "eq", "ne", "lt",
     "le", "gt", "ge", "and", "or", "xor", "shl", "shr", "check_index"), 2)}


class Malformed(ValueError):
    """A stage handed on something that breaks the IR's rules; the message shows the place."""


def verify(program: Program) -> None:
    """Raise Malformed naming the loop and the rule that it breaks."""
    buffers = {b.id: b for b in program.buffers}
    if len(buffers) != len(program.buffers):
        raise Malformed("two buffers have the same id")
    if len(program.origins) != len(program.loops):
        raise Malformed(f"{len(program.loops)} loops but {len(program.origins)} origins")
    for b in program.buffers:
        if len(b.shape) != len(b.strides):
            raise Malformed(f"buffer {b.id} has {len(b.shape)} sizes and {len(b.strides)} strides")
    defined = {b.id for b in program.buffers if b.space in ("input", "constant")}
    for loop in program.loops:
        try:
            _loop(loop, buffers, defined)
        except Malformed as e:
            raise Malformed(f"{e}\n  in {loop_text(loop)}") from None
    for v in program.outputs:
        _view(v, buffers)
        if v.buffer not in defined:
            raise Malformed(f"output buffer {v.buffer} is never written")


def _loop(loop: Loop, buffers: dict[BufferId, Buffer], defined: set[BufferId]) -> None:
    if isinstance(loop, Extern):
        for v in loop.ins:
            _view(v, buffers)
            if v.buffer not in defined:
                raise Malformed(f"buffer {v.buffer} is read before it is written")
        for v in loop.outs:
            _view(v, buffers)
            defined.add(v.buffer)
        return
    _view(loop.out, buffers)
    axes = loop.axes + (loop.reduce_axes if isinstance(loop, Reduce) else ())
    if len({a.id for a in axes}) != len(axes):
        raise Malformed("an axis occurs twice")
    checker = Checker(buffers, axes, defined)
    value = checker.check(loop.value)
    if isinstance(loop, Scatter):
        for i in loop.index:
            if checker.check(i) != torch.int64:
                raise Malformed(f"scatter index {expr_text(i)} is {i.dtype}, not int64")
        if len(loop.index) != len(loop.out.shape):
            raise Malformed("scatter's index has another number of dimensions than its output")
    elif tuple(a.size for a in loop.axes) != loop.out.shape:
        raise Malformed(f"axes of sizes {[str(a.size) for a in loop.axes]} write a view of shape {loop.out.shape}")
    if isinstance(loop, Reduce):
        if loop.combiner not in COMBINERS:
            raise Malformed(f"unknown combiner {loop.combiner!r}; known: {', '.join(COMBINERS)}")
        value = torch.int64 if loop.combiner.startswith("arg") else loop.out.dtype
    elif isinstance(loop, Scan) and loop.axis not in loop.axes:
        raise Malformed("the scan's axis is not one of its axes")
    if value != loop.out.dtype:
        raise Malformed(f"a value of {value} is written to {loop.out.dtype}")
    defined.add(loop.out.buffer)


def _view(v: View, buffers: dict[BufferId, Buffer]) -> None:
    if v.buffer not in buffers:
        raise Malformed(f"a view names buffer {v.buffer}, which does not exist")
    if len(v.shape) != len(v.strides):
        raise Malformed(f"a view of buffer {v.buffer} has {len(v.shape)} sizes and {len(v.strides)} strides")


class Checker:
    """Checks dtypes, arities and scopes of expressions; each distinct object once."""

    def __init__(self, buffers: dict[BufferId, Buffer], axes: Sequence[Axis], defined: set[BufferId] | None = None,
                 variables: dict[int, torch.dtype] | None = None):
        self.buffers, self.axes, self.defined = buffers, {a.id for a in axes}, defined
        self.variables = variables if variables is not None else {}
        self.seen: dict[int, Expr] = {}

    def check(self, e: Expr) -> torch.dtype:
        if id(e) in self.seen:
            return e.dtype
        self.seen[id(e)] = e
        if isinstance(e, Index):
            if e.axis.id not in self.axes:
                raise Malformed(f"axis {expr_text(e)} is used outside its loop")
        elif isinstance(e, Var):
            if self.variables.get(e.id) != e.dtype:
                raise Malformed(f"variable v{e.id} of {e.dtype} is not defined here")
        elif isinstance(e, Load):
            self._load(e)
        elif isinstance(e, Call):
            self._call(e)
        elif not isinstance(e, Literal) and not isinstance(e, SizeOf):
            raise Malformed(f"{type(e).__name__} is no expression")
        return e.dtype

    def _load(self, e: Load) -> None:
        _view(e.view, self.buffers)
        if self.defined is not None and e.view.buffer not in self.defined:
            raise Malformed(f"buffer {e.view.buffer} is read before it is written")
        if len(e.index) != len(e.view.shape):
            raise Malformed(f"{expr_text(e)} has {len(e.index)} indices for {len(e.view.shape)} dimensions")
        for i in e.index:
            if self.check(i) != torch.int64:
                raise Malformed(f"index {expr_text(i)} is {i.dtype}, not int64")
        if e.mask is not None:
            if self.check(e.mask) != torch.bool:
                raise Malformed(f"mask {expr_text(e.mask)} is {e.mask.dtype}, not bool")
            if e.other is None or e.other.dtype != e.dtype:
                raise Malformed(f"masked load {expr_text(e)} needs an `other` of {e.dtype}")

    def _call(self, e: Call) -> None:
        if e.fn not in SCALAR_FUNCTIONS:
            raise Malformed(f"unknown scalar function {e.fn!r}")
        if len(e.args) != ARITY.get(e.fn, 1):
            raise Malformed(f"{e.fn} takes {ARITY.get(e.fn, 1)} arguments, not {len(e.args)}")
        dtypes = [self.check(a) for a in e.args]
        if e.fn == "cast":
            return
        if e.fn == "where":
            if dtypes[0] != torch.bool or dtypes[1] != dtypes[2] or e.dtype != dtypes[1]:
                raise Malformed(f"where of {dtypes} gives {e.dtype}")
        elif e.fn == "check_index":
            if dtypes != [torch.int64, torch.int64] or e.dtype != torch.int64:
                raise Malformed(f"check_index of {dtypes}")
        elif len(set(dtypes)) > 1 and e.fn not in ("shl", "shr"):
            raise Malformed(f"{e.fn} of different dtypes {dtypes}: {expr_text(e)}")
        elif e.fn in COMPARISONS:
            if e.dtype != torch.bool:
                raise Malformed(f"{e.fn} gives {e.dtype}, not bool")
        elif e.fn in SAME_DTYPE and e.dtype != dtypes[0]:
            raise Malformed(f"{e.fn} of {dtypes[0]} gives {e.dtype}: {expr_text(e)}")


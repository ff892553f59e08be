"""The whole loop IR on one page: buffers, views of them, scalar expressions, loops over them, and external calls.

Two levels share buffers and expressions. *Loops* (Map, Reduce, Scan, Scatter, Extern) are what graph nodes lower to:
one idea each, no order but that of the list. *Statements* (For, Fold, Let, Write ...) are what the scheduler makes of
them: kernels as loop trees, ready to print. A dtype is a torch.dtype; float16 and bfloat16 expressions are computed in
float32 and rounded by a Cast after each operation, as eager does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

import torch

from ..shapes.dim import Dim, Size

BufferId = int


@dataclass(frozen=True, slots=True)
class Buffer:
    """A block of memory of one dtype.

    space  input (index: the graph input's number), constant, arena (lives in the call's frame), output (a tensor that
           the call returns, or whose storage outlives it), row (scratch of one iteration of a kernel's outer loop)
    shape  sizes in elements; strides likewise. A buffer's extent is 1 + sum((size-1)*stride).
    """

    id: BufferId
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    space: str = "arena"
    index: int | None = None
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class View:
    """A strided window of a buffer: element (i0, i1, ...) is at offset + i0*strides[0] + i1*strides[1] + ..."""

    buffer: BufferId
    dtype: torch.dtype
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop variable running over 0..size-1. `id` is unique in the program; `name` is for people."""

    id: int
    size: Size
    name: str = field(default="i", compare=False)


# ------------------------------------------------------------------ scalar expressions
@dataclass(frozen=True, slots=True)
class Literal:
    value: int | float | bool | complex
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class SizeOf:
    """A run-time size (or any integer expression of symbols) as an int64 scalar."""

    size: Dim
    dtype: torch.dtype = torch.int64


@dataclass(frozen=True, slots=True)
class Index:
    """The current value of a loop axis, int64."""

    axis: Axis
    dtype: torch.dtype = torch.int64


@dataclass(frozen=True, slots=True)
class Load:
    """One element of a view at int64 index expressions. With `mask`, elements where it is false are `other`, unread."""

    view: View
    index: tuple["Expr", ...]
    mask: "Expr | None" = None
    other: Literal | None = None

    @property
    def dtype(self) -> torch.dtype:
        return self.view.dtype


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function from SCALAR_FUNCTIONS; `dtype` is the result's."""

    fn: str
    args: tuple["Expr", ...]
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Var:
    """A value named by a Let or Fold statement that encloses or precedes the use."""

    id: int
    dtype: torch.dtype


Expr = Union[Literal, SizeOf, Index, Load, Call, Var]

SCALAR_FUNCTIONS: dict[str, str] = {
    # arithmetic: operands and result have one dtype; integers wrap
    "add": "a+b", "sub": "a-b", "mul": "a*b", "neg": "-a", "abs": "|a|", "fma": "a*b+c, one rounding",
    "div": "a/b of floats", "floordiv": "torch's floor division (ints and floats)", "truncdiv": "C division of ints",
    "mod": "Python's modulo (torch.remainder)", "fmod": "C's fmod or %",
    "min": "NaN-propagating", "max": "NaN-propagating", "pow": "", "sign": "", "reciprocal": "", "rsqrt": "",
    "sqrt": "",
    "floor": "", "ceil": "", "trunc": "", "round": "half to even",
    # transcendental, of floats
    "exp": "", "exp2": "", "expm1": "", "log": "", "log2": "", "log1p": "", "sin": "", "cos": "", "tan": "", "tanh": "",
    "sigmoid": "", "erf": "", "atan2": "", "asin": "", "acos": "", "atan": "", "sinh": "", "cosh": "", "log10": "",
    # comparisons: result bool
    "eq": "", "ne": "", "lt": "", "le": "", "gt": "", "ge": "", "isnan": "", "isinf": "",
    # booleans and bits
    "and": "bitwise or logical by dtype", "or": "", "xor": "", "not": "logical on bool, bitwise on ints",
    "shl": "", "shr": "arithmetic for signed",
    # others
    "where": "cond, a, b", "cast": "to dtype, torch's conversion (float to int truncates; to bool: != 0)",
    "check_index": "i, n -> i wrapped once if negative; out of range sets the call's error flag and yields 0",
}


# ------------------------------------------------------------------ loops
@dataclass(frozen=True, slots=True)
class Map:
    """out[axes] = value. `out` has one dimension an axis, in order."""

    out: View
    axes: tuple[Axis, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Reduce:
    """out[axes] = combiner over reduce_axes of value. Combiners: sum prod min max any all argmin argmax.

    `acc` is the dtype accumulated in. argmin/argmax give the flat index over reduce_axes of the first extreme (NaN
    counts as extreme), int64. An empty reduction gives the combiner's neutral value.
    """

    out: View
    axes: tuple[Axis, ...]
    reduce_axes: tuple[Axis, ...]
    combiner: str
    value: Expr
    acc: torch.dtype


@dataclass(frozen=True, slots=True)
class Scan:
    """out[axes] = inclusive combine (sum prod max min) of value along `axis`, which is one of axes."""

    out: View
    axes: tuple[Axis, ...]
    axis: Axis
    combiner: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Scatter:
    """For each point of axes, in order: out[index] = value, or out[index] combine= value (sum prod min max)."""

    out: View
    axes: tuple[Axis, ...]
    index: tuple[Expr, ...]
    value: Expr
    combine: str | None = None


@dataclass(frozen=True, slots=True)
class Extern:
    """A call of something not written in loops. `kind` names an entry of the runtime's extern table.

    gemm     ins (a, b[, bias]), outs (c,): c = alpha * a @ b + bias; views of two dimensions, or three (batched; a
             batch stride of 0 broadcasts); any strides of which one is 1. params: alpha.
    others   (convolution, attention, sort ... and `opaque`): one row each in the runtime's table
    """

    kind: str
    ins: tuple[View, ...]
    outs: tuple[View, ...]
    params: tuple[tuple[str, object], ...] = ()
    can_raise: bool = False


Loop = Union[Map, Reduce, Scan, Scatter, Extern]


@dataclass(frozen=True, slots=True)
class Program:
    """What a graph lowers to. Loops are in an order that is correct to run; a buffer may have several writers."""

    buffers: tuple[Buffer, ...]
    loops: tuple[Loop, ...]
    origins: tuple[int, ...]
    """For each loop, the index of the torch-level call it came from."""
    outputs: tuple[View, ...]
    """Where each graph output is to be found; then, for each of the graph's mutations, the value to commit."""


# ------------------------------------------------------------------ statements: scheduled kernels
@dataclass(frozen=True, slots=True)
class Let:
    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Write:
    """One element of a view; with `combine`, an update (sum prod min max) of what is there."""

    view: View
    index: tuple[Expr, ...]
    value: Expr
    combine: str | None = None


@dataclass(frozen=True, slots=True)
class For:
    """A loop over one axis. mode: parallel (any order, over threads), vector (any order, in lanes), serial.

    The innermost parallel For is vectorised too if its body is straight-line (Lets and Writes only): a flat pointwise
    kernel is For(i, parallel){Let* Write+}, and its begin..end is cut into lanes. A vector For's body is straight-line,
    or holds Folds with vector=False (the lanes run over the For's axis, each fold point is a vector).
    """

    axis: Axis
    body: tuple["Stmt", ...]
    mode: str = "serial"


@dataclass(frozen=True, slots=True)
class Accumulator:
    """One result of a Fold: `var` = combiner over the fold's points of `value`, accumulated in var.dtype."""

    var: Var
    combiner: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction loop. Runs over all points of `axes` (the last one fastest); at each point does `body` (Lets and
    Writes), then feeds the accumulators. Afterwards the accumulators' vars are defined for the statements that follow.
    vector: the last axis may be split over vector lanes and the partial results combined in any order.
    """

    axes: tuple[Axis, ...]
    body: tuple["Stmt", ...]
    accumulators: tuple[Accumulator, ...]
    vector: bool = True


@dataclass(frozen=True, slots=True)
class Running:
    """A prefix loop over `axis` in order: at each point `var` = var combine value (at first neutral), then body."""

    axis: Axis
    var: Var
    combiner: str
    value: Expr
    body: tuple["Stmt", ...]


Stmt = Union[Let, Write, For, Fold, Running]


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function of machine code.

    body      statements; leading nested Fors of mode parallel form the range that threads share
    buffers   in the order of the kernel's pointer parameter; buffers of space "row" are not among them
    symbols   sizes that the body names, each a plain symbol or an expression computed by the runner, in the order of
              its size parameter
    rows      scratch buffers, private to a thread, with constant sizes or sizes from `symbols`
    reads/writes   which of `buffers` are read and written
    origins   torch-level calls fused in here
    """

    name: str
    body: tuple[Stmt, ...]
    buffers: tuple[Buffer, ...]
    symbols: tuple[Dim, ...]
    rows: tuple[Buffer, ...] = ()
    reads: tuple[BufferId, ...] = ()
    writes: tuple[BufferId, ...] = ()
    origins: tuple[int, ...] = ()
    can_raise: bool = False

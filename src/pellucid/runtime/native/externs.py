"""The native extern table: one row a kind, from an ExternStep to the words of a step.

A row returns the words of one or several native steps, one list each; None where it has no native way for these
dtypes or strides; then the kind's row of the reference table
runs, as a Python call on tensors over the same memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from ...ir.types import Extern, View
from ...schedule.types import ExternStep
from ...shapes.dim import Dim, Size, hint, product
from ...torchdoor.symbols import Unavailable, find
from . import records as R

if TYPE_CHECKING:
    from .table import TableBuilder

Row = Callable[["TableBuilder", Extern, dict[str, Any]], "list[list[int]] | list[int] | None"]
ROWS: dict[str, Row] = {}


def row(kind: str) -> Callable[[Row], Row]:
    def register(fn: Row) -> Row:
        ROWS[kind] = fn
        return fn
    return register


def extern_steps(t: "TableBuilder", step: ExternStep) -> list[list[int]]:
    """The native steps that do `step.extern`. Raises Unavailable for a kind that no table knows."""
    extern, params = step.extern, dict(step.extern.params)
    native = ROWS.get(extern.kind)
    words = native(t, extern, params) if native is not None else None
    if words is None:
        words = python_step(t, extern, params)
    return words if isinstance(words[0], list) else [words]  # type: ignore[list-item,return-value]


def python_step(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[int]:
    """The reference table's row for this kind, called with the GIL held."""
    from ..reference_externs import TABLE

    if extern.kind not in TABLE:
        raise Unavailable(f"extern kind {extern.kind!r} has neither a native row nor a reference row")
    fn = TABLE[extern.kind]

    def call(ins: tuple[torch.Tensor, ...], outs: tuple[torch.Tensor, ...]) -> None:
        with torch.no_grad():
            if torch.is_autocast_enabled("cpu"):
                # The graph has autocast's casts in it already.
                with torch.autocast("cpu", enabled=False):
                    fn(list(ins), list(outs), params)
            else:
                fn(list(ins), list(outs), params)

    t.held.append(call)
    t.python_steps += 1
    t.count(ns=5000)
    handles = [w for v in (*extern.ins, *extern.outs) for w in t.view_handle(v)]
    return [R.STEP_PYTHON, R.PYTHON_STEP.size // 8 + len(handles), id(call), len(extern.ins), len(extern.outs),
            *handles]


# ------------------------------------------------------------------ calls of the C shim
class ShimCall:
    """Collects the arguments of one C function, in order."""

    def __init__(self, t: "TableBuilder", symbol: str):
        self.t, self.symbol = t, symbol
        self.function = find(symbol)
        self.handles: list[list[int]] = []
        self.integers: list[int] = []
        self.returns: list[list[int]] = []
        self.doubles: list[int] = []

    def _integer(self, kind: int, payload: int) -> "ShimCall":
        self.integers += [kind, payload]
        return self

    def tensor(self, v: View) -> "ShimCall":
        self.handles.append(self.t.view_handle(v))
        return self._integer(R.TENSOR, len(self.handles) - 1)

    def optional_tensor(self, v: View | None) -> "ShimCall":
        """A tensor parameter that may be None: the shim takes a pointer to the handle."""
        if v is None:
            return self._integer(R.RAW, 0)
        self.handles.append(self.t.view_handle(v))
        return self._integer(R.TENSOR_POINTER, len(self.handles) - 1)

    def optional_integer(self, size: Size) -> "ShimCall":
        """An integer or bool parameter that may be None: the shim takes a pointer."""
        return self._integer(R.VALUES_POINTER, self.t.values.of(size))

    def integer(self, size: Size) -> "ShimCall":
        return self._integer(R.VALUE, self.t.values.of(size))

    def sizes(self, sizes: Any) -> "ShimCall":
        """A list of integers: pointer and length."""
        sizes = tuple(sizes)
        self._integer(R.VALUES_POINTER, self.t.values.run(sizes))
        return self._integer(R.VALUE, self.t.values.of(len(sizes)))

    def double(self, x: float) -> "ShimCall":
        from .table import bits

        self.doubles.append(bits(x))
        return self

    def optional_double(self, x: float | None) -> "ShimCall":
        from .table import bits

        if x is None:
            return self._integer(R.RAW, 0)
        # A value of its own, since the table of values is compared by integer equality.
        return self._integer(R.VALUES_POINTER, self.t.values.run((bits(x),)))

    def returns_to(self, v: View | None) -> "ShimCall":
        self.returns.append(self.t.return_record(v))
        return self._integer(R.RETURN_POINTER, len(self.returns) - 1)

    def words(self) -> list[int] | None:
        """None where this build of torch does not export the function."""
        from .emit_steps import MAX_DOUBLES, MAX_HANDLES, MAX_INTEGERS, MAX_RETURNS

        if self.function is None:
            return None
        n = len(self.integers) // 2
        if len(self.handles) > MAX_HANDLES or n > MAX_INTEGERS or len(self.returns) > MAX_RETURNS or len(
                self.doubles) > MAX_DOUBLES:
            raise Unavailable(f"{self.symbol} takes more arguments than the runner's call step has room for")
        body = [w for h in self.handles for w in h] + self.integers + [w for r in self.returns for w in r]
        body += self.doubles
        return [R.STEP_CALL, R.CALL_STEP.size // 8 + len(body), self.function, len(self.handles), n, len(self.returns),
                len(self.doubles), *body]


# ------------------------------------------------------------------ matrix products
def orientation(rows: Size, columns: Size, row_stride: Size, column_stride: Size) -> tuple[int, Size] | None:
    """(transposed, leading dimension) of a matrix as BLAS wants it, or None: 0 if its rows are contiguous, 1 if its
    columns are."""
    if column_stride == 1 or columns == 1:
        return (0, row_stride) if row_stride != 0 or rows == 1 else None
    if row_stride == 1 or rows == 1:
        return (1, column_stride) if column_stride != 0 else None
    return None


@row("gemm")
def gemm(t: "TableBuilder", extern: Extern, params: dict[str, Any]) -> list[int] | None:
    """c = alpha * a @ b + bias. float32 and float64 through BLAS; other dtypes through the shim's *_out operators."""
    a, b, c = extern.ins[0], extern.ins[1], extern.outs[0]
    bias = extern.ins[2] if len(extern.ins) > 2 else None
    alpha = params.get("alpha", 1)
    m, n, k = c.shape[-2], c.shape[-1], a.shape[-1]
    batch = c.shape[0] if len(c.shape) == 3 else 1
    flops = 2.0 * hint(product((batch, m, n, k)))
    t.count(flops, c.dtype.itemsize * hint(product((batch, n, k))), 500)
    words = _blas(t, a, b, c, bias, float(alpha), m, n, k, batch)
    return words if words is not None else _gemm_shim(t, a, b, c, bias, alpha)


def _blas(t: "TableBuilder", a: View, b: View, c: View, bias: View | None, alpha: float, m: Size, n: Size, k: Size,
          batch: Size) -> list[int] | None:
    if c.dtype not in (torch.float32, torch.float64):
        return None
    (am, ak), (bk, bn), (cm, cn) = a.strides[-2:], b.strides[-2:], c.strides[-2:]
    bias_strides = _broadcast_strides(bias, c) if bias is not None else (0, 0, 0)
    bias_row, bias_column = bias_strides[-2:]
    if not (cn == 1 or n == 1):
        if not (cm == 1 or m == 1):
            return None
        # The transposed product has contiguous rows.
        a, b = b, a
        (am, ak), (bk, bn), (cm, cn) = (bn, bk), (ak, am), (cn, cm)
        m, n = n, m
        bias_row, bias_column = bias_column, bias_row
    oa, ob = orientation(m, k, am, ak), orientation(k, n, bk, bn)
    if oa is None or ob is None or (cm == 0 and m != 1):
        return None
    if n == 1 and not isinstance(cm, Dim) and cm < 1:
        return None
    v = t.values
    double = c.dtype == torch.float64
    function = find("dgemm_" if double else "sgemm_")
    if function is None:
        return None
    contiguous_x = type(ak) is int and ak == 1 or type(k) is int and k == 1
    dot = not double and ob[0] == 1 and contiguous_x
    from .table import bits

    def batch_stride(x: View) -> Size:
        return x.strides[0] if len(x.shape) == 3 and x.shape[0] != 1 else 0

    words = [
        R.STEP_GEMM, R.GEMM_STEP.size // 8, function, c.dtype.itemsize, int(double), v.of(m), v.of(n), v.of(k),
        v.of(batch),
        t.slot(a.buffer), v.of(a.offset), v.of(batch_stride(a)), v.of(oa[1]), oa[0],
        t.slot(b.buffer), v.of(b.offset), v.of(batch_stride(b)), v.of(ob[1]), ob[0],
        t.slot(c.buffer), v.of(c.offset), v.of(batch_stride(c)), v.of(cm),
    ]
    if bias is None:
        words += [-1, 0, 0, 0, 0]
    else:
        words += [t.slot(bias.buffer), v.of(bias.offset), v.of(bias_strides[0]), v.of(bias_row), v.of(bias_column)]
    return [*words, bits(alpha), int(dot)]


def _broadcast_strides(x: View, to: View) -> tuple[Size, ...]:
    """x's strides as a view of to's shape with a batch dimension in front, by torch's broadcasting rules."""
    strides = [0 if type(s) is int and s == 1 else st for s, st in zip(x.shape, x.strides)]
    return tuple([0] * (3 - len(strides)) + strides)


def _gemm_shim(t: "TableBuilder", a: View, b: View, c: View, bias: View | None, alpha: Any) -> list[int] | None:
    batched = len(c.shape) == 3
    if bias is None and alpha == 1:
        return ShimCall(t, f"aoti_torch_cpu_{'bmm' if batched else 'mm'}_out").tensor(c).tensor(_like(a, c)).tensor(
            _like(b, c)).words()
    if batched:
        return None
    seed = View(bias.buffer, bias.dtype, c.shape, _broadcast_strides(bias, c)[-2:],
                bias.offset) if bias is not None else c
    return ShimCall(t, "aoti_torch_cpu_addmm_out").tensor(c).tensor(seed).tensor(a).tensor(b).double(
        1.0 if bias is not None else 0.0).double(float(alpha)).words()


def _like(x: View, c: View) -> View:
    """x with the batch dimension of c (bmm does not broadcast)."""
    if len(x.shape) == len(c.shape) and x.shape[0] == c.shape[0] or len(c.shape) == 2:
        return x
    rest = (x.shape[-2:], x.strides[-2:])
    return View(x.buffer, x.dtype, (c.shape[0], *rest[0]), (0, *rest[1]), x.offset)


from . import extern_rows  # noqa: E402,F401  (fills ROWS)

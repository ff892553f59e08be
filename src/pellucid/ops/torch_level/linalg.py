"""Products of matrices: matmul in all rank cases, linear, addmm, bmm, einsum, outer, dot ..."""

from __future__ import annotations

from typing import Any

import torch

from ...graph.build import GraphBuilder, Val
from ...shapes.dim import Size, product
from ..errors import Unsupported, WouldRaise
from .args import broadcast_shapes, need_tensor, reject_out, same_shape, wrap_dim
from .declare import expansion
from .views import to_shape, view_strides


def _one_dtype(*xs: Val) -> None:
    if len({x.meta.dtype for x in xs}) > 1:
        raise WouldRaise(f"expected matrices of one dtype, got {[str(x.meta.dtype) for x in xs]}")


def _inner(b: GraphBuilder, k: Size, j: Size) -> None:
    if k != j and not b.env.same(k, j):
        raise WouldRaise(f"matrices cannot be multiplied: inner sizes {k} and {j} differ")


@expansion("mm")
def mm(b: GraphBuilder, input: Val, mat2: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(mat2, "mat2")
    if x.ndim != 2 or y.ndim != 2:
        raise WouldRaise("mm: both operands must be matrices")
    _one_dtype(x, y)
    _inner(b, x.meta.shape[1], y.meta.shape[0])
    return b.emit("mm", x, y)


@expansion("bmm")
def bmm(b: GraphBuilder, input: Val, mat2: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(mat2, "mat2")
    if x.ndim != 3 or y.ndim != 3:
        raise WouldRaise("bmm: both operands must be 3-D")
    _one_dtype(x, y)
    _inner(b, x.meta.shape[2], y.meta.shape[1])
    if not b.env.same(x.meta.shape[0], y.meta.shape[0]):
        raise WouldRaise("bmm: batch sizes differ")
    return b.emit("bmm", x, y)


@expansion("mv")
def mv(b: GraphBuilder, input: Val, vec: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, v = need_tensor(input), need_tensor(vec, "vec")
    return b.emit("mv", x, v)


@expansion("dot", "vdot")
def dot(b: GraphBuilder, input: Val, tensor: Any = None, *, other: Any = None, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(other if tensor is None else tensor, "tensor")
    return b.emit("dot", x, y)


@expansion("outer", "ger")
def outer(b: GraphBuilder, input: Val, vec2: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(vec2, "vec2")
    if x.ndim != 1 or y.ndim != 1:
        raise WouldRaise("outer: 1-D tensors expected")
    return b.emit("mul", b.emit("unsqueeze", x, 1), y)


@expansion("matmul", "linalg.matmul", "op.matmul", "Tensor.__matmul__")
def matmul(b: GraphBuilder, input: Val, other: Val, *, out: Any = None) -> Val:
    """All rank cases of torch.matmul. Where one operand is at most a matrix and folding the other's batch into its
    rows needs no copy, one mm does it; else a bmm over the broadcast batch."""
    reject_out(out)
    x, y = need_tensor(input), need_tensor(other, "other")
    if not x.ndim or not y.ndim:
        raise WouldRaise("both arguments to matmul need to be at least 1D")
    _one_dtype(x, y)
    if x.ndim <= 2 and y.ndim <= 2:
        _inner(b, x.meta.shape[-1], y.meta.shape[0])
        if x.ndim == 1 and y.ndim == 1:
            return b.emit("dot", x, y)
        if x.ndim == 1:
            return b.emit("squeeze", b.emit("mm", b.emit("unsqueeze", x, 0), y), (0,))
        if y.ndim == 1:
            return b.emit("mv", x, y)
        return b.emit("mm", x, y)
    _inner(b, x.meta.shape[-1], y.meta.shape[-2 if y.ndim > 1 else 0])
    if x.ndim == 1:
        return matmul(b, b.emit("transpose", y, -2, -1), x)
    if y.ndim <= 2:
        rows = _rows(b, x)
        if rows is not None:
            return b.emit("view", b.emit("mm" if y.ndim == 2 else "mv", rows, y), x.meta.shape[:-1] + y.meta.shape[1:])
    right = b.emit("unsqueeze", y, 1) if y.ndim == 1 else y
    batch = broadcast_shapes(b, x.meta.shape[:-2], right.meta.shape[:-2])
    p = b.emit("bmm", _batched(b, x, batch), _batched(b, right, batch))
    return b.emit("view", p, batch + x.meta.shape[-2:-1] + (y.meta.shape[-1:] if y.ndim > 1 else ()))


def _rows(b: GraphBuilder, x: Val) -> Val | None:
    """x with all but its last dimension made one, where that needs no copy."""
    shape = (product(x.meta.shape[:-1]), x.meta.shape[-1])
    return None if view_strides(b, x, shape) is None else b.emit("view", x, shape)


def _batched(b: GraphBuilder, x: Val, batch: tuple[Size, ...]) -> Val:
    """x with its batch dimensions broadcast to `batch` and made one."""
    tail = x.meta.shape[-2:]
    if not same_shape(b, x.meta.shape[:-2], batch):
        x = b.emit("expand", x, batch + tail)
    return to_shape(b, x, (product(batch), *tail)) if len(batch) != 1 else x


@expansion("Tensor.__rmatmul__")
def rmatmul(b: GraphBuilder, input: Val, other: Val) -> Val:
    return matmul(b, other, input)


@expansion("F.linear", "aten.linear")
def linear(b: GraphBuilder, input: Val, weight: Val, bias: Val | None = None) -> Val:
    x, w = need_tensor(input), need_tensor(weight, "weight")
    if w.ndim not in (1, 2) or not x.ndim:
        raise WouldRaise("linear: input must have at least 1 dimension, weight 1 or 2")
    _one_dtype(x, w, *([bias] if bias is not None else []))
    _inner(b, x.meta.shape[-1], w.meta.shape[-1])
    if w.ndim == 1:
        y = matmul(b, x, w)
        return y if bias is None else b.emit("add", y, bias)
    return b.emit("linear", x, w, bias)


@expansion("F.bilinear", "torch.bilinear")
def bilinear(b: GraphBuilder, input1: Val, input2: Val, weight: Val, bias: Val | None = None) -> Val:
    x, y, w = need_tensor(input1, "input1"), need_tensor(input2, "input2"), need_tensor(weight, "weight")
    spread = einsum(b, "...i,oij,...j->...o", x, w, y)
    return spread if bias is None else b.emit("add", spread, bias)


def _scalars_fit(x: Val, *scalars: Any) -> None:
    if not x.meta.dtype.is_floating_point and any(isinstance(s, float) for s in scalars):
        raise Unsupported("beta or alpha that is a float beside integer tensors", "pass integers")


def _accumulated(b: GraphBuilder, input: Val, product_: Val, beta: Any, alpha: Any) -> Val:
    _scalars_fit(product_, beta, alpha)
    if alpha != 1:
        product_ = b.emit("mul", product_, alpha)
    if beta == 0:
        return product_
    return b.emit("add", product_, input if beta == 1 else b.emit("mul", input, beta))


@expansion("addmm", inplace="Tensor.addmm_")
def addmm(b: GraphBuilder, input: Val, mat1: Val, mat2: Val, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    c, x, y = need_tensor(input), need_tensor(mat1, "mat1"), need_tensor(mat2, "mat2")
    if x.ndim != 2 or y.ndim != 2:
        raise WouldRaise("addmm: mat1 and mat2 must be matrices")
    _one_dtype(c, x, y)
    _inner(b, x.meta.shape[1], y.meta.shape[0])
    broadcast = broadcast_shapes(b, c.meta.shape, (x.meta.shape[0], y.meta.shape[1]))
    if not same_shape(b, broadcast, (x.meta.shape[0], y.meta.shape[1])):
        raise WouldRaise("addmm: input does not broadcast to the product")
    return b.emit("addmm", c, x, y, beta, alpha)


@expansion("baddbmm", inplace="Tensor.baddbmm_")
def baddbmm(b: GraphBuilder, input: Val, batch1: Val, batch2: Val, *, beta: Any = 1, alpha: Any = 1,
            out: Any = None) -> Val:
    reject_out(out)
    c, x, y = need_tensor(input), need_tensor(batch1, "batch1"), need_tensor(batch2, "batch2")
    return b.emit("baddbmm", c, x, y, beta, alpha)


@expansion("addmv", inplace="Tensor.addmv_")
def addmv(b: GraphBuilder, input: Val, mat: Val, vec: Val, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    return _accumulated(b, need_tensor(input), mv(b, mat, vec), beta, alpha)


@expansion("addr", inplace="Tensor.addr_")
def addr(b: GraphBuilder, input: Val, vec1: Val, vec2: Val, *, beta: Any = 1, alpha: Any = 1, out: Any = None) -> Val:
    reject_out(out)
    if torch.bool in (need_tensor(input).meta.dtype, need_tensor(vec1).meta.dtype, need_tensor(vec2).meta.dtype):
        raise Unsupported("addr of bool tensors", "convert the operands to an integer dtype")
    return _accumulated(b, input, outer(b, vec1, vec2), beta, alpha)


@expansion("addbmm", inplace="Tensor.addbmm_")
def addbmm(b: GraphBuilder, input: Val, batch1: Val, batch2: Val, *, beta: Any = 1, alpha: Any = 1,
           out: Any = None) -> Val:
    reject_out(out)
    total = b.emit("sum", bmm(b, batch1, batch2), (0,), False, None)
    return _accumulated(b, need_tensor(input), total, beta, alpha)


@expansion("kron")
def kron(b: GraphBuilder, input: Val, other: Val, *, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(other, "other")
    n = max(x.ndim, y.ndim)
    xs = (1,) * (n - x.ndim) + x.meta.shape
    ys = (1,) * (n - y.ndim) + y.meta.shape
    left = to_shape(b, x, tuple(v for s in xs for v in (s, 1)))
    right = to_shape(b, y, tuple(v for s in ys for v in (1, s)))
    return to_shape(b, b.emit("mul", left, right), tuple(i * j for i, j in zip(xs, ys)))


@expansion("linalg.cross", "torch.cross", "Tensor.cross")
def cross(b: GraphBuilder, input: Val, other: Val, dim: Any = -1, *, out: Any = None) -> Val:
    reject_out(out)
    x, y = need_tensor(input), need_tensor(other, "other")
    if dim is None:
        raise Unsupported("cross without dim", "pass dim")
    d = wrap_dim(dim, x.ndim)
    if not b.env.same(x.meta.shape[d], 3) or not b.env.same(y.meta.shape[d], 3):
        raise WouldRaise("cross: the dimension must have length 3")
    a, c = [[b.emit("select", v, d, i) for i in range(3)] for v in (x, y)]
    parts = [b.emit("sub", b.emit("mul", a[i], c[j]), b.emit("mul", a[j], c[i])) for i, j in ((1, 2), (2, 0), (0, 1))]
    return b.emit("stack", tuple(parts), d)


@expansion("tensordot")
def tensordot(b: GraphBuilder, a: Val, b_: Any = None, dims: Any = 2, out: Any = None, **kwargs: Any) -> Val:
    reject_out(out)
    x, y = need_tensor(a, "a"), need_tensor(kwargs.get("b", b_), "b")
    if isinstance(dims, int):
        left, right = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    else:
        left, right = ([d] if isinstance(d, int) else list(d) for d in dims)
    left, right = [wrap_dim(d, x.ndim) for d in left], [wrap_dim(d, y.ndim) for d in right]
    for i, j in zip(left, right):  # a dimension of size 1 broadcasts: the other side is summed first
        if x.meta.shape[i] == y.meta.shape[j]:
            continue
        if b.env.same(x.meta.shape[i], 1):
            y = b.emit("sum", y, (j,), True, None)
        elif b.env.same(y.meta.shape[j], 1):
            x = b.emit("sum", x, (i,), True, None)
        _inner(b, x.meta.shape[i], y.meta.shape[j])
    free_x = [d for d in range(x.ndim) if d not in left]
    free_y = [d for d in range(y.ndim) if d not in right]
    k = product([x.meta.shape[d] for d in left])
    rows, cols = [x.meta.shape[d] for d in free_x], [y.meta.shape[d] for d in free_y]
    m = b.emit("mm", to_shape(b, b.emit("permute", x, tuple(free_x + left)), (product(rows), k)),
               to_shape(b, b.emit("permute", y, tuple(right + free_y)), (k, product(cols))))
    return b.emit("view", m, tuple(rows + cols))


# ------------------------------------------------------------------ einsum
def _terms(equation: str, operands: list[Val]) -> tuple[list[list[str]], list[str]]:
    """The subscripts of each operand and of the result as lists of names; an ellipsis stands for .0 .1 ..."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    inputs = left.split(",")
    if len(inputs) != len(operands):
        raise WouldRaise("einsum(): the number of subscripts and of operands differ")
    widest = 0
    for sub, x in zip(inputs, operands):
        letters = len(sub.replace("...", ""))
        if "..." in sub:
            widest = max(widest, x.ndim - letters)
        if letters > x.ndim or ("..." not in sub and letters != x.ndim):
            raise WouldRaise(f"einsum(): subscripts {sub!r} do not fit an operand of {x.ndim} dimensions")

    def names(sub: str, count: int) -> list[str]:
        head, dots, tail = sub.partition("...")
        return [*head, *[f".{i}" for i in range(widest - count, widest)], *tail] if dots else [*head]
    lists = [names(s, x.ndim - len(s.replace("...", ""))) for s, x in zip(inputs, operands)]
    if arrow:
        return lists, names(right, widest)
    flat = [n for ns in lists for n in ns]
    letters_once = sorted(n for n in set(flat) if n[0] != "." and flat.count(n) == 1)
    return lists, [f".{i}" for i in range(widest)] + letters_once


@expansion("torch.einsum")
def einsum(b: GraphBuilder, equation: Any, *operands: Any) -> Val:
    """Pairwise from the left: indices of both that are not needed later are contracted by one bmm."""
    if not isinstance(equation, str):
        raise Unsupported("einsum with sublists", "use the string form")
    ts = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
    xs = [need_tensor(x, "operands") for x in ts]
    subs, result = _terms(equation, xs)
    for i, names in enumerate(subs):
        xs[i], subs[i] = _diagonals(b, xs[i], names)
    letters = sorted({n for ns in subs for n in ns if n not in result})
    rank = {n: i for i, n in enumerate([*result, *letters])}
    x, names = xs[0], subs[0]
    for k in range(1, len(xs)):
        later = set(result).union(*subs[k + 1:])
        x, names = _contract(b, x, names, xs[k], subs[k], later, rank)
    extra = tuple(i for i, n in enumerate(names) if n not in result)
    if extra:
        x = b.emit("sum", x, extra, False, None)
        names = [n for n in names if n in result]
    return b.emit("permute", x, tuple(names.index(n) for n in result))


def _diagonals(b: GraphBuilder, x: Val, names: list[str]) -> tuple[Val, list[str]]:
    names = list(names)
    for n in list(dict.fromkeys(names)):
        while names.count(n) > 1:
            i = names.index(n)
            j = names.index(n, i + 1)
            x = b.emit("diagonal", x, 0, i, j)
            names = [m for k, m in enumerate(names) if k not in (i, j)] + [n]
    return x, names


def _contract(b: GraphBuilder, x: Val, xn: list[str], y: Val, yn: list[str], later: set[str],
              rank: dict[str, int]) -> tuple[Val, list[str]]:
    """The product of two operands, summed over what they share and `later` does not hold. Without such an index it is
    elementwise. `rank` orders the dimensions as eager does: the result's first."""
    sizes: dict[str, Size] = {}
    for v, ns in ((x, xn), (y, yn)):
        for n, s in zip(ns, v.meta.shape):
            have = sizes.get(n, 1)
            sizes[n] = broadcast_shapes(b, (have,), (s,))[0]
    reduced = []
    for v, ns, other in ((x, xn, yn), (y, yn, xn)):  # indices of one operand only that nothing needs: sum them first
        gone = tuple(i for i, n in enumerate(ns) if n not in other and n not in later)
        if gone:
            v = b.emit("sum", v, gone, False, None)
            ns = [n for i, n in enumerate(ns) if i not in gone]
        reduced.append((v, ns))
    (x, xn), (y, yn) = reduced
    both = sorted([n for n in xn if n in yn], key=rank.__getitem__)
    batch = [n for n in both if n in later]
    inner = [n for n in both if n not in later]
    left, right = (sorted([n for n in ns if n not in both], key=rank.__getitem__) for ns in (xn, yn))
    if not inner:
        names = sorted([*batch, *left, *right], key=rank.__getitem__)
        return b.emit("mul", _aligned(b, x, xn, names), _aligned(b, y, yn, names)), names
    x = _arranged(b, x, xn, (batch, left, inner), sizes)
    y = _arranged(b, y, yn, (batch, inner, right), sizes)
    out = b.emit("bmm", x, y)
    names = batch + left + right
    return b.emit("view", out, tuple(sizes[n] for n in names)), names


def _aligned(b: GraphBuilder, x: Val, have: list[str], names: list[str]) -> Val:
    """x permuted to the order of `names`, with a dimension of size 1 for each name that it lacks."""
    x = b.emit("permute", x, tuple(have.index(n) for n in names if n in have))
    for d, n in enumerate(names):
        if n not in have:
            x = b.emit("unsqueeze", x, d)
    return x


def _arranged(b: GraphBuilder, x: Val, names: list[str], groups: tuple[list[str], ...], sizes: dict[str, Size]) -> Val:
    """x permuted into the groups, each made one dimension; shared dimensions of size 1 are broadcast."""
    order = [n for g in groups for n in g]
    x = b.emit("permute", x, tuple(names.index(n) for n in order))
    want = tuple(sizes[n] for n in order)
    if not same_shape(b, want, x.meta.shape):
        x = b.emit("expand", x, want)
    return to_shape(b, x, tuple(product([sizes[n] for n in g]) for g in groups))


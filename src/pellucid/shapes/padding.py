"""Whether padding a size at its end can change what is kept: each core operator is asked where it mixes positions.

A padded dimension is one whose size contains a symbol of a padded input. An operator is harmless when element i of
each padded dimension of a result depends only on elements 0..i of that dimension of its operands; then the first n
elements are what they would be without padding, up to the rounding of library kernels that choose by size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..graph.types import Graph, Node, Ref, TensorMeta
from ..ops.registry import OPS
from .dim import Dim, Size, Sym, product, symbols
from .env import SizeGuard

Where = frozenset[Sym]
Rule = Callable[[Node, list[TensorMeta], Where], "str | None"]
"""rule(node, metas of its tensor operands in order, padded symbols) -> why the node mixes positions, or None."""


class Mixes(Exception):
    """Padding would change the result; says which operation and why."""

    def __init__(self, why: str, call: int | None = None):
        self.why, self.call = why, call
        super().__init__(why)


def depends(size: Any, pad: Where) -> bool:
    return type(size) is Dim and bool(symbols(size) & pad)


def padded(meta: TensorMeta, pad: Where) -> list[int]:
    """The padded dimensions of a tensor."""
    return [i for i, s in enumerate(meta.shape) if depends(s, pad)]


def check(graph: Graph, pad: Where) -> dict[int, dict[int, Sym]]:
    """Output number -> dimension -> the symbol whose true size it is cut to. Raises Mixes."""
    for g in graph.size_guards:
        _guard(g, pad)
    if graph.mutations:
        raise Mixes("an input is written")
    for n in graph.nodes:
        _node(graph, n, pad)
    inputs = {g.value for g in graph.inputs if isinstance(g.meta, TensorMeta) and padded(g.meta, pad)}
    owners = [graph.roots.get(v, v) for v in dict.fromkeys(graph.outputs)]
    cuts: dict[int, dict[int, Sym]] = {}
    for number, v in enumerate(graph.outputs):
        meta = graph.metas[v]
        if not isinstance(meta, TensorMeta):
            raise Mixes("the result is a number")
        if graph.roots.get(v, v) in inputs:
            raise Mixes("a result is a view of a padded input")
        if dims := padded(meta, pad):
            if owners.count(graph.roots.get(v, v)) > 1:
                raise Mixes("results share memory")
            cuts[number] = {i: _symbol(meta.shape[i]) for i in dims}
    return cuts


def _symbol(size: Size) -> Sym:
    (sym,) = symbols(size)
    return sym


def _guard(g: SizeGuard, pad: Where) -> None:
    """A condition on a padded size must hold of every smaller one, too, or be an equation of two sizes."""
    if not (symbols(g.lhs) | symbols(g.rhs)) & pad:
        return
    if g.op in ("<", "<=") and type(g.rhs) is int and isinstance(g.lhs, Dim) and len(g.lhs.terms) == 1 \
            and g.lhs.terms[0][1] > 0:
        return
    if g.op == "==" and _plain(g.lhs) and _plain(g.rhs):
        return
    operation = getattr(g.cause, "operation", None) or "a decision on sizes"
    where = getattr(g.cause, "where", None)
    raise Mixes(f"{operation} demands {g}" + (f" at {where}" if where else ""))


def _plain(size: Size) -> bool:
    """Exactly one symbol."""
    return type(size) is Dim and len(size.terms) == 1 and size.terms[0][1] == 1 and len(size.terms[0][0]) == 1 \
        and isinstance(size.terms[0][0][0], Sym)


def _node(graph: Graph, n: Node, pad: Where) -> None:
    operands = [graph.metas[v] for v in refs(n.args)]
    tensors = [m for m in operands if isinstance(m, TensorMeta)]
    touched = any(padded(m, pad) for m in (*tensors, *n.metas))
    numbers = any(depends(a, pad) for a in flat(n.args))
    if not touched and not numbers:
        return
    for m in n.metas:
        for i in padded(m, pad):
            if not _plain(m.shape[i]):
                raise Mixes(f"{n.op} makes a dimension of size {m.shape[i]}", n.call)
    if OPS[n.op].rng:
        raise Mixes(f"{n.op} draws random numbers, as many as there are elements", n.call)
    rule = RULES.get(n.op)
    if rule is None:
        raise Mixes(f"{n.op} may mix positions", n.call)
    if numbers and n.op not in TAKES_SIZES:
        raise Mixes(f"{n.op} computes with the size", n.call)
    why = rule(n, tensors, pad)
    if why is not None:
        raise Mixes(why, n.call)


def refs(args: Any) -> list[int]:
    """The values that operands refer to, in order."""
    if isinstance(args, Ref):
        return [args.value]
    return [v for a in args for v in refs(a)] if isinstance(args, (tuple, list)) else []


def flat(args: Any) -> list[Any]:
    return [v for a in args for v in flat(a)] if isinstance(args, (tuple, list)) else [args]


# ------------------------------------------------------------------ rules
def _never(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    return None


def _along(position: int, what: str) -> Rule:
    """Mixes along the dimensions that parameter number `position` names (all, where it is None)."""
    def rule(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
        x = xs[0]
        dims = n.args[position]
        named = range(x.ndim) if dims is None or dims == () else (dims,) if type(dims) is int else dims
        bad = {d % max(x.ndim, 1) for d in named} & set(padded(x, pad))
        return f"{n.op} {what} dimension {min(bad)}, which is padded" if bad else None
    return rule


def _last(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    """Normalisation over the trailing dimensions."""
    x, shape = xs[0], n.args[1]
    count = len(shape) if isinstance(shape, tuple) else 1
    return f"{n.op} normalises over a padded dimension" if any(i >= x.ndim - count for i in padded(x, pad)) else None


def _matrix(first: int) -> Rule:
    """Products of matrices: operands number `first` and the next, contracted over the inner dimension."""
    def rule(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
        a, b = xs[first], xs[first + 1]
        inner = {a.ndim - 1} & set(padded(a, pad)) or {max(b.ndim - 2, 0)} & set(padded(b, pad))
        return f"{n.op} sums over a padded dimension" if inner else None
    return rule


def _linear(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    x, weights = xs[0], xs[1:]
    if any(padded(w, pad) for w in weights):
        return "linear has a padded weight"
    return "linear sums over a padded dimension" if x.ndim - 1 in padded(x, pad) else None


def _rows(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    """Only the batch, dimension 0 of the first operand, may be padded."""
    if any(padded(w, pad) for w in xs[1:]) or set(padded(xs[0], pad)) - {0}:
        return f"{n.op} mixes positions of every dimension but the batch"
    return None


def _embedding(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    return "embedding looks up in a padded table" if padded(xs[0], pad) else None


def _view(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    """A padded dimension keeps what lies before and behind it."""
    x, y = xs[0], n.metas[0]
    a, b = padded(x, pad), padded(y, pad)
    aligned = len(a) == len(b) and all(
        x.shape[i] == y.shape[j] and product(x.shape[:i]) == product(y.shape[:j]) for i, j in zip(a, b))
    return None if aligned else "view merges or splits a padded dimension"


def _slice(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    x, dim, start = xs[0], n.args[1] % xs[0].ndim, n.args[2]
    whole = start in (None, 0) and n.args[4] == 1
    if dim in padded(x, pad):
        return None if whole and n.metas[0].shape[dim] == x.shape[dim] else "slice takes a part of a padded dimension"
    return None if whole or dim not in padded(n.metas[0], pad) else "slice starts at a place that depends on the size"


def _select(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    dim, index = n.args[1] % xs[0].ndim, n.args[2]
    if dim not in padded(xs[0], pad):
        return None
    return None if type(index) is int and index in (0, 1) else "select takes one place of a padded dimension"


def _attention(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    q, k, v = xs[:3]
    bound = dict(zip((p for p, _ in OPS[n.op].params), n.args))
    keys = (set(padded(k, pad)) | set(padded(v, pad))) & {k.ndim - 2, k.ndim - 1}
    features = q.ndim - 1 in padded(q, pad)
    if features or any(padded(m, pad) for m in xs[3:]):
        return "attention has a padded mask or width"
    if not keys:
        return None
    causal = bound.get("is_causal") is True and q.shape[-2] == k.shape[-2]
    return None if causal and k.ndim - 1 not in keys else "attention looks at padded keys"


def _arange(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    return "arange starts at, or steps by, the size" if depends(n.args[0], pad) or depends(n.args[2], pad) else None


def _full(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
    return "full fills with the size" if depends(n.args[1], pad) else None


def _untouched(*positions: int) -> Rule:
    """Changes only the dimensions named by these parameters, which must not be padded."""
    def rule(n: Node, xs: list[TensorMeta], pad: Where) -> str | None:
        named = {d % xs[0].ndim for p in positions for d in flat(n.args[p]) if type(d) is int}
        return f"{n.op} rearranges a padded dimension" if named & set(padded(xs[0], pad)) else None
    return rule


POINTWISE = frozenset("""
    abs acos acosh add addcdiv addcmul asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or
    bitwise_right_shift bitwise_xor ceil clamp clone cos cosh div elu eq erf exp exp2 expm1 floor floordiv fmax fmin
    fmod frac ge gelu gt hardshrink hardsigmoid hardswish hardtanh isfinite isinf isnan le leaky_relu lerp log log10
    log1p log2 log_sigmoid logical_and logical_not logical_or logical_xor lt masked_fill maximum minimum mish mul
    nan_to_num ne neg one_hot pow prelu_scale reciprocal relu relu6 remainder round rsqrt sigmoid sign signbit silu sin
    sinh softplus softshrink sqrt square sub tan tanh threshold to_dtype truncdiv trunc where alias
""".split())
TAKES_SIZES = frozenset(("view", "expand", "full", "arange", "slice"))
"""Operators whose size arguments say the shape of the result, not its values."""

RULES: dict[str, Rule] = {
    **dict.fromkeys(POINTWISE, _never),
    **dict.fromkeys("permute transpose unsqueeze expand tril triu eye cumsum cumprod".split(), _never),
    **{name: _along(1, "reduces over") for name in ("sum", "mean", "amax", "amin", "all", "any", "prod", "argmax",
                                                    "argmin", "max_dim", "min_dim", "logsumexp", "std", "var",
                                                    "std_mean", "var_mean", "aminmax", "softmax", "log_softmax",
                                                    "sort")},
    "topk": _along(2, "sorts along"), "norm": _along(2, "reduces over"),
    "layer_norm": _last, "native_layer_norm": _last, "rms_norm": _last,
    "mm": _matrix(0), "bmm": _matrix(0), "addmm": _matrix(1), "baddbmm": _matrix(1), "linear": _linear,
    "convolution": _rows, "max_pool": _rows, "avg_pool": _rows, "adaptive_avg_pool": _rows, "adaptive_max_pool": _rows,
    "group_norm": _rows, "native_group_norm": _rows, "batch_norm": _rows, "upsample_nearest": _rows,
    "upsample_linear": _rows, "embedding": _embedding, "view": _view, "slice": _slice, "select": _select,
    "scaled_dot_product_attention": _attention, "arange": _arange, "full": _full,
    "squeeze": _untouched(1), "flip": _untouched(1), "roll": _untouched(2), "cat": _untouched(1),
    "split": _untouched(2),
}

"""Random graphs of pointwise operations, views and reductions: program, kernels and plan agree with eager."""

import torch
import torch.nn.functional as F
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from .differential import check

UNARY = [torch.neg, torch.tanh, torch.exp, torch.relu, torch.sigmoid, torch.abs, torch.cos]
BINARY = [torch.add, torch.sub, torch.mul, torch.maximum, torch.minimum]
REDUCE = [torch.sum, torch.mean, torch.amax, torch.amin]
SHAPES = [(6,), (4, 6), (2, 4, 6), (1, 6), (4, 1), (2, 1, 6), (3, 5, 4)]


def broadcasts(a, b):
    return all(x == y or x == 1 or y == 1 for x, y in zip(reversed(a), reversed(b)))


@st.composite
def recipes(draw):
    """(input shapes, steps, outputs); a step is (kind, what, operand numbers, detail), chosen so that it is valid."""
    shapes = draw(st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3))
    known = list(shapes)
    steps = []
    for _ in range(draw(st.integers(5, 16))):
        kind = draw(st.sampled_from(["unary", "unary", "binary", "binary", "reduce", "softmax", "norm", "transpose",
                                     "flatten", "narrow", "flip", "cat", "expand", "gather", "where", "cumsum",
                                     "matmul"]))
        i = len(known) - 1 - draw(st.integers(0, min(3, len(known) - 1)))
        s = known[i]
        dim = draw(st.integers(0, len(s) - 1)) if s else 0
        if kind == "unary":
            steps.append((kind, draw(st.integers(0, len(UNARY) - 1)), (i,), None))
            new = s
        elif kind in ("binary", "where"):
            fits = [j for j, t in enumerate(known) if broadcasts(s, t)]
            j = draw(st.sampled_from(fits))
            steps.append((kind, draw(st.integers(0, len(BINARY) - 1)), (i, j), None))
            new = tuple(torch.broadcast_shapes(s, known[j]))
        elif not s:
            continue
        elif kind == "reduce":
            keep = draw(st.booleans())
            steps.append((kind, draw(st.integers(0, len(REDUCE) - 1)), (i,), (dim, keep)))
            new = s[:dim] + ((1,) if keep else ()) + s[dim + 1:]
        elif kind == "matmul":
            steps.append((kind, 0, (i,), None))
            new = s
        elif kind in ("softmax", "flip", "cumsum"):
            steps.append((kind, 0, (i,), dim))
            new = s
        elif kind == "norm":
            steps.append((kind, 0, (i,), s[-1:]))
            new = s
        elif kind == "transpose":
            other = draw(st.integers(0, len(s) - 1))
            steps.append((kind, 0, (i,), (dim, other)))
            t = list(s)
            t[dim], t[other] = t[other], t[dim]
            new = tuple(t)
        elif kind == "flatten":
            steps.append((kind, 0, (i,), None))
            new = (torch.Size(s).numel(),)
        elif kind == "narrow":
            start = draw(st.integers(0, s[dim] - 1))
            length = draw(st.integers(1, s[dim] - start))
            steps.append((kind, 0, (i,), (dim, start, length)))
            new = s[:dim] + (length,) + s[dim + 1:]
        elif kind == "cat":
            fits = [j for j, t in enumerate(known)
                    if len(t) == len(s) and t[:dim] == s[:dim] and t[dim + 1:] == s[dim + 1:]]
            j = draw(st.sampled_from(fits))
            steps.append((kind, 0, (i, j), dim))
            new = s[:dim] + (s[dim] + known[j][dim],) + s[dim + 1:]
        elif kind == "gather":
            index = draw(st.lists(st.integers(0, s[dim] - 1), min_size=1, max_size=5))
            steps.append((kind, 0, (i,), (dim, tuple(index))))
            new = s[:dim] + (len(index),) + s[dim + 1:]
        else:
            new = (3, *s)
            steps.append((kind, 0, (i,), new))
        if torch.Size(new).numel() > 1000:
            steps.pop()
            continue
        known.append(new)
    n = len(known)
    outputs = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    return shapes, steps, [*outputs, n - 1]


def build(recipe):
    shapes, steps, outputs = recipe
    indices = [d[1] for k, _, _, d in steps if k == "gather"]

    def fn(f, *inputs):
        values = list(inputs[:len(shapes)])
        given_index = iter(inputs[len(shapes):])
        for kind, what, operands, detail in steps:
            xs = [values[o] for o in operands]
            x = xs[0]
            if kind == "unary":
                y = f(UNARY[what], f(torch.clamp, x, -3.0, 3.0))
            elif kind == "binary":
                y = f(BINARY[what], x, xs[1])
            elif kind == "where":
                y = f(torch.where, f(torch.gt, x, xs[1]), x, f(torch.mul, xs[1], 0.5))
            elif kind == "reduce":
                y = f(REDUCE[what], x, detail[0], detail[1])
            elif kind == "matmul":
                n = x.shape[-1]
                y = f(torch.matmul, f(torch.reshape, x, (-1, n)), f(torch.cos, f(torch.reshape, f(
                    torch.arange, n * n, dtype=torch.float64), (n, n))))
                y = f(torch.tanh, f(torch.reshape, y, x.shape))
            elif kind == "softmax":
                y = f(torch.softmax, x, detail)
            elif kind == "norm":
                y = f(F.layer_norm, x, detail)
            elif kind == "transpose":
                y = f(torch.transpose, x, *detail)
            elif kind == "flatten":
                y = f(torch.reshape, x, (-1,))
            elif kind == "narrow":
                y = f(torch.narrow, x, *detail)
            elif kind == "flip":
                y = f(torch.flip, x, (detail,))
            elif kind == "cumsum":
                y = f(torch.cumsum, x, detail)
            elif kind == "cat":
                y = f(torch.cat, tuple(xs), detail)
            elif kind == "gather":
                y = f(torch.index_select, x, detail[0], next(given_index))
            else:
                y = f(torch.Tensor.expand, x, detail)
            values.append(y)
        return tuple(values[o] for o in outputs)
    g = torch.Generator().manual_seed(1)
    tensors = [torch.randn(*s, generator=g, dtype=torch.float64) for s in shapes]
    return fn, tensors + [torch.tensor(i) for i in indices]


@given(recipes())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_graphs(recipe):
    fn, tensors = build(recipe)
    check(fn, *tensors, rtol=1e-7, atol=1e-8)


STORED_ONCE_A_ROW = ([(6,), (4, 6), (6,)], [
    ("reduce", 0, (1,), (1, True)), ("unary", 0, (3,), None), ("gather", 0, (4,), (1, (0, 0))),
    ("unary", 0, (5,), None),
    ("softmax", 0, (6,), 0), ("unary", 0, (7,), None), ("unary", 0, (8,), None), ("binary", 0, (6, 3), None),
    ("expand", 0, (10,), (3, 4, 2)), ("gather", 0, (11,), (2, (0,))), ("binary", 0, (12, 4), None),
    ("unary", 0, (13,), None), ("unary", 0, (14,), None), ("unary", 0, (15,), None)], [5, 16])
"""An inner loop stores a value that does not move with it, and a row needs that value again."""


@given(recipes())
@example(STORED_ONCE_A_ROW)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_graphs_with_symbolic_sizes(recipe):
    fn, tensors = build(recipe)
    dynamic = tuple((k, d) for k, t in enumerate(tensors) if t.is_floating_point() for d in (0, t.ndim - 1)[:t.ndim]
                    if t.shape[d] > 1)
    check(fn, *tensors, dynamic=dynamic, rtol=1e-7, atol=1e-8)

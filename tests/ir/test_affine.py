"""Addresses as affine forms, including symbolic strides and what has no such form."""

import torch

from pellucid.ir.affine import address, affine
from pellucid.ir.types import Axis, Call, Index, Literal, SizeOf, View
from pellucid.shapes.dim import Dim, Sym

I64 = torch.int64
I, J = Axis(0, 4), Axis(1, 5)


def call(fn, *args):
    return Call(fn, args, I64)


def lit(n):
    return Literal(n, I64)


def test_sum_of_products():
    a = affine(call("sub", call("add", call("mul", Index(I), lit(3)), Index(J)), lit(2)))
    assert dict(a.terms) == {I: 3, J: 1} and a.const == -2


def test_terms_that_cancel_are_gone():
    assert affine(call("sub", Index(I), Index(I))).terms == ()


def test_product_of_two_axes_is_not_affine():
    assert affine(call("mul", Index(I), Index(J))) is None
    assert affine(call("mod", Index(I), lit(2))) is None


def test_symbolic_strides_and_offsets():
    n = Dim.of(Sym("s0"))
    a = address(View(0, torch.float32, (4, n), (n, 1), 7), (Index(I), call("add", Index(J), SizeOf(n))))
    assert dict(a.terms) == {I: n, J: 1} and a.const == n + 7

"""Arithmetic, comparison, logic, casts and in-place forms against eager."""

from __future__ import annotations

import operator

import pytest
import torch

from pellucid.ops.errors import Unsupported, WouldRaise

from .harness import Expanded, check

torch.manual_seed(0)
X = torch.randn(3, 5)
Y = torch.randn(3, 5)
P = torch.rand(3, 5) + 0.1
ROW = torch.randn(5)
I = torch.randint(-4, 5, (3, 5))
J = torch.randint(1, 5, (3, 5))
B = torch.rand(3, 5) > 0.5
C = torch.rand(3, 5) > 0.5
H = torch.randn(3, 5).half()
T = torch.randn(5, 3).t()
S = torch.tensor(2.5)

UNARY = ("sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh atanh exp exp2 expm1 log log2 log10 log1p sigmoid "
         "reciprocal erf floor ceil trunc round frac abs neg sign square isnan isinf isfinite relu positive "
         "absolute negative arcsin sgn signbit logit nan_to_num").split()


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dynamic", [False, True])
def test_unary(name: str, dynamic: bool) -> None:
    x = torch.rand(3, 5) * 0.8 + 0.1
    check(getattr(torch, name), x, dynamic=dynamic)
    check(name, x)
    if hasattr(torch, name + "_"):
        check(name + "_", x.clone())


CALLS = [
    (torch.add, (X, Y), {}), (torch.add, (X, 2), {}), (torch.add, (2, X), {}), (torch.add, (X, Y), {"alpha": 3}),
    (torch.add, (X, ROW), {"alpha": 0.5}), ("add", (I, 2.5), {}), ("__radd__", (X, 1), {}), (operator.add, (X, S), {}),
    (operator.add, (B, C), {}), (operator.add, (H, X), {}), (operator.add, (H, 1.5), {}), ("add", (T, X), {}),
    (torch.sub, (X, Y), {"alpha": 2}), ("__rsub__", (X, 3), {}), (torch.rsub, (X, 3), {}), (operator.sub, (I, J), {}),
    (torch.mul, (X, ROW), {}), ("__rmul__", (I, 2.0), {}), (operator.mul, (B, X), {}), (operator.mul, (T, T), {}),
    (torch.div, (I, J), {}), (torch.div, (X, P), {"rounding_mode": "floor"}),
    (torch.div, (I, J), {"rounding_mode": "trunc"}),
    ("__rtruediv__", (P, 2), {}), (operator.truediv, (X, 8), {}), (torch.true_divide, (X, P), {}),
    (operator.floordiv, (I, 2), {}), ("__rfloordiv__", (J, 7), {}), (operator.mod, (I, J), {}),
    ("__rmod__", (J, 7), {}),
    (torch.remainder, (X, P), {}), (torch.fmod, (X, 0.7), {}), (torch.fmod, (I, 3), {}), (torch.atan2, (X, Y), {}),
    (torch.maximum, (X, Y), {}), (torch.minimum, (I, J), {}), (torch.fmax, (X, Y), {}), (torch.fmin, (X, Y), {}),
    (operator.pow, (X, 2), {}), (torch.pow, (P, 0.5), {}), ("__rpow__", (X, 2), {}), (torch.pow, (P, X), {}),
    (torch.pow, (2.0, X), {}), (torch.pow, (X, 3.0), {}), (torch.pow, (I, 3), {}),
    (operator.eq, (I, J), {}), (operator.ne, (I, 0), {}), ("lt", (X, Y), {}), ("le", (X, 0.5), {}),
    (operator.gt, (X, S), {}),
    ("ge", (I, J), {}), ("__eq__", (X, X), {}), (torch.greater_equal, (X, Y), {}), ("less", (X, 1), {}),
    (torch.logical_and, (B, C), {}), ("logical_or", (I, B), {}), (torch.logical_xor, (B, C), {}),
    (torch.logical_not, (I,), {}),
    (operator.and_, (B, C), {}), (operator.or_, (B, C), {}), (operator.xor, (I, J), {}), (operator.invert, (B,), {}),
    ("__invert__", (I,), {}), ("__rand__", (J, 3), {}), (operator.lshift, (J, 2), {}), (operator.rshift, (I, 1), {}),
    ("__rlshift__", (J, 1), {}), (operator.neg, (X,), {}), (operator.pos, (X,), {}), (operator.abs, (I,), {}),
    (torch.where, (B, X, Y), {}), (torch.where, (B, X, 0.0), {}), (torch.where, (B, 1, 0), {}),
    (torch.where, (B, I, X), {}),
    ("where", (X, B, 0.0), {}), ("masked_fill", (X, B, float("-inf")), {}), (torch.masked_fill, (I, B, 7), {}),
    ("masked_fill", (X, B, S), {}), ("masked_fill", (H, B, torch.finfo(torch.float16).min), {}),
    (torch.clamp, (X, -0.5, 0.5), {}), ("clamp", (X,), {"min": 0}), ("clamp", (I,), {"max": 2}),
    (torch.clamp, (X, ROW), {}),
    ("clip", (X, -1, 1), {}), ("clamp_min", (X, 0.1), {}), (torch.clamp_max, (X, 0.1), {}), ("clamp", (I, 0.5), {}),
    (torch.lerp, (X, Y, 0.3), {}), (torch.lerp, (X, Y, P), {}), (torch.addcmul, (X, Y, P), {"value": 0.5}),
    (torch.addcdiv, (X, Y, P), {"value": 2}), (torch.hypot, (X, Y), {}), (torch.isclose, (X, X + 1e-7), {}),
    (torch.isin, (I, torch.tensor([1, 2])), {}), (torch.isin, (I, 2), {"invert": True}),
    (torch.round, (X,), {"decimals": 2}),
    (torch.positive, (X,), {}), (torch.nan_to_num, (X / 0,), {}),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_call(number: int, dynamic: bool) -> None:
    target, args, kwargs = CALLS[number]
    check(target, *args, dynamic=dynamic, **kwargs)


WRITES = [
    ("add_", (X, Y), {}), ("__iadd__", (X, 1), {}), (operator.iadd, (X, ROW), {}), ("add_", (X, I), {}),
    ("sub_", (I, J), {}),
    ("mul_", (X, 2), {}), (operator.imul, (T, 2.0), {}), ("div_", (X, P), {}), (operator.itruediv, (X, 3), {}),
    (operator.ifloordiv, (I, 2), {}), ("pow_", (X, 2), {}), ("__iand__", (B, C), {}), (operator.ior, (B, C), {}),
    ("masked_fill_", (X, B, 0.0), {}), ("clamp_", (X, 0, 1), {}), ("copy_", (X, ROW), {}), ("copy_", (I, X * 3), {}),
    ("fill_", (X, 3), {}), ("fill_", (X, S), {}), ("zero_", (I,), {}), ("addcmul_", (X, Y, P), {}),
    ("lerp_", (X, Y, 0.5), {}),
    ("sqrt_", (P,), {}), ("logical_not_", (B,), {}), ("eq_", (X, Y), {}), ("neg_", (X,), {}), ("relu_", (X,), {}),
    ("fill_diagonal_", (X, 1), {}), (torch.relu_, (X,), {}),
]


@pytest.mark.parametrize("number", range(len(WRITES)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_write(number: int, dynamic: bool) -> None:
    target, args, kwargs = WRITES[number]
    args = (args[0].clone(), *args[1:])
    made = check(target, *args, dynamic=dynamic, **kwargs)
    assert made.builder.storage(made.result) == made.builder.storage(made.args[0])


CASTS = [
    ("to", (X, torch.float64), {}), ("to", (X, "cpu"), {}), ("to", (X,), {"dtype": torch.int32}), ("to", (X, I), {}),
    ("to", (X, torch.device("cpu"), torch.float16), {}), ("to", (X, torch.float32), {"copy": True}),
    ("float", (I,), {}),
    ("half", (X,), {}), ("long", (X * 3,), {}), ("bool", (I,), {}), ("int", (B,), {}), ("double", (T,), {}),
    ("type", (X, torch.int64), {}), ("type", (X, "torch.DoubleTensor"), {}), ("type_as", (X, I), {}),
    ("contiguous", (T,), {}),
    ("contiguous", (X,), {}), ("clone", (T,), {}), ("detach", (X,), {}), ("cpu", (X,), {}), ("bfloat16", (X,), {}),
    (torch.clone, (T,), {"memory_format": torch.contiguous_format}),
    ("to", (torch.randn(2, 3, 4, 5),), {"memory_format": torch.channels_last}),
    ("contiguous", (torch.randn(2, 3, 4, 5),), {"memory_format": torch.channels_last}),
]


@pytest.mark.parametrize("number", range(len(CASTS)))
@pytest.mark.parametrize("dynamic", [False, True])
def test_cast(number: int, dynamic: bool) -> None:
    target, args, kwargs = CASTS[number]
    check(target, *args, dynamic=dynamic, **kwargs)


def test_augmented_number_is_the_plain_operator() -> None:
    made = check(operator.iadd, 2, X)
    assert not made.builder.writes


def test_no_change_is_the_same_value() -> None:
    for name, args in (("to", (X, torch.float32)), ("contiguous", (X,)), ("float", (X,)), ("cpu", (X,))):
        made = Expanded(name, args, {})
        assert made.result is made.args[0]


@pytest.mark.parametrize("target, args, kwargs", [
    ("add_", (ROW, X), {}), ("add_", (I, X), {}), ("__iadd__", (torch.zeros(1).expand(3), 1), {}),
    ("copy_", (ROW, X), {}),
    (operator.add, (X, torch.randn(4)), {}), (operator.sub, (B, C), {}), (operator.neg, (B,), {}),
    ("fill_", (X, ROW), {}),
    (operator.and_, (X, Y), {}), ("masked_fill", (X, I, 0), {}), ("clamp", (X,), {}), ("pow", (I, -1), {}),
    ("lerp", (X, I, 0.5), {}),
    (operator.add, (X, "a"), {}), ("to", (X, 3.5), {}),
])
def test_refused_as_eager_does(target: object, args: tuple, kwargs: dict) -> None:
    with pytest.raises(WouldRaise):
        Expanded(target, args, kwargs)


def test_overlapping_operand_is_refused() -> None:
    x = torch.randn(6)
    made = Expanded("detach", (x,), {})
    b, v = made.builder, made.args[0]
    from pellucid.ops.registry import METHODS
    head, tail = METHODS["__getitem__"](b, v, slice(0, 5)), METHODS["__getitem__"](b, v, slice(1, 6))
    with pytest.raises(WouldRaise):
        METHODS["add_"](b, head, tail)
    METHODS["add_"](b, head, head)


@pytest.mark.parametrize("target, args, kwargs", [
    (torch.add, (X, Y), {"out": X}), ("item", (S,), {}), ("cuda", (X,), {}),
    ("nonzero", (X,), {}), (torch.where, (B,), {}), ("t_", (X,), {}),
])
def test_unsupported(target: object, args: tuple, kwargs: dict) -> None:
    with pytest.raises(Unsupported) as e:
        Expanded(target, args, kwargs)
    assert e.value.reason and e.value.remedy

"""Symbolic sizes agree with integers: every operation, evaluated, equals Python's on the values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.shapes.dim import (
    Dim,
    Sym,
    bounds,
    evaluate,
    exact_quotient,
    hint,
    size_max,
    size_min,
    substitute,
    symbols,
)
from pellucid.shapes.env import ShapeEnv, prove

A, B = Sym("a", 4, 0), Sym("b", 6, 1)
VALUES = st.fixed_dictionaries({A: st.integers(0, 50), B: st.integers(1, 50)})


def sizes() -> st.SearchStrategy:
    leaf = st.one_of(st.integers(-5, 9), st.just(Dim.of(A)), st.just(Dim.of(B)))

    def grow(child: st.SearchStrategy) -> st.SearchStrategy:
        pair = st.tuples(child, child)
        return st.one_of(pair.map(lambda p: p[0] + p[1]), pair.map(lambda p: p[0] - p[1]),
                         pair.map(lambda p: p[0] * p[1]), pair.map(lambda p: size_min(*p)),
                         pair.map(lambda p: size_max(*p)), child.map(lambda s: s // 3), child.map(lambda s: s % 4),
                         child.map(lambda s: s // Dim.of(B)), child.map(lambda s: s % Dim.of(B)))
    return st.recursive(leaf, grow, max_leaves=6)


@given(sizes(), sizes(), VALUES)
def test_operations_agree_with_integers(x, y, values):
    a, b = evaluate(x, values), evaluate(y, values)
    assert evaluate(x + y, values) == a + b
    assert evaluate(x - y, values) == a - b
    assert evaluate(x * y, values) == a * b
    assert evaluate(size_min(x, y), values) == min(a, b)
    assert evaluate(size_max(x, y), values) == max(a, b)
    assert evaluate(x // 3, values) == a // 3
    assert evaluate(x % 3, values) == a % 3
    if b:
        assert evaluate(x // y, values) == a // b
        assert evaluate(x % y, values) == a % b


@given(sizes(), VALUES)
def test_bounds_hold(x, values):
    lo, hi = bounds(x)
    v = evaluate(x, values)
    assert lo is None or lo <= v
    assert hi is None or v <= hi


@given(sizes(), sizes(), VALUES, st.sampled_from(["==", "!=", "<", "<="]))
def test_what_is_proved_holds(x, y, values, op):
    known = prove(op, x, y)
    a, b = evaluate(x, values), evaluate(y, values)
    actual = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b}[op]
    assert known is None or known == actual


def test_equal_polynomials_are_one_value():
    a, b = Dim.of(A), Dim.of(B)
    assert (a + b) * (a - b) == a * a - b * b
    assert hash((a + b) * 2) == hash(a * 2 + b * 2)
    assert a - a == 0 and isinstance(a - a, int)
    assert (a * b) // b == a and (a * 6) // 3 == a * 2 and (a * 6) % 3 == 0
    assert exact_quotient(a + 1, 2) is None


def test_truth_of_a_symbolic_size_is_an_error():
    with pytest.raises(TypeError, match="ShapeEnv.decide"):
        bool(Dim.of(A))


def test_substitute_and_symbols():
    e = (Dim.of(A) + 3) // 2 * Dim.of(B)
    assert symbols(e) == {A, B}
    assert substitute(e, {A: 5}) == Dim.of(B) * 4
    assert hint(e) == (4 + 3) // 2 * 6


def test_decide_guards_only_what_is_not_provable():
    env = ShapeEnv()
    s, t = env.symbol(4), env.symbol(6)
    assert env.decide("==", s, 1) is False and not env.guards  # symbols are at least 2
    assert env.decide("<", s, t) is True
    assert env.decide("<", s, t) is True
    assert env.decide("==", s, t) is False
    assert [str(g) for g in env.guards] == ["s0 < s1"], "that they differ follows"
    assert env.concrete(s) == 4
    assert str(env.guards[-1]) == "s0 == 4"


def test_a_false_comparison_leaves_its_negation_as_guard():
    env = ShapeEnv()
    s = env.symbol(4)
    assert env.decide("<", s, 3) is False
    assert str(env.guards[-1]) == "3 <= s0"
    assert env.decide(">", s, 7) is False
    assert str(env.guards[-1]) == "s0 <= 7"

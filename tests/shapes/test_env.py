"""Facts of a ShapeEnv: what follows from guards that were left before is not asked again, and never wrongly."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.shapes.dim import Dim, evaluate
from pellucid.shapes.env import ShapeEnv, holds


def test_a_bound_implies_weaker_ones():
    env = ShapeEnv()
    s = env.symbol(6)
    assert env.decide("<=", s, 16)
    assert env.decide("<", s, 17) and env.decide("<=", s, 40) and env.decide("!=", s, 20) and env.decide(">", 20, s)
    assert env.decide("<=", s * 2, 40) and len(env.guards) == 2, "another polynomial is another question"


def test_an_equation_fixes_both_ends():
    env = ShapeEnv()
    s, t = env.symbol(6), env.symbol(6)
    assert env.decide("==", s, t)
    assert env.decide("<=", t, s) and env.decide(">=", t, s) and not env.decide("!=", s, t)
    assert not env.decide("<", s, t) and len(env.guards) == 1


OPS = ("==", "!=", "<", "<=", ">", ">=")
SIZES = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-6, 6))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(OPS), SIZES, SIZES), min_size=1, max_size=6),
       st.integers(2, 6), st.integers(2, 6))
def test_answers_hold_wherever_the_guards_hold(questions, a, b):
    env = ShapeEnv()
    s, t = env.symbol(a), env.symbol(b)
    asked = []
    for op, (p, q, c), (u, v, w) in questions:
        left, right = s * p + t * q + c, s * u + t * v + w
        asked.append((op, left, right, env.decide(op, left, right)))
    syms = [next(iter(d.terms))[0][0] for d in (s, t) if isinstance(d, Dim)]
    for values in itertools.product(range(2, 9), repeat=2):
        at = dict(zip(syms, values))
        if all(holds(g.op, evaluate(g.lhs, at), evaluate(g.rhs, at)) for g in env.guards):
            for op, left, right, answer in asked:
                x, y = evaluate(left, at), evaluate(right, at)
                now = {">": y < x, ">=": y <= x}.get(op, holds(op, x, y) if op[0] != ">" else None)
                assert now is answer, (op, left, right, at)

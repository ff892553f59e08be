"""Single operations left to Python on objects implemented in C: what the instruction leaves beside its result stays."""

from __future__ import annotations

import array
import collections
import contextlib
import decimal
import io
import threading

import pytest
import torch

import pellucid

A = array.array("i", [1, 2, 3])
LOCK = threading.Lock()
D = decimal.Decimal


def op_with(x):
    with LOCK:
        y = x + 1
    return y, LOCK.locked()


def op_with_raise(x):
    try:
        with LOCK:
            y = x + 1
            raise ValueError("a")
    except ValueError as e:
        return y, str(e), LOCK.locked()


def op_with_two(x):
    with LOCK, io.StringIO() as f:
        f.write("abc")
        y = x + len(f.getvalue())
    return y, LOCK.locked(), f.closed


def op_with_suppress(x):
    with contextlib.suppress(ValueError), LOCK:
        raise ValueError
    return x, LOCK.locked()


def op_ext(x):
    return [1, *A, 2], x + 1


def op_ext2(x):
    return (0, *A, *A), x + 1


def op_set(x):
    return {0, *A}, x + 1


def op_dict(x):
    d = collections.UserDict(a=1)
    return {"z": 0, **d, "b": 2}, x + 1


def op_call(x):
    def f(*a, **k):
        return a, k

    return f(0, *A, q=1, **{"r": 2}), x + 1


def op_setc(x):
    return {D(i) for i in range(3)}, x + 1


def op_dictc(x):
    return {D(i): i for i in range(3)}, x + 1


def op_match(x):
    match A:
        case [1, b, *c]:
            return x + b, list(c)
        case _:
            return x, "none"


def op_match2(x):
    match {"k": D(1), "m": D(2)}:
        case {"k": k, **rest}:
            return x + 1, k, rest


def op_from(x):
    from os import path, sep

    return x + 1, sep, path.join("a", "b")


def op_unpack(x):
    a, *b = A
    return x + a, b


def op_fmt(x):
    return f"{D(1):>5} {D(2)!r} {A}", x + 1


def op_exc(x):
    try:
        D("x")
    except (decimal.InvalidOperation, ValueError) as e:
        return type(e).__name__, x + 1


def op_chain(x):
    return D(1) < D(2) < D(3), D(1) in [D(2), D(1)], not D(0), x + 1


def op_slice(x):
    a = array.array("i", A)
    a[0:1] = array.array("i", [9, 9])
    del a[1]
    return a.tolist(), x + 1


def op_aug(x):
    a = array.array("i", A)
    a += array.array("i", [5])
    return a.tolist(), x + 1


def op_for(x):
    for v in A:
        x = x + v
    return x


def op_yf(x):
    def g():
        r = yield from iter(A)
        return r

    return list(g()), x + 1


def op_eq(x):
    a, b = D(2), D(2)
    return (
        a == b,
        a.__eq__(b),
        a.__ne__(b),
        a.__lt__(D(3)),
        a.__hash__() == hash(a),
        a.__add__(b),
        a != b,
        a < D(3),
        x + 1,
    )


def op_dunder(x):
    return (
        A.__len__(),
        A.__getitem__(1),
        A.__contains__(2),
        A.__eq__(A),
        D(3).__bool__(),
        D(3).__str__(),
        repr(D(3)),
        x + 1,
    )


CASES = [f for n, f in list(globals().items()) if n.startswith("op_")]


def run(fn) -> str:
    try:
        return repr(fn(torch.zeros(1)))
    except Exception as e:
        return f"raised {e!r}"


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_operation(case, backend):
    want = run(case)
    fast = pellucid.compile(case, backend=backend, options={"strict": True})
    assert [run(fast) for _ in range(3)] == [want] * 3
    assert not LOCK.locked()

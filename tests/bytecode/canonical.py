"""Prints the canonical text of functions that are the same on every version: calls, methods, loops, operators."""

from __future__ import annotations

import run_corpus

run_corpus.load()

from pellucid.bytecode.decode import decode  # noqa: E402
from pellucid.bytecode.text import to_text  # noqa: E402


def calls(f, x, *args, **kw):
    return f(x, x.method(1, k=x), *args, **kw), f(*args), x.a.b(f(x))


def slices(x, i):
    x[1:i] = x[i:1]
    x[i:2:1] += x[i]
    del x[:i]
    return -x[0], +x, ~x, x @ i, x is None, x in i, x is not i, x not in i


def loop(xs, n):
    total = 0
    for x in xs:
        if x > n:
            continue
        total += x
    return total


def unpack(p):
    a, (b, *c) = p
    return [a, *c], {b, a}, {"a": a, "b": b}, (a, *c), {**p}


def closure(a, b=2, *, c: int = 3):
    def inner(d=a):
        nonlocal a
        a = a + d
        return a, b, c

    return inner


def decorated(d):
    @d
    def f(x):
        assert x, "message"
        return f

    return f


def raises(e):
    if e is not None:
        raise ValueError(e) from e
    raise


def context(m, f):
    with m as x:
        f(x)
    return x


if __name__ == "__main__":
    for function in (calls, slices, loop, unpack, closure, decorated, raises):
        print(to_text(decode(function.__code__)))
        for constant in function.__code__.co_consts:
            if hasattr(constant, "co_code"):
                print(to_text(decode(constant)))

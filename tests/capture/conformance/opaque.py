"""Objects implemented in C that capture knows nothing of: each use is one break, and gives what Python gives."""

from __future__ import annotations

import array
import decimal
import itertools
import re
from collections import Counter, deque
from datetime import timedelta
from fractions import Fraction

import numpy as np
import torch

from .harness import Programs

programs = Programs()


def chained():
    return itertools.chain([1], (2,), [3])


@programs.factory(breaks=True)
def consumed_by_built_ins():
    def f(x):
        return (
            x,
            list(chained_()),
            tuple(chained_()),
            set(chained_()),
            sum(chained_()),
            max(chained_()),
            sorted(chained_()),
            dict(zip(chained_(), "abc")),
            list(enumerate(chained_())),
            list(map(str, chained_())),
            list(filter(None, chained_())),
            any(chained_()),
            all(chained_()),
            min(chained_()),
            list(reversed([*chained_()])),
        )

    values = [1, 2, 3]

    def chained_():
        return iter(array.array("i", values))

    return f


@programs.factory(breaks=True)
def consumed_by_statements():
    data = array.array("i", [1, 2, 3])

    def f(x):
        a, b, c = data
        d, *e = data
        out = [v for v in data]
        for v in data:
            x = x + v
        g = [*data, 0]
        h = {**dict(zip(data, data))}

        def star(*args):
            return args

        return (
            x,
            a + b + c,
            d,
            e,
            out,
            g,
            h,
            star(*data),
            2 in data,
            9 in data,
            data[1],
            data[-1],
            len(data),
            bool(data),
        )

    return f


@programs.factory(breaks=True)
def consumed_by_methods():
    data = array.array("i", [1, 2])

    def f(x):
        xs, s, d = [0], {0}, deque([0])
        xs.extend(data)
        s.update(data)
        xs += data
        return x, xs, sorted(s), ",".join(map(str, data)), s.union(data) == {0, 1, 2}, xs[:2] + list(data), d

    return f


@programs.factory(breaks=True)
def attributes_of_c_objects():
    pattern = re.compile(r"(\d+)-(\w+)")

    def f(x):
        m = pattern.match("12-ab")
        return (
            x + int(m.group(1)),
            m.groups(),
            hasattr(pattern, "nope"),
            hasattr(pattern, "pattern"),
            getattr(pattern, "nope", 5),
            pattern.pattern,
            bool(m),
            m is None,
            isinstance(pattern, re.Pattern),
            pattern.sub("z", "1-a 2-b"),
            [g.start() for g in pattern.finditer("1-a 2-b")],
        )

    return f


@programs(breaks=True)
def decimals_and_fractions(x):
    a, b = decimal.Decimal("1.5"), Fraction(1, 3)
    return (
        x * float(a),
        a + 1,
        b * 3 == 1,
        a > 1,
        -a,
        abs(-b),
        str(b),
        round(a),
        int(a),
        sum([b, b, b]) == 1,
        max(a, decimal.Decimal(2)),
    )


@programs(breaks=True)
def time_deltas(x):
    t = timedelta(seconds=90)
    return x * t.total_seconds(), t.seconds, str(t), t + t, t < timedelta(days=1), t / 2


@programs(breaks=True)
def deques_and_counters(x):
    d = deque([1, 2], maxlen=3)
    d.append(3)
    d.appendleft(x)
    d.rotate(1)
    c = Counter("abca")
    c.update("a")
    return x + len(d), d[0], list(d), c["a"], c.most_common(1), c["zz"], dict(c), d.maxlen


@programs.factory(breaks=True)
def deque_from_outside():
    history = deque(maxlen=2)

    def f(x):
        history.append(x.shape[0])
        return x * len(history), list(history), history

    return f


@programs(lambda: (torch.ones(3), np.arange(3.0)), breaks=True)
def numpy_arguments(x, a):
    y = torch.from_numpy(a) + x
    a[0] = 5
    return y, a.sum(), a.shape, a * 2, float(a[0]), x.numpy() + 1


@programs(breaks=True)
def numpy_functions(x):
    return x * np.sqrt(4.0), np.prod(x.shape), np.float32(2) * 3, np.arange(3), int(np.int64(7)), np.pi


@programs(breaks=True)
def bytes_and_memory_views(x):
    b = bytearray(b"abc")
    b[0] = 65
    m = memoryview(b)
    return x + m[1], bytes(b), len(m), m.tolist(), b.decode(), list(b)


@programs.factory(breaks=True)
def chain_from_outside():
    it = itertools.chain(range(50), range(50))

    def f(x):
        return x + next(it), list(itertools.islice(it, 2))

    return f


@programs(breaks=True)
def sorted_with_a_c_key(x):
    return (
        x,
        sorted(["b", "A"], key=str.lower),
        max("aB", key=str.upper),
        list(map(len, ["a", "bb"])),
        sorted([[2], [1]], key=sum),
    )


@programs(breaks=True)
def tee_and_groupby(x):
    a, b = itertools.tee(iter([1, 2, 3]))
    groups = {k: list(v) for k, v in itertools.groupby([1, 1, 2])}
    return x, next(a), list(b), list(a), groups, list(itertools.chain.from_iterable([[1], [2, 3]]))


@programs(breaks=True)
def opaque_items_in_containers(x):
    a, b, c = decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(1)
    xs = [a, b]
    return (
        x,
        xs == [c, b],
        xs == [c, c],
        xs < [c, c],
        (a, b) == (c, b),
        {"k": a} == {"k": c},
        c in xs,
        decimal.Decimal(5) in xs,
        xs.index(decimal.Decimal(2)),
        xs.count(c),
        max(a, b),
        min(xs),
        sorted([b, a]),
        sum(xs),
        xs != [a, c],
        a == c,
        a == 1,
        1 in xs,
    )


@programs(breaks=True)
def opaque_items_removed_and_found(x):
    xs = [decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(1)]
    xs.remove(decimal.Decimal(2))
    xs.sort()
    xs.insert(0, decimal.Decimal(7))
    d = {decimal.Decimal(1): "one"}
    return (
        x + len(xs),
        xs,
        d[decimal.Decimal(1)],
        d.get(decimal.Decimal(9)),
        decimal.Decimal(1) in d,
        max(xs, key=lambda v: -v),
        any(v == 7 for v in xs),
        next(v for v in xs if v > 1),
        f"{xs[0]}",
        str(xs[0]),
        [*map(int, xs)],
    )


class Stack(list):
    pass


@programs(breaks=True)
def opaque_items_in_a_derived_list(x):
    s = Stack([decimal.Decimal(1), decimal.Decimal(2), decimal.Decimal(2)])
    where = s.index(decimal.Decimal(2))
    many = s.count(decimal.Decimal(2))
    s.remove(decimal.Decimal(1))
    return x + where, many, [*s], list.index(s, decimal.Decimal(2)), list.count(s, decimal.Decimal(2))


@programs.factory(breaks=True)
def opaque_generators():
    def f(x):
        g = (decimal.Decimal(i) for i in range(4))
        return (
            x,
            max(g),
            sum(decimal.Decimal(i) for i in range(3)),
            list(zip((decimal.Decimal(1),), x)),
            sorted((decimal.Decimal(i) for i in (2, 1)), reverse=True),
        )

    return f

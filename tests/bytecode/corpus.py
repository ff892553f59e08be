"""Functions that use every feature of the language up to Python 3.11; each is run natively and interpreted.

A case is a function without parameters. What it returns, raises and prints must be the same both ways.
"""

# ruff: noqa
import contextlib
import dataclasses
import functools
import sys
import traceback

CASES = []
G = 0


def case(f):
    CASES.append(f)
    return f


# ------------------------------------------------------------------ helpers of the cases
class V:
    """A number whose operators say what was called."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"V({self.n})"

    def __add__(self, o):
        return ("add", self.n, o)

    def __radd__(self, o):
        return ("radd", self.n, o)

    def __iadd__(self, o):
        self.n += o
        return self

    def __matmul__(self, o):
        return ("matmul", o)

    def __bool__(self):
        print("bool", self.n)
        return self.n > 0

    def __eq__(self, o):
        return isinstance(o, V) and self.n == o.n

    def __hash__(self):
        return hash(self.n)

    def __lt__(self, o):
        print("lt", self.n, o.n)
        return self.n < o.n

    def __getitem__(self, k):
        return ("item", k)

    def __contains__(self, k):
        return k == self.n

    def __format__(self, spec):
        return f"<{self.n}|{spec}>"

    def __len__(self):
        return 3


class Manager:
    def __init__(self, name, swallow=False, fail=None):
        self.name, self.swallow, self.fail = name, swallow, fail

    def __enter__(self):
        print("enter", self.name)
        if self.fail == "enter":
            raise RuntimeError("enter " + self.name)
        return self

    def __exit__(self, kind, value, tb):
        print("exit", self.name, kind and kind.__name__, value, tb is None)
        if self.fail == "exit":
            raise RuntimeError("exit " + self.name)
        return self.swallow


@dataclasses.dataclass
class Point:
    x: int
    y: int = 5


def every_argument(a, b, /, c, d=4, *args, e, f=6, **kw):
    return a, b, c, d, args, e, f, kw


def defaults(a, b=2, c=3):
    return a, b, c


def kwonly(*, a, b, c=1):
    return a, b, c


def posonly(a, b, /):
    return a, b


def nothing():
    pass


def count(n):
    for i in range(n):
        got = yield i
        if got is not None:
            print("got", got)
    return "done"


def outcome(f, *args, **kw):
    """('value', v) or ('error', type, text)."""
    try:
        return "value", f(*args, **kw)
    except Exception as e:
        return "error", type(e).__name__, str(e)


# ------------------------------------------------------------------ operators and values
@case
def arithmetic():
    a, b = 17, 5
    x = [a + b, a - b, a * b, a / b, a // b, a % b, a**2, a << 1, a >> 1, a & b, a | b, a ^ b, -a, +a, ~a, not a]
    a += 1; a -= 2; a *= 3; a //= 2; a **= 2; a %= 1000; a <<= 2; a >>= 1; a &= 0xFFFF; a |= 1; a ^= 3
    f = 7.0
    f /= 2
    return x, a, f


@case
def operators_of_classes():
    v = V(3)
    w = v
    v += 4
    return v + 1, 1 + v, v @ 2, v is w, v[1:2], v[1:2, ...], 7 in v, 8 not in v, -0.0, v == V(7), v != V(7)


@case
def comparisons():
    a = 3
    return 1 < a < 5, 1 < a > 5, 1 < 2 < 3 < 2 < nothing(), a == 3 != 4, a is None, a is not None, a in (1, 3), a not in [3]


@case
def boolean_logic():
    out = []
    for a in (0, 1, "", "s"):
        for b in (0, 2):
            out.append((a and b, a or b, not a, a and b or "z", (a or b) and "y", 1 if a and not b else 2))
    return out


@case
def truth_of_objects():
    out = []
    for v in (V(1), V(-1)):
        if v:
            out.append("yes")
        if not v:
            out.append("no")
        out.append(not v)
        out.append((v and 1, v or 2))
        while v:
            break
    return out


@case
def none_tests():
    out = []
    for v in (None, 0):
        if v is None:
            out.append(1)
        if v is not None:
            out.append(2)
        out.append(v is None or v)
        while v is None:
            v = 1
    return out


@case
def many_constants():
    return 1, 2.5, 3j, "s", b"b", None, True, ..., (1, (2, 3)), frozenset({1}), -1, 10**30, __debug__


@case
def long_jumps():
    x = 0
    for i in range(3):
        if i == 1:
            x += 1; x += 2; x += 3; x += 4; x += 5; x += 6; x += 7; x += 8; x += 9; x += 10; x += 11; x += 12
            x += 13; x += 14; x += 15; x += 16; x += 17; x += 18; x += 19; x += 20; x += 21; x += 22; x += 23
            x -= 1; x -= 2; x -= 3; x -= 4; x -= 5; x -= 6; x -= 7; x -= 8; x -= 9; x -= 10; x -= 11; x -= 12
            x += 13; x += 14; x += 15; x += 16; x += 17; x += 18; x += 19; x += 20; x += 21; x += 22; x += 23
            x += 1; x += 2; x += 3; x += 4; x += 5; x += 6; x += 7; x += 8; x += 9; x += 10; x += 11; x += 12
            x += 13; x += 14; x += 15; x += 16; x += 17; x += 18; x += 19; x += 20; x += 21; x += 22; x += 23
        else:
            x -= 1
    return x


# ------------------------------------------------------------------ containers, strings, items
@case
def containers():
    a = [1, 2]
    b = (3, *a)
    return [*a, *b, 4], {*a, 9}, {"x": 1, **{"y": 2}}, {1: 2, 3: 4}, (), [], {}, {"k": a, "l": b}, (*a, *b)


@case
def slices():
    a = list(range(10))
    a[2:4] = [7, 8, 9]
    a[-1:] = []
    del a[0]
    del a[1:3]
    b = a[::-1], a[1:], a[:2], a[1:3], a[-3:-1:1], a[:]
    a[::2] = [0] * len(a[::2])
    return a, b


@case
def items_and_attributes():
    p = Point(1)
    p.x += 5
    d = {"a": [1, 2]}
    d["a"][0] += 10
    d["b"] = p
    d["b"].y = 7
    del d["a"]
    p.z = 1
    del p.z
    return p, d, hasattr(p, "z"), getattr(p, "q", "none")


@case
def unpacking():
    a, b = 1, 2
    a, b = b, a
    (c, d), *e = (3, 4), 5, 6
    *f, g = "xyz"
    h, *i, j = range(5)
    [k] = [1]
    () = ()
    for m, (n, *o) in [(1, (2, 3)), (4, [5])]:
        print(m, n, o)
    return a, b, c, d, e, f, g, h, i, j, k


@case
def unpacking_errors():
    def too_few():
        a, b, c = [1, 2]

    def too_many():
        a, b = [1, 2, 3]

    def none():
        a, b = 3

    def star():
        a, *b, c = [1]

    def nested():
        a, (b, c) = 1, (2,)

    return [outcome(f) for f in (too_few, too_many, none, star, nested)]


@case
def generators_unpack():
    a, b, *c = count(4)
    return a, b, c, [*count(2)], (*count(3),), {*count(2)}


@case
def format_strings():
    x, w, v = 3.14159, 10, V(2)
    return (f"{x}", f"{x:.2f}", f"{x:>{w}.{2}f}", f"{x!r}", f"{'é'!a}", f"{v!s:>8}", f"{v}", f"{v:abc}", f"a{x}b{w}c", f"{x=}",
            f"{{}}", f"{w:#x}{w:b}", f"{'nested ' + f'{w}'}")


@case
def comprehensions():
    k = 10
    a = [i * k for i in range(4) if i % 2]
    b = {i: j for i in range(2) for j in range(i + 1)}
    c = {i % 2 for i in range(5)}
    d = [[j + i for j in range(i)] for i in range(3)]
    e = list(i for i in range(3))
    f = [x for x in [(lambda: y)() for y in range(3)]]
    fs = [lambda: z for z in range(3)]
    i = "outer"
    g = [i for i in range(2)]
    return a, b, c, d, e, f, [h() for h in fs], i, g, [last := q for q in range(3)], last


@case
def comprehension_in_call_that_raises():
    x = "kept"

    def run():
        nonlocal x
        return print(1, [1 // x for x in (1, 0)], [x for x in ()])

    a = outcome(run)
    y = 5
    try:
        max(1, 2, *[1 // y for y in (2, 0)])
    except ZeroDivisionError:
        pass
    return a, x, y


@case
def comprehension_with_cells():
    x = 1
    out = []
    try:
        out.append([[x, lambda: x] for x in range(2)][1][1]())
        [1 // x for x in [lambda: x, 0]]
    except TypeError as e:
        out.append(type(e).__name__)
    return out, x


@case
def walrus_and_conditionals():
    out = []
    while (n := len(out)) < 3:
        out.append(n if n % 2 else -n)
    return out, n, (m := 4) + m


@case
def star_dicts():
    a = {"x": 1}
    return {**a, "x": 2, **{"z": 3}}, dict(**a, y=2), outcome(lambda: {**1}), outcome(lambda: [*1])


# ------------------------------------------------------------------ loops
@case
def loops():
    out = []
    for i in range(10):
        if i == 2:
            continue
        if i == 5:
            break
        out.append(i)
    else:
        out.append("never")
    for i in ():
        pass
    else:
        out.append("else")
    while i > 0:
        i -= 1
        if i == 1:
            continue
    else:
        out.append(("while else", i))
    while True:
        i += 1
        if i > 3:
            break
    for a in range(2):
        for b in range(2):
            if b:
                break
            out.append((a, b))
        else:
            out.append("no")
    return out, i


@case
def iterate_objects():
    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration("end")
            return self.n

    class Old:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return i * i

    return [x for x in It()], list(Old()), [x for x in Old()], sorted({3: 1, 1: 2}), list(zip("ab", It())), \
        outcome(lambda: [x for x in 5]), list(map(lambda x: x + 1, It())), list(iter(It().__next__, 2))


@case
def delete_and_unbound():
    x = 1
    del x
    out = [outcome(lambda: y)] if False else []
    try:
        x
    except UnboundLocalError as e:
        out.append(str(e))
    try:
        del x
    except UnboundLocalError as e:
        out.append(str(e))
    for z in ():
        pass
    try:
        z
    except UnboundLocalError as e:
        out.append(str(e))

    def inner():
        return later

    try:
        inner()
    except NameError as e:
        out.append((type(e).__name__, str(e)))
    later = 1
    out.append(inner())
    del later
    try:
        inner()
    except NameError as e:
        out.append((type(e).__name__, str(e)))
    try:
        later
    except UnboundLocalError as e:
        out.append((type(e).__name__, str(e)))
    return out


# ------------------------------------------------------------------ functions and calls
@case
def calls():
    a, k = (1, 2), {"e": 5, "z": 26}
    return [
        every_argument(1, 2, 3, e=5), every_argument(1, 2, c=3, e=5, q=7), every_argument(1, 2, 3, 4, 5, 6, e=0, f=1),
        every_argument(*a, 3, **k), every_argument(*a, *a, *a, **k, y=3), every_argument(0, *a, d=9, **k),
        defaults(1), defaults(1, c=5), defaults(*[1, 2, 3]), defaults(**{"a": 1}), kwonly(a=1, b=2), posonly(1, 2), nothing(),
        (lambda *x, **y: (x, y))(1, a=2), (lambda: 3)(), max(3, 1, key=lambda x: -x), sorted([3, 1], reverse=True),
        "{}{x}".format(1, x=2), dict(a=1, **{"b": 2}), print("a", "b", sep="-", end="!\n"), int("12", base=3),
    ]


@case
def call_errors():
    fs = [
        lambda: defaults(), lambda: defaults(1, 2, 3, 4), lambda: defaults(z=1), lambda: defaults(1, a=1),
        lambda: kwonly(), lambda: kwonly(a=1), lambda: kwonly(1, a=1, b=2), lambda: posonly(a=1, b=2), lambda: posonly(1, b=2),
        lambda: nothing(1), lambda: nothing(1, 2), lambda: every_argument(), lambda: every_argument(1), lambda: every_argument(1, 2),
        lambda: every_argument(1, 2, 3), lambda: posonly(1), lambda: (3)(), lambda: nothing(*3), lambda: nothing(**3),
        lambda: nothing(**{"a": 1}, **{"a": 2}), lambda: defaults(**{1: 2}), lambda: Point(), lambda: Point(1, 2, 3), lambda: V(1).q,
        lambda: (lambda a, *, b: 0)(1, 2), lambda: (lambda a, b=1, *, c: 0)(1, 2, 3, c=4), lambda: Point(1).__init__(),
        lambda: defaults(1, *[2, 3], c=4), lambda: nothing(1, *3),
    ]
    return [outcome(f) for f in fs]


@case
def closures():
    n = 0

    def bump(by=1):
        nonlocal n
        n += by
        return n

    def outer(a):
        b = a + 1

        def mid():
            c = b + 1

            def inner(d=c):
                return a, b, c, d, n

            return inner

        return mid

    bump()
    bump(5)

    def cell_argument(p, q):
        def set_p():
            nonlocal p
            p += q

        set_p()
        return p

    def recursive(k):
        return 1 if k == 0 else k * recursive(k - 1)

    return n, outer(1)()(), cell_argument(1, 2), recursive(10)


@case
def function_attributes():
    def f(a: int, b: "str" = "x", *, c: float = 1.5) -> bool:
        "doc"
        return a, b, c

    f.extra = 1
    g = lambda q=1: q
    return f.__name__, f.__qualname__, f.__doc__, f.__defaults__, f.__kwdefaults__, f.__annotations__, f.extra, f.__module__, \
        g.__name__, g(), f(1)


@case
def decorators():
    def deco(tag):
        def wrap(f):
            @functools.wraps(f)
            def call(*a, **k):
                return tag, f(*a, **k)

            return call

        return wrap

    @deco("a")
    @deco("b")
    def f(x, y=1):
        "d"
        return x + y

    @functools.lru_cache(None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return f(1), f(1, y=5), f.__name__, f.__doc__, fib(15), functools.partial(f, 1)(y=2), functools.reduce(lambda a, b: a * b, [1, 2, 3])


@case
def globals_and_names():
    global G
    G = 5
    G += 1
    out = [G]
    del G
    try:
        G
    except NameError as e:
        out.append((str(e), e.name))
    try:
        del G
    except NameError as e:
        out.append(str(e))
    G = 0
    return out, globals()["G"], "V" in globals(), __name__ == V.__module__


@case
def locals_and_eval():
    a, b = 1, 2

    def inner(x, y=b):
        c = a
        return sorted(locals().items()), sorted(vars()), dir(), eval("x + y + c"), eval("a", {"a": 9}), outcome(eval, "nope")

    return sorted(locals()), inner(5), eval("a + b")


@case
def exec_code():
    d = {}
    exec("def f(x): return x + 1\ny = f(2)\nfrom os.path import *\nz = join('a', 'b')", d)
    return d["y"], d["f"](4), d["z"]


@case
def imports():
    import os.path as p
    import os.path
    from os import path, sep as s
    from collections import (OrderedDict, deque as dq)

    def missing():
        from os import no_such_name

    def no_module():
        import no_such_module

    a = outcome(missing)
    return p is path, os.path is p, s, OrderedDict.__name__, dq([1]), a[:2], a[2].split(" (")[0], outcome(no_module)


@case
def recursion_limit():
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(old)

    def down(n):
        return down(n + 1)

    try:
        down(0)
    except RecursionError as e:
        return "RecursionError", str(e)[:32]


# ------------------------------------------------------------------ classes
@case
def classes():
    class A:
        k = 1
        table = {"x": k}

        def __init__(self, x):
            self.x = x

        def f(self, y=2):
            return self.x, y, self.k

        @property
        def p(self):
            return self.x * 10

        @p.setter
        def p(self, v):
            self.x = v

        @staticmethod
        def s(a):
            return a

        @classmethod
        def c(cls, a):
            return cls.__name__, a

        def __call__(self, *a, **k):
            return "called", a, k

        def __getattr__(self, name):
            if name.startswith("z"):
                return name
            raise AttributeError(name)

        def __setattr__(self, name, v):
            object.__setattr__(self, name, v)

    class B(A):
        def __init__(self, x, y):
            super().__init__(x)
            self.y = y

        def f(self):
            return super().f(y=3), super(B, self).f(), [super(B, self).k for _ in range(1)]

        @classmethod
        def c(cls, a):
            return super().c(a + 1)

        def cell(self):
            g = lambda: self
            return super().f(), g() is self

        @property
        def p(self):
            return super().p + 1

    a, b = A(1), B(2, 3)
    a.p = 7
    return a.f(), a.p, A.s(1), A.c(2), B.c(2), a(1, q=2), b.f(), b.y, b.cell(), b.p, a.zed, outcome(lambda: a.nope), A.table, \
        A.__qualname__, A.f(a, 3), b.f.__self__ is b


@case
def init_that_returns():
    class Bad:
        def __init__(self):
            return 3

    class New:
        def __new__(cls, *a):
            o = super().__new__(cls)
            o.a = a
            return o

        def __init__(self, *a):
            self.b = len(a)

    n = New(1, 2)
    return outcome(Bad), n.a, n.b, outcome(lambda: object(1))


@case
def class_details():
    class Meta(type):
        def __new__(m, name, bases, ns, **kw):
            c = super().__new__(m, name, bases, ns)
            c.kw = kw
            return c

        def __init__(cls, name, bases, ns, **kw):
            super().__init__(name, bases, ns)

        def __call__(cls, *a):
            o = super().__call__(*a)
            o.made = True
            return o

    class A(metaclass=Meta, flag=1):
        x: int = 1
        y: "str"
        __slots__ = ("q", "made")

        def __init__(self, q=0):
            self.q = q

        def __init_subclass__(cls, **kw):
            cls.sub = kw

    class B(A, other=2):
        def who(self):
            return __class__.__name__

    @dataclasses.dataclass(order=True, frozen=True)
    class D:
        a: int
        b: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            object.__setattr__(self, "c", self.a + 1)

    d = D(1)
    return A.kw, A(3).q, A(3).made, B.sub, B().who(), A.__annotations__, d, d.c, D(1) == D(1), outcome(lambda: setattr(d, "a", 2)), \
        D(1) < D(2), dataclasses.replace(d, a=5)


# ------------------------------------------------------------------ exceptions
@case
def try_paths():
    out = []

    def run(k):
        try:
            out.append(("try", k))
            if k == 1:
                raise ValueError("one")
            if k == 2:
                raise KeyError("two")
            if k == 3:
                return "returned"
            if k == 4:
                raise OSError("four")
        except ValueError as e:
            out.append(repr(e))
            return "value"
        except (KeyError, TypeError) as e:
            out.append(repr(e))
        else:
            out.append("else")
        finally:
            out.append("finally")
        return "end"

    for k in range(5):
        out.append(outcome(run, k))
    return out


@case
def finally_overrides():
    def a():
        try:
            return 1
        finally:
            print("f")

    def b():
        for i in range(3):
            try:
                continue
            finally:
                if i == 1:
                    break
        return i

    def c():
        while True:
            try:
                try:
                    1 / 0
                finally:
                    print("inner")
            except ZeroDivisionError:
                return "caught"
            finally:
                print("outer")

    def d():
        try:
            raise ValueError
        finally:
            return "swallowed"

    return a(), b(), c(), d()


@case
def chaining():
    def context():
        try:
            1 / 0
        except ZeroDivisionError:
            raise KeyError("k")

    def cause():
        try:
            1 / 0
        except ZeroDivisionError as e:
            raise KeyError("k") from e

    def none():
        try:
            1 / 0
        except ZeroDivisionError:
            raise KeyError("k") from None

    def native():
        try:
            1 / 0
        except ZeroDivisionError:
            [].index(3)

    def twice():
        try:
            try:
                1 / 0
            except ZeroDivisionError:
                [][1]
        except IndexError as e:
            {}["x"]

    def from_class():
        raise ValueError from KeyError

    def attribute():
        try:
            raise ValueError("v")
        except ValueError:
            None.x

    def in_finally():
        try:
            raise ValueError("v")
        finally:
            nothing().y

    out = []
    for f in (context, cause, none, native, twice, from_class, attribute, in_finally):
        try:
            f()
        except Exception as e:
            out.append((f.__name__, repr(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__,
                        repr(e.__context__ and e.__context__.__context__)))
    return out


@case
def raising():
    class E(Exception):
        def __init__(self, a, b=2):
            super().__init__(a)
            self.b = b

    def bare():
        raise

    def reraise():
        try:
            raise E(1, 5)
        except E:
            print("again")
            raise

    def kind():
        raise E

    def not_exception():
        raise 3

    def bad_cause():
        raise ValueError from 3

    def bad_catch():
        try:
            raise ValueError
        except 3:
            pass

    def nested():
        try:
            raise ValueError("outer")
        except ValueError:
            try:
                raise KeyError("inner")
            except KeyError:
                pass
            raise

    def deleted():
        try:
            raise E(7)
        except E as e:
            pass
        return e

    def asserts():
        assert 1 == 1
        assert 1 == 2, "message %d" % 5

    def plain_assert():
        assert False

    out = [outcome(f) for f in (bare, reraise, kind, not_exception, bad_cause, bad_catch, nested, deleted, asserts, plain_assert)]
    try:
        raise E(1, b=9)
    except E as e:
        out.append((e.args, e.b))
    return out


@case
def exception_state():
    out = [sys.exc_info()[0]]

    def helper():
        out.append(repr(sys.exc_info()[1]))
        out.append(traceback.format_exc().splitlines()[-1])

    try:
        raise ValueError("a")
    except ValueError:
        helper()
        try:
            raise KeyError("b")
        except KeyError:
            helper()
        helper()
    out.append(sys.exc_info())
    return out


@case
def tracebacks():
    def inner(x):
        return 1 // x

    def outer(x):
        return (1 +
                inner(x))

    def lines(e):
        return [(f.name, f.line, f.lineno - outer.__code__.co_firstlineno) for f in traceback.extract_tb(e.__traceback__)][-2:]

    out = []
    try:
        outer(0)
    except ZeroDivisionError as e:
        out.append(lines(e))
    try:
        try:
            inner("a")
        except TypeError as e:
            raise ValueError("v") from e
    except ValueError as e:
        out += [lines(e), lines(e.__cause__)]

    def again():
        try:
            outer(0)
        except ZeroDivisionError:
            raise

    try:
        again()
    except ZeroDivisionError as e:
        out.append(lines(e))
        out.append(len(traceback.extract_tb(e.__traceback__)))
    return out


@case
def groups():
    out = []

    def run(exc):
        try:
            try:
                raise exc
            except* ValueError as e:
                out.append(("v", repr(e)))
            except* (TypeError, KeyError) as e:
                out.append(("t", repr(e)))
                if len(e.exceptions) > 1:
                    raise OSError("new")
            else:
                out.append("else")
            finally:
                out.append("f")
        except BaseException as e:
            out.append(("left", repr(e), repr(e.__context__)))

    run(ValueError(1))
    run(ExceptionGroup("g", [ValueError(1), TypeError(2)]))
    run(ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [OSError(3), ValueError(2)])]))
    run(ExceptionGroup("g", [KeyError(1), TypeError(2), RuntimeError(3)]))
    run(OSError("plain"))
    try:
        pass
    except* ValueError:
        out.append("never")
    return out


@case
def group_errors():
    def bad():
        try:
            raise ValueError
        except* ExceptionGroup:
            pass

    def reraise():
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise

    return outcome(bad), outcome(reraise)


# ------------------------------------------------------------------ with
@case
def with_statements():
    def f(k):
        with Manager("a") as a, Manager("b", swallow=k == 2) as b:
            print("body", a.name, b.name)
            if k == 1:
                return "r"
            if k in (2, 3):
                raise ValueError(k)
        return "after"

    def loop():
        for i in range(4):
            with Manager(i):
                if i == 1:
                    continue
                if i == 2:
                    break
        return i

    def fails(where, raising=False):
        with Manager("x", fail=where):
            if raising:
                raise KeyError("body")
        return 1

    out = [outcome(f, k) for k in range(4)] + [loop(), outcome(fails, "enter"), outcome(fails, "exit")]
    try:
        fails("exit", True)
    except RuntimeError as e:
        out.append(repr(e.__context__))
    return out


@case
def with_errors():
    class Half:
        def __enter__(self):
            return self

    def a():
        with 3:
            pass

    def b():
        with Half():
            pass

    return outcome(a), outcome(b)


@case
def context_managers():
    @contextlib.contextmanager
    def cm(x):
        print("in", x)
        try:
            yield x + 1
        except KeyError as e:
            print("caught", e)
        finally:
            print("out", x)

    out = []
    with cm(1) as v:
        out.append(v)
    with cm(2):
        raise KeyError("k")
    try:
        with cm(3):
            raise ValueError("v")
    except ValueError as e:
        out.append(repr(e))
    with contextlib.suppress(ZeroDivisionError):
        1 / 0
    with contextlib.ExitStack() as stack:
        stack.enter_context(cm(5))
        stack.callback(print, "callback")

    @cm(9)
    def decorated():
        return "d"

    out.append(decorated())
    return out


# ------------------------------------------------------------------ generators
@case
def generators():
    g = count(3)
    out = [next(g), g.send("x"), next(g)]
    try:
        next(g)
    except StopIteration as e:
        out.append(e.value)
    out.append(next(g, "default"))
    out.append([x for x in count(3)])
    out.append(sum(count(4)))
    out.append(list(zip(count(2), count(5))))
    out.append(dict((k, v) for k, v in zip("ab", count(2))))
    out.append(any(x > 1 for x in count(5)))
    out.append(outcome(lambda: count(1).send(3)))
    return out


@case
def yield_from():
    def inner():
        try:
            a = yield 1
            print("a", a)
            b = yield 2
            print("b", b)
        except ValueError as e:
            print("inner caught", e)
            yield "recovered"
        return "inner value"

    def outer():
        try:
            r = yield from inner()
            print("r", r)
        except KeyError as e:
            print("outer caught", e)
        r2 = yield from [10, 20]
        print(r2)
        return "outer value"

    out = []
    g = outer()
    out.append([next(g), g.send("A"), g.send("B"), next(g)])
    try:
        next(g)
    except StopIteration as e:
        out.append(e.value)
    g = outer()
    next(g)
    out += [g.throw(ValueError("t")), next(g), next(g)]
    g = outer()
    next(g)
    out.append(g.throw(KeyError("u")))
    g.close()
    g = outer()
    out += [next(g), outcome(g.throw, TypeError("x")), outcome(lambda: next(g, "over"))]

    def middle():
        return (yield from inner())

    def three():
        x = yield from middle()
        yield x

    g = three()
    out += [next(g), g.throw(ValueError("deep")), next(g), [x for x in three()]]

    def argument():
        return print("got", (yield from inner()), 5)

    out.append(list(argument()))
    return out


@case
def generator_lifecycle():
    def g():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            print("exit")
            raise
        finally:
            print("cleanup")

    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    def stops():
        yield 1
        raise StopIteration("inside")

    def stops_deep():
        yield next(iter(()))

    a = g()
    out = [next(a)]
    a.close()
    out.append(list(a))
    b = g()
    b.close()
    out.append(list(b))
    c = stubborn()
    next(c)
    out.append(outcome(c.close))
    out.append(outcome(list, stops()))
    out.append(outcome(list, stops_deep()))
    d = g()
    next(d)
    out.append(outcome(d.throw, ValueError("thrown")))
    out.append(outcome(d.throw, ValueError("again")))
    e = g()
    out.append(outcome(e.throw, KeyError("early")))
    out.append(list(e))
    for x in g():
        break
    del x

    def reenter():
        yield outcome(lambda: next(me))

    me = reenter()
    out.append(next(me))
    return out


@case
def generator_exceptions():
    def g():
        try:
            yield 1
        except ValueError as e:
            print("context", repr(e.__context__))
            yield sys.exc_info()[0].__name__
        yield sys.exc_info()[0]

    out = []
    try:
        raise KeyError("outer")
    except KeyError:
        a = g()
        next(a)
        out.append(a.throw(ValueError("v")))
        out.append(repr(sys.exc_info()[1]))
        out.append(repr(next(a)))
    b = g()
    next(b)
    out += [b.throw(ValueError("w")), next(b)]

    def fails():
        yield 1
        raise OSError("in generator")

    try:
        for x in fails():
            print(x)
    except OSError as e:
        out.append(str(e))
    return out


@case
def generator_pipeline():
    def evens(it):
        for x in it:
            if x % 2 == 0:
                yield x

    def squares(it):
        yield from (x * x for x in it)

    def tree(n):
        if n:
            yield from tree(n - 1)
            yield n
            yield from tree(n - 1)

    total = 0
    for a in squares(evens(range(10))):
        for b in tree(2):
            total += a * b
    return total, list(tree(3)), [x + y for x in count(2) for y in count(2)]


# ------------------------------------------------------------------ match
@case
def matching():
    def m(v):
        match v:
            case 0 | 1:
                return "small"
            case int(n) if n > 100:
                return "big", n
            case None | True:
                return "singleton"
            case "a" | "b" as s:
                return "letter", s
            case []:
                return "empty"
            case [x]:
                return "one", x
            case [x, [y, *rest], *_]:
                return "nested", x, y, rest
            case (x, y):
                return "two", x, y
            case [x, *rest, z]:
                return "many", x, rest, z
            case {"kind": k, "n": int(n), **rest}:
                return "map", k, n, rest
            case {"only": _}:
                return "only"
            case {}:
                return "some map"
            case Point(x=0, y=yy):
                return "axis", yy
            case Point(x, y):
                return "point", x, y
            case float():
                return "float"
            case Manager(name="n") | V(n=3):
                return "attributes"
        return "no"

    return [m(v) for v in (0, 1, 5, 500, None, True, "a", "c", [], [1], [1, [2, 3, 4], 5], (1, 2), [1, 2, 3], {"kind": 1, "n": 2, "z": 3},
                           {"only": 1}, {"n": 1}, Point(0, 1), Point(2, 3), 1.5, Manager("n"), V(3), V(4), b"xy", {1})]


@case
def match_errors():
    def a(v):
        match v:
            case Point(1, 2, 3):
                return 1

    def b(v):
        match v:
            case V(1):
                return 1

    k = 3

    def c(v):
        match v:
            case k(1):
                return 1

    return outcome(a, Point(1)), outcome(b, V(1)), outcome(c, 1)


# ------------------------------------------------------------------ whole programs
@case
def sieve():
    n = 60
    flags = [True] * n
    for i in range(2, int(n**0.5) + 1):
        if flags[i]:
            flags[i * i :: i] = [False] * len(flags[i * i :: i])
    return [i for i in range(2, n) if flags[i]]


@case
def words():
    text = "the cat and the dog and the bird"
    counts = {}
    for w in text.split():
        counts[w] = counts.get(w, 0) + 1
    return sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))


@case
def state_machine():
    state, out = "start", []
    for ch in "ab1 2c":
        try:
            match state, ch:
                case ("start", c) if c.isalpha():
                    state = "word"
                case ("word", c) if not c.isalpha():
                    raise LookupError(c)
            out.append((state, ch))
        except LookupError as e:
            state = "start"
            out.append(("reset", str(e)))
        finally:
            out.append(len(out))
    return out


@case
def leaves_by_exception():
    try:
        with Manager("last"):
            for i in count(3):
                raise LookupError("leaves", i)
    finally:
        print("finally")


@case
def leaves_by_system_exit():
    raise SystemExit(3)


MODULE = """
'doc'
import os
x: int = 1
y: str
for i in range(3):
    x += i
class C:
    a = x
    b = [a for _ in range(2)] if False else a
    def f(self): return self.a + x
    for k in 'ab':
        locals()[k + '_'] = k
    del k
def g():
    global z
    z = C().f()
g()
try:
    del nope
except NameError as e:
    print(e)
from os.path import *
w = join('a', 'b')
"""
"""Run as module code in the namespace of a dictionary."""

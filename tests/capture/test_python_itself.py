"""Python's own built-ins and exceptions in corners: wrong arguments, parts, identities, numbers that vary."""

import contextlib
import decimal
import io
import math
import weakref
from collections import Counter, OrderedDict

import pytest
import torch

import pellucid


def op_attributes_of_a_function(x):
    def attribs(**kw):
        def d(func):
            for k, v in kw.items():
                setattr(func, k, v)
            return func

        return d

    @contextlib.contextmanager
    @attribs(foo="bar")
    def baz(spam):
        "doc"

    return x, baz.__name__, baz.foo, baz.__doc__


def op_sets_as_keys(x):
    s = {1, 2}
    out = []
    try:
        hash(s)
    except TypeError as e:
        out.append(str(e))
    k = {frozenset({1, 2}), 3}
    out.append(s in k)
    k.discard({9})
    k.remove({1, 2})
    out.append(k)
    try:
        k.remove({5})
    except KeyError as e:
        out.append(repr(e))
    try:
        {s: 1}
    except TypeError as e:
        out.append(str(e))
    try:
        hash([1])
    except TypeError as e:
        out.append(str(e))
    try:
        hash({})
    except TypeError as e:
        out.append(str(e))
    try:
        hash((1, [2]))
    except TypeError as e:
        out.append(str(e))
    return x, out


def op_parts_of_exceptions(x):
    out = []
    for f in (
        lambda: OSError(2, "no", "f").filename,
        lambda: OSError(2, "no").errno,
        lambda: ImportError("m", name="n", path="p").name,
        lambda: NameError("a", name="b").name,
        lambda: UnicodeDecodeError("utf8", b"abc", 0, 1, "r").reason,
        lambda: str(UnicodeDecodeError("utf8", b"abc", 0, 1, "r")),
        lambda: SyntaxError("m", ("f", 1, 2, "t")).lineno,
        lambda: StopIteration(4).value,
        lambda: SystemExit(3).code,
        lambda: KeyError("k").args,
        lambda: type(OSError(2, "x")).__name__,
        lambda: AttributeError("m", name="n", obj=3).obj,
    ):
        try:
            out.append(f())
        except Exception as e:
            out.append(repr(e))
    return x, out


def op_initialised_again(x):
    a = [1, 2, 3]
    a.__init__()
    b = [1]
    b.__init__([4, 5])
    c = {1, 2}
    c.__init__("ab")
    d = {1: 2}
    d.__init__(q=3)
    t = (1, 2)
    f = frozenset([1])
    return (
        x,
        a,
        b,
        sorted(c),
        d,
        t * 1 is t,
        tuple(t) is t,
        frozenset(f) is f,
        f.copy() is f,
        t[:] is t,
        [*t],
        t + () == t,
    )


def op_contexts_set(x):
    e = ValueError("a")
    e.__context__ = KeyError("k")
    e.__cause__ = None
    try:
        raise e
    except ValueError as g:
        return x, repr(g.__context__), g.__suppress_context__, repr(g.__cause__)


def op_counter_and_dict(x):
    c = Counter("aab")
    return x, c == {"a": 2, "b": 1}, {"a": 2, "b": 1} == c, c != {"a": 2}, {"a": 1} == c


class L(list):
    def __eq__(s, o):
        return NotImplemented


def op_derived_list_compared(x):
    return x, L([1]) == [1], [1] == L([1]), L([1]) != [1], L([1]) == L([1])


def op_text_times_a_number(x):
    f = io.StringIO()
    for i in range(5):
        f.write("xy" * i + "\n")
    return x, f.getvalue()


def op_text_of_a_number(x):
    f = io.StringIO()
    for i in range(5):
        f.write("%d\n" % i)
    return x, f.getvalue()


def op_formatted_numbers(x):
    f = io.StringIO()
    for i in range(5):
        f.write(f"{i}:{i*2:>3}\n")
    return x, f.getvalue()


def op_characters(x):
    f = io.StringIO()
    for i in range(5):
        f.write("abc"[i % 3] + str(i) + chr(65 + i) + "%s %5.2f" % (i, i * 0.5) + bytes([i]).hex())
    return x, f.getvalue()


def op_sequences_of_a_number(x):
    f = io.StringIO()
    out = []
    for i in range(5):
        f.write("a")
        out.append([0] * i + [i])
        out.append((1, 2) * i)
        out.append("a".join(["b"] * i))
        out.append({i: i})
        out.append(list(range(i)))
    return x, out


def op_a_number_that_varies(x):
    f = io.StringIO()
    out = []
    for i in range(5):
        f.write("a")
        out.append(i in [1, 2])
        out.append({1: "p"}.get(i))
        out.append([5, 6, 7, 8, 9][i])
        out.append("hello"[i:])
        out.append(divmod(i, 2))
        out.append(i**2)
        out.append(2**i)
        out.append(1 << i)
        out.append(i / 2)
        out.append(-i)
        out.append(i // 2)
        out.append(hex(i))
        out.append(float(i))
        out.append(complex(i))
        out.append(i.bit_length())
        out.append(round(i / 3, 2))
        out.append(min(i, 3))
        out.append(sum([i, i]))
        out.append(abs(-i))
        out.append(str(i).zfill(3))
        out.append("x".rjust(i))
        out.append(b"q" * i)
        out.append(isinstance(i, int))
        out.append(i == 3)
        out.append(i & 1)
        out.append(~i)
        out.append(i ^ 5)
        out.append(int(str(i)))
        out.append(bool(i))
        out.append(repr(i))
        out.append(hash(i))
        out.append(type(i))
        out.append(math.sqrt(i))
        out.append(math.gcd(i, 6))
        out.append(i == 2.0)
        out.append(i < 2.5)
        out.append(i + 0.5)
        out.append(i * 1j)
    return x, out


def op_wrong_arguments(x):
    out = []
    for f in (
        lambda: [].clear(1),
        lambda: {}.get(),
        lambda: bool(1, 2),
        lambda: tuple(sequence=()),
        lambda: set().add(),
        lambda: len(),
        lambda: [].append(1, 2),
        lambda: {}.items(3),
        lambda: frozenset(1, 2),
        lambda: iter(),
        lambda: [].sort(1),
        lambda: "a".join(),
        lambda: getattr(1),
        lambda: isinstance(1),
        lambda: {}.pop(),
    ):
        try:
            out.append(f())
        except TypeError as e:
            out.append(str(e))
    return x, out


D = decimal.Decimal


class Link:
    pass


def op_generators_that_break(x):
    def gen(n):
        for i in range(n):
            d = D(i) + 1
            yield (i, d)

    return x, list(gen(3)), [p for p in gen(2)], tuple(gen(2)), dict(gen(3)), sum(i for i, _ in gen(3))


def op_weak_proxies(x):
    a = Link()
    p = weakref.proxy(a)
    p.next = p.prev = p
    b = Link()
    b.prev, b.next, b.key = p, p, "k"
    p.next = p.prev = weakref.proxy(b)

    def it():
        c = p.next
        while c is not p:
            yield c.key
            c = c.next

    return x, list(it()), list(it())


def op_exec_and_annotations(x):
    ns = {}
    exec("x: int = 3\ndef f(a: int): pass", ns)
    return x, ns["__annotations__"], ns["f"].__annotations__, eval("1+1")


class OD(OrderedDict):
    pass


def op_ordered_dicts(x):
    o = OrderedDict.fromkeys("abc", value=0)
    p = OD(a=1)
    q = p.copy()
    r = dict.fromkeys("ab", 5)
    s = OrderedDict.fromkeys("ab", 3)
    return x, o, type(q).__name__, q, r, s, type(p | {"z": 1}).__name__


CASES = [f for n, f in list(globals().items()) if n.startswith("op_")]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_as_python(case, dynamic):
    want = repr(case(torch.ones(2)))
    fast = pellucid.compile(case, backend="eager", dynamic=dynamic, options={"strict": True})
    assert [repr(fast(torch.ones(2))) for _ in range(3)] == [want] * 3

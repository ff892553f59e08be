"""Functions: parameters, closures, cells, defaults, decorators, recursion, lambdas, partials."""

from __future__ import annotations

import functools
import operator

import torch

from .harness import Programs, one

programs = Programs()
two = lambda: (torch.arange(3.0), torch.ones(3))  # noqa: E731
K = 2.5
COUNTER = 0


@programs()
def defaults(x, a=1, *, b=2):
    return x * a + b


@programs()
def calls_with_keywords(x):
    def f(a, /, b, *, c=3, **rest):
        return a + b * c + rest["d"]

    return f(x, b=x, d=1), f(x, x, c=2, d=x)


@programs()
def star_arguments(x):
    def f(*args, **kwargs):
        return sum(args) + kwargs["k"], len(args), sorted(kwargs)

    return f(*[x, x + 1], *(x for _ in range(2)), **{"k": x, "j": 2})


@programs()
def star_arguments_of_a_generator(x):
    return torch.stack([*(x * i for i in range(3))]), max(*(i for i in range(4)))


@programs()
def wrong_arguments(x):
    def f(a, b):
        return a

    out = []
    for args, kwargs in (((x,), {}), ((x, x, x), {}), ((x, x), {"b": 1}), ((x,), {"c": 1})):
        try:
            f(*args, **kwargs)
        except TypeError as e:
            out.append(str(e))
    return x + 1, out


@programs()
def keyword_only_missing(x):
    def f(*, a, b):
        return a

    try:
        f(a=1)
    except TypeError as e:
        return x * 2, str(e)


@programs()
def mutable_default(x):
    def f(y, seen=[]):  # noqa: B006
        seen.append(1)
        return y * len(seen)

    return f(x), f(x), f(x)


@programs()
def closure_reads(x):
    k = 3

    def f(y):
        return y * k

    k = 4
    return f(x)


@programs()
def closure_writes(x):
    n = 0

    def f():
        nonlocal n
        n += 1
        return n

    f()
    f()
    return x * n


@programs()
def closures_in_a_loop_share_the_cell(x):
    fs = [lambda y: y * i for i in range(3)]  # noqa: B023
    gs = [lambda y, i=i: y * i for i in range(3)]
    return [f(x) for f in fs], [g(x) for g in gs]


@programs()
def cell_unbound(x):
    def f():
        return later

    try:
        f()
    except NameError as e:
        message = str(e)
    later = 3
    return x * f(), message


@programs()
def cell_deleted(x):
    a = 3

    def f():
        return a

    first = f()
    del a
    try:
        f()
    except NameError as e:
        return x + first, type(e).__name__


@programs.factory()
def counter_in_a_closure():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + n

    return f


@programs.factory()
def list_in_a_closure():
    seen = []

    def f(x):
        seen.append(x.shape[0])
        return x * len(seen), list(seen)

    return f


@programs()
def global_read(x):
    return x * K


@programs()
def global_written(x):
    global COUNTER
    COUNTER = 7
    return x + COUNTER


@programs()
def global_missing(x):
    try:
        return x + not_there  # noqa: F821
    except NameError as e:
        return x, str(e)


@programs()
def recursion(x):
    def f(n):
        return x if n == 0 else f(n - 1) * 2

    return f(5)


@programs()
def mutual_recursion(x):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    return x + even(10)


@programs()
def recursion_over_a_tree(x):
    tree = {"a": [x, {"b": x + 1}], "c": (x * 2,)}

    def total(t):
        if isinstance(t, dict):
            return sum(total(v) for v in t.values())
        if isinstance(t, (list, tuple)):
            return sum(map(total, t))
        return t.sum()

    return total(tree)


def wrapper(fn):
    @functools.wraps(fn)
    def inner(*args, **kwargs):
        return fn(*args, **kwargs) + 1

    return inner


@wrapper
def wrapped(x):
    """Doubles."""
    return x * 2


@programs()
def decorated(x):
    return wrapped(x), wrapped.__name__, wrapped.__doc__


def with_argument(k):
    def decorate(fn):
        def inner(x):
            return fn(x) * k

        return inner

    return decorate


@programs()
def decorated_inside(x):
    @with_argument(3)
    @wrapper
    def f(y):
        return y - 1

    return f(x)


@programs()
def partials(x):
    f = functools.partial(torch.add, alpha=2)
    g = functools.partial(f, x)
    return f(x, x), g(1), g.args[0] is x, f.keywords


@programs()
def partial_of_a_local_function(x):
    def f(a, b, c=1):
        return a * b + c

    return functools.partial(f, b=3)(x), functools.partial(f, x, c=5)(2)


@functools.lru_cache(maxsize=None)
def cached(n):
    return n * n


@programs()
def lru_cache_of_a_global(x):
    return x * cached(3) + cached(3)


@programs(breaks=True)
def cache_made_inside(x):
    @functools.cache
    def f(n):
        return 1 if n < 2 else f(n - 1) + f(n - 2)

    return x * f(10)


@functools.singledispatch
def kind(v):
    return "other"


@kind.register
def _(v: int):
    return "int"


@kind.register
def _(v: list):
    return "list"


@programs()
def single_dispatch(x):
    return x + 1, kind(3), kind([1]), kind("s")


@programs()
def lambdas(x):
    f = lambda a, b=2, *c, d, **e: a * b + d + len(c) + len(e)  # noqa: E731
    return f(x, d=1), f(x, 3, 4, 5, d=2, z=0)


@programs()
def immediately_called_lambda(x):
    return (lambda y: (lambda z: z + y)(y * 2))(x)


@programs()
def function_attributes(x):
    def f(y):
        return y * f.scale

    f.scale = 3
    out = f(x)
    f.scale += 1
    return out, f(x), f.__name__, hasattr(f, "nope")


@programs()
def function_in_a_dict(x):
    table = {"double": lambda v: v * 2, "neg": operator.neg, "relu": torch.relu}
    return {k: f(x) for k, f in table.items()}


@programs()
def returns_a_function(x):
    def outer(k):
        def inner(y):
            return y + k

        return inner

    add2, add3 = outer(2), outer(3)
    return add3(add2(x))


@programs()
def higher_order(x):
    def compose(*fs):
        return functools.reduce(lambda f, g: lambda v: g(f(v)), fs)

    return compose(torch.sin, lambda v: v * 2, abs)(x)


@programs(two)
def two_tensors(x, y):
    return x + y, x @ y


@programs(lambda: (torch.ones(2), 3, "sum"), lambda: (torch.ones(2), 4, "mean"), lambda: (torch.ones(2), 3, "sum"))
def arguments_that_are_not_tensors(x, n, how):
    return getattr(x * n, how)()


@programs(lambda: ([torch.ones(2), torch.zeros(2)], {"a": torch.ones(2), "n": 2}))
def containers_as_arguments(xs, d):
    d["new"] = xs[0] * d["n"]
    xs.append(d["a"])
    return sum(xs)


@programs(one, lambda: (torch.ones(4),), lambda: (torch.ones(2, 2, dtype=torch.int64),))
def other_shapes_and_dtypes(x):
    return x * 2, x.dim(), x.dtype


@programs()
def annotations_are_not_run(x):
    v: undefined_name = 3  # noqa: F821
    w: int
    return x * v


@programs()
def walrus(x):
    if (n := x.shape[0]) > 1:
        x = x * n
    ys = [m := 3, m * 2]
    return x, ys, [last := i for i in range(4)], last


@programs()
def conditional_expression(x):
    a = 1 if x.dim() == 2 else 2
    return x * a if a else x


@programs()
def and_or_not(x):
    return x + (0 or 3), x * (2 and 4), not [], (None or [] or "z"), x.shape and 1


@programs()
def chained_comparison(x):
    n = x.shape[0]
    return x + (0 < n <= 2 < 5), 1 < n < 2, n == 2 == 2.0 != 3


@programs()
def unpacking(x):
    a, (b, *c), *d = x, (1, 2, 3), 4, 5
    e2, f2 = x[0, :2]
    return a + b, c, d, e2 * f2


@programs()
def unpacking_errors(x):
    out = []
    for bad in ((1, 2, 3), (1,)):
        try:
            a, b = bad
        except ValueError as e:
            out.append(str(e))
    return x + 1, out


@programs()
def unpack_into_displays(x):
    return [*x, 1], {**{"a": x}, "b": 2}, (*range(2), x), {*[1, 2], 3}


@programs()
def swap(x):
    a, b, c = x, x + 1, x + 2
    a, b, c = c, a, b
    return a, b, c


@programs()
def augmented(x):
    n = 2
    n **= 3
    n //= 3
    n <<= 2
    n |= 1
    n ^= 2
    y = x + 0
    y += 1
    y *= n
    y -= x
    y /= 2
    return y, n


@programs()
def augmented_on_items(x):
    d = {"a": [1, 2]}
    d["a"] += [3]
    d["a"][0] -= 5
    y = x.clone()
    y[0] += 1
    y[:, 1] *= 3
    return y, d


@programs()
def delete_things(x):
    a, d, xs = 1, {"p": 1, "q": x}, [1, 2, 3, 4]
    del a, d["p"], xs[1:3]
    try:
        print(a)
    except UnboundLocalError as e:
        return d, xs, str(e)


@programs()
def imports_inside(x):
    import math
    from math import pi as p
    from operator import mul as m

    import torch.nn.functional as F

    return F.relu(x) * math.sqrt(4) + m(2, p)


@programs(breaks=True)
def import_missing(x):
    try:
        import no_such_module_anywhere
    except ImportError as e:
        return x + 1, str(e), e.name
    return no_such_module_anywhere


@programs()
def asserts(x):
    assert x.dim() == 2, "must have two dimensions"
    try:
        assert x.dim() == 3, f"got {x.dim()}"
    except AssertionError as e:
        return x * 2, str(e)


@programs(breaks=True)
def assert_on_data(x):
    assert x.sum() < 100
    return x * 2


@programs(breaks=True)
def prints(x):
    print("shape", tuple(x.shape), sep="=", end="!\n")
    return x + 1


@programs()
def f_strings(x):
    n = 3.14159
    return x + 1, f"{n:.2f} {x.shape[0]:>4} {n!r} {'ab'!s:_^5} {x.dtype} {{}} {n=:.1f}"


@programs()
def string_methods(x):
    s = " Hello, World "
    return (
        x,
        s.strip().lower().split(", "),
        s.replace("l", "L"),
        "-".join("abc"),
        "%s %d" % ("a", 3),
        "{} {k}".format(1, k=2),
        s.find("W"),
        "abc"[::-1],
        "a" in "cat",
        "x" * 3,
        s.encode(),
        "ab".zfill(4),
    )


@programs()
def while_loops(x):
    n = 0
    while True:
        n += 1
        if n == 2:
            continue
        x = x + n
        if n > 4:
            break
    else:
        x = x * 0
    while n > 0:
        n -= 1
    else:
        x = x * 2
    return x, n


@programs()
def for_else(x):
    for i in range(3):
        if i == 5:
            break
    else:
        x = x + 10
    for j in [x, x]:
        x = x + j
        break
    else:
        x = x * 0
    return x, i


@programs()
def loops_over_everything(x):
    out = []
    for a in (
        range(2),
        [1],
        (2,),
        {"k": 3},
        {4},
        "ab",
        zip([1], [2]),
        enumerate("c"),
        reversed([1, 2]),
        {"k": 1}.items(),
        map(str, [1]),
        filter(None, [0, 1]),
        iter([9]),
        bytes(b"z"),
    ):
        for b in a:
            out.append(b)
    return x + 1, out


@programs()
def loop_over_a_tensor(x):
    total = 0
    for row in x:
        for v in row:
            total = total + v * 2
    return total, len(x), [r.sum() for r in reversed(x)], list(enumerate(x))


@programs()
def slices(x):
    s = slice(0, 2)
    xs = [1, 2, 3, 4, 5]
    xs[1:3] = ["a"]
    xs[::2] = [7] * len(xs[::2])
    return x[s], x[..., -1], x[None, :, 1:], x[[1, 0]], xs, xs[-2:], s.indices(5), x[:, torch.tensor([0, 2])]


@programs()
def match_values(x):
    out = []
    for v in (1, "a", None, [1, 2], [1, 2, 3], (1,), {"k": 1, "z": 2}, 3.5, True, x):
        match v:
            case torch.Tensor(shape=s):
                out.append(tuple(s))
            case True:
                out.append("true")
            case 1 | 2:
                out.append("one or two")
            case str(s):
                out.append("str " + s)
            case None:
                out.append("none")
            case [a, b]:
                out.append(("pair", a, b))
            case [a, *rest] if len(rest) > 1:
                out.append(("many", a, rest))
            case {"k": k, **others}:
                out.append((k, others))
            case float():
                out.append("float")
            case _:
                out.append("other")
    return x + 1, out


@programs.factory()
def match_classes():
    class Point:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    def f(x):
        def f(p):
            match p:
                case Point(a=a, b=Point(c, _)):
                    return a + c
                case Point(0, b):
                    return b
                case Point():
                    return -1

        return f(Point(0, x)), f(Point(x, Point(2, 3))), f(Point(5, 5))

    return f


@programs()
def ternary_chain_and_numbers(x):
    return (
        x + (-7 // 2) + (-7 % 3) + 2**-1 + 7 / 2,
        divmod(-7, 2),
        round(2.5),
        round(2.675, 2),
        abs(-3),
        1_000,
        0x1F,
        int("12"),
        float("1e3"),
        bool([]),
        complex(1, 2),
        5 & 3,
        ~5,
        1 << 4,
        int(3.9),
        pow(2, 10, 7),
        hash(1) == hash(1.0),
    )


@programs()
def builtins_over_sequences(x):
    xs = [3, 1, 2]
    return (
        x,
        sum(xs),
        min(xs),
        max(xs, key=lambda v: -v),
        sorted(xs, reverse=True),
        any(xs),
        all([]),
        list(zip(xs, "abc")),
        list(enumerate(xs, 1)),
        list(map(lambda a, b: a + b, xs, xs)),
        list(filter(lambda v: v > 1, xs)),
        list(reversed(xs)),
        len(xs),
        tuple(xs),
        set(xs),
        dict(a=1),
        dict(zip("ab", xs)),
        isinstance(3, (int, str)),
        callable(len),
        type(xs) is list,
        chr(65),
        ord("A"),
        hex(255),
        bin(5),
        repr(xs),
        str(1.0),
        list(range(5, 0, -2)),
    )


@programs()
def next_and_iter(x):
    it = iter([1, 2])
    a, b = next(it), next(it)
    c = next(it, "done")
    try:
        next(it)
    except StopIteration as e:
        d = e.value
    return x + a, b, c, d


@programs()
def zip_strict(x):
    try:
        list(zip([1, 2], [1], strict=True))
    except ValueError as e:
        return x, str(e)


@programs()
def locals_and_names(x):
    a = 3
    return x + 1, sorted(locals()), a


@programs()
def dunder_name_and_doc(x):
    def f():
        """Doc."""

    return x, f.__doc__, f.__name__, f.__qualname__, f.__module__


@programs()
def many_returns(x):
    for i in range(10):
        if i == 3:
            return x * i
    return x


@programs()
def returns_nothing(x):
    x + 1


@programs()
def returns_argument_itself(x):
    return x, [x], x


@programs()
def mutates_argument(x):
    x.add_(1)
    x[0] = 5
    return x.sum()


@programs()
def star_import_names(x):
    from math import floor, sqrt

    return x * floor(sqrt(17))


@programs()
def nested_functions_three_deep(x):
    a = 1

    def f():
        b = 2

        def g():
            c = 3

            def h(y):
                return y * a + b * c

            return h

        return g

    return f()()(x)


@programs()
def reduce_and_accumulate(x):
    import itertools

    return (
        functools.reduce(operator.mul, [x, x, 2]),
        list(itertools.accumulate([x, x, x])),
        functools.reduce(max, [1, 4, 2], 0),
    )


@programs()
def cmp_to_key(x):
    return x, sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: b - a))

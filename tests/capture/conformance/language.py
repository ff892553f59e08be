"""The language: calls, scopes, comprehensions, generators, exceptions, `with`, patterns, operators of statements."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import operator

import torch

from .harness import Programs

programs = Programs()
LEVEL = 0
TABLE = {"relu": torch.relu, "tanh": torch.tanh}
HISTORY = []


def both():
    return (torch.arange(6.0).reshape(2, 3) - 2, torch.ones(2, 3))


def scaled():
    return (torch.arange(6.0).reshape(2, 3), 2)


# ---------------------------------------------------------------- calls
@programs()
def activation_by_name(x):
    def get(name, *, default=None):
        try:
            return TABLE[name]
        except KeyError:
            if default is None:
                raise ValueError(f"unknown activation {name!r}, choose from {sorted(TABLE)}") from None
            return default

    try:
        get("gelu")
    except ValueError as e:
        message = str(e), e.__cause__, e.__suppress_context__, type(e.__context__).__name__
    return get("relu")(x), get("nothing", default=torch.sigmoid)(x), message


@programs(both)
def positional_only_and_keyword_only(x, y):
    def blend(a, b, /, *, weight: float = 0.5, bias=None):
        out = a * weight + b * (1 - weight)
        return out if bias is None else out + bias

    return blend(x, y), blend(x, y, weight=0.25), blend(x, y, bias=1)


@programs(both)
def defaults_that_are_evaluated_once(x, y):
    made = []

    def default():
        made.append(len(made))
        return len(made)

    def f(a, k=default(), *, j=default()):
        return a * k + j

    return f(x), f(y), f(x, 5), f(x, j=7), made


@programs()
def keywords_forwarded_through_three_levels(x):
    def inner(a, *, scale=1, shift=0, **unused):
        return a * scale + shift, sorted(unused)

    def middle(*args, **kwargs):
        kwargs.setdefault("shift", 3)
        return inner(*args, **kwargs)

    def outer(a, **kwargs):
        return middle(a, **{**kwargs, "extra": 1})

    return outer(x, scale=2), outer(x, shift=1, more=None)


@programs()
def keyword_arguments_are_popped(x):
    def layer(a, **kwargs):
        scale = kwargs.pop("scale", 1.0)
        inplace = kwargs.pop("inplace", False)
        if kwargs:
            raise TypeError(f"unexpected keyword arguments: {', '.join(kwargs)}")
        return a.mul_(scale) if inplace else a * scale

    y = layer(x, scale=3.0)
    layer(y, scale=2.0, inplace=True)
    try:
        layer(x, depth=1)
    except TypeError as e:
        return y, str(e)


@programs()
def call_with_unpacked_mixture(x):
    def f(*args, sep=None, **kw):
        return [a if isinstance(a, int) else tuple(a.shape) for a in args], sep, list(kw.items())

    parts = [1, x]
    return f(0, *parts, *(2, 3), sep="/", **{"a": 1}, **dict(b=2)), x + 1


@programs()
def evaluation_order_of_a_call(x):
    order = []

    def note(v, tag):
        order.append(tag)
        return v

    def f(a, b, *rest, c, d):
        return a + b + c + d + sum(rest)

    y = note(f, "f")(note(x, "a"), note(1, "b"), *note([2, 3], "rest"), c=note(4, "c"), **note({"d": 5}, "kw"))
    return y, order


@programs(breaks=True)
def evaluation_order_of_assignments(x):
    order = []

    class Log:
        pass

    def note(v, tag):
        order.append(tag)
        return v

    d = {}
    d[note("k", "key")] = note(x * 2, "value")
    a = [0, 0]
    i = 0
    i, a[i] = 1, 5
    a[note(0, "index")] += note(3, "added")
    return d["k"], a, i, order


@programs(scaled)
def recursion_with_a_default_accumulator(x, n):
    def power(a, k, acc=None):
        acc = torch.ones_like(a) if acc is None else acc
        return acc if k == 0 else power(a, k - 1, acc * a)

    return power(x, n), power(x, 4)


@programs()
def mutual_recursion_over_nested_lists(x):
    def walk(node):
        return walk_list(node) if isinstance(node, list) else node * 2

    def walk_list(nodes):
        return [walk(n) for n in nodes]

    return walk([x, [x + 1, [x + 2]], []])


@programs()
def tree_map_by_hand(x):
    def tree_map(fn, tree):
        if isinstance(tree, dict):
            return {k: tree_map(fn, v) for k, v in tree.items()}
        if isinstance(tree, (list, tuple)):
            return type(tree)(tree_map(fn, v) for v in tree)
        return fn(tree)

    return tree_map(lambda t: t + 1, {"a": x, "b": [x, (x * 2, x * 3)], "c": {}})


@programs()
def flatten_generator_recursive(x):
    def flatten(tree, prefix=""):
        for k, v in tree.items():
            name = f"{prefix}.{k}" if prefix else k
            if isinstance(v, dict):
                yield from flatten(v, name)
            else:
                yield name, v

    return dict(flatten({"enc": {"w": x, "b": {"v": x + 1}}, "head": x * 2}))


@programs()
def fibonacci_memo_in_a_default(x):
    def fib(n, memo={}):  # noqa: B006
        if n < 2:
            return n
        if n not in memo:
            memo[n] = fib(n - 1) + fib(n - 2)
        return memo[n]

    return x * fib(15)


@programs()
def decorator_with_arguments(x):
    def repeat(n):
        def wrap(fn):
            @functools.wraps(fn)
            def inner(*args, **kwargs):
                """inner"""
                out = args[0]
                for _ in range(n):
                    out = fn(out, *args[1:], **kwargs)
                return out

            inner.times = n
            return inner

        return wrap

    @repeat(3)
    def step(y, k=1):
        """one step"""
        return y * 2 + k

    return step(x), step(x, k=0), step.__name__, step.__doc__, step.times, step.__wrapped__(x)


@programs()
def stacked_decorators(x):
    order = []

    def tag(name):
        def deco(fn):
            order.append(f"make {name}")

            def inner(y):
                order.append(name)
                return fn(y)

            return inner

        return deco

    @tag("outer")
    @tag("inner")
    def f(y):
        return y + 1

    return f(x), order


@programs()
def partial_with_keywords_and_wraps(x):
    def conv(y, *, stride, padding=0, groups=1):
        return y * stride + padding, groups

    p = functools.partial(conv, stride=2)
    q = functools.partial(p, padding=5, groups=2)
    return p(x), q(x), q(x, stride=7), q.keywords, p.func is conv, q.args


@programs.factory()
def partialmethods():
    class Layer:
        def run(self, x, kind, scale=1):
            return (x * scale, kind)

        relu = functools.partialmethod(run, kind="relu")
        tanh = functools.partialmethod(run, kind="tanh", scale=3)

    layer = Layer()
    return lambda x: (layer.relu(x), layer.tanh(x), layer.tanh(x, scale=4))


@programs.factory()
def single_dispatch_by_type():
    @functools.singledispatch
    def describe(v):
        return "object"

    @describe.register
    def _(v: int):
        return v + 1

    @describe.register(list)
    def _(v):
        return [describe(i) for i in v]

    @describe.register(torch.Tensor)
    def _(v):
        return v * 2

    return lambda x: (describe(x), describe(3), describe([1, x, "a"]), describe(None))


@programs.factory()
def single_dispatch_method():
    class Printer:
        @functools.singledispatchmethod
        def show(self, v):
            return "?"

        @show.register
        def _(self, v: int):
            return v * 2

        @show.register
        def _(self, v: torch.Tensor):
            return v + 1

    p = Printer()
    return lambda x: (p.show(x), p.show(2), p.show("s"))


@programs.factory()
def total_ordering_of_a_class():
    @functools.total_ordering
    class Version:
        def __init__(self, *parts):
            self.parts = parts

        def __eq__(self, other):
            return self.parts == other.parts

        def __lt__(self, other):
            return self.parts < other.parts

    def f(x):
        a, b = Version(1, 2), Version(1, 10)
        return x + 1, a < b, a <= b, a > b, a >= b, a == Version(1, 2), max(a, b).parts, sorted([b, a])[0].parts

    return f


@programs.factory()
def lru_cached_helper():
    calls = []

    @functools.lru_cache(maxsize=None)
    def bucket(n):
        calls.append(n)
        return 2 ** math.ceil(math.log2(n))

    return lambda x: (x * bucket(5) + bucket(5) + bucket(3), sorted(calls))


@programs.factory(breaks=True)
def lru_cached_function_that_raises():
    calls = []

    @functools.lru_cache
    def check(n):
        calls.append(n)
        if n < 0:
            raise ValueError(f"negative: {n}")
        return n

    def f(x):
        try:
            check(-1)
        except ValueError as e:
            return x + 1, str(e), list(calls)

    return f


@programs.factory()
def lru_cached_function_of_a_tensor():
    @functools.lru_cache(maxsize=2)
    def mask(n, dtype):
        return torch.ones(n, n, dtype=dtype).tril()

    return lambda x: (x @ mask(3, x.dtype), mask(3, x.dtype) is mask(3, x.dtype))


@programs.factory()
def cached_method():
    class Table:
        def __init__(self):
            self.calls = 0

        @functools.cache  # noqa: B019
        def size(self, n):
            self.calls += 1
            return n * 3

    t = Table()
    return lambda x: (x * t.size(2) + t.size(2), t.calls)


@programs()
def reduce_with_functions(x):
    compose = lambda *fs: functools.reduce(lambda f, g: lambda y: g(f(y)), fs)  # noqa: E731
    return compose(torch.relu, lambda y: y + 1, torch.sqrt)(x), functools.reduce(operator.mul, [1, 2, 3], x)


# ---------------------------------------------------------------- scopes
@programs.factory()
def global_counter_and_list():
    def f(x):
        global LEVEL
        LEVEL += 1
        HISTORY.append(LEVEL)
        try:
            return x * LEVEL, len(HISTORY)
        finally:
            LEVEL -= 1
            HISTORY.clear()

    return f


@programs.factory()
def nonlocal_across_two_levels():
    total = 0
    last = None

    def f(x):
        def add(n):
            nonlocal total

            def store():
                nonlocal total, last
                total += n
                last = x * total

            store()
            return total

        return add(1), add(2), last

    return f


@programs()
def make_counter_pairs(x):
    def make():
        n = 0

        def inc(by=1):
            nonlocal n
            n += by
            return n

        def get():
            return n

        return inc, get

    inc, get = make()
    inc2, get2 = make()
    inc()
    inc(5)
    inc2()
    return x * get(), get2(), inc.__closure__[0] is get.__closure__[0], inc.__code__.co_freevars


@programs()
def closure_over_a_loop_variable_in_a_comprehension(x):
    late = [lambda: i for i in range(3)]  # noqa: B023
    bound = [lambda i=i: i for i in range(3)]
    return x, [f() for f in late], [f() for f in bound], [(lambda j: lambda: j)(i)() for i in range(3)]


@programs()
def closure_deleted_and_bound_again(x):
    k = 2

    def f():
        return x * k

    a = f()
    del k
    try:
        f()
    except NameError as e:
        message = str(e)
    k = 5
    return a, message, f()


@programs()
def unbound_local(x):
    try:
        if x.dim() > 5:
            later = 1
        y = later
    except UnboundLocalError as e:
        y = str(e)
    return x + 1, y


@programs()
def nested_functions_of_nested_functions(x):
    def a(p):
        def b(q):
            def c(r):
                return x * p + q - r

            return c

        return b

    return a(2)(3)(4)


@programs()
def function_attributes_as_state(x):
    def f(y):
        f.calls += 1
        return y * f.calls

    f.calls = 0
    f(x)
    return f(x), f.calls, vars(f)


@programs()
def lambda_with_everything(x):
    f = lambda a, b=2, *c, d=4, **e: (a * b + d, c, sorted(e.items()))  # noqa: E731
    return f(x), f(x, 3, 4, 5, d=6, z=7)


@programs()
def annotations_of_inner_functions(x):
    def f(a: int, b: "torch.Tensor" = None, *c: str, d: float = 1.0) -> None:
        local: int = 3
        return a * local

    return x * f(2), f.__annotations__, f.__kwdefaults__, f.__defaults__


@programs()
def imports_in_the_function(x):
    import collections as c
    import math as m
    from functools import partial
    from functools import reduce as fold
    from os.path import join

    import torch.nn.functional as F

    return F.relu(x) * m.sqrt(4), fold(lambda a, b: a + b, [1, 2]), partial(join, "a")("b"), c.Counter.__name__


# ---------------------------------------------------------------- comprehensions
@programs()
def comprehension_nested_with_conditions(x):
    pairs = [(i, j) for i in range(4) if i % 2 for j in range(i) if j != 1]
    grid = [[x[i, j] * 2 for j in range(3) if j] for i in range(2)]
    flat = [v for row in grid for v in row]
    return pairs, torch.stack(flat), {i: [j for j in range(i)] for i in range(3)}


@programs()
def comprehension_with_walrus_and_conditional(x):
    values = [y if (y := k * 2) > 2 else -y for k in range(4)]
    return x * y, values, [last := k for k in range(3)], last


@programs()
def dict_and_set_comprehensions(x):
    state = {"layer.0.w": x, "layer.1.w": x + 1, "head.b": x * 2}
    stripped = {k.removeprefix("layer."): v for k, v in state.items() if k.startswith("layer.")}
    return stripped, sorted({k.split(".")[0] for k in state}), {v: k for k, v in {"a": 1, "b": 2}.items()}


@programs()
def comprehension_over_zip_enumerate_and_items(x):
    names = ["a", "b"]
    weights = [1.0, 2.0]
    return (
        {n: x * w for n, w in zip(names, weights)},
        [(i, n, w) for i, (n, w) in enumerate(zip(names, weights), 1)],
        sum(w * i for i, w in enumerate(weights)),
    )


@programs()
def generator_expression_short_circuits(x):
    seen = []

    def check(v):
        seen.append(v)
        return v > 1

    return (
        x,
        any(check(v) for v in range(5)),
        all(check(v) for v in (3, 0, 4)),
        next(v for v in range(9) if v > 4),
        seen,
    )


@programs()
def comprehension_with_tensor_unpacking(x):
    a, b = x
    return [r.sum() for r in x], [p * q for p, q in zip(a, b)], [c for c in x.unbind(1)], tuple(r for r in x)


# ---------------------------------------------------------------- generators
@programs()
def generator_pipeline(x):
    def numbers(n):
        yield from range(n)

    def squares(it):
        for v in it:
            yield v * v

    def evens(it):
        return (v for v in it if v % 2 == 0)

    return x * sum(evens(squares(numbers(6)))), list(evens(squares(numbers(7))))


@programs()
def generator_of_layers(x):
    def layers(n):
        scale = 1.0
        for i in range(n):
            yield f"layer{i}", lambda y, s=scale: y * s + i
            scale /= 2

    out = {}
    for name, layer in layers(3):
        x = layer(x)
        out[name] = x
    return out


@programs()
def generator_with_try_finally(x):
    log = []

    def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    for v in g():
        log.append(v)
    it = g()
    log.append(next(it))
    it.close()
    return x + 1, log


@programs()
def generator_send_accumulates(x):
    def running():
        total = yield
        while True:
            total = total + (yield total)

    g = running()
    next(g)
    a = g.send(x)
    b = g.send(x * 2)
    return a, b, g.send(1)


@programs()
def generator_throw_handled_inside(x):
    def g():
        while True:
            try:
                yield x
            except ValueError as e:
                yield str(e)

    it = g()
    a = next(it)
    b = it.throw(ValueError("inside"))
    c = next(it)
    it.close()
    try:
        next(it)
    except StopIteration:
        return a, b, c


@programs()
def generator_return_values_collected(x):
    def part(n):
        for i in range(n):
            yield i
        return n * 10

    def whole(sink):
        sink.append((yield from part(2)))
        sink.append((yield from part(1)))
        return x

    sink = []
    it = whole(sink)
    seen = []
    while True:
        try:
            seen.append(next(it))
        except StopIteration as stop:
            return stop.value, seen, sink


@programs()
def generator_raises_stop_iteration(x):
    def g():
        yield 1
        raise StopIteration("bad")

    try:
        list(g())
    except RuntimeError as e:
        return x, str(e), type(e.__cause__).__name__


@programs()
def yield_from_several_kinds(x):
    def g():
        yield from [x]
        yield from (1, 2)
        yield from "ab"
        yield from {"k": 1}
        yield from (i for i in range(2))
        yield from zip([1], [2])
        yield from map(str, [3])

    return list(g())


@programs()
def interleaved_generators(x):
    def g(tag, n):
        for i in range(n):
            yield tag, i

    a, b = g("a", 2), g("b", 3)
    out = []
    for v in itertools.zip_longest(a, b):
        out.append(v)
    return x, out


@programs()
def generators_as_coroutine_scheduler(x):
    log = []

    def task(name, n):
        for i in range(n):
            log.append(f"{name}{i}")
            yield

    queue = [task("a", 2), task("b", 1)]
    while queue:
        t = queue.pop(0)
        try:
            next(t)
            queue.append(t)
        except StopIteration:
            log.append("end")
    return x * len(log), log


@programs()
def sliding_window_generator(x):
    def window(seq, n):
        it = iter(seq)
        buf = list(itertools.islice(it, n))
        if len(buf) == n:
            yield tuple(buf)
        for v in it:
            buf = [*buf[1:], v]
            yield tuple(buf)

    return [sum(w) for w in window(range(5), 3)], x


# ---------------------------------------------------------------- exceptions
@programs()
def exception_hierarchy_order(x):
    out = []
    for make in (KeyError, IndexError, ZeroDivisionError, OSError, ValueError):
        try:
            raise make("k")
        except LookupError as e:
            out.append(("lookup", type(e).__name__, e.args))
        except (ArithmeticError, OSError) as e:
            out.append(("arith or os", type(e).__name__))
        except Exception as e:
            out.append(("other", repr(e)))
    return x, out


@programs()
def finally_runs_on_every_way_out(x):
    log = []

    def f(how):
        for _ in range(2):
            try:
                if how == "return":
                    return "returned"
                if how == "break":
                    break
                if how == "continue":
                    continue
                if how == "raise":
                    raise ValueError(how)
            finally:
                log.append(how)
        else:
            return "else"
        return "end"

    out = [f(h) for h in ("return", "break", "continue")]
    try:
        f("raise")
    except ValueError as e:
        out.append(str(e))
    return x, out, log


@programs()
def nested_finally_order(x):
    log = []
    try:
        try:
            try:
                raise KeyError("deep")
            finally:
                log.append("first")
        except KeyError as e:
            log.append(e.args)
            raise ValueError("second") from e
        finally:
            log.append("third")
    except ValueError as e:
        log.append(repr(e.__cause__))
        log.append(e.__context__ is e.__cause__)
    else:
        log.append("never")
    return x * 2, log


@programs(breaks=True)
def exception_with_attributes(x):
    class ShapeError(ValueError):
        def __init__(self, want, got):
            super().__init__(f"wanted {want}, got {got}")
            self.want, self.got = want, got

    try:
        if x.shape != (3, 3):
            raise ShapeError((3, 3), tuple(x.shape))
    except ValueError as e:
        return x, str(e), e.want, e.got, e.args, isinstance(e, ShapeError)


class ConfigError(Exception):
    code = 3

    def __init__(self, message, *, key=None):
        super().__init__(message)
        self.key = key

    def __str__(self):
        return f"[{self.key}] {super().__str__()}"


@programs()
def own_exception_with_str(x):
    def check(config):
        for k, v in config.items():
            if v is None:
                raise ConfigError("is missing", key=k)

    try:
        check({"a": 1, "b": None})
    except ConfigError as e:
        return x + e.code, str(e), e.key, repr(e), e.args


@programs()
def own_exception_escapes(x):
    y = x + 1
    raise ConfigError("no way", key=str(tuple(y.shape)))


@programs()
def exception_chain_escapes(x):
    try:
        {}["missing"]
    except KeyError as e:
        raise RuntimeError("outer") from e


@programs()
def exception_context_without_from(x):
    try:
        try:
            1 / 0
        except ZeroDivisionError:
            [][1]
    except IndexError as e:
        return x, str(e), type(e.__context__).__name__, e.__cause__, e.__suppress_context__


@programs()
def exception_stored_and_raised_later(x):
    errors = []
    for k in range(3):
        try:
            if k:
                raise ValueError(k)
        except ValueError as e:
            errors.append(e)
    try:
        raise errors[-1]
    except ValueError as e:
        return x, e.args, len(errors), e is errors[1]


@programs()
def exception_name_is_deleted(x):
    e = "before"
    try:
        raise ValueError("v")
    except ValueError as e:  # noqa: F841
        pass
    try:
        return e
    except UnboundLocalError as err:
        return x, str(err)


@programs()
def bare_raise_in_a_helper(x):
    def again():
        raise

    try:
        try:
            raise KeyError("k")
        except KeyError:
            again()
    except KeyError as e:
        return x, e.args


@programs()
def try_in_a_loop_with_else(x):
    out = []
    for v in ("1", "x", "3"):
        try:
            n = int(v)
        except ValueError as e:
            out.append(str(e))
        else:
            out.append(n)
        finally:
            out.append("done")
    return x * len(out), out


@programs(breaks=True)
def exception_groups(x):
    try:
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b"), ExceptionGroup("in", [ValueError("c")])])
    except* ValueError as group:
        found = [type(e).__name__ for e in group.exceptions]
    except* KeyError as group:
        found.append(len(group.exceptions))
    return x, found


@programs()
def exception_notes(x):
    try:
        try:
            raise ValueError("v")
        except ValueError as e:
            e.add_note("first")
            e.add_note("second")
            raise
    except ValueError as e:
        return x, e.__notes__


@programs()
def asserts_in_helpers(x):
    def positive(v, name="value"):
        assert v > 0, f"{name} must be positive, got {v}"
        return v

    y = x * positive(3)
    try:
        positive(-1, "size")
    except AssertionError as e:
        return y, str(e), e.args


@programs()
def errors_of_the_language(x):
    out = []
    for fn in (
        lambda: 1 + "a",
        lambda: "a" + 1,
        lambda: [1][3],
        lambda: {}["k"],
        lambda: None.attr,
        lambda: int("z"),
        lambda: len(3),
        lambda: LEVEL(),
        lambda: [] < {},
        lambda: next(iter([])),
        lambda: (lambda a: a)(),
        lambda: "abc"[None or "x"],
        lambda: {[]: 1},
        lambda: 3 @ 4,
        lambda: -"a",
        lambda: range(1.5),
        lambda: "%d" % "s",
        lambda: math.sqrt(-1),
        lambda: ().foo,
        lambda: (1, 2).index(5),
        lambda: [1].remove(2),
        lambda: "{0}".format(*[]),
        lambda: int(None),
        lambda: sum(["a"]),
        lambda: max([]),
        lambda: {}.pop("q"),
        lambda: [].pop(),
        lambda: set().pop() if False else set().remove(4),
        lambda: tuple(4),
        lambda: isinstance(1, 2),
        lambda: issubclass(1, int),
        lambda: getattr(1, "nope"),
        lambda: setattr(1, "nope", 2),
        lambda: dict([1]),
        lambda: zip(1),
        lambda: reversed(3),
        lambda: chr(-1),
        lambda: ord("ab"),
        lambda: b"a" + "b",
        lambda: float("q"),
        lambda: (yield_ := 3).bit,
    ):
        try:
            fn()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
        else:
            out.append("no error")
    return x, out


# ---------------------------------------------------------------- with
class Mode:
    stack = []  # noqa: RUF012

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.stack.append(self.name)
        return self

    def __exit__(self, kind, value, trace):
        self.stack.pop()
        return False


@programs()
def with_a_stack_of_modes(x):
    with Mode("a") as a, Mode("b"):
        inside = list(Mode.stack)
        with Mode("c"):
            deeper = len(a.stack)
    return x * deeper, inside, Mode.stack


@programs(breaks=True)
def with_exit_receives_the_exception(x):
    log = []

    class Guard:
        def __enter__(self):
            return log.append

        def __exit__(self, kind, value, trace):
            log.append((kind and kind.__name__, value and value.args, trace is None))
            return kind is ValueError

    with Guard() as note:
        note("in")
    with Guard():
        raise ValueError(1)
    try:
        with Guard():
            raise KeyError(2)
    except KeyError:
        log.append("out")
    return x, log


@contextlib.contextmanager
def scaled_by(k, log):
    log.append(f"enter {k}")
    try:
        yield k
    except ZeroDivisionError:
        log.append("swallowed")
    else:
        log.append("clean")
    finally:
        log.append(f"exit {k}")


@programs()
def contextmanager_with_try_else_finally(x):
    log = []
    with scaled_by(2, log) as k:
        x = x * k
    with scaled_by(3, log) as k:
        x = x * k
        1 / 0
    return x, log


@programs()
def contextmanager_nested_and_returning(x):
    log = []

    def f():
        with scaled_by(2, log) as a, scaled_by(3, log) as b:
            return x * a * b

    return f(), log


@programs()
def contextmanager_reused_as_decorator(x):
    log = []

    @scaled_by(5, log)
    def f(y):
        log.append("body")
        return y + 1

    return f(x), f(x), log


@programs()
def exit_stack_of_many(x):
    log = []
    with contextlib.ExitStack() as stack:
        ks = [stack.enter_context(scaled_by(k, log)) for k in (2, 3)]
        stack.callback(log.append, "callback")
        stack.push(lambda *info: log.append(info[0]))
        x = x * sum(ks)
    return x, log


@programs()
def exit_stack_pop_all(x):
    log = []
    with contextlib.ExitStack() as stack:
        stack.callback(log.append, 1)
        kept = stack.pop_all()
        log.append("left")
    kept.close()
    return x, log


@programs(breaks=True)
def suppress_and_closing(x):
    class Thing:
        closed = 0

        def close(self):
            self.closed += 1

    t = Thing()
    with contextlib.suppress(KeyError, IndexError):
        {}["a"]
    with contextlib.closing(t) as same:
        y = x + same.closed
    with contextlib.nullcontext(4) as n:
        y = y * n
    return y, t.closed


@programs(breaks=True)
def redirect_stdout_is_python(x):
    import io

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print("hidden", end="")
    return x, out.getvalue()


@programs()
def no_grad_inside_a_with(x):
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = torch.is_grad_enabled()
    return y, z, torch.is_grad_enabled()


# ---------------------------------------------------------------- match
def matched(v):
    match v:
        case None:
            return "none"
        case True | False:
            return "bool"
        case 0 | 1 as small:
            return f"small {small}"
        case int(n) if n < 0:
            return f"negative {n}"
        case int() | float():
            return "number"
        case str("a" | "b"):
            return "a or b"
        case str() as s:
            return s.upper()
        case []:
            return "empty"
        case [x]:
            return f"one {x}"
        case [first, *_, last] if first == last:
            return "same ends"
        case (a, [b, *c]):
            return f"nested {a} {b} {c}"
        case {"op": "add", "args": [p, q]}:
            return p + q
        case {"op": op, **rest}:
            return op, rest
        case {}:
            return "mapping"
        case _:
            return "other"


@programs()
def match_in_every_pattern(x):
    subjects = (
        None,
        True,
        0,
        1,
        -4,
        7,
        2.5,
        "a",
        "hello",
        [],
        [3],
        [1, 2, 1],
        (1, [2, 3, 4]),
        {"op": "add", "args": [1, 2]},
        {"op": "neg", "k": 1},
        {"z": 1},
        {1, 2},
        (1, 2),
        b"b",
    )
    return x, [matched(s) for s in subjects]


@programs.factory()
def match_on_dataclasses_and_attributes():
    import dataclasses

    @dataclasses.dataclass
    class Linear:
        size: int
        bias: bool = True

    @dataclasses.dataclass
    class Act:
        name: str

    class Plain:
        __match_args__ = ("a",)

        def __init__(self, a, b):
            self.a, self.b = a, b

    def build(layer, x):
        match layer:
            case Linear(3, bias=True):
                return x + 3
            case Linear(size=s) if s > 3:
                return x * s
            case Linear():
                return x
            case Act("relu" | "silu" as name):
                return TABLE["relu"](x), name
            case Act(name):
                return name
            case Plain(1, b=b):
                return b
            case Plain():
                return "plain"
            case torch.Tensor():
                return x @ layer.T

    def f(x):
        layers = [Linear(3), Linear(8), Linear(2, False), Act("relu"), Act("odd"), Plain(1, 2), Plain(0, 0), x, 4]
        return [build(layer, x) for layer in layers]

    return f


@programs()
def match_on_constants_of_a_module(x):
    match x.dtype:
        case torch.float32:
            y = x.double()
        case torch.float64:
            y = x.float()
    match tuple(x.shape):
        case (2, n):
            return y * n
        case _:
            return y


@programs()
def match_mapping_of_tensors(x):
    def run(batch):
        match batch:
            case {"input": torch.Tensor() as t, "mask": m}:
                return t * m
            case {"input": torch.Tensor() as t}:
                return t
            case [t, *rest]:
                return t + len(rest)

    return run({"input": x, "mask": x > 0}), run({"input": x}), run([x, 1, 2])


# ---------------------------------------------------------------- operators of statements
@programs()
def walrus_in_conditions(x):
    out = []
    data = [1, 2, 3, 4]
    while (n := len(data)) > 1:
        out.append(n)
        data.pop()
    if (y := x * 2).shape[0] == 2 and (k := y.dim()) == 2:
        out.append(k)
    return y, out


@programs()
def f_strings_in_full(x):
    name, value, width = "loss", 3.14159, 10
    d = {"k": 1}
    return x, [
        f"{name!r:>10}|{value:.2f}|{value:{width}.{3}f}|{d['k']:03d}",
        f"{name=} {value=:.1f} {1 + 1 = }",
        f"{'nested ' + f'{value:.0f}'}",
        f"{1000000:,} {255:#x} {255:08b} {0.5:.1%} {1e10:g} {-3:+d}",
        f"{{literal}} {name:^12}{name:*<8}",
        f"{tuple(x.shape)} {x.dtype} {x.dim()}",
        f"{[1, 2]!s} {None} {True!a}",
    ]


@programs()
def percent_and_format_methods(x):
    return x, [
        "%s has %d items (%.1f%%)" % ("a", 3, 12.5),
        "%(name)s=%(value)05d" % {"name": "n", "value": 42},
        "{0} {1!r} {0:>5}".format("a", "b"),
        "{k[a]} {v.real}".format(k={"a": 1}, v=3),
        "%-5s|%5s|%x" % ("l", "r", 255),
        format(3.5, "08.3f"),
        "{:>{w}}".format("x", w=4),
    ]


@programs()
def unpacking_everywhere(x):
    (a, b), *rest, (c, *d) = [(1, 2), 3, 4, (5, 6, 7)]
    [e, f] = "ef"
    first, *_ = x.shape
    g = h = [0]
    h.append(1)
    i, (j, k) = 1, {"j": 0, "k": 1}
    for idx, (p, q) in enumerate([(1, 2), (3, 4)]):
        g.append(idx * p + q)
    return x, a, b, rest, c, d, e, f, first, g, i, j, k


@programs()
def chained_comparisons(x):
    calls = []

    def v(n):
        calls.append(n)
        return n

    return (
        x,
        v(1) < v(2) < v(3),
        v(3) < v(2) < v(1),
        1 < x.dim() <= 2,
        0 < 1 < 2 < 1 < 5,
        1 == 1.0 != 2,
        "a" in "abc" in ["abc"],
        calls,
    )


@programs()
def boolean_operators_give_operands(x):
    return x, [0 or "a", [] and 1, None or [] or 0, 1 and 2 and 3, not [], (x is None) or 5, "" or x.dim() or 9]


@programs()
def slicing_of_sequences(x):
    s = list(range(10))
    s[2:5] = [20]
    s[::3] = [0] * len(s[::3])
    del s[-2:]
    s[1:1] = ["in"]
    t = tuple(range(6))
    return x[..., ::2], x[None, :, -1], s, t[::-1], "hello"[1:-1:2], t[slice(1, None, 2)], s[10:], s[-100:2]


@programs()
def extended_slice_errors(x):
    s = [1, 2, 3, 4]
    try:
        s[::2] = [1]
    except ValueError as e:
        message = str(e)
    return x, message, s


@programs(breaks=True)
def del_of_many_kinds(x):
    d = {"a": 1, "b": 2}
    s = [1, 2, 3]

    class C:
        attr = 1

        def __init__(self):
            self.own = 2

    c = C()
    del d["a"], s[0], c.own
    out = [d, s, c.attr, hasattr(c, "own")]
    y = x
    del x
    try:
        return x
    except UnboundLocalError as e:
        return y, out, str(e)


@programs()
def augmented_assignments_of_many_kinds(x):
    a = [1]
    b = a
    a += (2,)
    a *= 2
    n = 7
    n //= 2
    n **= 2
    n <<= 1
    n ^= 3
    n |= 8
    n &= ~1
    n %= 13
    s = "ab"
    s += "c"
    s *= 2
    st = {1}
    st |= {2}
    st -= {1}
    d = {"x": 1}
    d |= {"y": 2}
    y = x.clone()
    y += 1
    y *= 2
    y[0] -= 1
    t = (1,)
    t += (2,)
    return y, a is b, a, n, s, st, d, t


@programs()
def conditional_imports_and_version_checks(x):
    version = tuple(int(p) for p in torch.__version__.split("+")[0].split(".")[:2])
    if version >= (2, 0) and hasattr(torch, "compile"):
        return x + 1
    return x


@programs()
def ternaries_and_short_functions(x):
    pick = lambda flag, a, b: a if flag else b  # noqa: E731
    sign = 1 if x.dim() > 1 else -1 if x.dim() else 0
    return pick(True, x, None) * sign, pick(0, x, "none")


@programs()
def loops_with_else_and_nested_break(x):
    found = None
    for i in range(3):
        for j in range(3):
            if i * j == 2:
                found = (i, j)
                break
        else:
            continue
        break
    else:
        found = "none"
    n = 0
    while n < 3:
        n += 1
        if n == 5:
            break
    else:
        n = -n
    return x * n, found


@programs()
def loop_variable_stays(x):
    for i in range(3):
        x = x + i
    for j in []:
        pass
    try:
        return x, i, j
    except UnboundLocalError as e:
        return x, i, str(e)


@programs()
def globals_and_locals(x):
    a = 1
    here = locals()
    return x + a, sorted(k for k in here if k != "x"), "LEVEL" in globals(), globals()["__name__"].split(".")[-1]


@programs()
def star_expressions_in_displays(x):
    a, b = [1, 2], (3, 4)
    return x, [*a, *b, 5], (*a, *b), {*a, *b}, {**{"k": 1}, "j": 2, **{"k": 3}}, [*range(2), *"ab", *{"z": 1}]


@programs()
def integers_and_floats(x):
    return x, [
        7 // 2,
        -7 // 2,
        7 % -3,
        divmod(-7, 2),
        2**10,
        2**-1,
        7 / 2,
        round(2.5),
        round(2.675, 2),
        abs(-3),
        int(3.9),
        float("inf"),
        1 << 4,
        0b101 ^ 0b11,
        ~5,
        True + True,
        1e308 * 10,
        int("ff", 16),
        bin(5),
        hex(255),
        pow(3, 4, 5),
        (3).bit_length(),
        (2.0).is_integer(),
        0.1 + 0.2,
        3 == 3.0,
        complex(1, 2) * 1j,
        float("nan") == float("nan"),
    ]


@programs()
def strings_in_full(x):
    s = "  Layer.Norm_1 "
    return x, [
        s.strip().lower().replace(".", "_"),
        s.split("."),
        s.partition("."),
        "a,b,,c".split(","),
        "x".join("abc"),
        "abc".center(9, "*"),
        "a-b".title(),
        "abc".find("z"),
        "abc".index("c"),
        "aXbX".count("X"),
        "abc".isalpha(),
        "12".zfill(5),
        "abc".encode(),
        b"abc".decode(),
        "tab\tx".expandtabs(4),
        "a b".rsplit(" ", 1),
        "ab" < "b",
        "abc"[::-1],
        "abc".startswith(("x", "a")),
        "abc".endswith("c"),
        "A".casefold(),
        "aa".translate({97: "b"}),
        "l1\nl2".splitlines(),
        "{}".isidentifier(),
        "%".join(["a"]),
        "abc" * 2,
        "b" in "abc",
        ord("a"),
        chr(98),
        str.upper("a"),
        "a".ljust(3) + "|",
        "\u00e9".isascii(),
        repr("it's"),
        "x=1;y=2".rpartition(";"),
    ]

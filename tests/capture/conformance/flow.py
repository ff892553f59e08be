"""Exceptions, with-statements, generators, comprehensions, iteration tools."""

from __future__ import annotations

import contextlib
import functools
import itertools

import torch

from .harness import Programs

programs = Programs()


class Oops(Exception):
    def __init__(self, code, note="n"):
        super().__init__(code, note)
        self.code = code


def fails(x, kind=ValueError, *args):
    raise kind(*args)


@programs()
def try_except(x):
    try:
        fails(x, ValueError, "bad", 3)
    except (KeyError, ValueError) as e:
        return x + e.args[1], str(e), repr(e), type(e).__name__
    return x


@programs()
def try_else_finally(x):
    log = []
    try:
        log.append("try")
    except ValueError:
        log.append("except")
    else:
        log.append("else")
    finally:
        log.append("finally")
    return x * len(log), log


@programs()
def finally_on_return(x):
    log = []

    def f():
        try:
            return x + 1
        finally:
            log.append(1)

    return f(), log


@programs()
def finally_overrides_return(x):
    def f():
        try:
            return 1
        finally:
            return x * 2  # noqa: B012

    return f()


@programs()
def finally_with_break_and_continue(x):
    log = []
    for i in range(4):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            log.append(i)
        finally:
            log.append(-i)
    return x, log


@programs()
def reraise(x):
    try:
        try:
            fails(x, KeyError, "k")
        except KeyError:
            raise
    except LookupError as e:
        return x + 1, str(e), e.__context__


@programs()
def raise_from(x):
    try:
        try:
            fails(x, KeyError, "k")
        except KeyError as e:
            raise ValueError("outer") from e
    except ValueError as e:
        return x, type(e.__cause__).__name__, e.__suppress_context__, type(e.__context__).__name__


@programs()
def raise_from_none(x):
    try:
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError:
            raise ValueError("outer") from None
    except ValueError as e:
        return x, e.__cause__, e.__suppress_context__, str(e.__context__)


@programs()
def context_of_an_error_in_a_handler(x):
    try:
        try:
            fails(x)
        except ValueError:
            {}["missing"]  # noqa: B018
    except KeyError as e:
        return x, type(e.__context__).__name__, e.args


@programs()
def own_exception(x):
    try:
        raise Oops(7)
    except Oops as e:
        return x * e.code, e.args, e.code, isinstance(e, Exception)


@programs()
def escapes(x):
    y = x + 1
    raise Oops(y.shape[0], "out")


@programs()
def escapes_with_a_cause(x):
    try:
        fails(x, KeyError, "deep")
    except KeyError as e:
        raise RuntimeError("not served") from e


@programs()
def escapes_from_python_itself(x):
    return x + [1, 2][5]


@programs()
def escapes_from_torch(x):
    return x + 1, x @ torch.ones(7, 7)


@programs(breaks=True)
def torch_error_is_caught(x):
    try:
        x.reshape(5, 5)
    except RuntimeError as e:
        return x + 1, str(e)


@programs()
def unbound_after_except(x):
    e = 3
    try:
        fails(x)
    except ValueError as e:  # noqa: F841
        pass
    try:
        return e
    except UnboundLocalError:
        return x + 1


@programs()
def nested_tries(x):
    out = []
    for k in range(3):
        try:
            try:
                if k == 0:
                    raise KeyError(k)
                if k == 1:
                    raise ValueError(k)
            except KeyError as e:
                out.append(("inner", e.args))
            finally:
                out.append("f")
        except ValueError as e:
            out.append(("outer", e.args))
        else:
            out.append("else")
    return x, out


@programs()
def error_types_of_python(x):
    out = []
    for f in (
        lambda: 1 / 0,
        lambda: [][0],
        lambda: {}["a"],
        lambda: int("z"),
        lambda: None + 1,
        lambda: "a".nope,
        lambda: len(3),
        lambda: (1).real(),
        lambda: iter(3),
        lambda: [1] < ["a"],
        lambda: "a" + 1,
        lambda: {}.pop("z"),
        lambda: [].pop(),
        lambda: next(iter([])),
        lambda: [].index(3),
        lambda: "%d" % "a",
        lambda: range(1.5),
        lambda: max([]),
        lambda: tuple(5),
        lambda: isinstance(3, 3),
        lambda: (lambda a: a)(),
        lambda: [1, 2].remove(9),
        lambda: {1}.remove(2),
    ):
        try:
            f()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return x, out


@programs()
def exception_as_control_flow_in_a_loop(x):
    it, total = iter([1, 2, 3]), 0
    while True:
        try:
            total += next(it)
        except StopIteration:
            break
    return x * total


@programs()
def assertion_messages(x):
    try:
        raise AssertionError("a", 2)
    except AssertionError as e:
        return x, e.args


@programs()
def add_note_and_groups_are_left_to_python(x):
    e = ValueError("v")
    return x + 1, str(e), e.args


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(("exit", kind.__name__ if kind else None, str(value)))
        return self.swallow


@programs()
def with_statement(x):
    log = []
    with Manager(log) as m:
        y = x * 2
        log.append(m is not None)
    return y, log


@programs()
def with_swallows(x):
    log = []
    with Manager(log, swallow=True):
        fails(x, ValueError, "gone")
    return x, log


@programs()
def with_does_not_swallow(x):
    log = []
    try:
        with Manager(log):
            fails(x, ValueError, "stays")
    except ValueError as e:
        log.append(str(e))
    return x, log


@programs()
def with_return_and_break(x):
    log = []

    def f():
        for i in range(3):
            with Manager(log):
                if i == 1:
                    return x + i

    return f(), log


@programs()
def with_several(x):
    log = []
    with Manager(log) as a, Manager(log, True) as b, Manager(log):
        fails(x)
    return x, log, a is b


@contextlib.contextmanager
def scaled(log, k):
    log.append(("in", k))
    try:
        yield k * 2
    except ValueError as e:
        log.append(("caught", str(e)))
    finally:
        log.append(("out", k))


@programs()
def contextmanager_function(x):
    log = []
    with scaled(log, 3) as k:
        y = x * k
    with scaled(log, 4):
        raise ValueError("inside")
    return y, log


@programs()
def contextmanager_lets_other_errors_out(x):
    log = []
    try:
        with scaled(log, 1):
            raise KeyError("z")
    except KeyError as e:
        log.append(str(e))
    return x, log


@programs()
def contextmanager_as_decorator(x):
    log = []

    @contextlib.contextmanager
    def traced():
        log.append("a")
        yield
        log.append("b")

    @traced()
    def f(y):
        return y + 1

    return f(f(x)), log


@programs()
def suppress_and_nullcontext(x):
    with contextlib.suppress(ZeroDivisionError):
        1 / 0  # noqa: B018
    with contextlib.nullcontext(5) as five:
        x = x * five
    return x


@programs()
def exit_stack(x):
    log = []
    with contextlib.ExitStack() as stack:
        for k in range(3):
            stack.enter_context(scaled(log, k))
        stack.callback(log.append, "callback")
        x = x + 1
    return x, log


@programs()
def generator_consumed(x):
    def gen(n):
        for i in range(n):
            yield x * i

    return sum(gen(4)), list(gen(2)), [*gen(1)], tuple(gen(2))


@programs()
def generator_send(x):
    def gen():
        got = yield 1
        while got is not None:
            got = yield got * 2

    g = gen()
    return x, next(g), g.send(5), g.send(x)


@programs()
def generator_return_value(x):
    def gen():
        yield 1
        return x * 3

    g = gen()
    next(g)
    try:
        next(g)
    except StopIteration as e:
        return e.value


@programs()
def yield_from(x):
    def inner():
        got = yield "a"
        yield got
        return x + 1

    def outer():
        r = yield from inner()
        yield r
        yield from [1, 2]

    g = outer()
    return next(g), g.send("sent"), next(g), list(g)


@programs()
def generator_throw_and_close(x):
    log = []

    def gen():
        try:
            yield 1
        except ValueError as e:
            log.append(str(e))
            yield 2
        finally:
            log.append("closed")

    g = gen()
    a = next(g)
    b = g.throw(ValueError("in"))
    g.close()
    return x, a, b, log


@programs()
def generator_in_the_middle(x):
    def gen():
        for i in range(5):
            yield x + i

    g = gen()
    first = next(g)
    rest = list(itertools.islice(g, 2))
    return first, rest, next(g, None), next(g, "end"), next(g, "end")


@programs()
def infinite_generator(x):
    def count():
        n = 0
        while True:
            yield n
            n += 1

    return x, [a for a, _ in zip(count(), range(3))], list(itertools.takewhile(lambda v: v < 4, count()))


@programs()
def generator_expression_is_lazy(x):
    log = []

    def seen(i):
        log.append(i)
        return i

    g = (seen(i) for i in range(5))
    a = next(g)
    return x * a, log, any(v > 1 for v in g), log


@programs()
def comprehensions(x):
    return (
        [x * i for i in range(3) if i != 1],
        {i: x + i for i in range(2)},
        {i % 2 for i in range(5)},
        [(i, j) for i in range(2) for j in range(i, 2)],
        [[a for a in range(b)] for b in range(3)],
        [y for y in x],
    )


@programs()
def comprehension_scope(x):
    i = 10
    ys = [i for i in range(3)]
    fs = [lambda: i for _ in range(2)]
    return x, i, ys, [f() for f in fs]


@programs()
def comprehension_over_dict_items(x):
    d = {"a": x, "b": x * 2}
    return (
        {k: v + 1 for k, v in d.items() if k > "a"},
        [k for k in d],
        sum(v for v in d.values()),
        max(d),
        sorted(d, reverse=True),
    )


@programs()
def iterators_of_itertools(x):
    return (
        x,
        list(itertools.chain([1], (2,), "a")),
        list(itertools.repeat(3, 2)),
        list(itertools.product("ab", [1, 2])),
        list(itertools.combinations(range(4), 2)),
        list(itertools.permutations([1, 2, 3], 2)),
        list(itertools.zip_longest([1, 2], "a", fillvalue=0)),
        list(itertools.islice(itertools.count(3, 2), 3)),
        list(itertools.islice(itertools.cycle("ab"), 5)),
        list(itertools.accumulate([1, 2, 3])),
        list(itertools.pairwise([1, 2, 3])),
        list(itertools.starmap(pow, [(2, 3)])),
        list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])),
        list(itertools.compress("abc", [1, 0, 1])),
        list(itertools.filterfalse(lambda v: v % 2, range(4))),
        [(k, list(g)) for k, g in itertools.groupby("aabc")],
        [list(t) for t in itertools.tee([1, 2])],
    )


@programs()
def iterators_over_tensors(x):
    return (
        [a + b for a, b in itertools.pairwise(x)] if x.shape[0] > 1 else x,
        [a * b for a, b in itertools.product(x, x)],
        functools.reduce(torch.add, x),
        list(itertools.accumulate(x)),
        list(map(torch.sum, x)),
        [r for r in filter(lambda r: r.dim() == 1, x)],
    )


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@programs()
def own_iterator_class(x):
    c = Countdown(4)
    first = next(c)
    return (
        x * first,
        list(c),
        [v for v in Countdown(2)],
        sum(Countdown(3)),
        list(zip(Countdown(3), "abc")),
        2 in Countdown(5),
    )


@programs()
def iter_with_a_sentinel(x):
    values = [1, 2, 3]
    return x, list(iter(values.pop, 1)), values


@programs()
def enumerate_zip_reversed(x):
    out = 0
    for i, (a, b) in enumerate(zip(x, reversed(x)), start=2):
        out = out + i * (a - b)
    return out


@programs()
def list_grows_while_it_is_iterated(x):
    xs = [1]
    for v in xs:
        if len(xs) < 5:
            xs.append(v + 1)
    return x, xs


@programs()
def dict_changes_while_it_is_iterated(x):
    d = {"a": 1, "b": 2}
    try:
        for k in d:
            d[k + "x"] = 1
    except RuntimeError as e:
        return x, str(e)


@programs()
def sum_of_lists_and_min_max_of_tensors(x):
    return sum([[1], [2]], []), min(x.shape), max(3, 1), min([2, 1], default=0), max([], default="none"), sum(x)


@programs()
def any_all_short_circuit(x):
    log = []

    def f(v):
        log.append(v)
        return v

    return x, any(f(v) for v in (0, 1, 2)), all(f(v) for v in (1, 0, 2)), log


@programs.factory(breaks=True)
def generator_from_outside():
    def numbers():
        yield from range(100)

    g = numbers()

    def f(x):
        return x * next(g)

    return f


@programs.factory()
def iterator_from_outside():
    it = iter(range(100))

    def f(x):
        return x + next(it)

    return f


@programs()
def returns_a_generator(x):
    def gen():
        yield x
        yield x + 1

    return list(gen()), type(gen()).__name__


@programs(breaks=True)
def break_inside_try(x):
    try:
        n = x.sum().item()
        raise ValueError(n)
    except ValueError as e:
        return x + e.args[0]
    finally:
        x.add_(1)


@programs(breaks=True)
def break_inside_with(x):
    log = []
    with Manager(log):
        n = int(x.sum())
        y = x * n
    return y, log


@programs(breaks=True)
def break_inside_a_generator(x):
    def gen():
        for row in x:
            yield row.sum().item()

    return list(gen()), x + 1


@programs(breaks=True)
def break_inside_a_comprehension(x):
    return [int(v) * x for v in x[0]]


@programs(breaks=True)
def break_deep_in_callees(x):
    def a(y):
        return b(y * 2) + 1

    def b(y):
        return c(y) - 3

    def c(y):
        print(float(y.sum()))
        return y * 5

    return a(x), a(x + 1)


@programs(breaks=True)
def branch_on_data(x):
    if x.sum() > 100:
        return x * 2
    elif (x > 0).any():
        return x - 1
    return x + 1


@programs(breaks=True)
def while_on_data(x):
    n = 0
    while x.abs().sum() > 1:
        x = x / 2
        n += 1
    return x, n


@programs(breaks=True)
def prints_in_order(x):
    for i in range(3):
        print(i, float(x[0, i]))
        x = x + i
    print("end")
    return x


@programs(breaks=True)
def error_after_a_break(x):
    n = x.sum().item()
    x.mul_(2)
    raise Oops(n)


@programs(breaks=True)
def caught_across_a_break(x):
    def inner():
        print("about to fail")
        raise KeyError("late")

    try:
        inner()
    except KeyError as e:
        return x * 2, str(e)


@programs(breaks=True)
def error_of_an_operation_in_a_handler(x):
    def context(e):
        chain = []
        while e is not None:
            chain.append(type(e).__name__)
            e = e.__context__
        return chain

    out = []
    try:
        try:
            [][3]
        except IndexError:
            x - torch.zeros(7, 2, 5)
    except Exception as e:
        out.append(context(e))
    try:
        try:
            {}["k"]
        finally:
            x.reshape(1000)
    except Exception as e:
        out.append(context(e))
    return out

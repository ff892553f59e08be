"""Breaks at any depth, compared with eager: values, exceptions, printed text, and coming back to the same entries."""

from __future__ import annotations

import contextlib
import io

import pytest
import torch

import pellucid
from pellucid.capture.capture import capture_call
from pellucid.capture.types import Break
from tests.bytecode import corpus


def observe(fn, *args):
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        try:
            result = "value", fn(*args)
        except Exception as e:
            result = "error", type(e), str(e)
    return str(result), text.getvalue()


def same(fn, make, calls=3):
    compiled = pellucid.compile(fn, options={"strict": True})
    for _ in range(calls):
        assert observe(compiled, *make()) == observe(fn, *make())
    return compiled


def helper(x, i):
    print(x.sum().item())
    return x + 1


def loop(x, n):
    for i in range(n):
        x = helper(x, i)
    return x


def test_print_of_item_in_a_callee_in_a_loop_of_1000():
    compiled = same(loop, lambda: (torch.zeros(3), 1000), calls=1)
    tables = pellucid.compiled_of(compiled).all_tables()
    entries = sum(len(t.entries) for t in tables)
    assert entries < 10, "1000 rounds come back to the same few entries"
    assert sum(t.hits for t in tables) > 1900
    assert observe(compiled, torch.zeros(3), 1000) == observe(loop, torch.zeros(3), 1000)
    assert sum(len(t.entries) for t in pellucid.compiled_of(compiled).all_tables()) == entries


def test_the_exit_names_the_operation_and_the_call_path():
    exit_ = capture_call(loop, {"x": torch.zeros(3), "n": 3}).exit
    assert isinstance(exit_, Break)
    assert exit_.code == "PB102"
    assert [f.function for f in exit_.stack] == ["loop", "helper"]
    assert len(exit_.frames) == 2


def branch(x):
    y = x * 2
    if y.sum() > 0:
        return y - 1
    return y + 1


def test_data_dependent_branch_takes_both_ways():
    compiled = pellucid.compile(branch, options={"strict": True})
    for v in (1.0, -1.0, 2.0, -3.0):
        x = torch.full((4,), v)
        assert torch.equal(compiled(x), branch(x))


@contextlib.contextmanager
def manager(tag):
    print("enter", tag)
    try:
        yield tag
    except ValueError as e:
        print("swallow", e)
    finally:
        print("leave", tag)


def steps(n):
    for i in range(n):
        print("step", i)
        got = yield i * 2
        if got:
            print("got", got)
    return "end"


def delegating():
    result = yield from steps(2)
    print("result", result)
    yield result


def with_block(x):
    with manager("t") as t:
        print("body", t)
        x = x + 1
        raise ValueError("v")
    return x


def generators(x):
    out = []
    for v in steps(3):
        x = x + v
        out.append(v)
    g = steps(4)
    next(g)
    out.append(g.send("hello"))
    out.append(list(delegating()))
    return x, out


def iterators(x):
    for i, v in enumerate(steps(3)):
        print(i, v)
    for pair in zip([1, 2, 3], steps(2)):
        print(pair)
    return x + i, [w for w in map(lambda q: q + 1, steps(2))]


@pytest.mark.parametrize("fn", [with_block, generators, iterators], ids=lambda f: f.__name__)
def test_breaks_inside_context_managers_generators_and_iterators(fn):
    same(fn, lambda: (torch.ones(2),))


TABLE = [3, 1, 4, 1, 5]


def find(x, i, log):
    try:
        print("look for", i)
        k = TABLE.index(i)
        return x + k
    except ValueError:
        x = x * 2
        return x - 1
    finally:
        log.append(i)


def searching(x, n):
    log = []
    for i in range(n):
        x = find(x, i, log)
    return x, log


def test_exceptions_across_breaks():
    same(searching, lambda: (torch.ones(2), 7))


def loop_variable_after_the_loop(x, n):
    for i in range(n):
        print(i)
    return x + i


def test_a_variable_read_after_its_loop_survives_a_break_in_it():
    same(loop_variable_after_the_loop, lambda: (torch.zeros(2), 3))


@pytest.mark.parametrize("case", corpus.CASES, ids=lambda c: c.__name__)
def test_corpus(case):
    def run(fn):
        corpus.G = 0
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            try:
                result = "value", repr(fn())
            except BaseException as e:
                result = "error", type(e), str(e)
        return result, text.getvalue()

    want = run(case)
    compiled = pellucid.compile(case, options={"strict": True})
    assert run(compiled) == want
    assert run(compiled) == want

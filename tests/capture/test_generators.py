"""Generators that are given up half-way: only those whose cleanup would be noticed stop capture."""

from __future__ import annotations

import pytest
import torch

import pellucid
from pellucid.bytecode.decode import decode
from pellucid.capture.capture import capture_call
from pellucid.capture.generators import closing_is_seen
from pellucid.capture.native_ops import CannotContinue
from pellucid.capture.types import Return


def plain():
    yield 1
    yield 2


def narrow():
    try:
        yield 1
        yield 2
    except (IndexError, KeyError):
        return


def everything():
    try:
        yield 1
        yield 2
    except BaseException:
        print("caught")
        raise


def bare():
    try:
        yield 1
        yield 2
    except:  # noqa: E722
        print("caught")
        raise


def cleaning():
    try:
        yield 1
        yield 2
    finally:
        print("cleaned")


def nested():
    try:
        try:
            yield 1
            yield 2
        except IndexError:
            return
    finally:
        print("cleaned")


@pytest.mark.parametrize("fn, seen", [(plain, False), (narrow, False), (everything, True), (bare, True),
                                      (cleaning, True), (nested, True)], ids=lambda x: getattr(x, "__name__", str(x)))
def test_closing_is_seen(fn, seen, capsys):
    code = decode(fn.__code__)
    first = next(i for i, instr in enumerate(code.instrs) if instr.op == "YIELD_VALUE")
    assert closing_is_seen(code, first) is seen

    def take_one(x):
        for v in fn():
            return x + v
    if seen:
        with pytest.raises(CannotContinue):
            capture_call(take_one, {"x": torch.zeros(2)})
    else:
        assert isinstance(capture_call(take_one, {"x": torch.zeros(2)}).exit, Return)
    assert torch.equal(pellucid.compile(take_one)(torch.zeros(2)), torch.ones(2))
    mine = capsys.readouterr().out
    take_one(torch.zeros(2))
    assert mine == capsys.readouterr().out

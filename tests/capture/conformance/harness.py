"""Small programs run by Python and compiled, and everything that a user could see of both compared.

A program is a function with its arguments; or, where it needs state of its own (a closure, a class, a global), a
factory that makes the function anew. Each is called several times: the first call captures, the others hit or miss.
"""

from __future__ import annotations

import contextlib
import copy
import io
import random
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

import pellucid

Arguments = Callable[[], tuple[Any, ...]]


def one() -> tuple[Any, ...]:
    """The usual argument: a float tensor of (2, 3)."""
    return (torch.arange(6.0).reshape(2, 3) - 2,)


@dataclass(frozen=True)
class Program:
    """`make()` is the function. arguments: one factory for each call in turn. breaks: it has a graph break, so it is
    not compiled with fullgraph."""

    name: str
    make: Callable[[], Callable[..., Any]]
    arguments: tuple[Arguments, ...]
    breaks: bool


@dataclass
class Programs:
    """The programs of one file, in order: `programs(...)` and `programs.factory(...)` are decorators."""

    known: list[Program] = field(default_factory=list)

    def __call__(self, *arguments: Arguments, breaks: bool = False) -> Callable[[Any], Any]:
        def add(fn: Any) -> Any:
            self.known.append(Program(fn.__name__, lambda: fn, arguments or (one,), breaks))
            return fn

        return add

    def factory(self, *arguments: Arguments, breaks: bool = False) -> Callable[[Any], Any]:
        def add(make: Any) -> Any:
            self.known.append(Program(make.__name__, make, arguments or (one,), breaks))
            return make

        return add

    def test(self) -> Any:
        """A test over all programs, backends, and fullgraph where the program has no break."""
        runs = [
            pytest.param(p, b, whole, id=f"{p.name}-{b}{'-fullgraph' if whole else ''}")
            for p in self.known
            for b, whole in (("eager", False), ("eager", True), ("llvm", True), ("llvm", False))
            if (not (whole and p.breaks)) and (b == "eager" or whole != p.breaks)
        ]

        @pytest.mark.parametrize(("program", "backend", "fullgraph"), runs)
        def test_program(program: Program, backend: str, fullgraph: bool) -> None:
            compare(program, backend, fullgraph)

        return test_program


@dataclass
class Outcome:
    value: Any
    error: BaseException | None
    printed: str
    warned: list[tuple[str, str]]
    arguments: tuple[Any, ...]
    states: tuple[Any, ...]


def seed() -> None:
    torch.manual_seed(3)
    random.seed(3)
    np.random.seed(3)


def outcome(fn: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    printed = io.StringIO()
    value = error = None
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        try:
            value = fn(*arguments)
        except Exception as e:
            error = e
    states = (
        torch.get_rng_state(),
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
    )
    return Outcome(
        value, error, printed.getvalue(), [(w.category.__name__, str(w.message)) for w in caught], arguments, states
    )


def compare(program: Program, backend: str, fullgraph: bool) -> None:
    """Call the program by Python and compiled, side by side. Raises AssertionError where they differ."""
    plain = program.make()
    compiled = pellucid.compile(program.make(), backend=backend, fullgraph=fullgraph, options={"strict": True})
    exact = backend == "eager"
    wanted, got = [], []
    for run, fn in ((wanted, plain), (got, compiled)):
        seed()
        for k in range(max(3, len(program.arguments))):
            run.append(outcome(fn, copy.deepcopy(program.arguments[k % len(program.arguments)]())))
    for k, (w, g) in enumerate(zip(wanted, got, strict=True)):
        where = f"call {k + 1}"
        if w.error is None and g.error is not None:
            raise g.error
        same(w.error, g.error, f"{where}: exception", exact)
        same(w.value, g.value, f"{where}: result", exact)
        same(w.printed, g.printed, f"{where}: printed", exact)
        same(w.warned, g.warned, f"{where}: warnings", exact)
        same(w.arguments, g.arguments, f"{where}: arguments", exact)
        same(w.states, g.states, f"{where}: state", exact)


def same(want: Any, got: Any, where: str, exact: bool, seen: frozenset[int] = frozenset()) -> None:
    """Whether two objects cannot be told apart, in depth. Raises AssertionError saying where they can."""
    if id(want) in seen:
        return
    seen = seen | {id(want)}
    assert type(want).__qualname__ == type(got).__qualname__, f"{where}: {type(want)} became {type(got)}: {got!r}"
    if isinstance(want, torch.Tensor):
        assert (want.shape, want.dtype, want.stride(), want.requires_grad) == (
            got.shape,
            got.dtype,
            got.stride(),
            got.requires_grad,
        ), f"{where}: {want} became {got}"
        torch.testing.assert_close(
            got, want, equal_nan=True, msg=lambda m: f"{where}: {m}", **({"rtol": 0, "atol": 0} if exact else {})
        )
    elif isinstance(want, BaseException):
        assert str(want) == str(got), f"{where}: {want!r} became {got!r}"
        for part in ("__cause__", "__context__"):
            same(getattr(want, part), getattr(got, part), f"{where}.{part}", exact, seen)
        same(want.args, got.args, f"{where}.args", exact, seen)
    elif isinstance(want, float):
        assert want == got or (want != want and got != got), f"{where}: {want!r} became {got!r}"
    elif isinstance(want, (int, str, bytes, type(None), type, torch.dtype, torch.device, range, slice, complex)):
        assert want == got, f"{where}: {want!r} became {got!r}"
    elif isinstance(want, dict):
        assert [*map(repr, want)] == [*map(repr, got)], f"{where}: keys {[*want]} became {[*got]}"
        for k, (a, b) in enumerate(zip(want.values(), got.values(), strict=True)):
            same(a, b, f"{where}[{[*want][k]!r}]", exact, seen)
    elif isinstance(want, (list, tuple)) or type(want).__name__ in ("deque", "dict_keys", "dict_values", "dict_items"):
        a, b = [*want], [*got]
        assert len(a) == len(b), f"{where}: {len(a)} items became {len(b)}"
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{k}]", exact, seen)
    elif isinstance(want, (set, frozenset)):
        assert want == got, f"{where}: {want!r} became {got!r}"
    elif isinstance(want, np.ndarray):
        np.testing.assert_array_equal(want, got)
    elif callable(want) or isinstance(want, (types.ModuleType, types.GeneratorType)):
        assert getattr(want, "__qualname__", "") == getattr(got, "__qualname__", ""), where
    if hasattr(want, "__dict__") and not isinstance(want, (type, BaseException, types.FunctionType, types.ModuleType)):
        same({**vars(want)}, {**vars(got)}, f"{where}.__dict__", exact, seen)
    for cls in type(want).__mro__:
        for name in getattr(cls, "__slots__", ()) if isinstance(getattr(cls, "__slots__", ()), tuple) else ():
            if not name.startswith("__"):
                same(getattr(want, name, None), getattr(got, name, None), f"{where}.{name}", exact, seen)

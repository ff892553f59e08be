"""The public door: compile(), counters() and reset()."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from .errors.types import OptionError, UnsupportedInput
from .events.record import record
from .options import Options, parse
from .runtime.compiled import Compiled, live
from .runtime.function import CompiledFunction, function_wrapper
from .runtime.module import CompiledModule, module_wrapper
from .runtime.runners import resolve_backend
from .runtime.target import Target, target
from .shapes.wishes import root


def compile(fn: Callable[..., Any] | None = None, *, fullgraph: bool = False,
            dynamic: bool | Mapping[str, Any] | None = None,
            backend: str | Callable[..., Any] = "llvm", mode: str | None = None,
            options: Mapping[str, Any] | None = None) -> Any:
    """A compiled version of a function, bound method, callable object or nn.Module; a drop-in for torch.compile.

    fn         what to compile; without it, a decorator is returned
    fullgraph  True: the first operation that cannot be captured raises GraphBreakError
    dynamic    None: a size becomes symbolic when it changes between calls; True: from the first call; False: never;
               or a dict from argument to True, False, "maybe", (lo, hi), or {dimension: one of these}
    backend    "llvm"; "eager" (torch's own operators); the name of a torch.compile backend; or
               callable(GraphModule, example_inputs) -> callable
    mode       torch.compile's modes are accepted
    options    a dict; see pellucid.options.Options for its keys

    A module comes back as a module: the same parameters, buffers, hooks, state_dict keys and class, sharing its state
    with the original. Raises OptionError (a ValueError) for an argument that cannot be, and UnsupportedInput for an
    `fn` that cannot be called.
    """
    parsed = parse(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options)
    resolve_backend(parsed)
    if fn is None:
        return functools.partial(_compile, parsed)
    return _compile(parsed, fn)


def _compile(options: Options, fn: Any) -> Any:
    if isinstance(fn, (CompiledFunction, CompiledModule)):
        fn = fn.__wrapped__
    if isinstance(fn, nn.Module):
        if options.wishes or options.buckets:
            check_names(options, target(fn.forward))
        return module_wrapper(fn, options)
    if isinstance(fn, type):
        raise UnsupportedInput("bad-argument", f"compile(): fn={fn.__qualname__} is a class",
                               "compile an instance of it, or the method that does the work")
    if not callable(fn):
        raise UnsupportedInput("bad-argument", f"compile(): fn={fn!r} cannot be called",
                               "pass a function, a bound method, a callable object or an nn.Module")
    if inspect.iscoroutinefunction(fn) or inspect.isasyncgenfunction(fn):
        raise UnsupportedInput("bad-argument", f"compile(): fn={fn.__qualname__} is asynchronous",
                               "compile the synchronous function that it awaits the work of")
    made = target(fn)
    check_names(options, made)
    return function_wrapper(fn, Compiled(made, options))


def check_names(options: Options, to: Target) -> None:
    """Specifications of sizes name parameters of the function; else OptionError."""
    names = [("dynamic", n) for n, _, _ in options.wishes] + [("options['buckets']", n) for n, _, _ in options.buckets]
    for what, name in names:
        if (root(name) if what == "dynamic" else name) not in to.params:
            raise OptionError("bad-argument", f"compile(): {what} names {name!r}, which is no argument of {to.name}",
                              f"use {', '.join(to.params)}" if to.params else "the function has no arguments")


def compiled_of(fn: Any) -> Compiled:
    """The tables behind something that compile() returned."""
    made = getattr(type(fn), "__pellucid__", None)
    if not isinstance(made, Compiled):
        raise UnsupportedInput("bad-argument", f"{fn!r} was not made by pellucid.compile()",
                               "pass what compile() returned")
    return made


COUNTERS = {
    "compile_count": "entry_published", "recompilation_count": "recompile", "graph_break_count": "graph_break",
    "eager_fallback_count": "eager_fallback", "internal_error_count": "internal_error",
    "limit_reached_count": "limit_reached",
    "promote_dynamic_count": "promote_dynamic", "capture_count": "capture",
}
"""Name of a counter -> the kind of event that it counts."""


def counters() -> dict[str, int]:
    """How often each thing happened in this process since the start or the last reset(). cache_hit_count counts the
    calls (and continuations) that a compiled version served, over all callables that still exist."""
    out = {name: record.count(kind) for name, kind in COUNTERS.items()}
    tables = [t for c in list(live) for t in c.all_tables()]
    out["cache_hit_count"] = sum(t.hits for t in tables)
    out["cache_miss_count"] = sum(t.misses for t in tables)
    return out


def reset() -> None:
    """Forget every compiled version, what was learnt about sizes, and all events and counters."""
    for c in list(live):
        c.clear()
    record.clear()

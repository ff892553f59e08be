"""The options of compile(): parsed once from its arguments into one frozen record, with errors that name the remedy."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .errors.types import OptionError
from .shapes.wishes import Wishes
from .shapes.wishes import parse as parse_wishes

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
AT_LIMIT = ("promote", "keep", "raise")
STALL = ("compile", "never")
RUNNERS = ("auto", "native", "reference")
OWN_BACKENDS = ("llvm", "eager")


Buckets = tuple[tuple[str, int, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What compile() was asked for.

    fullgraph        the first operation that cannot be captured is an error
    dynamic          None: a size becomes symbolic when it changes; True: from the first call; False: never
    wishes           the same for single arguments, from dynamic={...}; see shapes.wishes
    backend          "llvm", "eager", the name of a torch.compile backend, or callable(GraphModule, inputs) -> callable
    mode             torch.compile's modes are accepted; all mean the same to the llvm backend
    strict           faults inside the compiler are raised instead of counted and run eagerly
    recompile_limit  compiled versions kept for one callable (and for each continuation)
    at_limit         "promote": one version with all sizes symbolic, then as "keep"; "keep": serve what is there
                     and run the rest eagerly; "raise": an error
    freeze           the caller promises that weights do not change; no effect yet, which a warning says
    runner           "auto", "native" or "reference": what runs a plan
    stall            "compile": a call that no version fits compiles one; "never": it runs in Python while a background
                     thread does
    budget           instructions that one capture may execute
    buckets          (argument, dimension, sizes) to which that size is padded, see runtime.buckets
    backend_options  keys handed on to a backend that is not pellucid's own
    """

    fullgraph: bool = False
    dynamic: bool | None = None
    wishes: Wishes = ()
    backend: str | Callable[..., Any] = "llvm"
    mode: str | None = None
    strict: bool = False
    recompile_limit: int = 8
    at_limit: str = "keep"
    freeze: bool = False
    runner: str = "auto"
    budget: int = 2_000_000
    buckets: Buckets = ()
    stall: str = "compile"
    backend_options: Mapping[str, Any] = field(default_factory=dict)

    def with_dynamic(self, dynamic: bool | Mapping[str, Any] | None) -> Options:
        """The same but for `dynamic`, given as to compile()."""
        mode, wishes = parse_dynamic(dynamic)
        return replace(self, dynamic=mode, wishes=wishes)


def is_buckets(v: Any) -> bool:
    """Whether v is {argument: {dimension: sizes}} with at least one size everywhere."""
    return isinstance(v, Mapping) and all(
        type(name) is str and isinstance(dims, Mapping) and dims and all(
            type(dim) is int and isinstance(sizes, (list, tuple)) and sizes and all(type(s) is int and s >= 2
                                                                                    for s in sizes)
            for dim, sizes in dims.items())
        for name, dims in v.items())


def parse_buckets(v: Mapping[str, Mapping[int, Sequence[int]]]) -> Buckets:
    return tuple((name, dim, tuple(sorted(set(sizes)))) for name, dims in v.items() for dim, sizes in dims.items())


KEYS: dict[str, Callable[[Any], bool]] = {
    "strict": lambda v: type(v) is bool,
    "freeze": lambda v: type(v) is bool,
    "recompile_limit": lambda v: type(v) is int and v >= 1,
    "budget": lambda v: type(v) is int and v >= 1,
    "at_limit": lambda v: v in AT_LIMIT,
    "runner": lambda v: v in RUNNERS,
    "stall": lambda v: v in STALL,
    "buckets": lambda v: is_buckets(v),
}
"""Key of compile(options={...}) -> whether a value is acceptable."""

EXPECTED = {
    "strict": "True or False", "freeze": "True or False", "recompile_limit": "an integer of at least 1",
    "budget": "an integer of at least 1", "at_limit": " or ".join(map(repr, AT_LIMIT)),
    "runner": ", ".join(map(repr, RUNNERS)),
    "stall": " or ".join(map(repr, STALL)),
    "buckets": "a dict from argument to {dimension: sizes}, as in {'x': {0: [8, 16, 32]}}, sizes of at least 2",
}


def parse(*, fullgraph: bool = False, dynamic: bool | Mapping[str, Any] | None = None, backend: Any = "llvm",
          mode: str | None = None, options: Mapping[str, Any] | None = None) -> Options:
    """Options from compile()'s arguments; OptionError names the argument, its value and what it may be."""
    if type(fullgraph) is not bool:
        raise _bad("fullgraph", fullgraph, "True or False")
    dynamic, wishes = parse_dynamic(dynamic)
    if not isinstance(backend, str) and not callable(backend):
        raise _bad("backend", backend, "a name such as 'llvm' or 'eager', or callable(GraphModule, example_inputs)")
    if mode is not None and mode not in MODES:
        raise _bad("mode", mode, f"None or one of {', '.join(MODES)}")
    if options is not None and not isinstance(options, Mapping):
        raise _bad("options", options, f"a dict with keys among {', '.join(KEYS)}")
    known: dict[str, Any] = {}
    foreign: dict[str, Any] = {}
    for key, value in (options or {}).items():
        if key in KEYS:
            if not KEYS[key](value):
                raise _bad(f"options[{key!r}]", value, EXPECTED[key])
            known[key] = parse_buckets(value) if key == "buckets" else value
        elif backend in OWN_BACKENDS:
            near = difflib.get_close_matches(str(key), KEYS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise OptionError("bad-option", f"compile(): unknown option {key!r} (value {value!r}){hint}",
                              f"use one of {', '.join(KEYS)}")
        else:
            foreign[key] = value
    if known.get("freeze"):
        warnings.warn("options={'freeze': True} has no effect yet: weights are read in each call, not packed or folded",
                      stacklevel=3)
    environment = os.environ.get("PELLUCID_RUNNER", "auto")
    if environment not in RUNNERS:
        raise OptionError("bad-argument", f"the environment variable PELLUCID_RUNNER={environment!r} is not acceptable",
                          f"give {EXPECTED['runner']}")
    return Options(fullgraph, dynamic, wishes, backend, mode, backend_options=foreign, **known)


def parse_dynamic(dynamic: Any) -> tuple[bool | None, Wishes]:
    """compile()'s `dynamic` as the mode of all sizes and what is said of single ones."""
    if isinstance(dynamic, Mapping):
        return None, parse_wishes(dynamic)
    if dynamic is not None and type(dynamic) is not bool:
        raise _bad("dynamic", dynamic, "None (sizes that change become symbolic), True (all from the first call), "
                                       "False (never), or a dict from argument to one of these")
    return dynamic, ()


def _bad(argument: str, value: Any, expected: str) -> OptionError:
    return OptionError("bad-argument", f"compile(): {argument}={value!r} is not acceptable", f"give {expected}")

"""What capture hands on: a segment with its graph, guards, effects and exit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

from ..events.types import UserStack
from ..graph.types import Graph
from ..guards.types import Guard, Source
from ..shapes.dim import Size


# ------------------------------------------------------------------ recipes: how to build a value after the graph ran
@dataclass(frozen=True, slots=True)
class FromGraph:
    """Output number `index` of the segment's graph."""

    index: int


@dataclass(frozen=True, slots=True)
class FromSource:
    """An object that existed before: load it."""

    source: Source


@dataclass(frozen=True, slots=True)
class FromConst:
    """A constant of the segment: an immutable value, or a long-lived object held by the entry."""

    value: Any


@dataclass(frozen=True, slots=True)
class FromSize:
    """A Python int computed from symbols."""

    size: Size


@dataclass(frozen=True, slots=True)
class FromNative:
    """The result of the exit's native operation."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A value built once in this segment and used again: number in Segment.shared (keeps identity)."""

    number: int


@dataclass(frozen=True, slots=True)
class Build:
    """A new object. kind: tuple list dict set frozenset slice cell function method instance iterator partial
    bound-builtin range; `parts` are recipes; `detail` what else it needs (class, code object, dict keys as recipes in
    parts alternating key, value; for an instance: class, then attribute names, with parts the values)."""

    kind: str
    parts: tuple["Recipe", ...]
    detail: Any = None


Recipe = Union[FromGraph, FromSource, FromConst, FromSize, FromNative, Shared, Build]


# ------------------------------------------------------------------ effects: writes to objects that existed before
@dataclass(frozen=True, slots=True)
class Effect:
    """One visible write, done in order at commit.

    kind: setattr delattr dict (obj.__dict__ entry) setitem delitem list (whole contents) update (dict contents)
    set (whole contents) global cell deque python (call of a pure helper)
    """

    kind: str
    target: Recipe
    key: Any
    value: Recipe | None
    stack: UserStack = ()


# ------------------------------------------------------------------ exits
@dataclass(frozen=True, slots=True)
class Return:
    value: Recipe


@dataclass(frozen=True, slots=True)
class FrameState:
    """One frame of a continuation, as recipes for its slots. `index` is the next canonical instruction to execute."""

    code: Any
    """bytecode.types.Code"""
    function: Recipe | None
    globals_of: Any = field(repr=False)
    """The dictionary of its global variables."""
    index: int
    locals: tuple["Recipe | None", ...]
    stack: tuple["Recipe | None", ...]
    handled: "Recipe | None" = None
    on_return: str = "push"
    """What the frame's result does in the frame below: push, or then (kinds of `executor.RETURNS` in `detail`)."""
    detail: Any = None
    generator: "Recipe | None" = None
    """For the frame of a generator that is running: the generator (an interpreted one)."""


@dataclass(frozen=True, slots=True)
class Break:
    """The segment ends with one operation done in plain Python; then continuation `after` (value or exception).

    function, args, kwargs: recipes of the native call. reason: an error-catalogue code with its message parameters.
    frames: the frame stack to go on with, outermost first; the result of the operation is `FromNative`.
    """

    function: Recipe
    args: tuple[Recipe, ...]
    kwargs: tuple[tuple[str, Recipe], ...]
    frames: tuple[FrameState, ...]
    code: str
    message: str
    remedy: str
    stack: UserStack
    then: str = "push"
    """What the operation's result does in the top frame: push, drop, again (it is pushed and the instruction before
    `index` runs again), for_iter (push; a StopIteration ends the loop)."""


@dataclass(frozen=True, slots=True)
class Branch:
    """The segment ends at a truth test of a value only known at run time; one continuation a truth value."""

    condition: Recipe
    if_true: tuple[FrameState, ...]
    if_false: tuple[FrameState, ...]
    code: str
    message: str
    remedy: str
    stack: UserStack


Exit = Union[Return, Break, Branch]


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight line of captured execution, valid while its guards hold."""

    graph: Graph
    guards: tuple[Guard, ...]
    effects: tuple[Effect, ...]
    exit: Exit
    shared: tuple[Recipe, ...] = ()
    instructions: int = 0
    inlined: tuple[Any, ...] = ()
    """Code objects whose instructions were executed."""
    grad: bool = False
    """Grad mode is on and some input requires grad: the graph runs through torch's own operators."""

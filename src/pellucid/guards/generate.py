"""An entry's guards as one generated Python function: straight line, cheap, readable through linecache."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ..graph.types import Graph
from ..shapes.env import SizeGuard
from ..torchdoor.tensorchecks import native_check
from ..torchdoor.tensors import dispatch_keys
from . import evaluate, globalkey
from .classes import unchanged
from .sources import HELPERS, TextScope, text
from .types import Guard, Source, TensorGuard

Check = Callable[..., bool]


class CheckText:
    """The lines of a check while they are written: sources used more than once become locals, symbols are read once."""

    def __init__(self, guards: Sequence[Guard], graph: Graph, names: dict[str, str]):
        self.graph = graph
        self.scope = TextScope(arg=names.__getitem__, slot=lambda i: f"p{i}")
        self.lines: list[str] = []
        self.locals = 0
        self.bound: set[str] = set()
        self.globals: dict[str, Any] = {}
        self.uses = _uses(guards, graph)

    def load(self, source: Source) -> str:
        """Text for the source's value; a local variable if others need it too."""
        known = self.scope.memo.get(source)
        if known is not None:
            return known
        if source.base is not None:
            self.load(source.base)
        expression = text(source, self.scope)
        if self.uses[source] < 2 or expression.isidentifier():
            if source.base is None:
                self.scope.memo[source] = expression
            return expression
        return self.assign(source, expression)

    def assign(self, source: Source, expression: str) -> str:
        name = f"v{self.locals}"
        self.locals += 1
        self.lines.append(f"{name} = {expression}")
        self.scope.memo[source] = name
        return name

    def local(self, source: Source) -> str:
        """Text that may be repeated: a local variable."""
        expression = self.load(source)
        return expression if expression.isidentifier() else self.assign(source, expression)

    def bind_symbols(self) -> None:
        for d in self.graph.symbols:
            if d.sym.name not in self.bound:
                self.bound.add(d.sym.name)
                value = self.local(self.graph.inputs[d.input].source)
                self.lines.append(f"{d.sym.name} = {value}" + d.access)

    def require(self, *conditions: str) -> None:
        self.lines.append(f"if not ({' and '.join(conditions)}): return False")


def _uses(guards: Sequence[Guard], graph: Graph) -> Counter[Source]:
    """How often each source is loaded, itself or as the base of another (counted once for each distinct source)."""
    uses: Counter[Source] = Counter()
    seen: set[Source] = set()

    def visit(source: Source) -> None:
        uses[source] += 1
        if source not in seen:
            seen.add(source)
            if source.base is not None:
                visit(source.base)

    for g in guards:
        if g.source is not None:
            visit(g.source)
        if g.kind in ("same", "distinct"):
            visit(g.expected)
    for d in graph.symbols:
        visit(graph.inputs[d.input].source)
    return uses


# ------------------------------------------------------------------ one writer a kind
def _tensor(c: CheckText, g: Guard) -> None:
    e: TensorGuard = g.expected
    v = c.local(g.source)  # type: ignore[arg-type]
    hold = c.scope.hold
    n = len(e.shape)
    either = [bool(e.requires_grad)]
    if e.requires_grad is None and (e.dtype.is_floating_point or e.dtype.is_complex):
        either.append(True)
    native = [native_check(e.tensor_type, e.dtype, e.device, e.shape, e.strides, grad, e.dispatch_keys)
              for grad in either]
    if None not in native:
        parts = ["(" + " or ".join(f"{hold(check)}({v})" for check in native) + ")"]
    else:
        parts = [f"type({v}) is {hold(e.tensor_type)}", f"{v}.dtype is {hold(e.dtype)}",
                 f"{v}.device == {hold(e.device)}", f"dispatch_keys({v}) == {e.dispatch_keys}"]
        parts += _sequence(f"{v}.shape", e.shape)
        if e.strides is not None:
            parts += _sequence(f"{v}.stride()", e.strides)
    if e.contiguous and n:
        parts.append(f"{v}.is_contiguous()")
    if e.requires_grad is not None:
        parts.append(f"{v}.requires_grad is {e.requires_grad}")
    c.require(*parts)


def _sequence(text: str, expected: tuple[int | None, ...]) -> list[str]:
    """Conditions for a tuple of ints of which some may be free."""
    if None not in expected:
        return [f"{text} == {tuple(expected)}"]
    fixed = [f"t[{i}] == {d}" for i, d in enumerate(expected) if d is not None]
    return [f"len(t := {text}) == {len(expected)}", *fixed]


def _equal(c: CheckText, g: Guard) -> None:
    v, e = c.local(g.source), g.expected  # type: ignore[arg-type]
    if e is None or e is True or e is False:
        c.require(f"{v} is {e}")
    elif type(e) in (int, str, bytes):
        c.require(f"type({v}) is {type(e).__name__}", f"{v} == {c.scope.constant(e)}")
    else:
        c.require(f"same({v}, {c.scope.hold(e)})")


def _is(c: CheckText, g: Guard) -> None:
    e = g.expected
    text = str(e) if e is None or e is True or e is False else c.scope.hold(e)
    c.require(f"{c.load(g.source)} is {text}")  # type: ignore[arg-type]


def _int(c: CheckText, g: Guard) -> None:
    v = c.local(g.source)  # type: ignore[arg-type]
    lo, hi = g.expected[1]
    c.require(f"type({v}) is int", *([f"{lo} <= {v}"] if lo is not None else []),
              *([f"{v} <= {hi}"] if hi is not None else []))


_PYTHON_OP = {"==": "==", "!=": "!=", "<": "<", "<=": "<="}


def _size(c: CheckText, g: Guard) -> None:
    c.bind_symbols()
    e: SizeGuard = g.expected
    c.require(f"({e.lhs}) {_PYTHON_OP[e.op]} ({e.rhs})")


def _overlap(c: CheckText, g: Guard) -> None:
    c.require(f"disjoint([{', '.join(c.load(c.graph.inputs[i].source) for i in g.expected)}])")


def _same(c: CheckText, g: Guard) -> None:
    """The object at `source` is the one at another source, or is not."""
    word = "is" if g.kind == "same" else "is not"
    c.require(f"{c.load(g.source)} {word} {c.load(g.expected)}")  # type: ignore[arg-type]


def _keys(c: CheckText, g: Guard) -> None:
    c.require(f"keys_hold({c.load(g.source)}, {c.scope.hold(g.expected)})")  # type: ignore[arg-type]


def _simple(template: str, literal: bool = True) -> Callable[[CheckText, Guard], None]:
    def write(c: CheckText, g: Guard) -> None:
        e = c.scope.constant(g.expected) if literal else c.scope.hold(g.expected)
        c.require(template.format(v=c.load(g.source), e=e))  # type: ignore[arg-type]
    return write


WRITERS: dict[str, Callable[[CheckText, Guard], None]] = {
    "tensor": _tensor,
    "type": _simple("type({v}) is {e}", literal=False),
    "is": _is,
    "equal": _equal,
    "int": _int,
    "len": _simple("len({v}) == {e}"),
    "keys": _keys,
    "absent": _simple("{e} not in own_dict({v})"),
    "missing_key": _simple("{e} not in {v}"),
    "has_key": _simple("{e} in {v}"),
    "has": _simple("{e} in _vars({v})"),
    "code": _simple("{v}.__code__ is {e}", literal=False),
    "size": _size,
    "overlap": _overlap,
    "global": lambda c, g: c.require(f"current() is {c.scope.hold(g.expected)}"),
    "same": _same,
    "distinct": _same,
    "python": _simple("{e}({v})", literal=False),
}
"""Guard kind -> writes its condition ("version" guards are checked together, by guards.classes)."""

_NUMBER = iter(range(1, 1 << 62))


def write(guards: Sequence[Guard], graph: Graph, params: Sequence[str],
          name: str = "check") -> tuple[str, dict[str, Any]]:
    """The check's source text and the globals it needs. `params` name the positions of the call's values."""
    names = {p: f"p{i}" for i, p in enumerate(params)}
    c = CheckText(guards, graph, names)
    for g in guards:
        if g.kind != "version":
            WRITERS[g.kind](c, g)
    versions = [g.expected for g in guards if g.kind == "version"]
    if versions:
        c.require(f"{c.scope.hold(unchanged(versions))}()")
    body = "".join(f"        {line}\n" for line in c.lines)
    arguments = ", ".join(f"p{i}" for i in range(len(params)))
    header = "".join(f"    # p{i}: {p}\n" for i, p in enumerate(params))
    source = (f"def {name}({arguments}):\n{header}    try:\n{body}        return True\n"
              f"    except LOAD_ERRORS:\n        return False\n")
    return source, {**HELPERS, **c.scope.held, "LOAD_ERRORS": evaluate.LOAD_ERRORS, "same": evaluate.same,
                    "disjoint": evaluate.disjoint, "keys_hold": evaluate.CHECKS["keys"], "dispatch_keys": dispatch_keys,
                    "current": globalkey.current, "own_dict": evaluate.own_dict}


def compile_text(source: str, globals_: dict[str, Any], name: str, label: str) -> FunctionType:
    """Compile generated text under a linecache entry `<pellucid label>`, so that tracebacks and debuggers show it."""
    file = f"<pellucid {label} {next(_NUMBER)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = dict(globals_)
    exec(compile(source, file, "exec", dont_inherit=True), namespace)
    made: FunctionType = namespace[name]
    return made


def forget(function: Any) -> None:
    """Drop the linecache entry of a generated function whose entry is gone."""
    file = function.__code__.co_filename
    if file.startswith("<pellucid"):
        linecache.cache.pop(file, None)


def check(guards: Sequence[Guard], graph: Graph, params: Sequence[str], label: str = "check") -> Check:
    """The compiled check of an entry: called with the call's values in the order of `params`."""
    source, globals_ = write(guards, graph, params)
    return compile_text(source, globals_, "check", label)

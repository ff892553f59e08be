"""Guards in words: what must hold, of what, and which operation of the user's program needed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..graph.types import Graph
from ..shapes.dim import Sym
from . import globalkey
from .evaluate import Missing, Outcome
from .sources import name
from .types import Guard, TensorGuard


def short(value: Any, limit: int = 80) -> str:
    """A value in a few characters: classes and functions by name, long texts cut."""
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, TensorGuard):
        return tensor(value)
    if isinstance(value, Missing):
        return repr(value)
    if hasattr(value, "co_qualname"):
        return f"the code of {value.co_qualname}"
    qualname = getattr(value, "__qualname__", None)
    if callable(value) and isinstance(qualname, str):
        return qualname
    try:
        text = repr(value)
    except Exception as e:  # a user's __repr__ must not spoil a report
        text = f"<{type(value).__name__} whose repr raised {type(e).__name__}>"
    return text if len(text) <= limit else text[:limit - 3] + "..."


def tensor(g: TensorGuard) -> str:
    """`float32[2, ?] on cpu, strides (3, 1)`: a question mark is a free or symbolic size."""
    shape = ", ".join("?" if d is None else str(d) for d in g.shape)
    kind = "" if g.tensor_type.__name__ == "Tensor" else f"{g.tensor_type.__name__} "
    out = f"{kind}{str(g.dtype).removeprefix('torch.')}[{shape}] on {g.device}"
    if g.contiguous:
        out += ", contiguous"
    elif g.strides is not None:
        out += f", strides ({', '.join('?' if s is None else str(s) for s in g.strides)})"
    if g.requires_grad is not None:
        out += ", requires grad" if g.requires_grad else ", requires no grad"
    return out


def condition(g: Guard, graph: Graph | None = None) -> str:
    """What the guard demands, in one line."""
    n, e = name(g.source), g.expected
    if g.kind == "tensor":
        return f"{n} is a tensor {tensor(e)}"
    if g.kind == "int":
        lo, hi = e[1]
        return f"{n} is an int" + (f" >= {lo}" if lo is not None else "") + (f" <= {hi}" if hi is not None else "") + \
            f" (symbol {e[0]})"
    if g.kind == "size":
        return f"{e}{symbols(g, graph)}"
    if g.kind == "overlap":
        inputs = [name(graph.inputs[i].source) if graph else f"input {i}" for i in e]
        return f"no common memory among {', '.join(inputs)}"
    if g.kind in ("same", "distinct"):
        return f"{n} is {'the same object as' if g.kind == 'same' else 'another object than'} {name(e)}"
    if g.kind == "global":
        return "global state is as at capture"
    words = {"type": "is exactly of class", "is": "is", "equal": "==", "len": "has length", "keys": "has the keys",
             "absent": "has no own attribute", "missing_key": "has no key",
             "has_key": "has the key", "has": "has its own attribute",
             "code": "runs", "python": "satisfies", "version": "has the class state"}
    return f"{n} {words[g.kind]} {short(e)}"


def symbols(g: Guard, graph: Graph | None) -> str:
    """` where s0 = x.shape[1]` for the symbols of a size guard."""
    if graph is None:
        return ""
    from ..shapes.dim import symbols as symbols_of

    used: set[Sym] = set(symbols_of(g.expected.lhs) | symbols_of(g.expected.rhs))
    where = [f"{d.sym} = {name(graph.inputs[d.input].source)}" + d.access
             for d in graph.symbols if d.sym in used]
    return f" where {', '.join(where)}" if where else ""


def explain(g: Guard, graph: Graph | None = None) -> str:
    """The condition and its cause: `x is a tensor float32[2] on cpu  <- torch.add at model.py:7 in forward`."""
    return condition(g, graph) + (f"  <- {g.cause}" if g.cause is not None else "")


def failure(o: Outcome, graph: Graph | None = None) -> str:
    """Why a guard did not hold in a call."""
    if o.guard.kind == "global" and not o.ok:
        parts = [f"{n} was {short(a)}, is {short(b)}" for n, a, b in globalkey.differences(o.expected, o.actual)]
        return f"global state: {'; '.join(parts)}"
    n = name(o.guard.source)
    if o.guard.kind == "tensor" and isinstance(o.actual, TensorGuard):
        return f"{n}: {_tensor_difference(o.expected, o.actual)}"
    return f"{explain(o.guard, graph)}: was {short(o.actual)}"


@dataclass(frozen=True, slots=True)
class FailedGuard:
    """One guard that failed in a call: what was expected, what was there, and the operation that needed it."""

    condition: str
    source: str
    kind: str
    expected: str
    actual: str
    cause: str
    text: str


def failed_guards(row: Sequence[Outcome], graph: Graph | None) -> tuple[FailedGuard, ...]:
    """Those of an entry's guards that did not hold."""
    return tuple(FailedGuard(condition(o.guard, graph), name(o.guard.source), o.guard.kind, short(o.expected),
                             short(o.actual), str(o.guard.cause) if o.guard.cause else "", failure(o, graph))
                 for o in row if not o.ok)


def _tensor_difference(want: TensorGuard, have: TensorGuard) -> str:
    if have.tensor_type is not want.tensor_type:
        return f"class {want.tensor_type.__name__} expected, {have.tensor_type.__name__} given"
    for field in ("dtype", "device"):
        if getattr(want, field) != getattr(have, field):
            return f"{field} {getattr(want, field)} expected, {getattr(have, field)} given"
    if len(want.shape) != len(have.shape):
        return f"{len(want.shape)} dimensions expected, {len(have.shape)} given"
    sizes = [f"size {i} was {a}, is {b}" for i, (a, b) in enumerate(zip(want.shape, have.shape)) if a not in (None, b)]
    if sizes:
        return ", ".join(sizes)
    if want.requires_grad not in (None, have.requires_grad):
        return f"requires_grad {want.requires_grad} expected, {have.requires_grad} given"
    if want.strides is not None and have.strides is not None:
        strides = [f"stride {i} was {a}, is {b}" for i, (a, b) in enumerate(zip(want.strides, have.strides))
                   if a not in (None, b)]
        if strides:
            return ", ".join(strides)
    if want.contiguous:
        return f"contiguous expected, strides {have.strides} given"
    return f"dispatch keys {want.dispatch_keys:#x} expected, {have.dispatch_keys:#x} given"

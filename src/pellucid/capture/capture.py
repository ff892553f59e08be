"""Capture: run a call (or go on from rebuilt frames) symbolically, and hand on the Segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..guards import globalkey
from ..guards.types import Source
from ..shapes.dim import Size
from .executor import Machine, program
from .frames import UNBOUND, Frame, Then
from .segment import finish
from .state import Capture, CaptureOptions
from .symbolic import CaptureRaised, Symbolic
from .types import Build, FrameState, FromConst, FromSource, Recipe, Segment
from .values.base import Broken, Invoke, Value
from .values.constant import Const
from .values.function import MethodVal, SuperVal
from .values.globals_ import globals_dict
from .values.iterator import EnumerateIter, RangeIter, SequenceIter, ZipIter
from .values.klass import ClassVal
from .values.sequence import RangeVal, SliceVal, TupleVal
from .values.size import SizeVal


def new_capture(options: CaptureOptions | None) -> tuple[Capture, Symbolic, Machine]:
    options = options or CaptureOptions()
    from .known.declared import know_torch_compile  # loads the tables, which need this module's neighbours

    know_torch_compile()
    cx = Capture(options)
    domain = Symbolic(cx)
    cx.global_key = globalkey.current()
    cx.entry_grad = cx.asks_grad = cx.grad
    machine = domain.running = Machine(domain, options.budget)
    return cx, domain, machine


def capture_call(fn: Any, bound: Mapping[str, Any], options: CaptureOptions | None = None) -> Segment:
    """Capture fn called with `bound`: parameter name -> example value, as fn's signature binds it (*args a tuple,
    **kwargs a dict). fn is a Python function, a bound method, or an nn.Module (its forward's parameters without self).

    Raises CaptureRaised if the program raises: run it eagerly.
    """
    cx, domain, machine = new_capture(options)
    root, args, kwargs = root_call(cx, fn, bound)
    top = _root_frame(domain, root, args, kwargs)
    if not isinstance(top, Frame):
        raise Broken("PB104", f"{fn!r} has no Python code to capture")
    return finish(cx, domain, machine, machine.run(top))


def root_call(cx: Capture, fn: Any, bound: Mapping[str, Any]) -> tuple[Value, list[Value], dict[str, Value]]:
    """The callee and the arguments as values from outside."""
    import inspect

    import torch

    root = cx.wrap(fn, Source("const", None, "self" if isinstance(fn, torch.nn.Module) else
                              getattr(fn, "__qualname__", type(fn).__name__), fn))
    target = fn.forward if isinstance(fn, torch.nn.Module) else fn
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    by_name = False
    for p in inspect.signature(target).parameters.values():
        name, kind = p.name, p.kind
        if name not in bound:
            by_name = True          # a default was used: what follows must be passed by name
            continue
        value, source = bound[name], Source("arg", None, name)
        if kind is p.VAR_POSITIONAL:
            cx.guard("len", source, len(value), "*args")
            args += [cx.wrap(x, Source("item", source, i)) for i, x in enumerate(value)]
        elif kind is p.VAR_KEYWORD:
            cx.guard("keys", source, tuple(value), "**kwargs")
            kwargs.update({k: cx.wrap(x, Source("item", source, k)) for k, x in value.items()})
        elif kind is p.KEYWORD_ONLY or (by_name and kind is not p.POSITIONAL_ONLY):
            kwargs[name] = cx.wrap(value, source)
        else:
            args.append(cx.wrap(value, source))
    return root, args, kwargs


def _root_frame(domain: Symbolic, root: Value, args: list[Value], kwargs: dict[str, Value]) -> Any:
    r = root.call(domain.cx, args, kwargs)
    if isinstance(r, Invoke):
        return domain.enter(None, r)  # type: ignore[arg-type]
    return r


# ------------------------------------------------------------------ from the middle
class Rebuilt:
    """Values for the recipes of a continuation's frames: constants, slots, and what is taken apart into these."""

    def __init__(self, cx: Capture, domain: Symbolic, slots: Sequence[Any]):
        self.cx, self.domain, self.slots = cx, domain, slots
        self.values: dict[int, Value] = {}

    def slot(self, n: int) -> Value:
        v = self.values.get(n)
        if v is None:
            v = self.values[n] = self.cx.wrap(self.slots[n], Source("slot", None, n))
        return v

    def value(self, r: Recipe | None) -> Any:
        if r is None:
            return UNBOUND
        t = type(r)
        if t is FromSource:
            source = r.source
            return self.slot(source.key) if source.kind == "slot" else self.cx.fixed(source.obj, str(source.key))
        if t is FromConst:
            return self.constant(r.value)
        assert t is Build, r
        return self.built(r)

    def constant(self, value: Any) -> Value:
        t = type(value)
        if value is None or t in (bool, str, int, float, bytes, tuple, frozenset, slice, range):
            return self.cx.literal(value)
        return self.cx.fixed(value)

    def built(self, r: Build) -> Value:
        kind, cx = r.kind, self.cx
        if kind == "iterator" and type(r.detail) is int:
            start = self.position(r.parts[0])
            stop = self.value(r.parts[1])
            return RangeIter(start, stop.dim if type(stop) is SizeVal else stop.constant(cx), r.detail)
        if kind == "iterator" and r.detail == "enumerate":
            return EnumerateIter(self.value(r.parts[0]), self.position(r.parts[1]))
        parts = [self.value(p) for p in r.parts]
        if kind == "tuple":
            return TupleVal(parts, r.detail)
        if kind == "method":
            return MethodVal(parts[0], parts[1])
        if kind == "slice":
            return SliceVal(*parts)
        if kind == "super":
            obj = parts[1]
            return SuperVal(parts[0].constant(cx), obj,
                            obj.constant(cx) if isinstance(obj, ClassVal) else obj.pytype(cx))
        if kind == "builtin":
            bound = parts[0].attr(cx, r.detail)
            assert isinstance(bound, Value)
            return bound
        if kind == "range":
            a, b, c = [p.dim if type(p) is SizeVal else p.constant(cx) for p in parts]
            return RangeVal(a, b, c)
        if kind == "iterator" and r.detail == "sequence":
            return SequenceIter(parts[0], parts[1].constant(cx))
        if kind == "iterator" and r.detail == "zip":
            return ZipIter(parts)
        raise TypeError(f"a continuation's frame holds a {kind} that is not taken apart")

    def position(self, r: Recipe) -> Size:
        """The position of an iterator: symbolic, so that a loop comes back to the same entry."""
        v = self.value(r)
        if type(v) is SizeVal:
            return v.dim
        assert type(v) is Const
        if v.pending is None or type(v.value) is not int or v.value < 0:
            return v.constant(self.cx)
        made = self.cx.symbolic_int(v.value, v.pending)
        if type(r) is FromSource and r.source.kind == "slot":
            self.values[r.source.key] = made
        return made.dim


def capture_frames(frames: Sequence[FrameState], slots: Sequence[Any], outcome: str = "value", then: str = "push",
                   options: CaptureOptions | None = None) -> Segment:
    """Capture from the middle of a call: `frames` (outermost first) over the example values `slots`.

    outcome "value": the last slot is the native operation's result, and `then` what it does in the innermost frame
    (see `Break.then`; with "drop" there is no such slot). outcome "exception": the last slot is the exception that the
    operation raised. outcome "branch": nothing is delivered.
    """
    cx, domain, machine = new_capture(options)
    rebuilt = Rebuilt(cx, domain, slots)
    f: Frame | None = None
    for state in frames:
        g = state.globals_of
        below, f = f, Frame(state.code, program(state.code), rebuilt.value(state.function),
                            globals_dict(cx, g, g.get("__name__") or ""), None, [])
        f.index = state.index
        f.locals = [rebuilt.value(r) for r in state.locals]
        f.stack = [rebuilt.value(r) for r in state.stack]
        f.handled = None if state.handled is None else rebuilt.value(state.handled)
        f.then = _then(rebuilt, state)
        if state.generator is not None:
            g = rebuilt.value(state.generator)
            cx.wrote(g)
            f.generator = g.generator
            g.generator.frame = f
            g.generator.state = "running"
        f.back = below
        f.depth = 0 if below is None else below.depth + 1
    assert f is not None, "frames: a continuation has at least one"
    domain.frame = f
    raising = None
    if outcome == "exception":
        error = slots[-1]
        if then == "for_iter" and isinstance(error, StopIteration):
            cx.guard("type", Source("slot", None, len(slots) - 1), type(error), "end of the loop")
            f.stack.pop()
            f.index = f.code.instrs[f.index - 1].arg
        else:
            raising = rebuilt.slot(len(slots) - 1)
            raising.pytype(cx)
    elif outcome == "value" and then != "drop":
        f.stack.append(rebuilt.slot(len(slots) - 1))
        if then == "again":
            f.index -= 1
    return finish(cx, domain, machine, machine.run(f, raising))


def _then(rebuilt: Rebuilt, state: FrameState) -> Then | None:
    if state.on_return == "push":
        return None
    then: Then | None = None
    for kind, detail in reversed(state.detail):
        is_recipe = type(detail) in (FromSource, FromConst, Build)
        then = Then(kind, rebuilt.value(detail) if is_recipe else detail, then)
    return then


__all__ = ["CaptureOptions", "CaptureRaised", "capture_call", "capture_frames", "new_capture"]

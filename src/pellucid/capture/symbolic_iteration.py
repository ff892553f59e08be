"""The symbolic domain's iteration: next items, generators and what is sent or thrown into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..bytecode.effects import EFFECTS
from .executor import raise_in, resume, throw
from .frames import EXHAUSTED, UNBOUND, Frame, Generator
from .polyfills import polyfill
from .values.base import Broken, Invoke, Raised, Value
from .values.constant import NONE, Const
from .values.instance import InstanceVal
from .values.iterator import GeneratorVal, IterVal
from .values.klass import ClassVal

if TYPE_CHECKING:
    pass


class Iteration:
    """Mixed into `symbolic.Symbolic`."""

    cx: Any
    frame: Any
    enter: Any
    running: Any
    generators: Any

    # ---------------------------------------------------------------- iteration, generators
    def iter(self, f: Frame, value: Value) -> Any:
        self.frame = f
        r = value.iterate(self.cx)
        return self.enter(f, r) if type(r) is Invoke else r

    def yield_from_iter(self, f: Frame, value: Value) -> Any:
        return self.iter(f, value)

    def next(self, f: Frame, iterator: Value) -> Any:
        self.frame = f
        if isinstance(iterator, IterVal):
            return iterator.advance(self.cx)
        if type(iterator) is GeneratorVal:
            g = iterator.generator
            if g.state == "done":
                return EXHAUSTED
            return self.resume_generator(iterator, NONE)
        if isinstance(iterator, InstanceVal):
            r = iterator.invoke_special(self.cx, "__next__", [])
            if r is not None:
                return self.enter(f, r)  # type: ignore[arg-type]
        raise Broken("PB111", f"next item of a {iterator.pytype(self.cx).__name__}", self.cx.fixed(next), [iterator],
                     then="for_iter")

    def resume_generator(self, v: GeneratorVal, value: Value) -> Frame:
        g = v.generator
        if g.state == "done":
            raise self.cx.raised(StopIteration)
        if g.state == "running":
            raise self.cx.raised(ValueError, "generator already executing")
        if g.state == "created" and not (type(value) is Const and value.constant(self.cx) is None):
            raise self.cx.raised(TypeError, "can't send non-None value to a just-started generator")
        if v.obj is not None:
            self.cx.wrote(v)
        return resume(g, UNBOUND if g.state == "created" else value)

    def close_generator(self, v: GeneratorVal) -> Any:
        g = v.generator
        if g.state in ("created", "done"):
            if v.obj is not None:
                self.cx.wrote(v)
            g.state = "done"
            return NONE
        return Invoke(polyfill(self.cx, "generator_close"), [v])

    def throw_generator(self, v: GeneratorVal, args: list[Value]) -> Any:
        """generator.throw(exception), or throw(type, exception, traceback)."""
        cx = self.cx
        exc: Any = args[0]
        if isinstance(exc, ClassVal):
            given = args[1] if len(args) > 1 and isinstance(args[1], InstanceVal) else None
            exc = given if given is not None else self.value_of(exc.call(cx, list(args[1:2]), {}))
        if not isinstance(exc, InstanceVal) or not exc.is_exception:
            raise cx.raised(TypeError, "exceptions must be classes or instances deriving from BaseException")
        g = v.generator
        if g.state == "running":
            raise cx.raised(ValueError, "generator already executing")
        if v.obj is not None:
            cx.wrote(v)
        if g.state in ("created", "done"):
            g.state = "done"
            raise Raised(exc)
        f = self.frame
        instr = f.code.instrs[f.index - 1]
        if instr.op != "CALL" and instr.op != "CALL_EX":
            raise Broken("PB108", "throw() into a generator from here")
        e = EFFECTS[instr.op]
        del f.stack[-(e(instr.arg) if callable(e) else e)[0]:]
        top, raising = throw(self.running, f, g, exc, None)
        if raising is None:
            raise Broken("PB108", "throw() into a generator that delegates to another")
        raise_in(top, raising)

    def send(self, f: Frame, receiver: Value, value: Value) -> Any:
        self.frame = f
        if isinstance(receiver, IterVal):
            v = receiver.advance(self.cx)
            return (False, NONE) if v is EXHAUSTED else (True, v)
        if type(receiver) is GeneratorVal:
            if receiver.generator.state == "done":
                return False, NONE
            return self.resume_generator(receiver, value)
        if isinstance(receiver, InstanceVal):
            none = type(value) is Const and value.value is None
            r = receiver.invoke_special(self.cx, "__next__", []) if none else \
                Invoke(self.value_of(receiver.attr(self.cx, "send")), [value])
            if r is not None:
                return self.enter(f, r)  # type: ignore[arg-type]
        raise Broken("PB108", "yield from an object that capture does not model")

    def value_of(self, r: Any) -> Value:
        if isinstance(r, Invoke):
            raise Broken("PB112", "an attribute computed by Python code is needed here")
        return r

    def generator(self, f: Frame, generator: Generator) -> Value:
        v = self.generators[generator] = GeneratorVal(generator)
        return v

    def throw_into(self, f: Frame, receiver: Any, exc: Value) -> Any:
        if type(receiver) is GeneratorVal:
            return None if receiver.generator.state == "done" else receiver.generator
        return None

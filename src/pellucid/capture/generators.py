"""Interpreted generators across segments: built as objects that native code can use, and taken up again from them."""

from __future__ import annotations

import builtins
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..bytecode.types import Code
from ..guards.types import Source
from .executor import program
from .frames import UNBOUND, Frame, Generator
from .interpreted import InterpretedGenerator
from .types import Build, Effect, FromConst, FromSource, Recipe
from .values.base import Value
from .values.globals_ import globals_dict
from .values.iterator import GeneratorVal

if TYPE_CHECKING:
    from .state import Capture


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorState:
    """What of a generator is plain data; its variables and stack are the parts of the recipe."""

    code: Code
    globals: dict[str, Any]
    index: int
    state: str
    variables: int


def make_generator(detail: GeneratorState, *parts: Any) -> InterpretedGenerator:
    """An interpreted generator on plain objects; what it calls runs natively."""
    from .concrete import Concrete

    f = _frame(detail, None)
    f.locals, f.stack = list(parts[:detail.variables]), list(parts[detail.variables:])
    record = Generator(f)
    record.state = detail.state
    f.generator = record
    return InterpretedGenerator(Concrete(enter=False), record)


def set_generator(target: InterpretedGenerator, value: tuple[GeneratorState, tuple[Any, ...]]) -> None:
    """The generator goes on elsewhere: it gets the state that it has at the end of a segment."""
    detail, parts = value
    f = target.record.frame
    f.index = detail.index
    f.locals, f.stack = list(parts[:detail.variables]), list(parts[detail.variables:])
    if detail.state == "done":
        target.record.finish()
    target.record.state = detail.state


def _frame(detail: GeneratorState, domain_globals: Any) -> Frame:
    b = detail.globals.get("__builtins__", builtins)
    f = Frame(detail.code, program(detail.code), None, detail.globals if domain_globals is None else domain_globals,
              b if type(b) is dict else b.__dict__, [])
    f.index = detail.index
    return f


def _describe(cx: Capture, v: GeneratorVal) -> tuple[GeneratorState, list[Recipe]]:
    g = v.generator
    f = g.frame
    parts: list[Recipe] = []
    if g.state in ("created", "suspended"):
        parts = [FromConst(UNBOUND) if x is UNBOUND else cx.recipe(x) for x in (*f.locals, *f.stack)]
    variables = len(f.locals) if parts else 0
    return GeneratorState(f.code, f.globals.obj, f.index, g.state, variables), parts


def generator_recipe(cx: Capture, v: GeneratorVal) -> Recipe:
    detail, parts = _describe(cx, v)
    return Build("generator", tuple(parts), detail)


def generator_effect(cx: Capture, v: GeneratorVal) -> Effect:
    detail, parts = _describe(cx, v)
    return Effect("python", v.recipe(cx), set_generator,
                  Build("tuple", (FromConst(detail), Build("tuple", tuple(parts)))))


_PASSED = frozenset(("PUSH_EXC_INFO", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_DEREF", "LOAD_FAST", "BUILD_TUPLE",
                     "CHECK_EXC_MATCH", "COPY", "SWAP", "POP_EXCEPT", "STOPITERATION_ERROR"))
_CATCH_ALL = frozenset(("BaseException", "GeneratorExit"))


def closing_is_seen(code: Code, index: int) -> bool:
    """Whether closing a generator suspended at instruction `index` runs any code of its own: a finally-clause, a with
    statement, or an except-clause that may catch GeneratorExit. Clauses for other exceptions only pass it on."""
    handler = code.instrs[index].handler
    while handler is not None:
        at = handler.target
        while True:
            instr = code.instrs[at]
            if instr.op in _PASSED and instr.arg not in _CATCH_ALL:
                at += 1
            elif instr.op == "POP_JUMP_IF_FALSE":
                at = instr.arg            # the way of an exception that does not match
            elif instr.op == "POP_JUMP_IF_TRUE":
                at += 1
            elif instr.op in ("RERAISE", "CLEANUP_THROW"):     # the latter after a `yield from`, 3.12 on
                break
            else:
                return True
        handler = code.instrs[at].handler
    return False


def _stands_at(code: Code, index: int, state: str, depth: int) -> Any:
    def check(g: Any) -> bool:
        r = g.record
        return r.state == state and r.frame.code is code and r.frame.index == index and len(r.frame.stack) == depth
    check.__name__ = f"{code.qualname} is {state} at line {code.line(max(index - 1, 0))}"
    return check


def wrap_generator(cx: Capture, obj: InterpretedGenerator, source: Source) -> Value:
    """Take up a generator that an earlier segment left suspended (or running: its frame comes from the frame stack)."""
    real = obj.record
    f = real.frame
    cx.guard("type", source, InterpretedGenerator, "generator")
    record = Generator(f)
    record.state = real.state
    v = GeneratorVal(record, obj, source)
    cx.machine.generators[record] = v
    if real.state in ("created", "suspended"):
        cx.guard("python", source, _stands_at(f.code, f.index, real.state, len(f.stack)), "generator")
        at = Source("attr", Source("attr", source, "record"), "frame")
        mine = Frame(f.code, f.program, None, globals_dict(cx, f.globals, f.globals.get("__name__") or ""), None, [])
        mine.index = f.index
        cx.ids[id(obj)] = v          # its own variables may refer to it
        for name in ("locals", "stack"):
            place = Source("attr", at, name)
            setattr(mine, name, [UNBOUND if x is UNBOUND else cx.wrap(x, Source("item", place, i))
                                 for i, x in enumerate(getattr(f, name))])
        mine.generator = record
        record.frame = mine
    return v


__all__ = ["FromSource", "GeneratorState", "generator_effect", "generator_recipe", "make_generator", "wrap_generator"]

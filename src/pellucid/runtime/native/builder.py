"""A small structured writer of LLVM IR: values with operators, if/else and loops as with-blocks, calls that may throw.

    m = Module()
    puts = m.extern("puts", I32, [PTR])
    with m.function("count", I64, [("n", I64)]) as (f, n):
        total = f.variable(I64, 0)
        with f.for_(n) as i:
            with f.if_(i > 2):
                total.set(total.get() + i)
        f.ret(total.get())
    m.text()

Variables are stack slots, which LLVM's mem2reg turns into registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .values import (
    F32,
    F64,
    I1,
    I8,
    I16,
    I32,
    I64,
    LIKELY,
    PTR,
    UNLIKELY,
    VOID,
    Callee,
    Operand,
    Value,
    Variable,
    plain,
)


class Loop:
    def __init__(self, f: "Function", again: str, end: str):
        self.f, self.again, self.end = f, again, end

    def break_(self) -> None:
        self.f.jump(self.end)

    def continue_(self) -> None:
        self.f.jump(self.again)


class Branch:
    """What `if_` gives: `else_` may follow the block directly."""

    def __init__(self, f: "Function", other: str, patch: int | None):
        self.f, self.other, self.patch = f, other, patch

    @contextmanager
    def else_(self) -> Iterator[None]:
        end = self.f.label("endif")
        if self.patch is not None:
            self.f.lines[self.patch] = f"  br label %{end}"
        yield
        used = self.patch is not None
        if not self.f.closed:
            self.f.jump(end)
            used = True
        if used:
            self.f.block(end)


class Function:
    """One function being written. After a terminator nothing more is written until the next block begins."""

    def __init__(self, module: "Module", callee: Callee, names: Sequence[str], internal: bool, cold: bool):
        self.module, self.callee, self.internal, self.cold = module, callee, internal, cold
        self.lines: list[str] = []
        self.slots: list[str] = []
        self.count = 0
        self.closed = False
        self.unwind: str | None = None
        self.personality = False
        self.args = [Value(self, t, f"%{n}") for t, n in zip(callee.params, names)]

    # ---------------------------------------------------------------- plumbing
    def _fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def line(self, text: str) -> None:
        if not self.closed:
            self.lines.append("  " + text)

    def emit(self, type: str, text: str) -> Value:
        name = self._fresh()
        self.line(f"{name} = {text}")
        return Value(self, type, name)

    def block(self, label: str) -> None:
        if not self.closed:
            self.lines.append(f"  br label %{label}")
        self.lines.append(f"{label}:")
        self.closed = False

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")
        self.closed = True

    def value(self, v: Operand, type: str) -> Value:
        if isinstance(v, Value):
            if v.type != type:
                raise TypeError(f"in {self.callee.name}: expected {type}, got {v!r}")
            return v
        if v is None:
            return Value(self, PTR, "null")
        if type == PTR:
            return Value(self, PTR, "null") if v == 0 else self.emit(PTR, f"inttoptr i64 {v} to ptr")
        return Value(self, type, ("true" if v else "false") if type == I1 else str(v))

    # ---------------------------------------------------------------- memory
    def variable(self, type: str, *initial: Operand) -> Variable:
        """A mutable local, with an initial value or undefined."""
        v = Variable(self, type, self.slot(type))
        if initial:
            v.set(initial[0])
        return v

    def slot(self, type: str, count: int = 1, align: int | None = None) -> Value:
        """Stack memory of constant size, in the entry block."""
        name = self._fresh()
        size = f", i64 {count}" if count != 1 else ""
        self.slots.append(f"  {name} = alloca {type}{size}" + (f", align {align}" if align else ""))
        return Value(self, PTR, name)

    def stack(self, nbytes: Value, align: int = 64) -> Value:
        """Stack memory of a size known at run time."""
        return self.emit(PTR, f"alloca i8, i64 {nbytes.name}, align {align}")

    def offset(self, p: Value, nbytes: Operand) -> Value:
        if type(nbytes) is int and nbytes == 0:
            return p
        return self.emit(PTR, f"getelementptr i8, ptr {p.name}, i64 {self.value(nbytes, I64).name}")

    def index(self, p: Value, i: Operand, type: str = I64) -> Value:
        """Address of element i of an array of `type` at p."""
        return self.emit(PTR, f"getelementptr {type}, ptr {p.name}, i64 {self.value(i, I64).name}")

    def load(self, type: str, p: Value, offset: Operand = 0) -> Value:
        return self.emit(type, f"load {type}, ptr {self.offset(p, offset).name}")

    def element(self, type: str, p: Value, i: Operand) -> Value:
        return self.load(type, self.index(p, i, type))

    def store(self, v: Operand, p: Value, offset: Operand = 0, type: str = I64) -> None:
        x = self.value(v, v.type if isinstance(v, Value) else type)
        self.line(f"store {x.type} {x.name}, ptr {self.offset(p, offset).name}")

    # ---------------------------------------------------------------- values
    def convert(self, v: Value, type: str, how: str) -> Value:
        return self.emit(type, f"{how} {v.type} {v.name} to {type}")

    def zext(self, v: Value, type: str = I64) -> Value:
        return self.convert(v, type, "zext")

    def sext(self, v: Value, type: str = I64) -> Value:
        return self.convert(v, type, "sext")

    def trunc(self, v: Value, type: str) -> Value:
        return self.convert(v, type, "trunc")

    def word(self, p: Value) -> Value:
        return self.convert(p, I64, "ptrtoint")

    def pointer(self, v: Value) -> Value:
        return self.convert(v, PTR, "inttoptr")

    def select(self, c: Value, a: Operand, b: Operand, type: str = I64) -> Value:
        return self.emit(type,
                         f"select i1 {c.name}, {type} {self.value(a, type).name}, {type} {self.value(b, type).name}")

    def smin(self, a: Value, b: Operand) -> Value:
        return self.call(self.module.extern("llvm.smin.i64", I64, [I64, I64]), a, b)

    def smax(self, a: Value, b: Operand) -> Value:
        return self.call(self.module.extern("llvm.smax.i64", I64, [I64, I64]), a, b)

    # ---------------------------------------------------------------- control
    @contextmanager
    def if_(self, cond: Value, hint: str = "") -> Iterator[Branch]:
        then, other = self.label("then"), self.label("else")
        self.line(f"br i1 {cond.name}, label %{then}, label %{other}{', ' + hint if hint else ''}")
        self.closed = True
        self.block(then)
        branch = Branch(self, other, None)
        yield branch
        if not self.closed:
            branch.patch = len(self.lines)
            self.jump(other)
        self.block(other)

    @contextmanager
    def loop(self) -> Iterator[Loop]:
        again, end = self.label("loop"), self.label("endloop")
        self.block(again)
        yield Loop(self, again, end)
        if not self.closed:
            self.jump(again)
        self.block(end)

    @contextmanager
    def for_(self, stop: Operand, start: Operand = 0, step: int = 1) -> Iterator[Value]:
        with self.for_loop(stop, start, step) as (i, _):
            yield i

    @contextmanager
    def for_loop(self, stop: Operand, start: Operand = 0, step: int = 1) -> Iterator[tuple[Value, Loop]]:
        """for i in range(start, stop, step), with step > 0; stop is evaluated once."""
        var = self.variable(I64, start)
        head, body, latch, end = (self.label(x) for x in ("head", "body", "latch", "endfor"))
        self.block(head)
        i = var.get()
        self.line(f"br i1 {(i < stop).name}, label %{body}, label %{end}")
        self.closed = True
        self.block(body)
        yield i, Loop(self, latch, end)
        self.block(latch)
        var.set(i + step)
        self.jump(head)
        self.block(end)

    @contextmanager
    def switch(self, v: Value, cases: Sequence[int]) -> Iterator["Switch"]:
        s = Switch(self, v, cases)
        yield s
        s.finish()

    def ret(self, v: Operand | None = None) -> None:
        if self.callee.ret == VOID:
            self.line("ret void")
        else:
            self.line(f"ret {self.callee.ret} {self.value(v, self.callee.ret).name}")
        self.closed = True

    def unreachable(self) -> None:
        self.line("unreachable")
        self.closed = True

    # ---------------------------------------------------------------- calls
    def call(self, callee: "Callee | Value", *args: Operand, ret: str | None = None,
             params: Sequence[str] | None = None, throws: bool = False, tail: bool = False) -> Any:
        """Call a named function, or a pointer with the given signature. Returns its Value (None for void)."""
        if isinstance(callee, Callee):
            target, ret, params, throws = f"@{callee.name}", callee.ret, callee.params, callee.throws
        else:
            target = callee.name
        assert ret is not None and params is not None
        variadic = isinstance(callee, Callee) and callee.variadic
        if len(args) != len(params) and not variadic:
            raise TypeError(f"in {self.callee.name}: {target} takes {len(params)} arguments, got {len(args)}")
        values = []
        for i, a in enumerate(args):
            p = params[i] if i < len(params) else a.type  # type: ignore[union-attr]
            values.append(f"{p} {self.value(a, plain(p)).name}")
        signature = f"{ret} ({', '.join([*params, '...'])})" if variadic else ret
        text = f"{signature} {target}({', '.join(values)})"
        name = f"{self._fresh()} = " if ret != VOID else ""
        value = Value(self, plain(ret), name[:-3]) if name else None
        if throws and self.unwind:
            after = self.label("after")
            self.line(f"{name}invoke {text} to label %{after} unwind label %{self.unwind}")
            self.closed = True
            self.block(after)
        else:
            self.line(f"{name}{'tail ' if tail else ''}call {text}")
        return value

    @contextmanager
    def catching(self) -> Iterator["Catch"]:
        """Calls inside that may throw land in the handler that is written with `with catch.handler() as message`."""
        catch = Catch(self, self.label("landing"))
        outer, self.unwind = self.unwind, catch.label
        self.personality = True
        yield catch
        self.unwind = outer

    def text(self) -> str:
        params = ", ".join(f"{p} {a.name}" for p, a in zip(self.callee.params, self.args))
        tail = " personality ptr @__gxx_personality_v0" if self.personality else ""
        if not self.closed:
            raise ValueError(f"function {self.callee.name} does not end in a return")
        linkage = "internal " if self.internal else ""
        body = "\n".join(["first_block:", *self.slots, *self.lines])
        head = f"define {linkage}{self.callee.ret} @{self.callee.name}({params}) uwtable{tail}"
        return f"{head} {{\n{body}\n}}\n"


class Switch:
    """Blocks by constant value; after each, control goes on behind the switch."""

    def __init__(self, f: Function, v: Value, cases: Sequence[int]):
        self.f, self.end = f, f.label("endswitch")
        self.labels = {c: f.label("case") for c in cases}
        self.default = f.label("default")
        table = " ".join(f"{v.type} {c}, label %{l}" for c, l in self.labels.items())
        f.line(f"switch {v.type} {v.name}, label %{self.default} [{table}]")
        f.closed = True

    @contextmanager
    def case(self, c: int) -> Iterator[None]:
        self.f.block(self.labels.pop(c))
        yield
        if not self.f.closed:
            self.f.jump(self.end)

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        self.f.block(self.default)
        self.default = ""
        yield
        if not self.f.closed:
            self.f.jump(self.end)

    def finish(self) -> None:
        if self.labels:
            raise ValueError(f"switch without code for cases {sorted(self.labels)}")
        if self.default:
            self.f.block(self.default)
            self.f.jump(self.end)
        self.f.block(self.end)


class Catch:
    """The landing pad of a `catching` block. Its handler runs with the C++ exception's message, then ends the catch."""

    def __init__(self, f: Function, label: str):
        self.f, self.label = f, label

    @contextmanager
    def handler(self) -> Iterator[Value]:
        """Write the handler's code; it gets the message as a C string (valid inside only) and must not return."""
        f, m = self.f, self.f.module
        if not f.closed:
            raise ValueError("end the code before the landing pad with a return or a jump")
        f.block(self.label)
        begin = m.extern("__cxa_begin_catch", PTR, [PTR])
        end = m.extern("__cxa_end_catch", VOID, [])
        typeid = m.extern("llvm.eh.typeid.for.p0", I32, [PTR])
        std = m.variable_extern("_ZTISt9exception")
        pair = f.emit("{ ptr, i32 }", f"landingpad {{ ptr, i32 }} catch ptr {std} catch ptr null")
        exception = f.emit(PTR, f"extractvalue {{ ptr, i32 }} {pair.name}, 0")
        selector = f.emit(I32, f"extractvalue {{ ptr, i32 }} {pair.name}, 1")
        known = selector == f.call(typeid, Value(f, PTR, std))
        thing = f.call(begin, exception)
        message = f.variable(PTR, m.string("an exception that is not a std::exception").at(f))
        with f.if_(known):
            # what() is the third entry of std::exception's virtual table (after the two destructors).
            what = f.load(PTR, f.load(PTR, thing), 16)
            message.set(f.call(what, thing, ret=PTR, params=[PTR]))
        yield message.get()
        f.call(end)


@dataclass(frozen=True, slots=True)
class Text:
    name: str

    def at(self, f: Function) -> Value:
        return Value(f, PTR, self.name)


@dataclass
class Module:
    """Functions, declarations and constants of one compilation. `imports` are the names to be found at link time."""

    functions: list[Function] = field(default_factory=list)
    externs: dict[str, Callee] = field(default_factory=dict)
    data: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    strings: dict[str, Text] = field(default_factory=dict)
    exports: list[str] = field(default_factory=list)

    def extern(self, name: str, ret: str, params: Sequence[str], throws: bool = False, attributes: str = "",
               variadic: bool = False) -> Callee:
        """A function from outside, declared once."""
        if name not in self.externs:
            self.externs[name] = Callee(name, ret, tuple(params), throws, attributes, variadic)
        return self.externs[name]

    def variable_extern(self, name: str) -> str:
        """A variable from outside; returns the name of its address."""
        self.variables.add(name)
        return f"@{name}"

    def global_(self, name: str, words: int = 1) -> str:
        """A zeroed, exported array of 8-byte words of this module; returns the name of its address."""
        if name not in self.data:
            self.data[name] = f"@{name} = global [{words} x i64] zeroinitializer, align 16"
            self.exports.append(name)
        return f"@{name}"

    def string(self, text: str) -> Text:
        if text not in self.strings:
            name = f"@str{len(self.strings)}"
            raw = text.encode() + b"\0"
            body = "".join(chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in raw)
            self.data[name] = f'{name} = internal constant [{len(raw)} x i8] c"{body}"'
            self.strings[text] = Text(name)
        return self.strings[text]

    @contextmanager
    def function(self, name: str, ret: str, params: Sequence[tuple[str, str]], internal: bool = True,
                 cold: bool = False) -> Iterator[Any]:
        """Yields (function, *its parameters); the function is done when the block ends.

        cold: seldom run, so LLVM is not to spend time on it (`split` puts it into a module of its own).
        """
        callee = Callee(name, ret, tuple(t for _, t in params))
        f = Function(self, callee, [n for n, _ in params], internal, cold)
        self.externs[name] = callee
        yield (f, *f.args)
        self.functions.append(f)
        if not internal:
            self.exports.append(name)

    def imports(self) -> tuple[str, ...]:
        own = {f.callee.name for f in self.functions}
        personality = {"__gxx_personality_v0"} if any(f.personality for f in self.functions) else set()
        functions = {n for n in self.externs if not n.startswith("llvm.")} - own
        return tuple(sorted(functions | self.variables | personality))

    def split(self) -> tuple[str, str]:
        """The text as two modules that refer to each other: the functions that are run often, and the cold ones."""
        everything = self.functions
        for f in everything:
            f.internal = False
        cold = [f for f in everything if f.cold]
        return self.text([f for f in everything if not f.cold]), self.text(cold, False)

    def text(self, functions: Sequence[Function] | None = None, data: bool = True) -> str:
        """LLVM text of the module, or of some of its functions; without `data` its variables are elsewhere."""
        chosen = self.functions if functions is None else functions
        own = {f.callee.name for f in chosen}
        out = [d for d in self.data.values() if data or " internal " in d]
        if not data:
            out += [d.split(" = ")[0] + " = external global i64" for d in self.data.values() if " internal " not in d]
        out += [f"@{v} = external global i8" for v in sorted(self.variables)]
        for c in self.externs.values():
            if c.name not in own:
                params = ", ".join([*c.params, *(["..."] if c.variadic else [])])
                out.append(f"declare {c.ret} @{c.name}({params}) {c.attributes}")
        if any(f.personality for f in chosen):
            out.append("declare i32 @__gxx_personality_v0(...)")
        out += [f.text() for f in chosen]
        out.append('!0 = !{!"branch_weights", i32 2000, i32 1}')
        out.append('!1 = !{!"branch_weights", i32 1, i32 2000}')
        return "\n".join(out) + "\n"


__all__ = ["F32", "F64", "I1", "I8", "I16", "I32", "I64", "LIKELY", "PTR", "UNLIKELY", "VOID", "Callee", "Function",
           "Module", "Operand", "Value", "Variable"]

"""The text of one function while it grows: scopes of loops, SSA names, placement and numbering of values.

A value is emitted at the outermost loop level where it can be computed: in the block before the loop that contains the
current one and in which it does not vary. Equal instructions at a level are emitted once. So the text needs no
optimisation passes. The block before a loop runs only if the loop does, hence loads may be placed there too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ...ir.types import Buffer, Kernel, Size
from ...shapes.dim import Dim, Func, Sym
from .errors import UnknownSize
from .target import Cpu
from .types import V, constant, memory, register, vec

I64 = torch.int64


class Scope:
    """One loop level: `pre` is the text before the loop, `hoisted` the values there, `local` those of its body."""

    __slots__ = ("pre", "hoisted", "local", "memo", "linear", "writes")

    def __init__(self, writes: frozenset[int]):
        self.pre: list[Any] = []
        self.hoisted: dict[str, str] = {}
        self.local: dict[str, str] = {}
        self.memo: dict[int, V] = {}
        self.linear: dict[int, Any] = {}
        self.writes = writes


class Function:
    """State of one kernel's emission. Other modules take it as `f`."""

    def __init__(self, kernel: Kernel, cpu: Cpu):
        self.kernel = kernel
        self.cpu = cpu
        self.entry: list[str] = []
        self.allocas: list[tuple[str, str]] = []
        self.lines: list[Any] = []
        self.body = self.lines
        self.label = "~body"
        self.scopes = [Scope(frozenset())]
        self.buffers: dict[int, Buffer] = {b.id: b for b in (*kernel.buffers, *kernel.rows)}
        self.pointers: dict[int, str] = {}
        self.sizes: dict[Size, V] = {}
        self.vars: dict[int, V] = {}
        self.axes: dict[int, V] = {}
        self.versions: dict[int, int] = {}
        self.declared: set[str] = set()
        self.helpers: dict[str, str] = {}
        self.slots: dict[str, str] = {}
        self.lanes = 1
        self.vector_axis: int | None = None
        self.vector_aligned = False
        self.count: V | None = None
        self.failed: str | None = None
        self.compute = 0
        self._names = 0
        for k, d in enumerate(kernel.symbols):
            self.entry.append(f"  %~p.s{k} = getelementptr i64, ptr %sizes, i64 {k}\n"
                              f"  %~s{k} = load i64, ptr %~p.s{k}")
            self.sizes[d] = V(f"%~s{k}", I64, 1, 0)
        for k, b in enumerate(kernel.buffers):
            self.entry.append(f"  %~p.b{k} = getelementptr ptr, ptr %buffers, i64 {k}\n"
                              f"  %~b{k} = load ptr, ptr %~p.b{k}")
            self.pointers[b.id] = f"%~b{k}"

    # ---------------------------------------------------------------- names, lines, blocks
    def fresh(self, stem: str = "v") -> str:
        """A new name. All names begin with `~`, which the module replaces by the kernel's prefix in a function that
        several kernels share."""
        self._names += 1
        return f"~{stem}{self._names}"

    @property
    def depth(self) -> int:
        return len(self.scopes) - 1

    def block(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def line(self, text: str) -> None:
        """A statement with an effect, at the current place."""
        self.lines.append("  " + text)

    def ins(self, rhs: str, depth: int, key: str | None = None) -> str:
        """The name of the value that instruction `rhs` makes, placed at loop level `depth`."""
        scopes = self.scopes
        key = rhs if key is None else key
        if depth < len(scopes) - 1:
            inner = scopes[depth + 1]
            got = inner.hoisted.get(key) or scopes[depth].local.get(key)
            cache, lines = inner.hoisted, inner.pre
        else:
            cache, lines = scopes[-1].local, self.lines
            got = cache.get(key)
        if got is not None:
            return got
        self._names += 1
        name = f"%~v{self._names}"
        lines.append(f"  {name} = {rhs}")
        cache[key] = name
        return name

    def here(self, rhs: str) -> str:
        """The name of an instruction's value, placed here and never shared."""
        self._names += 1
        name = f"%~v{self._names}"
        self.lines.append(f"  {name} = {rhs}")
        return name

    def declare(self, text: str) -> None:
        self.declared.add(text)

    def slot(self, type_: str, purpose: str) -> str:
        """A stack slot of this function, one for each type and purpose."""
        key = f"{type_} {purpose}"
        if key not in self.slots:
            self.slots[key] = self.alloca(type_)
        return self.slots[key]

    def alloca(self, type_: str) -> str:
        """A new stack slot. Its name ends in a dot, so that no slot's name begins another's."""
        name = f"%~slot{len(self.allocas)}."
        self.allocas.append((name, type_))
        return name

    def new_slot(self, type_: str) -> str:
        return self.slot(type_, self.fresh())

    # ---------------------------------------------------------------- scopes
    def push(self, writes: Iterable[int]) -> Scope:
        """Enter a loop level. Call after the branch that makes sure that the loop runs."""
        scope = Scope(frozenset(writes))
        self.lines.append(scope.pre)
        self.scopes.append(scope)
        return scope

    def pop(self) -> None:
        self.scopes.pop()

    def forget(self) -> None:
        """Start another copy of the current level's body: nothing computed in the last copy is visible."""
        s = self.scopes[-1]
        s.local, s.memo, s.linear = {}, {}, {}

    def wrote(self, buffer: int) -> None:
        """After a write, loads of the buffer are new values."""
        self.versions[buffer] = self.versions.get(buffer, 0) + 1
        for s in self.scopes:
            s.memo = {}
            s.linear = {}

    def load_depth(self, buffer: int, depth: int) -> int:
        """The outermost level, not above `depth`, at which a load of the buffer may be placed."""
        for k in range(len(self.scopes) - 1, depth, -1):
            if buffer in self.scopes[k].writes:
                return k
        return depth

    # ---------------------------------------------------------------- scalars
    def const(self, value: int | float | bool, dtype: torch.dtype = I64) -> V:
        return V(constant(value, register(dtype)), dtype, 1, 0, value)

    def iadd(self, a: V, b: V) -> V:
        if a.value is not None and b.value is not None:
            return self.const(a.value + b.value)
        if a.value == 0:
            return b
        if b.value == 0:
            return a
        d = max(a.depth, b.depth)
        return V(self.ins(f"add i64 {a.name}, {b.name}", d), I64, 1, d)

    def isub(self, a: V, b: V) -> V:
        if a.value is not None and b.value is not None:
            return self.const(a.value - b.value)
        if b.value == 0:
            return a
        d = max(a.depth, b.depth)
        return V(self.ins(f"sub i64 {a.name}, {b.name}", d), I64, 1, d)

    def imul(self, a: V, b: V) -> V:
        if a.value is not None and b.value is not None:
            return self.const(a.value * b.value)
        if a.value is not None:
            a, b = b, a
        if b.value == 1:
            return a
        if b.value == 0:
            return b
        d = max(a.depth, b.depth)
        return V(self.ins(f"mul i64 {a.name}, {b.name}", d), I64, 1, d)

    def ibin(self, op: str, a: V, b: V) -> V:
        """An i64 instruction without folding: sdiv, udiv, and, shl ..."""
        d = max(a.depth, b.depth)
        return V(self.ins(f"{op} i64 {a.name}, {b.name}", d), I64, 1, d)

    def icmp(self, op: str, a: V, b: V) -> str:
        return self.ins(f"icmp {op} i64 {a.name}, {b.name}", max(a.depth, b.depth))

    def imin(self, a: V, b: V, fn: str = "smin") -> V:
        if a.value is not None and b.value is not None:
            return self.const(min(a.value, b.value) if fn == "smin" else max(a.value, b.value))
        c = self.icmp("slt" if fn == "smin" else "sgt", a, b)
        d = max(a.depth, b.depth)
        return V(self.ins(f"select i1 {c}, i64 {a.name}, i64 {b.name}", d), I64, 1, d)

    def size(self, size: Size) -> V:
        """A size as an i64: a constant, a parameter of the kernel, or computed from its parameters."""
        if isinstance(size, int):
            return self.const(size)
        got = self.sizes.get(size)
        if got is None:
            got = self._polynomial(size)
        return got

    def _polynomial(self, size: Dim) -> V:
        total = self.const(0)
        for monomial, c in size.terms:
            term = self.const(c)
            for atom in monomial:
                term = self.imul(term, self._atom(atom, size))
            total = self.iadd(total, term)
        return total

    def _atom(self, atom: Sym | Func, size: Dim) -> V:
        alone = self.sizes.get(Dim((((atom,), 1),)))
        if alone is not None:
            return alone
        if isinstance(atom, Sym):
            raise UnknownSize(size, self.kernel.name)
        a, b = (self.size(x) for x in atom.args)
        if atom.fn in ("min", "max"):
            return self.imin(a, b, "s" + atom.fn)
        return floor_divide(self, a, b, atom.fn == "mod")

    # ---------------------------------------------------------------- vectors
    def splat(self, v: V, lanes: int) -> str:
        """The text of `v` in `lanes` lanes."""
        if v.lanes == lanes:
            return v.name
        if v.value is not None:
            return f"splat ({v.element} {v.name})"
        return self.splat_name(v.name, v.element, lanes, v.depth)

    def splat_name(self, name: str, element: str, lanes: int, depth: int) -> str:
        if lanes == 1:
            return name
        t = vec(element, lanes)
        one = self.ins(f"insertelement {t} poison, {element} {name}, i64 0", depth)
        return self.ins(f"shufflevector {t} {one}, {t} poison, <{lanes} x i32> zeroinitializer", depth)

    def iota(self, element: str, lanes: int) -> str:
        return "<" + ", ".join(f"{element} {k}" for k in range(lanes)) + ">"

    def live(self) -> str | None:
        """In the tail of a vector loop, the <lanes x i1> of lanes that exist; None in full iterations."""
        if self.count is None:
            return None
        n = self.ins(f"trunc i64 {self.count.name} to i32", self.count.depth) if self.count.value is None else None
        splat = (f"splat (i32 {self.count.value})" if n is None
                 else self.splat_name(n, "i32", self.lanes, self.count.depth))
        t = vec("i32", self.lanes)
        return self.ins(f"icmp ult {t} {self.iota('i32', self.lanes)}, {splat}", self.count.depth)

    # ---------------------------------------------------------------- failure flag
    def fail_if(self, bad: str, lanes: int, depth: int) -> None:
        """Note that an index was out of range (or a divisor zero) in a lane that exists."""
        if self.failed is None:
            self.failed = self.new_slot("i8")
            self.entry.append(f"  store i8 0, ptr {self.failed}")
        if lanes > 1:
            live = self.live()
            if live is not None:
                bad = self.here(f"and <{lanes} x i1> {bad}, {live}")
            self.declare(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1>)")
            bad = self.here(f"call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> {bad})")
        elif depth < self.depth:
            pre = self.scopes[depth + 1].pre
            a, b, c = (f"%{self.fresh()}" for _ in range(3))
            pre.append(f"  {a} = zext i1 {bad} to i8\n  {b} = load i8, ptr {self.failed}\n"
                       f"  {c} = or i8 {a}, {b}\n  store i8 {c}, ptr {self.failed}")
            return
        wide = self.here(f"zext i1 {bad} to i8")
        old = self.here(f"load i8, ptr {self.failed}")
        self.line(f"store i8 {self.here(f'or i8 {wide}, {old}')}, ptr {self.failed}")

    # ---------------------------------------------------------------- buffers
    def pointer(self, buffer: int) -> str:
        return self.pointers[buffer]

    def buffer_element(self, dtype: torch.dtype) -> str:
        return memory(dtype)


def floor_divide(f: Function, a: V, b: V, modulo: bool) -> V:
    """Floor division or modulo of int64 scalars, b > 0 (sizes and index arithmetic)."""
    if a.value is not None and b.value is not None:
        return f.const(a.value % b.value if modulo else a.value // b.value)  # type: ignore[operator]
    zero = f.const(0)
    r = f.ibin("srem", a, b)
    d = r.depth
    negative = f.icmp("slt", r, zero)
    if modulo:
        return V(f.ins(f"select i1 {negative}, i64 {f.iadd(r, b).name}, i64 {r.name}", d), I64, 1, d)
    q = f.ibin("sdiv", a, b)
    return V(f.ins(f"select i1 {negative}, i64 {f.isub(q, f.const(1)).name}, i64 {q.name}", d), I64, 1, d)

"""Kernels as functions, functions as a module: the parallel range, scratch rows, and names by content."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from ...ir.types import Axis, Buffer, For, Kernel, Stmt
from ...shapes.dim import product
from . import cost, statements
from .errors import CodegenError
from .function import I64, Function
from .target import Cpu
from .types import V, memory

STACK_ROW = 32 * 1024
"""Bytes of scratch that a kernel may take from its thread's stack; more comes from malloc."""
WIDE_WORK = 40
"""Instructions per element above which 512-bit registers pay: below, a loop waits for memory anyway."""


def parallel_axes(kernel: Kernel) -> tuple[Axis, ...]:
    """The axes whose points form the kernel's range begin..end, outermost first; () if it has none (range 0..1)."""
    axes: list[Axis] = []
    body: tuple[Stmt, ...] = kernel.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].mode == "parallel":
        axes.append(body[0].axis)
        body = body[0].body
    return tuple(axes)


def _inner(kernel: Kernel, depth: int) -> tuple[Stmt, ...]:
    body: tuple[Stmt, ...] = kernel.body
    for _ in range(depth):
        body = body[0].body  # type: ignore[union-attr]
    return body


@dataclass(frozen=True, slots=True)
class KernelText:
    """A kernel as LLVM text: blocks from `~entry:` on that return, the stack slots they use, the declarations and
    helper functions they need. Names begin with `~`. `wide`: 512-bit registers pay."""

    blocks: str
    allocas: tuple[tuple[str, str], ...]
    declared: frozenset[str]
    helpers: dict[str, str]
    wide: bool


def print_kernel(kernel: Kernel, cpu: Cpu) -> KernelText:
    """The kernel's text; equal kernels give equal text whatever they are called."""
    f = Function(kernel, cpu)
    freed = _rows(f, kernel.rows)
    axes = parallel_axes(kernel)
    body = _inner(kernel, len(axes))
    if axes:
        _parallel(f, axes, body)
    else:
        run, done = f.fresh("run"), f.fresh("done")
        f.line(f"br i1 {f.here('icmp slt i64 %begin, %end')}, label %{run}, label %{done}")
        f.block(run)
        f.push(cost.written(body))
        statements.block(f, body)
        f.pop()
        f.line(f"br label %{done}")
        f.block(done)
    for p in freed:
        f.declare("declare void @free(ptr)")
        f.line(f"call void @free(ptr {p})")
    if f.failed is not None:
        _report(f)
    f.line("ret void")
    lines: list[str] = []
    _flatten(f.body, lines)
    wide = cpu.vector_bytes == 64 and cost.cost(kernel.body) > WIDE_WORK
    blocks = "\n".join(["~entry:", *f.entry, "  br label %~body", "~body:", *lines, ""])
    return KernelText(blocks, tuple(f.allocas), frozenset(f.declared), f.helpers, wide)


def _flatten(lines: list, out: list[str]) -> None:
    for x in lines:
        if type(x) is list:
            _flatten(x, out)
        else:
            out.append(x)


def _report(f: Function) -> None:
    """Tell the caller that an index was out of range, after all is done."""
    bad = f.here(f"load i8, ptr {f.failed}")
    tell, end = f.fresh("tell"), f.fresh("end")
    f.line(f"br i1 {f.here(f'icmp ne i8 {bad}, 0')}, label %{tell}, label %{end}")
    f.block(tell)
    f.line(f"store i32 {1 + (f.kernel.origins[0] if f.kernel.origins else 0)}, ptr %status")
    f.line(f"br label %{end}")
    f.block(end)


def _rows(f: Function, rows: Sequence[Buffer]) -> list[str]:
    """Scratch buffers: on the stack if they are small, else from malloc; the pointers to free at the end."""
    taken, freed = 0, []
    for b in rows:
        element = memory(b.dtype)
        extent = 1 + sum((s - 1) * t for s, t in zip(b.shape, b.strides)) if b.shape else 1
        if isinstance(product(b.shape), int) and product(b.shape) == 0:
            extent = 1
        if isinstance(extent, int) and taken + extent * b.dtype.itemsize <= STACK_ROW:
            taken += extent * b.dtype.itemsize
            name = f.alloca(f"[{extent} x {element}]")
        else:
            n = f.size(extent) if isinstance(extent, int) else f.imin(f.size(extent), f.const(1), "smax")
            f.declare("declare ptr @malloc(i64)")
            name = f.here(f"call ptr @malloc(i64 {f.imul(n, f.const(b.dtype.itemsize)).name})")
            freed.append(name)
        f.pointers[b.id] = name
    return freed


def _parallel(f: Function, axes: tuple[Axis, ...], body: tuple[Stmt, ...]) -> None:
    """begin..end over the points of `axes`. If the body has no loops, the innermost axis runs in vector lanes."""
    begin, end = V("%begin", I64, 1, 0), V("%end", I64, 1, 0)
    run, done = f.fresh("run"), f.fresh("done")
    f.line(f"br i1 {f.icmp('slt', begin, end)}, label %{run}, label %{done}")
    f.block(run)
    sizes = [f.size(a.size) for a in axes]
    writes = cost.written(body)
    if not cost.has_loop(body):
        if len(axes) == 1:
            statements.vector_range(f, axes[0], begin, end, body, aligned=False)
        else:
            _segments(f, axes, sizes, body, begin, end, writes)
    elif _is_transposed(axes[-1], body):
        _segments(f, axes, sizes, body, begin, end, writes)
    else:
        _points(f, axes, sizes, body, begin, end, writes)
    f.line(f"br label %{done}")
    f.block(done)


def _coordinates(f: Function, at: V, sizes: list[V]) -> list[V]:
    """The coordinates of point number `at`."""
    out: list[V] = []
    for size in reversed(sizes[1:]):
        q = f.ibin("udiv", at, size)
        out.append(f.isub(at, f.imul(q, size)))
        at = q
    out.append(at)
    return out[::-1]


def _advance(f: Function, at: list[str], sizes: list[V], step: str | None = None) -> list[str]:
    """Coordinates one point on (or, the last one set to `step`): each carries into the one before."""
    out: list[str] = []
    carry: str | None = None
    for k in range(len(at) - 1, -1, -1):
        if k == len(at) - 1:
            n = f.here(f"add i64 {at[k]}, 1") if step is None else step
        else:
            n = f.here(f"add i64 {at[k]}, {carry}")
        if k == 0:
            out.append(n)
            break
        full = f.here(f"icmp eq i64 {n}, {sizes[k].name}")
        out.append(f.here(f"select i1 {full}, i64 0, i64 {n}"))
        carry = f.here(f"zext i1 {full} to i64")
    return out[::-1]


def _points(f: Function, axes: tuple[Axis, ...], sizes: list[V], body: tuple[Stmt, ...], begin: V, end: V,
            writes: frozenset[int]) -> None:
    """One iteration a point; coordinates are carried from one to the next."""
    first = [begin] if len(axes) == 1 else _coordinates(f, begin, sizes)
    f.push(writes)

    def one(i: V, names: list[str]) -> list[str]:
        at = [i.name] if len(axes) == 1 else names
        for axis, name in zip(axes, at):
            f.axes[axis.id] = V(name, I64, 1, f.depth)
        statements.block(f, body)
        return [] if len(axes) == 1 else _advance(f, names, sizes)

    carried = [] if len(axes) == 1 else [("i64", v.name) for v in first]
    statements.counted(f, begin, end, 1, carried, one)
    f.pop()


def _segments(f: Function, axes: tuple[Axis, ...], sizes: list[V], body: tuple[Stmt, ...], begin: V, end: V,
              writes: frozenset[int]) -> None:
    """Rows of the innermost axis, each (but the first and the last) whole: in vector lanes, or if the body is a
    transposing vector loop, in tiles of it and that loop."""
    first = [begin] if len(axes) == 1 else _coordinates(f, begin, sizes)
    f.push(writes)
    head, out = f.fresh("row"), f.fresh("rows")
    before = f.label
    f.line(f"br label %{head}")
    f.block(head)
    phis: list[str] = []
    f.lines.append(phis)
    at = V(f"%{f.fresh('at')}", I64, 1, f.depth)
    names = [f"%{f.fresh('c')}" for _ in axes]
    for axis, name in zip(axes[:-1], names):
        f.axes[axis.id] = V(name, I64, 1, f.depth)
    lo = V(names[-1], I64, 1, f.depth)
    hi = f.imin(sizes[-1], f.iadd(lo, f.isub(end, at)))
    if cost.has_loop(body):
        _tiles(f, axes[-1], body[0], lo, hi, writes)  # type: ignore[arg-type]
    else:
        statements.vector_range(f, axes[-1], lo, hi, body, aligned=False)
    nxt = f.here(f"add i64 {at.name}, {f.isub(hi, lo).name}")
    new = _advance(f, names, sizes, hi.name)
    phis.append(f"  {at.name} = phi i64 [{begin.name}, %{before}], [{nxt}, %{f.label}]")
    for name, v, n in zip(names, first, new):
        phis.append(f"  {name} = phi i64 [{v.name}, %{before}], [{n}, %{f.label}]")
    f.line(f"br i1 {f.here(f'icmp slt i64 {nxt}, {end.name}')}, label %{head}, label %{out}")
    f.block(out)
    f.pop()


TILE = 16
"""Rows of a tile: the elements of one cache line."""


def _is_transposed(rows: Axis, body: tuple[Stmt, ...]) -> bool:
    return (len(body) == 1 and isinstance(body[0], For) and body[0].mode == "vector" and not cost.has_loop(body[0].body)
            and cost.transposed(body[0].body, body[0].axis, rows))


def _tiles(f: Function, rows: Axis, loop: For, lo: V, hi: V, writes: frozenset[int]) -> None:
    """rows = lo..hi by TILE, within that the lanes of `loop`, within that the rows of the tile: so each cache line is
    used whole while it is near, whichever of the two axes it lies along."""

    def tile(start: V, _: list[str]) -> list[str]:
        f.forget()
        stop = f.imin(f.iadd(start, f.const(TILE)), hi)
        n = f.size(loop.axis.size)

        def column(names: list[str]) -> list[str]:
            def row(i: V, _: list[str]) -> list[str]:
                f.axes[rows.id] = i
                statements.block(f, loop.body)
                return []

            f.push(writes)
            statements.counted(f, start, stop, 1, (), row)
            f.pop()
            return names

        def columns() -> None:
            f.push(writes)
            statements.in_lanes(f, loop.axis, f.const(0), n, statements.pick_lanes(f, loop.body, loop.axis), (), column,
                                column, aligned=True)
            f.pop()

        statements.guarded(f, f.const(0), n, columns)
        return []

    f.push(writes)
    statements.counted(f, lo, hi, TILE, (), tile)
    f.pop()


ATTRIBUTES = ('attributes #0 = { nounwind "prefer-vector-width"="256" "min-legal-vector-width"="256" }\n'
              'attributes #1 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }\n')
PARAMETERS = "ptr %buffers, ptr %sizes, i64 %begin, i64 %end, ptr %status"
GROUP = 8
"""Kernels in one function. LLVM's passes cost about as much for a function as for a whole small kernel."""


def print_module(kernels: Sequence[Kernel], cpu: Cpu) -> tuple[str, dict[str, str]]:
    """The text of all kernels, equal ones once, and the entry name of each. Entries are named by their content.

    Where the CPU allows it, kernels share functions of GROUP: a last parameter says which one to run, and each entry
    is two instructions that set it and jump.
    """
    entries: dict[str, str] = {}
    texts: dict[str, KernelText] = {}
    for k in kernels:
        if k.name in entries:
            raise CodegenError(f"two kernels are named {k.name!r}; names must be unique within a unit")
        t = print_kernel(k, cpu)
        name = "k" + hashlib.blake2b(t.blocks.encode(), digest_size=10).hexdigest()
        entries[k.name] = name
        texts[name] = t
    parts = [f'target triple = "{cpu.triple}"\n']
    for wide in (False, True):
        names = [n for n, t in texts.items() if t.wide is wide]
        size = GROUP if cpu.jump is not None else 1
        for start in range(0, len(names), size):
            group = names[start:start + size]
            if len(group) == 1:
                parts.append(_alone(group[0], texts[group[0]]))
            else:
                parts.append(_together(group, texts, cpu))
    helpers = {n: h for t in texts.values() for n, h in t.helpers.items()}
    declared = sorted(set().union(*(t.declared for t in texts.values())))
    parts += [*(helpers[n] for n in sorted(helpers)), "\n".join(declared), "\n", ATTRIBUTES]
    return "".join(parts), entries


def _alone(name: str, t: KernelText) -> str:
    """A kernel as a function of its own."""
    slots = "".join(f"  {n} = alloca {ty}, align 64\n" for n, ty in t.allocas)
    text = f"define void @{name}({PARAMETERS}) #{int(t.wide)} {{\n{slots}  br label %~entry\n{t.blocks}}}\n"
    return text.replace("~", "")


def _together(names: list[str], texts: dict[str, KernelText], cpu: Cpu) -> str:
    """Several kernels as one function, and an entry for each. They share stack slots: one of them runs in a call."""
    pool: dict[str, list[str]] = {}
    blocks: list[str] = []
    for number, name in enumerate(names):
        text, used = texts[name].blocks, dict.fromkeys(pool, 0)
        for slot, ty in texts[name].allocas:
            mine = pool.setdefault(ty, [])
            n = used.get(ty, 0)
            used[ty] = n + 1
            if n == len(mine):
                mine.append(f"%pool{sum(map(len, pool.values()))}.")
            text = text.replace(slot, mine[n])
        blocks.append(text.replace("~", f"k{number}."))
    group = "g" + hashlib.blake2b("".join(names).encode(), digest_size=10).hexdigest()
    slots = "".join(f"  {n} = alloca {ty}, align 64\n" for ty, ns in pool.items() for n in ns)
    cases = " ".join(f"i32 {n}, label %k{n}.entry" for n in range(1, len(names)))
    assert cpu.jump is not None
    jumps = "".join('module asm "' + cpu.jump.format(entry=name, number=n, target=group) + '"\n'
                    for n, name in enumerate(names))
    return (f"define void @{group}({PARAMETERS}, i32 %which) #{int(texts[names[0]].wide)} {{\n{slots}"
            f"  switch i32 %which, label %k0.entry [{cases}]\n{''.join(blocks)}}}\n{jumps}")

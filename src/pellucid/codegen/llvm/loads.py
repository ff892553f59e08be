"""Elements of views: addresses that are linear in the vector axis, and loads and stores of every access pattern.

An index is split into a uniform part, a multiple of the vector axis, and (only if it must be) a vector of the rest.
So index arithmetic is scalar and rises out of loops, and an access is told apart: uniform (one load, broadcast),
contiguous (one vector load), strided or gathered (lane by lane, or a gather instruction).
"""

from __future__ import annotations

import torch

from ...ir.types import Call, Expr, Index, Literal, Load, SizeOf, View, Write
from ...shapes.dim import Size
from .function import Function, floor_divide
from .types import BITS, HALVES, V, mangle, memory, vec


class Linear:
    """const + sum(k*v) of uniform int64 values + step*lane + sum(k*v) of vector values."""

    __slots__ = ("const", "terms", "step", "vectors")

    def __init__(self, const: int = 0, terms: dict[str, tuple[V, int]] | None = None, step: int | V = 0,
                 vectors: tuple[tuple[V, int], ...] = ()):
        self.const = const
        self.terms = terms or {}
        self.step = step
        self.vectors = vectors


def _add(f: Function, a: Linear, b: Linear, sign: int = 1) -> Linear:
    terms = dict(a.terms)
    for name, (v, k) in b.terms.items():
        old = terms.get(name)
        terms[name] = (v, sign * k + (old[1] if old else 0))
    if isinstance(a.step, int) and isinstance(b.step, int):
        step: int | V = a.step + sign * b.step
    else:
        one, two = _as_value(f, a.step), _as_value(f, b.step)
        step = f.iadd(one, two) if sign == 1 else f.isub(one, two)
    return Linear(a.const + sign * b.const, {n: vk for n, vk in terms.items() if vk[1]}, step,
                  a.vectors + tuple((v, sign * k) for v, k in b.vectors))


def _as_value(f: Function, s: int | V) -> V:
    return f.const(s) if isinstance(s, int) else s


def _times_const(a: Linear, k: int, f: Function) -> Linear:
    if k == 0:
        return Linear()
    step = a.step * k if isinstance(a.step, int) else f.imul(a.step, f.const(k))
    return Linear(a.const * k, {n: (v, c * k) for n, (v, c) in a.terms.items()}, step,
                  tuple((v, c * k) for v, c in a.vectors))


def _times_value(f: Function, a: Linear, s: V) -> Linear:
    """a * s for a uniform s that is no constant."""
    out: dict[str, tuple[V, int]] = {}
    if a.const:
        out[s.name] = (s, a.const)
    for v, k in a.terms.values():
        p = f.imul(v, s)
        out[p.name] = (p, k + (out[p.name][1] if p.name in out else 0))
    step: int | V = 0 if a.step == 0 else f.imul(_as_value(f, a.step), s)
    vectors = []
    for v, k in a.vectors:
        d = max(v.depth, s.depth)
        name = f.ins(f"mul {vec('i64', v.lanes)} {v.name}, {f.splat(s, v.lanes)}", d)
        vectors.append((V(name, torch.int64, v.lanes, d), k))
    return Linear(0, out, step, tuple(vectors))


def uniform(f: Function, a: Linear) -> V:
    """The uniform part as one value, its terms added from the outermost level inwards."""
    total = f.const(0)
    for v, k in sorted(a.terms.values(), key=lambda vk: vk[0].depth):
        total = f.iadd(total, f.imul(v, f.const(k)))
    return f.iadd(total, f.const(a.const))


def linear(f: Function, e: Expr) -> Linear:
    """An int64 index expression in linear form."""
    memo = f.scopes[-1].linear
    got = memo.get(id(e))
    if got is None:
        got = memo[id(e)] = _linear(f, e)
    return got


def _linear(f: Function, e: Expr) -> Linear:
    if isinstance(e, Literal):
        return Linear(int(e.value))  # type: ignore[arg-type]
    if isinstance(e, SizeOf):
        return _of_value(f, f.size(e.size))
    if isinstance(e, Index):
        base = f.axes[e.axis.id]
        a = _of_value(f, base)
        if f.lanes > 1 and e.axis.id == f.vector_axis:
            a.step = 1
        return a
    if isinstance(e, Call) and e.dtype is torch.int64:
        if e.fn in ("add", "sub"):
            return _add(f, linear(f, e.args[0]), linear(f, e.args[1]), 1 if e.fn == "add" else -1)
        if e.fn == "neg":
            return _times_const(linear(f, e.args[0]), -1, f)
        if e.fn == "mul":
            a, b = linear(f, e.args[0]), linear(f, e.args[1])
            for x, y in ((a, b), (b, a)):
                if y.step == 0 and not y.vectors:
                    return _times_const(x, y.const, f) if not y.terms else _times_value(f, x, uniform(f, y))
        if e.fn in ("floordiv", "mod"):
            q = _divide(f, e)
            if q is not None:
                return q
    from .expr import value

    return _of_value(f, value(f, e))


def _of_value(f: Function, v: V) -> Linear:
    if v.value is not None:
        return Linear(int(v.value))
    if v.lanes == 1:
        return Linear(0, {v.name: (v, 1)})
    return Linear(vectors=((v, 1),))


def _divide(f: Function, e: Call) -> Linear | None:
    """Floor division or modulo by a constant that all lanes agree on: the vector axis starts at a multiple of the
    lane count, and the divisor is one too, so no vector crosses a multiple of the divisor."""
    d = linear(f, e.args[1])
    if d.terms or d.step != 0 or d.vectors or d.const <= 0:
        return None
    a = linear(f, e.args[0])
    if a.vectors or f.lanes > 1 and a.step != 0:
        if not f.vector_aligned or a.vectors or a.step != 1 or d.const % f.lanes or a.const % f.lanes:
            return None
        base = f.axes[f.vector_axis].name  # type: ignore[index]
        if any(name != base and k % f.lanes for name, (_, k) in a.terms.items()):
            return None
    q = floor_divide(f, uniform(f, a), f.const(d.const), e.fn == "mod")
    out = _of_value(f, q)
    if e.fn == "mod":
        out.step = a.step
    return out


def address(f: Function, view: View, index: tuple[Expr, ...]) -> Linear:
    """The element offset of a view's element in its buffer."""
    total = _size_linear(f, view.offset)
    for size, stride, e in zip(view.shape, view.strides, index):
        if stride == 0 or size == 1:
            continue
        a = linear(f, e)
        total = _add(f, total, _times_const(a, stride, f) if isinstance(stride, int)
                     else _times_value(f, a, f.size(stride)))
    return total


def _size_linear(f: Function, size: Size) -> Linear:
    return Linear(size) if isinstance(size, int) else _of_value(f, f.size(size))


def pointer(f: Function, view: View, a: Linear) -> tuple[str, int]:
    """The address of the uniform part, and the level where it is known: one step per level, the constant last."""
    element = memory(view.dtype)
    p, depth = f.pointers[view.buffer], 0
    by_depth: dict[int, V] = {}
    for v, k in sorted(a.terms.values(), key=lambda vk: vk[0].depth):
        term = f.imul(v, f.const(k))
        by_depth[v.depth] = f.iadd(by_depth[v.depth], term) if v.depth in by_depth else term
    for d, off in by_depth.items():
        depth = max(depth, d)
        p = f.ins(f"getelementptr {element}, ptr {p}, i64 {off.name}", depth)
    if a.const:
        p = f.ins(f"getelementptr {element}, ptr {p}, i64 {a.const}", depth)
    return p, depth


# ------------------------------------------------------------------ memory form and register form
def from_memory(f: Function, raw: str, dtype: torch.dtype, lanes: int, depth: int) -> V:
    """A loaded element as a value."""
    name = raw
    if dtype is torch.bool:
        name = f.ins(f"icmp ne {vec('i8', lanes)} {raw}, {'0' if lanes == 1 else 'zeroinitializer'}", depth)
    elif dtype is torch.float16:
        name = f.ins(f"fpext {vec('half', lanes)} {raw} to {vec('float', lanes)}", depth)
    elif dtype is torch.bfloat16:
        t = vec("i32", lanes)
        wide = f.ins(f"zext {vec('i16', lanes)} {raw} to {t}", depth)
        wide = f.ins(f"shl {t} {wide}, {'16' if lanes == 1 else 'splat (i32 16)'}", depth)
        name = f.ins(f"bitcast {t} {wide} to {vec('float', lanes)}", depth)
    return V(name, dtype, lanes, depth)


def to_memory(f: Function, v: V, dtype: torch.dtype) -> str:
    """The text of a value in the form that memory holds, converted to `dtype` and rounded to nearest even."""
    from .expr import cast

    v = cast(f, v, dtype)
    if v.value is not None and v.lanes == 1:
        if dtype is torch.bool:
            return "1" if v.value else "0"
        if dtype not in HALVES:
            return v.name
    lanes, d = v.lanes, v.depth
    if dtype is torch.bool:
        return f.ins(f"zext {vec('i1', lanes)} {v.name} to {vec('i8', lanes)}", d)
    if dtype is torch.float16:
        return f.ins(f"fptrunc {vec('float', lanes)} {v.name} to {vec('half', lanes)}", d)
    if dtype is torch.bfloat16:
        # values of dtype bfloat16 are rounded already
        t = vec("i32", lanes)
        bits = f.ins(f"bitcast {vec('float', lanes)} {v.name} to {t}", d)
        bits = f.ins(f"lshr {t} {bits}, {'16' if lanes == 1 else 'splat (i32 16)'}", d)
        return f.ins(f"trunc {t} {bits} to {vec('i16', lanes)}", d)
    return v.name


def _can_mask(f: Function, element: str) -> bool:
    return f.cpu.masked_small or (f.cpu.masked and BITS[element] >= 32)


def _dummy(f: Function) -> str:
    """Readable memory for loads whose mask is false."""
    fresh = "i64 dummy" not in f.slots
    name = f.slot("i64", "dummy")
    if fresh:
        f.entry.append(f"  store i64 0, ptr {name}")
    return name


# ------------------------------------------------------------------ loads
def load(f: Function, e: Load) -> V:
    """One element, or one for each lane."""
    from .expr import value

    view = e.view
    a = address(f, view, e.index)
    mask = None if e.mask is None else value(f, e.mask)
    if mask is not None and mask.value is not None:
        if not mask.value:
            return _other(f, e)
        mask = None
    varies = a.step != 0 or bool(a.vectors)
    if not varies:
        return _load_uniform(f, e, a, mask)
    if a.step == 1 and not a.vectors:
        return _load_contiguous(f, e, a, mask)
    return _load_lanes(f, e, a, mask)


def _other(f: Function, e: Load) -> V:
    lit = e.other or Literal(0, e.dtype)
    return f.const(lit.value, e.dtype)  # type: ignore[arg-type]


def _key(f: Function, buffer: int, rhs: str) -> str:
    version = f.versions.get(buffer, 0)
    return f"{rhs} ;{version}" if version else rhs


def _choose(f: Function, e: Load, mask: V, v: V) -> V:
    other = _other(f, e)
    lanes, d = max(mask.lanes, v.lanes), max(mask.depth, v.depth)
    t = vec(v.element, lanes)
    name = f.ins(f"select {vec('i1', lanes)} {f.splat(mask, lanes)}, {t} {f.splat(v, lanes)}, {t} "
                 f"{f.splat(other, lanes)}", d)
    return V(name, e.dtype, lanes, d)


def _load_uniform(f: Function, e: Load, a: Linear, mask: V | None) -> V:
    element = memory(e.dtype)
    p, depth = pointer(f, e.view, a)
    if mask is not None:
        depth = max(depth, mask.depth)
        any_ = mask.name
        if mask.lanes > 1:
            live = f.live()
            both = f.ins(f"and {vec('i1', mask.lanes)} {mask.name}, {live}", f.depth) if live else mask.name
            f.declare(f"declare i1 @llvm.vector.reduce.or.v{mask.lanes}i1(<{mask.lanes} x i1>)")
            any_ = f.ins(f"call i1 @llvm.vector.reduce.or.v{mask.lanes}i1(<{mask.lanes} x i1> {both})", depth)
        p = f.ins(f"select i1 {any_}, ptr {p}, ptr {_dummy(f)}", depth)
    depth = f.load_depth(e.view.buffer, depth)
    rhs = f"load {element}, ptr {p}, align {BITS[element] // 8}"
    v = from_memory(f, f.ins(rhs, depth, _key(f, e.view.buffer, rhs)), e.dtype, 1, depth)
    return v if mask is None else _choose(f, e, mask, v)


def _load_contiguous(f: Function, e: Load, a: Linear, mask: V | None) -> V:
    element, lanes = memory(e.dtype), f.lanes
    t, align = vec(element, lanes), BITS[element] // 8
    p, depth = pointer(f, e.view, a)
    depth = f.load_depth(e.view.buffer, depth)
    live = f.live()
    if mask is None and live is None:
        rhs = f"load {t}, ptr {p}, align {align}"
        return from_memory(f, f.ins(rhs, depth, _key(f, e.view.buffer, rhs)), e.dtype, lanes, depth)
    if mask is None and not _can_mask(f, element):
        return _load_tail(f, e, p, depth)
    if not _can_mask(f, element):
        return _load_lanes(f, e, a, mask)
    m = live
    if mask is not None:
        depth = max(depth, mask.depth)
        m = f.splat(mask, lanes)
        if live is not None:
            m = f.ins(f"and {vec('i1', lanes)} {m}, {live}", depth)
    mt, suffix = vec("i1", lanes), mangle(element, lanes)
    name = f"@llvm.masked.load.{suffix}.p0"
    f.declare(f"declare {t} {name}(ptr, {mt}, {t})")
    rhs = f"call {t} {name}(ptr align {align} {p}, {mt} {m}, {t} zeroinitializer)"
    v = from_memory(f, f.ins(rhs, depth, _key(f, e.view.buffer, rhs)), e.dtype, lanes, depth)
    if mask is None or e.other is None or not e.other.value:
        return v
    return _choose(f, e, mask, v)


def _load_tail(f: Function, e: Load, p: str, depth: int) -> V:
    """The last lanes of small elements, by way of a stack slot: no masked load of them exists on this CPU."""
    element, lanes = memory(e.dtype), f.lanes
    t = vec(element, lanes)
    slot = f.slot(t, "tail")
    f.line(f"store {t} zeroinitializer, ptr {slot}")
    _copy(f, slot, p, BITS[element] // 8)
    return from_memory(f, f.here(f"load {t}, ptr {slot}"), e.dtype, lanes, f.depth)


def _copy(f: Function, to: str, source: str, itemsize: int) -> None:
    assert f.count is not None
    n = f.imul(f.count, f.const(itemsize))
    f.declare("declare ptr @memcpy(ptr, ptr, i64)")
    f.here(f"call ptr @memcpy(ptr {to}, ptr {source}, i64 {n.name})")


def lane_offsets(f: Function, a: Linear) -> str:
    """Offsets of the lanes from the uniform part, as <lanes x i64>."""
    lanes = f.lanes
    t = vec("i64", lanes)
    total = None
    depth = 0
    if a.step != 0:
        step = _as_value(f, a.step)
        depth = step.depth
        total = (f.iota("i64", lanes) if step.value == 1
                 else f.ins(f"mul {t} {f.iota('i64', lanes)}, {f.splat(step, lanes)}", depth))
    for v, k in a.vectors:
        depth = max(depth, v.depth)
        term = f.splat(v, lanes) if k == 1 else f.ins(f"mul {t} {f.splat(v, lanes)}, splat (i64 {k})", v.depth)
        total = term if total is None else f.ins(f"add {t} {total}, {term}", depth)
    assert total is not None
    return total


def lane_pointers(f: Function, view: View, a: Linear, mask: str | None) -> list[str]:
    """The address of each lane; where `mask` (or the tail) excludes a lane, of readable memory."""
    element, d = memory(view.dtype), f.depth
    p, _ = pointer(f, view, a)
    if not a.vectors:
        step = _as_value(f, a.step)
        offsets = [f.imul(step, f.const(k)).name for k in range(f.lanes)]
    else:
        t = vec("i64", f.lanes)
        v = lane_offsets(f, a)
        offsets = [f.ins(f"extractelement {t} {v}, i64 {k}", d) for k in range(f.lanes)]
    out = []
    for k, off in enumerate(offsets):
        q = f.ins(f"getelementptr {element}, ptr {p}, i64 {off}", d)
        if mask is not None:
            on = f.ins(f"extractelement {vec('i1', f.lanes)} {mask}, i64 {k}", d)
            q = f.ins(f"select i1 {on}, ptr {q}, ptr {_dummy(f)}", d)
        out.append(q)
    return out


def _load_lanes(f: Function, e: Load, a: Linear, mask: V | None) -> V:
    element, lanes, d = memory(e.dtype), f.lanes, f.depth
    t, align = vec(element, lanes), BITS[element] // 8
    m = f.live()
    if mask is not None:
        own = f.splat(mask, lanes)
        m = own if m is None else f.ins(f"and {vec('i1', lanes)} {own}, {m}", d)
    if f.cpu.gather and a.vectors and BITS[element] >= 32:
        p, _ = pointer(f, e.view, a)
        mt, pt = vec("i1", lanes), vec("ptr", lanes)
        name = f"@llvm.masked.gather.{mangle(element, lanes)}.v{lanes}p0"
        f.declare(f"declare {t} {name}({pt}, {mt}, {t})")
        ptrs = f.ins(f"getelementptr {element}, ptr {p}, {vec('i64', lanes)} {lane_offsets(f, a)}", d)
        rhs = f"call {t} {name}({pt} align {align} {ptrs}, {mt} {m or 'splat (i1 true)'}, {t} zeroinitializer)"
        raw = f.ins(rhs, d, _key(f, e.view.buffer, rhs))
    else:
        raw = "poison"
        for k, p in enumerate(lane_pointers(f, e.view, a, m)):
            rhs = f"load {element}, ptr {p}, align {align}"
            x = f.ins(rhs, d, _key(f, e.view.buffer, rhs))
            raw = f.ins(f"insertelement {t} {raw}, {element} {x}, i64 {k}", d)
    v = from_memory(f, raw, e.dtype, lanes, d)
    return v if mask is None else _choose(f, e, mask, v)


# ------------------------------------------------------------------ stores
def combine_values(f: Function, fn: str, a: V, b: V) -> V:
    """One step of a combiner (sum prod min max any all) on values of one dtype."""
    from .expr import TABLE

    op = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(fn, fn)
    return TABLE[op](f, Call(op, (), a.dtype), [a, b])


def store(f: Function, w: Write, v: V) -> None:
    """Write a value: one element if neither address nor value varies over lanes, else one for each lane."""
    from .expr import cast

    view = w.view
    a = address(f, view, w.index)
    if f.lanes == 1:
        _store_scalar(f, w, a, v)
    elif a.step == 1 and not a.vectors:
        _store_contiguous(f, w, a, v)
    elif a.step == 0 and not a.vectors and w.combine is None:
        # any lane may come last; lane 0 always exists
        if v.lanes > 1:
            x = f.here(f"extractelement {vec(v.element, v.lanes)} {v.name}, i64 0")
            v = V(x, v.dtype, 1, f.depth)
        _store_scalar(f, w, a, v)
    else:
        _store_lanes(f, w, a, cast(f, v, view.dtype))
    f.wrote(view.buffer)


def _store_scalar(f: Function, w: Write, a: Linear, v: V) -> None:
    element = memory(w.view.dtype)
    align = BITS[element] // 8
    p, _ = pointer(f, w.view, a)
    if w.combine is not None:
        v = _update(f, w, p, v, 1)
    f.line(f"store {element} {to_memory(f, v, w.view.dtype)}, ptr {p}, align {align}")


def _update(f: Function, w: Write, p: str, v: V, lanes: int) -> V:
    from .expr import cast

    element = memory(w.view.dtype)
    old = from_memory(f, f.here(f"load {vec(element, lanes)}, ptr {p}, align {BITS[element] // 8}"), w.view.dtype,
                      lanes, f.depth)
    assert w.combine is not None
    return combine_values(f, w.combine, old, cast(f, v, w.view.dtype))


def _store_contiguous(f: Function, w: Write, a: Linear, v: V) -> None:
    element, lanes = memory(w.view.dtype), f.lanes
    t, align = vec(element, lanes), BITS[element] // 8
    p, _ = pointer(f, w.view, a)
    live = f.live()
    if w.combine is not None:
        e = Load(w.view, w.index)
        old = _load_contiguous(f, e, a, None)
        from .expr import cast

        v = combine_values(f, w.combine, old, cast(f, v, w.view.dtype))
    text = to_memory(f, v, w.view.dtype)
    if v.lanes == 1:
        text = (f"splat ({element} {text})" if v.value is not None and not text.startswith("%")
                else f.splat_name(text, element, lanes, v.depth))
    if live is None:
        f.line(f"store {t} {text}, ptr {p}, align {align}")
    elif f.count is not None and f.count.value == 1:
        # LLVM would store a truncated lane under such a constant mask in its width before the truncation (AVX-512).
        one = f.here(f"extractelement {t} {text}, i64 0")
        f.line(f"store {element} {one}, ptr {p}, align {align}")
    elif _can_mask(f, element):
        mt = vec("i1", lanes)
        name = f"@llvm.masked.store.{mangle(element, lanes)}.p0"
        f.declare(f"declare void {name}({t}, ptr, {mt})")
        f.line(f"call void {name}({t} {text}, ptr align {align} {p}, {mt} {live})")
    else:
        slot = f.slot(t, "tail")
        f.line(f"store {t} {text}, ptr {slot}")
        _copy(f, p, slot, align)


def _store_lanes(f: Function, w: Write, a: Linear, v: V) -> None:
    """Lane after lane, in order; in a tail a loop over the lanes that exist."""
    element, lanes = memory(w.view.dtype), f.lanes
    t, align = vec(element, lanes), BITS[element] // 8
    p, _ = pointer(f, w.view, a)
    text = to_memory(f, v, w.view.dtype)
    if v.lanes == 1:
        text = (f"splat ({element} {text})" if v.value is not None and not text.startswith("%")
                else f.splat_name(text, element, lanes, v.depth))
    if f.count is None and w.combine is None:
        for lane, q in enumerate(lane_pointers(f, w.view, a, None)):
            x = f.here(f"extractelement {t} {text}, i64 {lane}")
            f.line(f"store {element} {x}, ptr {q}, align {align}")
        return
    values, offsets = f.slot(t, "lanes"), f.slot(vec("i64", lanes), "offsets")
    f.line(f"store {t} {text}, ptr {values}")
    off = lane_offsets(f, a) if a.step != 0 or a.vectors else "zeroinitializer"
    f.line(f"store {vec('i64', lanes)} {off}, ptr {offsets}")
    n = f.count.name if f.count is not None else str(lanes)
    before, loop, done = f.label, f.fresh("lane"), f.fresh("done")
    f.line(f"br label %{loop}")
    f.block(loop)
    k = f"%{f.fresh()}"
    nxt = f"%{f.fresh()}"
    f.line(f"{k} = phi i64 [0, %{before}], [{nxt}, %{loop}]")
    q = f.here(f"getelementptr {element}, ptr {values}, i64 {k}")
    x = f.here(f"load {element}, ptr {q}")
    q = f.here(f"getelementptr i64, ptr {offsets}, i64 {k}")
    o = f.here(f"load i64, ptr {q}")
    q = f.here(f"getelementptr {element}, ptr {p}, i64 {o}")
    if w.combine is not None:
        local = f.scopes[-1].local
        f.scopes[-1].local = dict(local)
        one = from_memory(f, x, w.view.dtype, 1, f.depth)
        x = to_memory(f, _update(f, w, q, one, 1), w.view.dtype)
        f.scopes[-1].local = local
    f.line(f"store {element} {x}, ptr {q}, align {align}")
    f.line(f"{nxt} = add i64 {k}, 1")
    f.line(f"br i1 {f.here(f'icmp slt i64 {nxt}, {n}')}, label %{loop}, label %{done}")
    f.block(done)

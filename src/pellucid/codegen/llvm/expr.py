"""Scalar functions as LLVM instructions: one table from name to emitter, and the walk over expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ...ir.types import Call, Expr, Index, Literal, Load, SizeOf, Var
from . import loads, math
from .errors import CodegenError, UnknownFunction
from .function import Function
from .libm import library_call
from .types import BITS, FLOATS, HALVES, UNSIGNED, V, constant, mangle, register, round_half, vec

Emitter = Callable[[Function, Call, list[V]], V]


# ------------------------------------------------------------------ the walk
def value(f: Function, e: Expr) -> V:
    """Emit an expression. Works off a stack, not by recursion: fused chains may be long."""
    memo = f.scopes[-1].memo
    got = memo.get(id(e))
    if got is not None:
        return got
    stack: list[Any] = [e]
    while stack:
        top = stack[-1]
        memo = f.scopes[-1].memo
        if id(top) in memo:
            stack.pop()
            continue
        if isinstance(top, Call):
            waiting = [a for a in top.args if id(a) not in memo]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            memo[id(top)] = _call(f, top, [memo[id(a)] for a in top.args])
        else:
            memo[id(top)] = _leaf(f, top)
        stack.pop()
    return f.scopes[-1].memo[id(e)]


def _leaf(f: Function, e: Expr) -> V:
    if isinstance(e, Literal):
        v = e.value
        if isinstance(v, complex):
            raise CodegenError(f"complex literal {v}: complex expressions are not printed as LLVM text")
        if e.dtype in HALVES:
            v = round_half(v, e.dtype)
        return f.const(v, e.dtype)
    if isinstance(e, SizeOf):
        return f.size(e.size)
    if isinstance(e, Var):
        return f.vars[e.id]
    if isinstance(e, Load):
        return loads.load(f, e)
    if isinstance(e, Index):
        base = f.axes[e.axis.id]
        if f.lanes == 1 or e.axis.id != f.vector_axis:
            return base
        t = vec("i64", f.lanes)
        name = f.ins(f"add {t} {f.splat(base, f.lanes)}, {f.iota('i64', f.lanes)}", base.depth)
        return V(name, torch.int64, f.lanes, base.depth)
    raise CodegenError(f"not an expression: {e!r}")


def _call(f: Function, e: Call, args: list[V]) -> V:
    emitter = TABLE.get(e.fn)
    if emitter is None:
        raise UnknownFunction(e.fn, e.dtype)
    f.compute += 1
    return emitter(f, e, args)


# ------------------------------------------------------------------ helpers of emitters
def spread(f: Function, args: list[V]) -> tuple[list[str], int, int]:
    """Operand texts in a common number of lanes, that number, and the level where all are known."""
    lanes = max(a.lanes for a in args)
    return [f.splat(a, lanes) for a in args], lanes, max(a.depth for a in args)


def rounded(f: Function, name: str, dtype: torch.dtype, lanes: int, depth: int) -> V:
    """A float result as a value of `dtype`: half-precision ones are rounded to nearest even, and kept in float."""
    if dtype is torch.float16:
        h = f.ins(f"fptrunc {vec('float', lanes)} {name} to {vec('half', lanes)}", depth)
        name = f.ins(f"fpext {vec('half', lanes)} {h} to {vec('float', lanes)}", depth)
    elif dtype is torch.bfloat16:
        t = vec("i32", lanes)
        name = f.ins(f"bitcast {t} {bf16_bits(f, name, lanes, depth)} to {vec('float', lanes)}", depth)
    return V(name, dtype, lanes, depth)


def bf16_bits(f: Function, name: str, lanes: int, depth: int) -> str:
    """The float's bits rounded to nearest even at bit 16, the low half zero; NaN becomes the quiet NaN."""
    t, k = vec("i32", lanes), (lambda v: str(v) if lanes == 1 else f"splat (i32 {v})")
    b = f.ins(f"bitcast {vec('float', lanes)} {name} to {t}", depth)
    lsb = f.ins(f"and {t} {f.ins(f'lshr {t} {b}, {k(16)}', depth)}, {k(1)}", depth)
    r = f.ins(f"add {t} {f.ins(f'add {t} {b}, {k(0x7FFF)}', depth)}, {lsb}", depth)
    r = f.ins(f"and {t} {r}, {k(-65536)}", depth)
    nan = f.ins(f"fcmp uno {vec('float', lanes)} {name}, {name}", depth)
    return f.ins(f"select {vec('i1', lanes)} {nan}, {t} {k(0x7FC00000)}, {t} {r}", depth)


def is_float(v: V) -> bool:
    return v.dtype in FLOATS


def _k(value: int | float, element: str, lanes: int) -> str:
    c = constant(value, element)
    return c if lanes == 1 else f"splat ({element} {c})"


def _intrinsic(f: Function, name: str, element: str, lanes: int, depth: int, *args: str, tail: str = "") -> str:
    t, m = vec(element, lanes), mangle(element, lanes)
    extra = ", i1" if tail else ""
    f.declare(f"declare {t} @llvm.{name}.{m}({', '.join([t] * len(args))}{extra})")
    return f.ins(f"call {t} @llvm.{name}.{m}({', '.join(f'{t} {a}' for a in args)}{tail})", depth)


# ------------------------------------------------------------------ arithmetic
def _binary(float_op: str, int_op: str, bool_op: str) -> Emitter:
    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a, b), lanes, depth = spread(f, args)
        el = register(e.dtype)
        op = float_op if e.dtype in FLOATS else bool_op if el == "i1" else int_op
        if not op:
            raise UnknownFunction(e.fn, e.dtype)
        return rounded(f, f.ins(f"{op} {vec(el, lanes)} {a}, {b}", depth), e.dtype, lanes, depth)

    return emit


def _neg(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    t = vec(register(e.dtype), lanes)
    rhs = f"fneg {t} {a}" if e.dtype in FLOATS else f"sub {t} {_k(0, register(e.dtype), lanes)}, {a}"
    return V(f.ins(rhs, depth), e.dtype, lanes, depth)


def _abs(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    el = register(e.dtype)
    if e.dtype in UNSIGNED:
        return args[0]
    if e.dtype in FLOATS:
        return V(_intrinsic(f, "fabs", el, lanes, depth, a), e.dtype, lanes, depth)
    return V(_intrinsic(f, "abs", el, lanes, depth, a, tail=", i1 false"), e.dtype, lanes, depth)


def _fma(f: Function, e: Call, args: list[V]) -> V:
    names, lanes, depth = spread(f, args)
    if e.dtype not in FLOATS:
        t = vec(register(e.dtype), lanes)
        p = f.ins(f"mul {t} {names[0]}, {names[1]}", depth)
        return V(f.ins(f"add {t} {p}, {names[2]}", depth), e.dtype, lanes, depth)
    return rounded(f, _intrinsic(f, "fma", register(e.dtype), lanes, depth, *names), e.dtype, lanes, depth)


def _safe_divisor(f: Function, e: Call, b: V, lanes: int, depth: int) -> str:
    """The divisor with zeros replaced by 1; a zero sets the failure flag, so that eager's error can be raised."""
    name = f.splat(b, lanes)
    if b.value is not None and b.value != 0:
        return name
    el = register(e.dtype)
    t = vec(el, lanes)
    zero = f.ins(f"icmp eq {t} {name}, {_k(0, el, lanes)}", depth)
    f.fail_if(zero, lanes, depth)
    return f.ins(f"select {vec('i1', lanes)} {zero}, {t} {_k(1, el, lanes)}, {t} {name}", depth)


def _int_quotient(f: Function, e: Call, args: list[V]) -> tuple[str, str, str, int, int]:
    """(a, b, a div b, lanes, depth), C's division, with b != 0 and -1 handled (INT_MIN / -1 wraps)."""
    a_, b_ = args
    lanes, depth = max(a_.lanes, b_.lanes), max(a_.depth, b_.depth)
    el = register(e.dtype)
    t, m = vec(el, lanes), vec("i1", lanes)
    a, b = f.splat(a_, lanes), _safe_divisor(f, e, b_, lanes, depth)
    if e.dtype in UNSIGNED:
        return a, b, f.ins(f"udiv {t} {a}, {b}", depth), lanes, depth
    if b_.value is not None and b_.value != -1:
        return a, b, f.ins(f"sdiv {t} {a}, {b}", depth), lanes, depth
    minus = f.ins(f"icmp eq {t} {b}, {_k(-1, el, lanes)}", depth)
    safe = f.ins(f"select {m} {minus}, {t} {_k(1, el, lanes)}, {t} {b}", depth)
    q = f.ins(f"sdiv {t} {a}, {safe}", depth)
    n = f.ins(f"sub {t} {_k(0, el, lanes)}, {a}", depth)
    return a, b, f.ins(f"select {m} {minus}, {t} {n}, {t} {q}", depth), lanes, depth


def _truncdiv(f: Function, e: Call, args: list[V]) -> V:
    if e.dtype in FLOATS:
        (a, b), lanes, depth = spread(f, args)
        el = register(e.dtype)
        q = f.ins(f"fdiv {vec(el, lanes)} {a}, {b}", depth)
        return rounded(f, _intrinsic(f, "trunc", el, lanes, depth, q), e.dtype, lanes, depth)
    _, _, q, lanes, depth = _int_quotient(f, e, args)
    return V(q, e.dtype, lanes, depth)


def _remainder(f: Function, e: Call, args: list[V]) -> tuple[str, str, str, str, int, int]:
    """(a, b, quotient, a - quotient*b, lanes, depth) of integers."""
    a, b, q, lanes, depth = _int_quotient(f, e, args)
    t = vec(register(e.dtype), lanes)
    r = f.ins(f"sub {t} {a}, {f.ins(f'mul {t} {q}, {b}', depth)}", depth)
    return a, b, q, r, lanes, depth


def _wrong_sign(f: Function, el: str, lanes: int, depth: int, r: str, b: str) -> str:
    """Where the remainder is not zero and its sign is not the divisor's."""
    t, zero = vec(el, lanes), _k(0, el, lanes)
    differ = f.ins(f"icmp slt {t} {f.ins(f'xor {t} {r}, {b}', depth)}, {zero}", depth)
    nonzero = f.ins(f"icmp ne {t} {r}, {zero}", depth)
    return f.ins(f"and {vec('i1', lanes)} {differ}, {nonzero}", depth)


def _fmod_name(f: Function, el: str, lanes: int, depth: int, a: str, b: str) -> str:
    return library_call(f, "fmod", el, lanes, depth, a, b)


def _floordiv(f: Function, e: Call, args: list[V]) -> V:
    el = register(e.dtype)
    if e.dtype not in FLOATS:
        if e.dtype in UNSIGNED:
            return _truncdiv(f, e, args)
        _, b, q, r, lanes, depth = _remainder(f, e, args)
        t = vec(el, lanes)
        wrong = _wrong_sign(f, el, lanes, depth, r, b)
        less = f.ins(f"sub {t} {q}, {_k(1, el, lanes)}", depth)
        return V(f.ins(f"select {vec('i1', lanes)} {wrong}, {t} {less}, {t} {q}", depth), e.dtype, lanes, depth)
    # torch.floor_divide of floats: the quotient of what fmod leaves, made whole
    (a, b), lanes, depth = spread(f, args)
    m = math.Math(f, el, lanes, depth)
    zero = m.k(0.0)
    plain = m.div(a, b)
    r = _fmod_name(f, el, lanes, depth, a, b)
    # where the quotient overflows, fmod gives no remainder; what is left of it does not count there
    overflows = m.mask("and", m.cmp("oeq", m.intrinsic("fabs", plain), m.k(float("inf"))),
                       m.cmp("one", m.intrinsic("fabs", a), m.k(float("inf"))))
    d = m.div(m.select(overflows, a, m.sub(a, r)), b)
    wrong = m.mask("and", m.cmp("une", r, zero), m.mask("xor", m.cmp("olt", b, zero), m.cmp("olt", r, zero)))
    d = m.select(wrong, m.sub(d, m.k(1.0)), d)
    w = m.intrinsic("floor", d)
    w = m.select(m.cmp("ogt", m.sub(d, w), m.k(0.5)), m.add(w, m.k(1.0)), w)
    w = m.select(m.cmp("une", d, zero), w, m.intrinsic("copysign", zero, plain))
    return rounded(f, m.select(m.cmp("oeq", b, zero), plain, w), e.dtype, lanes, depth)


def _mod(f: Function, e: Call, args: list[V]) -> V:
    el = register(e.dtype)
    if e.dtype in FLOATS:
        (a, b), lanes, depth = spread(f, args)
        m = math.Math(f, el, lanes, depth)
        r = _fmod_name(f, el, lanes, depth, a, b)
        zero = m.k(0.0)
        wrong = m.mask("and", m.cmp("une", r, zero), m.mask("xor", m.cmp("olt", b, zero), m.cmp("olt", r, zero)))
        return rounded(f, m.select(wrong, m.add(r, b), r), e.dtype, lanes, depth)
    _, b, _, r, lanes, depth = _remainder(f, e, args)
    if e.dtype in UNSIGNED:
        return V(r, e.dtype, lanes, depth)
    t = vec(el, lanes)
    wrong = _wrong_sign(f, el, lanes, depth, r, b)
    more = f.ins(f"add {t} {r}, {b}", depth)
    return V(f.ins(f"select {vec('i1', lanes)} {wrong}, {t} {more}, {t} {r}", depth), e.dtype, lanes, depth)


def _fmod(f: Function, e: Call, args: list[V]) -> V:
    if e.dtype in FLOATS:
        (a, b), lanes, depth = spread(f, args)
        return rounded(f, _fmod_name(f, register(e.dtype), lanes, depth, a, b), e.dtype, lanes, depth)
    _, _, _, r, lanes, depth = _remainder(f, e, args)
    return V(r, e.dtype, lanes, depth)


def extreme(f: Function, fn: str, dtype: torch.dtype, lanes: int, depth: int, a: str, b: str) -> str:
    """min or max of names; NaN if either is NaN."""
    el = register(dtype)
    t, m = vec(el, lanes), vec("i1", lanes)
    if el == "i1":
        return f.ins(f"{'and' if fn == 'min' else 'or'} {t} {a}, {b}", depth)
    if dtype in FLOATS:
        # one instruction on x86, which yields b where either is NaN; then a where a is NaN
        c = f.ins(f"fcmp {'olt' if fn == 'min' else 'ogt'} {t} {a}, {b}", depth)
        r = f.ins(f"select {m} {c}, {t} {a}, {t} {b}", depth)
        nan = f.ins(f"fcmp uno {t} {a}, {a}", depth)
        return f.ins(f"select {m} {nan}, {t} {a}, {t} {r}", depth)
    sign = "u" if dtype in UNSIGNED else "s"
    return _intrinsic(f, f"{sign}{fn}", el, lanes, depth, a, b)


def _extreme(fn: str) -> Emitter:
    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a, b), lanes, depth = spread(f, args)
        return V(extreme(f, fn, e.dtype, lanes, depth, a, b), e.dtype, lanes, depth)

    return emit


def _sign(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    el = register(e.dtype)
    t, m = vec(el, lanes), vec("i1", lanes)
    if el == "i1":
        return args[0]
    gt, lt = ("fcmp ogt", "fcmp olt") if e.dtype in FLOATS else ("icmp ugt" if e.dtype in UNSIGNED else "icmp sgt",
                                                                "icmp slt")
    zero = _k(0, el, lanes)
    pos = f.ins(f"select {m} {f.ins(f'{gt} {t} {a}, {zero}', depth)}, {t} {_k(1, el, lanes)}, {t} {zero}", depth)
    if e.dtype in UNSIGNED:
        return V(pos, e.dtype, lanes, depth)
    neg = f.ins(f"{lt} {t} {a}, {zero}", depth)
    return V(f.ins(f"select {m} {neg}, {t} {_k(-1, el, lanes)}, {t} {pos}", depth), e.dtype, lanes, depth)


def _int_pow(f: Function, e: Call, args: list[V]) -> V:
    """Integer power by squaring, wrapping; a negative exponent gives 0 but for bases 1 and -1, as torch does."""
    (a, b), lanes, depth = spread(f, args)
    el = register(e.dtype)
    t, m = vec(el, lanes), vec("i1", lanes)
    zero, one = _k(0, el, lanes), _k(1, el, lanes)
    result, base, k = one, a, b
    known = args[1].value
    bits = BITS[el] if known is None else max(int(known).bit_length(), 1)
    for step in range(bits):
        odd = f.ins(f"icmp ne {t} {f.ins(f'and {t} {k}, {one}', depth)}, {zero}", depth)
        p = f.ins(f"mul {t} {result}, {base}", depth)
        result = f.ins(f"select {m} {odd}, {t} {p}, {t} {result}", depth)
        if step + 1 < bits:
            base = f.ins(f"mul {t} {base}, {base}", depth)
            k = f.ins(f"lshr {t} {k}, {one}", depth)
    if e.dtype in UNSIGNED or (known is not None and known >= 0):
        return V(result, e.dtype, lanes, depth)
    minus = _k(-1, el, lanes)
    odd = f.ins(f"icmp ne {t} {f.ins(f'and {t} {b}, {one}', depth)}, {zero}", depth)
    unit = f.ins(f"select {m} {odd}, {t} {minus}, {t} {one}", depth)
    other = f.ins(f"select {m} {f.ins(f'icmp eq {t} {a}, {minus}', depth)}, {t} {unit}, {t} {zero}", depth)
    other = f.ins(f"select {m} {f.ins(f'icmp eq {t} {a}, {one}', depth)}, {t} {one}, {t} {other}", depth)
    negative = f.ins(f"icmp slt {t} {b}, {zero}", depth)
    return V(f.ins(f"select {m} {negative}, {t} {other}, {t} {result}", depth), e.dtype, lanes, depth)


def _pow(f: Function, e: Call, args: list[V]) -> V:
    if e.dtype not in FLOATS:
        return _int_pow(f, e, args)
    (a, b), lanes, depth = spread(f, args)
    el = register(e.dtype)
    if el == "double":
        return V(library_call(f, "pow", el, lanes, depth, a, b), e.dtype, lanes, depth)
    return rounded(f, math.pow_(math.Math(f, el, lanes, depth), a, b), e.dtype, lanes, depth)


# ------------------------------------------------------------------ floats
def _rounding(name: str) -> Emitter:
    def emit(f: Function, e: Call, args: list[V]) -> V:
        if e.dtype not in FLOATS:
            return args[0]
        (a,), lanes, depth = spread(f, args)
        return rounded(f, _intrinsic(f, name, register(e.dtype), lanes, depth, a), e.dtype, lanes, depth)

    return emit


def _reciprocal(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    m = math.Math(f, register(e.dtype), lanes, depth)
    return rounded(f, m.div(m.k(1.0), a), e.dtype, lanes, depth)


def _rsqrt(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    m = math.Math(f, register(e.dtype), lanes, depth)
    return rounded(f, m.div(m.k(1.0), m.intrinsic("sqrt", a)), e.dtype, lanes, depth)


def _elementary(name: str, own: Callable[[math.Math, str], str] | None) -> Emitter:
    """A function of one float: own polynomials for float, the library for double."""

    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a,), lanes, depth = spread(f, args)
        el = register(e.dtype)
        if own is not None and el == "float":
            return rounded(f, own(math.Math(f, el, lanes, depth), a), e.dtype, lanes, depth)
        return rounded(f, library_call(f, name, el, lanes, depth, a), e.dtype, lanes, depth)

    return emit


def _sigmoid(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    el = register(e.dtype)
    m = math.Math(f, el, lanes, depth)
    if el == "float":
        return rounded(f, math.sigmoid(m, a), e.dtype, lanes, depth)
    t = library_call(f, "exp", el, lanes, depth, m.neg(a))
    return V(m.div(m.k(1.0), m.add(t, m.k(1.0))), e.dtype, lanes, depth)


def _angle(name: str, small: Callable[[math.Math, str], str]) -> Emitter:
    """sin, cos, tan of float by double arithmetic; the library's where an argument is too large for that."""

    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a,), lanes, depth = spread(f, args)
        el = register(e.dtype)
        if el == "double":
            return V(library_call(f, name, el, lanes, depth, a), e.dtype, lanes, depth)
        from .libm import guarded_angle

        return rounded(f, guarded_angle(f, name, small, lanes, depth, a), e.dtype, lanes, depth)

    return emit


def _atan2(f: Function, e: Call, args: list[V]) -> V:
    (a, b), lanes, depth = spread(f, args)
    return rounded(f, library_call(f, "atan2", register(e.dtype), lanes, depth, a, b), e.dtype, lanes, depth)


# ------------------------------------------------------------------ comparisons, bits, others
def _compare(float_op: str, int_op: str) -> Emitter:
    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a, b), lanes, depth = spread(f, args)
        v = args[0]
        if is_float(v):
            op = f"fcmp {float_op}"
        else:
            sign = "" if int_op in ("eq", "ne") else "u" if v.dtype in UNSIGNED else "s"
            op = f"icmp {sign}{int_op}"
        return V(f.ins(f"{op} {vec(v.element, lanes)} {a}, {b}", depth), torch.bool, lanes, depth)

    return emit


def _isnan(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    if not is_float(args[0]):
        return f.const(False, torch.bool)
    return V(f.ins(f"fcmp uno {vec(args[0].element, lanes)} {a}, {a}", depth), torch.bool, lanes, depth)


def _isinf(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    if not is_float(args[0]):
        return f.const(False, torch.bool)
    m = math.Math(f, args[0].element, lanes, depth)
    return V(m.cmp("oeq", m.intrinsic("fabs", a), m.k(float("inf"))), torch.bool, lanes, depth)


def _bitwise(op: str) -> Emitter:
    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a, b), lanes, depth = spread(f, args)
        return V(f.ins(f"{op} {vec(register(e.dtype), lanes)} {a}, {b}", depth), e.dtype, lanes, depth)

    return emit


def _not(f: Function, e: Call, args: list[V]) -> V:
    (a,), lanes, depth = spread(f, args)
    el = register(e.dtype)
    ones = _k(1 if el == "i1" else -1, el, lanes)
    return V(f.ins(f"xor {vec(el, lanes)} {a}, {ones}", depth), e.dtype, lanes, depth)


def _shift(left: bool) -> Emitter:
    """Shifts as torch does on CPU: by the width or more (or a negative count), left gives 0, right gives the sign."""

    def emit(f: Function, e: Call, args: list[V]) -> V:
        (a, b), lanes, depth = spread(f, args)
        el = register(e.dtype)
        t, m = vec(el, lanes), vec("i1", lanes)
        width = BITS[el]
        unsigned = e.dtype in UNSIGNED
        inside = f.ins(f"icmp ult {t} {b}, {_k(width, el, lanes)}", depth)
        zero = _k(0, el, lanes)
        if left or unsigned:
            safe = f.ins(f"select {m} {inside}, {t} {b}, {t} {zero}", depth)
            r = f.ins(f"{'shl' if left else 'lshr'} {t} {a}, {safe}", depth)
            return V(f.ins(f"select {m} {inside}, {t} {r}, {t} {zero}", depth), e.dtype, lanes, depth)
        safe = f.ins(f"select {m} {inside}, {t} {b}, {t} {_k(width - 1, el, lanes)}", depth)
        return V(f.ins(f"ashr {t} {a}, {safe}", depth), e.dtype, lanes, depth)

    return emit


def _where(f: Function, e: Call, args: list[V]) -> V:
    (c, a, b), lanes, depth = spread(f, args)
    t = vec(register(e.dtype), lanes)
    return V(f.ins(f"select {vec('i1', lanes)} {c}, {t} {a}, {t} {b}", depth), e.dtype, lanes, depth)


def cast(f: Function, v: V, to: torch.dtype) -> V:
    """torch's conversion between dtypes."""
    if v.dtype == to:
        return v
    if v.value is not None and not isinstance(v.value, complex):
        return _cast_constant(f, v, to)
    src, dst, lanes, d = v.element, register(to), v.lanes, v.depth
    s, t = vec(src, lanes), vec(dst, lanes)
    from_float, to_float = v.dtype in FLOATS, to in FLOATS
    if to is torch.bool:
        op = "fcmp une" if from_float else "icmp ne"
        return V(f.ins(f"{op} {s} {v.name}, {_k(0, src, lanes)}", d), to, lanes, d)
    if from_float and to_float:
        name = v.name
        if src != dst:
            name = f.ins(f"{'fpext' if dst == 'double' else 'fptrunc'} {s} {name} to {t}", d)
        return rounded(f, name, to, lanes, d)
    if from_float:
        # narrow integers by way of a wider signed one, so that out-of-range values wrap as the C++ code does
        wide = dst if dst in ("i32", "i64") and to not in UNSIGNED else "i32" if BITS[dst] < 32 else "i64"
        name = f.ins(f"fptosi {s} {v.name} to {vec(wide, lanes)}", d)
        if wide != dst:
            name = f.ins(f"trunc {vec(wide, lanes)} {name} to {t}", d)
        return V(name, to, lanes, d)
    unsigned = v.dtype in UNSIGNED
    if to_float:
        op = "uitofp" if unsigned else "sitofp"
        return rounded(f, f.ins(f"{op} {s} {v.name} to {t}", d), to, lanes, d)
    if BITS[src] == BITS[dst]:
        return V(v.name, to, lanes, d)
    op = "trunc" if BITS[src] > BITS[dst] else "zext" if unsigned else "sext"
    return V(f.ins(f"{op} {s} {v.name} to {t}", d), to, lanes, d)


def _cast_constant(f: Function, v: V, to: torch.dtype) -> V:
    x = torch.tensor(v.value, dtype=v.dtype).to(to).item()
    return f.const(x, to)


def _cast(f: Function, e: Call, args: list[V]) -> V:
    return cast(f, args[0], e.dtype)


def _check_index(f: Function, e: Call, args: list[V]) -> V:
    """i wrapped once if negative; where it is still out of range, the failure flag is set and the index is 0."""
    (i, n), lanes, depth = spread(f, args[:2])
    el = register(e.dtype)
    t, m, zero = vec(el, lanes), vec("i1", lanes), _k(0, el, lanes)
    if args[0].value is not None and args[1].value is not None and 0 <= args[0].value < args[1].value:
        return args[0]
    negative = f.ins(f"icmp slt {t} {i}, {zero}", depth)
    wrapped = f.ins(f"select {m} {negative}, {t} {f.ins(f'add {t} {i}, {n}', depth)}, {t} {i}", depth)
    bad = f.ins(f"icmp uge {t} {wrapped}, {n}", depth)
    f.fail_if(bad, lanes, depth)
    return V(f.ins(f"select {m} {bad}, {t} {zero}, {t} {wrapped}", depth), e.dtype, lanes, depth)


TABLE: dict[str, Emitter] = {
    "add": _binary("fadd", "add", "or"), "sub": _binary("fsub", "sub", ""), "mul": _binary("fmul", "mul", "and"),
    "div": _binary("fdiv", "", ""), "neg": _neg, "abs": _abs, "fma": _fma, "floordiv": _floordiv,
    "truncdiv": _truncdiv, "mod": _mod, "fmod": _fmod, "min": _extreme("min"), "max": _extreme("max"), "pow": _pow,
    "sign": _sign, "reciprocal": _reciprocal, "rsqrt": _rsqrt, "sqrt": _rounding("sqrt"), "floor": _rounding("floor"),
    "ceil": _rounding("ceil"), "trunc": _rounding("trunc"), "round": _rounding("roundeven"),
    "exp": _elementary("exp", math.exp), "exp2": _elementary("exp2", math.exp2),
    "expm1": _elementary("expm1", math.expm1), "log": _elementary("log", math.log),
    "log2": _elementary("log2", math.log2), "log10": _elementary("log10", math.log10),
    "log1p": _elementary("log1p", math.log1p), "tanh": _elementary("tanh", math.tanh),
    "erf": _elementary("erf", math.erf), "sigmoid": _sigmoid, "sin": _angle("sin", math.sin_small),
    "cos": _angle("cos", math.cos_small), "tan": _angle("tan", math.tan_small), "atan2": _atan2,
    "asin": _elementary("asin", None), "acos": _elementary("acos", None), "atan": _elementary("atan", None),
    "sinh": _elementary("sinh", None), "cosh": _elementary("cosh", None),
    "eq": _compare("oeq", "eq"), "ne": _compare("une", "ne"), "lt": _compare("olt", "lt"), "le": _compare("ole", "le"),
    "gt": _compare("ogt", "gt"), "ge": _compare("oge", "ge"), "isnan": _isnan, "isinf": _isinf,
    "and": _bitwise("and"), "or": _bitwise("or"), "xor": _bitwise("xor"), "not": _not, "shl": _shift(True),
    "shr": _shift(False), "where": _where, "cast": _cast, "check_index": _check_index,
}

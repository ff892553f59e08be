"""Elementary functions as straight-line vector code: range reduction, then polynomials fitted for it.

Bounds on the errors over float32 (docs/ulp.md, benchmarks/ulp.py; dense samples in tests/codegen/llvm/test_math.py), in
units in the last place of the correctly rounded result: exp 1, exp2 1, expm1 1.5, sigmoid 2.5, tanh 1.5, erf 1.5,
log 1, log2 1.5, log10 1.5, log1p 1.5, sin, cos, tan, pow 1.
Coefficients: tests/codegen/llvm/fit_polynomials.py. Denormal arguments and
results, infinities and NaN are as in C.
"""

from __future__ import annotations

from collections.abc import Sequence

from .function import Function
from .types import double_bits, float_text, mangle, vec

EXP_F32 = (0.5000000095691538, 0.16666518302826122, 0.0416662041800288, 0.008368953808837155, 0.0013950599281220672)
EXPM1_F32 = (0.5000000046664658, 0.16666666817899395, 0.04166635353899105, 0.00833327283099315, 0.0013941102236903675,
             0.00019914302201318876)
EXP_F64 = (0.5000000000000033, 0.16666666666666835, 0.04166666666634113, 0.008333333333445412, 0.0013888888989595457,
           0.00019841269270182713, 2.4801448842086313e-05, 2.755800709503654e-06, 2.7645023146918924e-07,
           2.4821535732147817e-08)
LOG_F32 = (0.3333333170780473, -0.2500082103550099, 0.2000122686540054, -0.16623357298090694, 0.14201758233887588,
           -0.1316018306278868, 0.12761575643120251, -0.07634493022872238)
ATANH_F64 = (0.3333333333333376, 0.19999999999643506, 0.14285714388993256, 0.1111109715554241, 0.09091904333235012,
             0.07653704147234863, 0.07432424405929086)
TANH_SMALL_F32 = (-0.3333333090675719, 0.1333320976656896, -0.05394720457496525, 0.021702968608367103,
                  -0.008182677256211175, 0.0021475397416736513)
ERF_SMALL_F32 = (0.12837916591372628, -0.3761262713578283, 0.11283600174108999, -0.02685444449980798,
                 0.005189535161056229, -0.0008020839690269446, 7.889114220472352e-05)
ERF_LARGE_F32 = (1.5878824982159383, 1.0475959265221202, 0.6801605941635324, 0.31436577937389276,
                 0.1220580822829591, 0.06150656248514193, -0.009654284933306886,
                 0.027041308402277933, -0.010103355072980994, 0.0029112300930531493)
SIN_F64 = (-0.16666666666666513, 0.008333333333303607, -0.00019841269818962934, 2.7557310839518282e-06,
           -2.5050408225250112e-08, 1.5880534849359213e-10)
COS_F64 = (0.041666666666666186, -0.001388888888882711, 2.480158726758051e-05, -2.7557309124380617e-07,
           2.0875083963481596e-09, -1.1327843786024665e-11)

LOG2E = 1.4426950408889634
LN2 = 0.6931471805599453
LN2_HI = 0.693359375
"""The first 11 bits of ln 2, so that n*LN2_HI is exact for any exponent n."""
LN2_LO = LN2 - LN2_HI
PI_2_HI = 1.5707963267948966
PI_2_LO = 6.123233995736766e-17
BIG_ANGLE = float(2**30)
"""Above it sin and cos of float32 go to the C library, lane by lane."""


class Math:
    """Instructions on names of one float type and lane count, all placed at one loop level."""

    __slots__ = ("f", "lanes", "depth", "element", "t", "it", "suffix")

    def __init__(self, f: Function, element: str, lanes: int, depth: int):
        self.f = f
        self.lanes = lanes
        self.depth = depth
        self.element = element
        self.t = vec(element, lanes)
        self.it = vec("i32" if element == "float" else "i64", lanes)
        self.suffix = mangle(element, lanes)

    def k(self, value: float) -> str:
        """A constant."""
        text = float_text(value, self.element)
        return text if self.lanes == 1 else f"splat ({self.element} {text})"

    def ik(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat ({'i32' if self.element == 'float' else 'i64'} {value})"

    def _ins(self, rhs: str) -> str:
        return self.f.ins(rhs, self.depth)

    def add(self, a: str, b: str) -> str:
        return self._ins(f"fadd {self.t} {a}, {b}")

    def sub(self, a: str, b: str) -> str:
        return self._ins(f"fsub {self.t} {a}, {b}")

    def mul(self, a: str, b: str) -> str:
        return self._ins(f"fmul {self.t} {a}, {b}")

    def div(self, a: str, b: str) -> str:
        return self._ins(f"fdiv {self.t} {a}, {b}")

    def neg(self, a: str) -> str:
        return self._ins(f"fneg {self.t} {a}")

    def intrinsic(self, name: str, *args: str) -> str:
        t = self.t
        self.f.declare(f"declare {t} @llvm.{name}.{self.suffix}({', '.join([t] * len(args))})")
        return self._ins(f"call {t} @llvm.{name}.{self.suffix}({', '.join(f'{t} {a}' for a in args)})")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.intrinsic("fma", a, b, c)

    def cmp(self, op: str, a: str, b: str) -> str:
        return self._ins(f"fcmp {op} {self.t} {a}, {b}")

    def icmp(self, op: str, a: str, b: str) -> str:
        return self._ins(f"icmp {op} {self.it} {a}, {b}")

    def select(self, c: str, a: str, b: str) -> str:
        return self._ins(f"select {vec('i1', self.lanes)} {c}, {self.t} {a}, {self.t} {b}")

    def mask(self, op: str, a: str, b: str) -> str:
        return self._ins(f"{op} {vec('i1', self.lanes)} {a}, {b}")

    def i(self, op: str, a: str, b: str) -> str:
        return self._ins(f"{op} {self.it} {a}, {b}")

    def bits(self, a: str) -> str:
        return self._ins(f"bitcast {self.t} {a} to {self.it}")

    def unbits(self, a: str) -> str:
        return self._ins(f"bitcast {self.it} {a} to {self.t}")

    def to_int(self, a: str) -> str:
        return self._ins(f"fptosi {self.t} {a} to {self.it}")

    def to_float(self, a: str) -> str:
        return self._ins(f"sitofp {self.it} {a} to {self.t}")

    def poly(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner's scheme, lowest degree first."""
        r = self.k(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            r = self.fma(r, x, self.k(c))
        return r

    def clamp(self, x: str, lo: float, hi: float) -> str:
        """x limited to lo..hi; NaN stays (a comparison with NaN is false, and keeps x)."""
        x = self.select(self.cmp("olt", x, self.k(lo)), self.k(lo), x)
        return self.select(self.cmp("ogt", x, self.k(hi)), self.k(hi), x)

    def wide(self) -> Math:
        """The same in double."""
        return Math(self.f, "double", self.lanes, self.depth)

    def extend(self, x: str) -> str:
        return self._ins(f"fpext {self.t} {x} to {vec('double', self.lanes)}")

    def round_from(self, x: str) -> str:
        """A double rounded to this type."""
        return self._ins(f"fptrunc {vec('double', self.lanes)} {x} to {self.t}")

    def pow2(self, n: str) -> str:
        """2^n of an integer whose result is a normal number."""
        bias, shift = (127, 23) if self.element == "float" else (1023, 52)
        return self.unbits(self.i("shl", self.i("add", n, self.ik(bias)), self.ik(shift)))

    def scale(self, p: str, n: str) -> str:
        """p * 2^n with one rounding where the result is denormal: 2^n in two halves, each a normal number."""
        half = self.i("ashr", n, self.ik(1))
        return self.mul(self.mul(p, self.pow2(half)), self.pow2(self.i("sub", n, half)))


# ------------------------------------------------------------------ float
def _exp_core(m: Math, r: str) -> str:
    """e^r for |r| <= ln2/2: 1 + r (1 + r q(r))."""
    q = m.poly(r, EXP_F32)
    return m.fma(m.fma(q, r, m.k(1.0)), r, m.k(1.0))


def _reduce(m: Math, x: str) -> tuple[str, str]:
    """x = n ln2 + r with n a whole number (as float) and |r| <= ln2/2."""
    n = m.intrinsic("roundeven", m.mul(x, m.k(LOG2E)))
    r = m.fma(n, m.k(-LN2_HI), x)
    return n, m.fma(n, m.k(-LN2_LO), r)


def exp(m: Math, x: str, below: bool = False) -> str:
    """e^x; `below` says that x <= 0."""
    low = m.select(m.cmp("olt", x, m.k(-104.0)), m.k(-104.0), x)
    n, r = _reduce(m, low if below else m.clamp(x, -104.0, 89.0))
    return m.scale(_exp_core(m, r), m.to_int(n))


def exp2(m: Math, x: str) -> str:
    x = m.clamp(x, -151.0, 129.0)
    n = m.intrinsic("roundeven", x)
    r = m.mul(m.sub(x, n), m.k(LN2))
    return m.scale(_exp_core(m, r), m.to_int(n))


def _expm1_core(m: Math, x: str) -> str:
    """e^x - 1 for -18 <= x <= 89: 2^n (e^r - 1) + (2^n - 1)."""
    n, r = _reduce(m, x)
    p = m.fma(m.mul(r, r), m.poly(r, EXPM1_F32), r)
    k = m.to_int(n)
    half = m.i("ashr", k, m.ik(1))
    a, b = m.pow2(half), m.pow2(m.i("sub", k, half))
    # 2^n = a*b; b is applied last, since 2^128 is no float while e^x - 1 may be one
    inverse = m.div(m.k(1.0), b)
    return m.mul(m.fma(p, a, m.sub(a, inverse)), b)


def expm1(m: Math, x: str) -> str:
    tiny = m.cmp("olt", m.intrinsic("fabs", x), m.k(2.0**-30))
    return m.select(tiny, x, _expm1_core(m, m.clamp(x, -18.0, 89.0)))


def sigmoid(m: Math, x: str) -> str:
    """With e = e^-|x|: 1 / (1 + e), or e / (1 + e) for negative x."""
    a = m.intrinsic("fabs", x)
    e = exp(m, m.neg(a), below=True)
    return m.div(m.select(m.cmp("olt", x, m.k(0.0)), e, m.k(1.0)), m.add(e, m.k(1.0)))


def tanh(m: Math, x: str) -> str:
    """|x| <= 0.6: x + x^3 p(x^2). Above: 1 - 2 / (e^(2|x|) + 1), and x's sign."""
    a = m.intrinsic("fabs", x)
    z = m.mul(a, a)
    small = m.fma(m.mul(m.poly(z, TANH_SMALL_F32), z), a, a)
    t = m.select(m.cmp("ogt", a, m.k(10.0)), m.k(10.0), a)
    n, r = _reduce(m, m.add(t, t))
    e = m.mul(_exp_core(m, r), m.pow2(m.to_int(n)))
    large = m.sub(m.k(1.0), m.div(m.k(2.0), m.add(e, m.k(1.0))))
    return m.intrinsic("copysign", m.select(m.cmp("ogt", a, m.k(0.6)), large, small), x)


def erf(m: Math, x: str) -> str:
    """|x| <= 1: x + x p(x^2). Above: 1 - q(|x| - 1)^-4, where q is about the fourth root of 1 / erfc."""
    a = m.intrinsic("fabs", x)
    small = m.fma(m.poly(m.mul(x, x), ERF_SMALL_F32), x, x)
    t = m.select(m.cmp("ogt", a, m.k(3.95)), m.k(3.95), a)
    q = m.poly(m.sub(t, m.k(1.0)), ERF_LARGE_F32)
    q = m.mul(q, q)
    large = m.intrinsic("copysign", m.sub(m.k(1.0), m.div(m.k(1.0), m.mul(q, q))), x)
    return m.select(m.cmp("ole", a, m.k(1.0)), small, large)


def _split(m: Math, x: str) -> tuple[str, str]:
    """x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); e as float. Denormals are scaled first."""
    small = m.cmp("olt", x, m.k(2.0**-126))
    b = m.bits(m.select(small, m.mul(x, m.k(2.0**23)), x))
    k = m.i("sub", b, m.ik(0x3F3504F3))  # bits of sqrt(1/2): exponent and mantissa in one subtraction
    e = m.to_float(m.i("ashr", k, m.ik(23)))
    e = m.select(small, m.sub(e, m.k(23.0)), e)
    mant = m.unbits(m.i("add", m.i("and", k, m.ik(0x7FFFFF)), m.ik(0x3F3504F3)))
    return e, m.sub(mant, m.k(1.0))


def _log_edges(m: Math, x: str, y: str) -> str:
    """log of zero, infinity, negatives and NaN."""
    y = m.select(m.cmp("oeq", x, m.k(0.0)), m.k(float("-inf")), y)
    y = m.select(m.cmp("ult", x, m.k(0.0)), m.k(float("nan")), y)
    return m.select(m.cmp("oeq", x, m.k(float("inf"))), x, y)


def _log1p_core(m: Math, f: str) -> tuple[str, str]:
    """log(1 + f) = f - (f^2/2 - f^3 p(f)), as (f, what is subtracted)."""
    z = m.mul(f, f)
    p = m.mul(m.mul(f, z), m.poly(f, LOG_F32))
    return f, m.fma(z, m.k(0.5), m.neg(p))


def log(m: Math, x: str) -> str:
    e, f = _split(m, x)
    f, s = _log1p_core(m, f)
    low = m.fma(e, m.k(LN2_LO), m.neg(s))
    return _log_edges(m, x, m.fma(e, m.k(LN2_HI), m.add(f, low)))


def _log_base(m: Math, x: str, hi: float, lo: float, unit: float) -> str:
    """log(x) in another base: e*unit + (f - s)*(hi + lo), hi short so that f*hi is nearly exact."""
    e, f = _split(m, x)
    f, s = _log1p_core(m, f)
    y = m.sub(f, s)
    # the rounding error of y, which counts when e is 0
    err = m.sub(m.sub(f, y), s)
    low = m.fma(err, m.k(hi), m.mul(y, m.k(lo)))
    if unit == 1.0:
        return _log_edges(m, x, m.add(m.fma(y, m.k(hi), low), e))
    u_hi = float.fromhex("0x1.344p-2")
    low = m.fma(e, m.k(unit - u_hi), low)
    return _log_edges(m, x, m.fma(e, m.k(u_hi), m.fma(y, m.k(hi), low)))


def log2(m: Math, x: str) -> str:
    hi = float.fromhex("0x1.714p+0")
    return _log_base(m, x, hi, LOG2E - hi, 1.0)


def log10(m: Math, x: str) -> str:
    hi = float.fromhex("0x1.bccp-2")
    return _log_base(m, x, hi, 0.4342944819032518 - hi, 0.30102999566398120)


def log1p(m: Math, x: str) -> str:
    """log(u) with u = 1 + x rounded, and the rounding error put back: u = 2^e (1 + f), f += 2^-e (x - (u - 1))."""
    u = m.add(x, m.k(1.0))
    k = m.i("sub", m.bits(u), m.ik(0x3F3504F3))
    ei = m.i("ashr", k, m.ik(23))
    mant = m.unbits(m.i("add", m.i("and", k, m.ik(0x7FFFFF)), m.ik(0x3F3504F3)))
    c = m.sub(x, m.sub(u, m.k(1.0)))
    # 2^-e: e is at most 127 here, and c matters only where e is small
    inv = m.pow2(m.i("sub", m.ik(0), m._ins(_smin(m, ei, 126))))
    g = m.sub(mant, m.k(1.0))
    c = m.mul(c, inv)
    f = m.add(g, c)
    lost = m.sub(c, m.sub(f, g))
    e = m.to_float(ei)
    f, s = _log1p_core(m, f)
    low = m.add(m.fma(e, m.k(LN2_LO), m.neg(s)), lost)
    y = _log_edges(m, u, m.fma(e, m.k(LN2_HI), m.add(f, low)))
    return m.select(m.cmp("olt", m.intrinsic("fabs", x), m.k(2.0**-26)), x, y)


def _smin(m: Math, a: str, bound: int) -> str:
    m.f.declare(f"declare {m.it} @llvm.smin.{mangle('i32', m.lanes)}({m.it}, {m.it})")
    return f"call {m.it} @llvm.smin.{mangle('i32', m.lanes)}({m.it} {a}, {m.it} {m.ik(bound)})"


# ------------------------------------------------------------------ float, computed in double
def _quadrant(w: Math, x: str) -> tuple[str, str, str]:
    """x = n pi/2 + r in double: n as i64, sin(r), cos(r). Right to float's precision for |x| < 2^30."""
    n = w.intrinsic("roundeven", w.mul(x, w.k(1 / PI_2_HI)))
    r = w.fma(n, w.k(-PI_2_HI), x)
    r = w.fma(n, w.k(-PI_2_LO), r)
    z = w.mul(r, r)
    s = w.fma(w.mul(w.poly(z, SIN_F64), z), r, r)
    c = w.fma(w.mul(z, z), w.poly(z, COS_F64), w.fma(z, w.k(-0.5), w.k(1.0)))
    # the whole number n < 2^51 in the low bits of n + 1.5 * 2^52
    return w.bits(w.add(n, w.k(1.5 * 2.0**52))), s, c


def _pick(w: Math, n: str, odd: str, even: str, flip: str) -> str:
    """`odd` or `even` by n's lowest bit, negated where bit 1 of `flip` is set."""
    is_odd = w.icmp("ne", w.i("and", n, w.ik(1)), w.ik(0))
    y = w.select(is_odd, odd, even)
    sign = w.i("shl", w.i("and", flip, w.ik(2)), w.ik(62))
    return w.unbits(w.i("xor", w.bits(y), sign))


def sin_small(m: Math, x: str) -> str:
    w = m.wide()
    n, s, c = _quadrant(w, m.extend(x))
    y = m.round_from(_pick(w, n, c, s, n))
    return m.select(m.cmp("oeq", x, m.k(0.0)), x, y)


def cos_small(m: Math, x: str) -> str:
    w = m.wide()
    n, s, c = _quadrant(w, m.extend(x))
    return m.round_from(_pick(w, n, s, c, w.i("add", n, w.ik(1))))


def tan_small(m: Math, x: str) -> str:
    w = m.wide()
    n, s, c = _quadrant(w, m.extend(x))
    odd = w.icmp("ne", w.i("and", n, w.ik(1)), w.ik(0))
    y = w.div(w.select(odd, w.neg(c), s), w.select(odd, s, c))
    return m.select(m.cmp("oeq", x, m.k(0.0)), x, m.round_from(y))


def _log2_double(w: Math, x: str) -> str:
    """log2 of a positive normal double, to about 2^-50."""
    b = w.bits(x)
    k = w.i("sub", b, w.ik(0x3FE6A09E667F3BCD))
    e = w.i("ashr", k, w.ik(52))
    mant = w.unbits(w.i("add", w.i("and", k, w.ik((1 << 52) - 1)), w.ik(0x3FE6A09E667F3BCD)))
    # the exponent as a double, through the bits of 1.5 * 2^52 + e
    magic = 1.5 * 2.0**52
    ef = w.sub(w.unbits(w.i("add", e, w.ik(int(double_bits(magic), 16)))), w.k(magic))
    s = w.div(w.sub(mant, w.k(1.0)), w.add(mant, w.k(1.0)))
    z = w.mul(s, s)
    y = w.fma(w.mul(w.poly(z, ATANH_F64), z), s, s)
    return w.fma(y, w.k(2 * LOG2E), ef)


def pow_(m: Math, x: str, y: str) -> str:
    """x^y = 2^(y log2|x|) in double, with C's special cases."""
    w = m.wide()
    a = m.intrinsic("fabs", x)
    wy = m.extend(y)
    t = w.mul(_log2_double(w, m.extend(a)), wy)
    t = w.clamp(t, -200.0, 200.0)
    n = w.intrinsic("roundeven", t)
    r = w.mul(w.sub(t, n), w.k(LN2))
    p = w.add(w.fma(w.mul(r, r), w.poly(r, EXP_F64[:8]), r), w.k(1.0))
    ni = w.i("sub", w.bits(w.add(n, w.k(1.5 * 2.0**52))), w.ik(int(double_bits(1.5 * 2.0**52), 16)))
    v = m.round_from(w.mul(p, w.pow2(ni)))
    zero, one, inf, nan = m.k(0.0), m.k(1.0), m.k(float("inf")), m.k(float("nan"))
    whole = m.cmp("oeq", m.intrinsic("trunc", y), y)
    h = m.mul(y, m.k(0.5))
    odd = m.mask("and", whole, m.cmp("one", m.intrinsic("trunc", h), h))
    grows = m.mask("xor", m.cmp("ogt", y, zero), m.cmp("olt", a, one))
    # |x| is 0 or inf: 0 or inf by y's sign
    edge = m.mask("or", m.cmp("oeq", a, zero), m.cmp("oeq", a, inf))
    v = m.select(edge, m.select(grows, inf, zero), v)
    infinite = m.cmp("oeq", m.intrinsic("fabs", y), inf)
    v = m.select(infinite, m.select(m.cmp("oeq", a, one), one, m.select(grows, inf, zero)), v)
    # negative x: whole exponents only; an odd one gives x's sign (also of -0 and -inf)
    bad = m.mask("and", m.cmp("olt", x, zero), m.mask("xor", whole, _true(m)))
    bad = m.mask("and", bad, m.cmp("one", a, inf))
    v = m.select(bad, nan, v)
    v = m.select(odd, m.intrinsic("copysign", v, x), v)
    v = m.select(m.mask("or", m.cmp("uno", x, x), m.cmp("uno", y, y)), nan, v)
    return m.select(m.mask("or", m.cmp("oeq", y, zero), m.cmp("oeq", x, one)), one, v)


def _true(m: Math) -> str:
    return "true" if m.lanes == 1 else "splat (i1 true)"

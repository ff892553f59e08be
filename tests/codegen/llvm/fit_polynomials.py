"""How the coefficients in pellucid/codegen/llvm/math.py were fitted: near-minimax polynomials by Lawson's iteration.

Run as a script; prints each polynomial's coefficients, lowest degree first, and its largest weighted error. The
functions are evaluated with mpmath, so that the fit does not inherit a library's rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np

mp.mp.prec = 160


def fit(name: str, fn: Callable, lo: float, hi: float, degree: int, weight: Callable, points: int = 600) -> list[float]:
    """Minimise max |weight(x) * (p(x) - fn(x))| over lo..hi in the monomial basis (solved in Chebyshev's)."""
    k = np.arange(points)
    xs = (lo + hi) / 2 + (hi - lo) / 2 * np.cos(np.pi * (2 * k + 1) / (2 * points))
    y = np.array([float(fn(mp.mpf(float(x)))) for x in xs])
    w = np.array([abs(float(weight(mp.mpf(float(x))))) for x in xs])
    t = (2 * xs - lo - hi) / (hi - lo)
    basis = np.polynomial.chebyshev.chebvander(t, degree)
    mass = np.ones(points)
    best: tuple[float, np.ndarray] | None = None
    for _ in range(200):
        s = w * np.sqrt(mass)
        c = np.linalg.lstsq(basis * s[:, None], y * s, rcond=None)[0]
        err = np.abs(w * (basis @ c - y))
        if best is None or err.max() < best[0]:
            best = err.max(), c
        mass = mass * np.maximum(err, best[0] * 1e-6 + 1e-300)
        mass /= mass.sum()
    poly = np.polynomial.Chebyshev(best[1], [lo, hi]).convert(kind=np.polynomial.Polynomial)
    print(f"{name} = (" + ", ".join(repr(float(c)) for c in poly.coef) + f")  # {best[0]:.2e}", flush=True)
    return [float(c) for c in poly.coef]


def main() -> None:
    h = float(mp.log(2) / 2) * 1.001
    second = lambda r: (mp.exp(r) - 1 - r) / r**2 if r else mp.mpf(1) / 2  # noqa: E731
    fit("EXP_F32", second, -h, h, 4, lambda r: r**2)
    fit("EXPM1_F32", second, -h, h, 5, lambda r: r)
    fit("EXP_F64", second, -h, h, 9, lambda r: r**2)
    tail = lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3 if f else mp.mpf(1) / 3  # noqa: E731
    fit("LOG_F32", tail, float(mp.sqrt(0.5)) - 1, float(mp.sqrt(2)) - 1, 7,
        lambda f: f**2 * (f / mp.log1p(f) if f else 1))
    at = lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else mp.mpf(1) / 3  # noqa: E731
    fit("ATANH_F64", at, 0.0, float(((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2), 6, lambda z: z)
    split = 1.0
    fit("ERF_SMALL_F32", lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1 if z else 2 / mp.sqrt(mp.pi) - 1,
        0.0, split**2, 6, lambda z: 1)
    root = lambda u: mp.erfc(1 + u) ** mp.mpf(-0.25)  # noqa: E731
    fit("ERF_LARGE_F32", root, split - 1.0, 2.95, 9, lambda u: 4 * mp.erfc(1 + u) / root(u))
    fit("TANH_SMALL_F32", lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else -mp.mpf(1) / 3,
        0.0, 0.625**2, 5, lambda z: z)
    q = float(mp.pi / 4) * 1.001
    fit("SIN_F64", lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z if z else -mp.mpf(1) / 6,
        0.0, q**2, 5, lambda z: z)
    fit("COS_F64", lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2 if z else mp.mpf(1) / 24,
        0.0, q**2, 5, lambda z: z**2)


if __name__ == "__main__":
    main()

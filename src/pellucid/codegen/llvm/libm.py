"""Functions that are called, not printed: Sleef's vector functions in torch's library, or the C library lane by lane.

Each is named here with its alternatives. Names are resolved to addresses when code is linked; object code holds names.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from typing import Any

from .errors import CodegenError
from .function import Function
from .math import BIG_ANGLE, Math
from .types import vec

SLEEF = {"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "erf", "pow", "atan2",
         "asin", "acos", "atan", "sinh", "cosh", "fmod"}
"""Functions that Sleef has with an error of at most 1 ulp (u10; erf, fmod: exact names differ)."""
LIBM = {name: (f"{name}f", name) for name in SLEEF}
_NO_BOUND = {"fmod"}


ARGUMENT_BYTES = 32
"""The widest vector that is passed to a function. Wider ones are passed in one register or in two, depending on
attributes of the caller and the callee that need not agree."""


def _sleef(fn: str, element: str, vector_bytes: int) -> tuple[str, int] | None:
    """Sleef's name for a function, and its lanes."""
    if vector_bytes < ARGUMENT_BYTES:
        return None
    lanes = ARGUMENT_BYTES // (4 if element == "float" else 8)
    tail = "_" if fn in _NO_BOUND else "_u10"
    return f"Sleef_{fn}{'f' if element == 'float' else 'd'}{lanes}{tail}avx2", lanes


def library_call(f: Function, fn: str, element: str, lanes: int, depth: int, *args: str) -> str:
    """`fn` of float or double operands, by Sleef where the process has it, else lane by lane by the C library."""
    if fn not in LIBM:
        raise CodegenError(f"no library function {fn!r}")
    chosen = _sleef(fn, element, f.cpu.vector_bytes) if lanes > 1 else None
    if chosen is not None and resolve(chosen[0]) is not None:
        wt = vec(element, chosen[1])
        f.declare(f"declare {wt} @{chosen[0]}({', '.join([wt] * len(args))})")
        return _in_chunks(f, chosen[0], chosen[1], element, lanes, depth, args)
    name = LIBM[fn][element == "double"]
    f.declare(f"declare {element} @{name}({', '.join([element] * len(args))})")
    if lanes == 1:
        return f.ins(f"call {element} @{name}({', '.join(f'{element} {a}' for a in args)})", depth)
    t, r = vec(element, lanes), "poison"
    for k in range(lanes):
        xs = [f.ins(f"extractelement {t} {a}, i64 {k}", depth) for a in args]
        y = f.ins(f"call {element} @{name}({', '.join(f'{element} {x}' for x in xs)})", depth)
        r = f.ins(f"insertelement {t} {r}, {element} {y}, i64 {k}", depth)
    return r


def _in_chunks(f: Function, name: str, width: int, element: str, lanes: int, depth: int, args: tuple[str, ...]) -> str:
    """A vector function of `width` lanes applied to `lanes` lanes."""
    wt, t = vec(element, width), vec(element, lanes)
    parts = []
    for start in range(0, lanes, width):
        xs = [_slice(f, a, t, start, min(width, lanes - start), width, depth) for a in args] if lanes != width else args
        parts.append(f.ins(f"call {wt} @{name}({', '.join(f'{wt} {x}' for x in xs)})", depth))
    if lanes == width:
        return parts[0]
    if lanes < width:
        idx = ", ".join(f"i32 {k}" for k in range(lanes))
        return f.ins(f"shufflevector {wt} {parts[0]}, {wt} poison, <{lanes} x i32> <{idx}>", depth)
    n = width
    while len(parts) > 1:
        idx = ", ".join(f"i32 {k}" for k in range(2 * n))
        pt = vec(element, n)
        parts = [f.ins(f"shufflevector {pt} {a}, {pt} {b}, <{2 * n} x i32> <{idx}>", depth)
                 for a, b in zip(parts[::2], parts[1::2])]
        n *= 2
    return parts[0]


def _slice(f: Function, a: str, t: str, start: int, n: int, width: int, depth: int) -> str:
    idx = ", ".join(f"i32 {start + k}" if k < n else f"i32 {start}" for k in range(width))
    return f.ins(f"shufflevector {t} {a}, {t} poison, <{width} x i32> <{idx}>", depth)


def guarded_angle(f: Function, fn: str, small: Callable[[Math, str], str], lanes: int, depth: int, a: str) -> str:
    """A trigonometric function as a function of the module: the fast form, or where some |x| is large or not finite
    the C library's for every lane."""
    width = min(lanes, ARGUMENT_BYTES // 4)
    name = f"pl.{fn}.{width}"
    if name not in f.helpers:
        f.helpers[name] = _angle_helper(f, name, fn, small, width)
    if lanes == 1:
        return f.ins(f"call float @{name}(float {a})", depth)
    return _in_chunks(f, name, width, "float", lanes, depth, (a,))


def _angle_helper(f: Function, name: str, fn: str, small: Callable[[Math, str], str], lanes: int) -> str:
    g = Function(f.kernel, f.cpu)
    g.entry, g.lanes = [], lanes
    t, mt = vec("float", lanes), vec("i1", lanes)
    m = Math(g, "float", lanes, 0)
    big = m.cmp("uge", m.intrinsic("fabs", "%x"), m.k(BIG_ANGLE))
    if lanes > 1:
        g.declare(f"declare i1 @llvm.vector.reduce.or.v{lanes}i1({mt})")
        big = g.here(f"call i1 @llvm.vector.reduce.or.v{lanes}i1({mt} {big})")
    g.line(f"br i1 {big}, label %large, label %small")
    g.block("small")
    g.line(f"ret {t} {small(m, '%x')}")
    g.block("large")
    # through double: the C library's float functions are then not needed to be correctly rounded
    g.declare(f"declare double @{fn}(double)")
    r = "%x" if lanes == 1 else "poison"
    for k in range(lanes):
        x = "%x" if lanes == 1 else g.here(f"extractelement {t} %x, i64 {k}")
        y = g.here(f"call double @{fn}(double {g.here(f'fpext float {x} to double')})")
        y = g.here(f"fptrunc double {y} to float")
        r = y if lanes == 1 else g.here(f"insertelement {t} {r}, float {y}, i64 {k}")
    g.line(f"ret {t} {r}")
    f.declared |= g.declared
    body = "\n".join(g.lines).replace("~", "")
    return f"define internal {t} @{name}({t} %x) nounwind {{\n{body}\n}}\n"


# ------------------------------------------------------------------ addresses
@functools.lru_cache(maxsize=1)
def _libraries() -> tuple[Any, ...]:
    """The shared libraries that symbols are looked for in, all of them loaded already or part of the system."""
    import torch

    found: list[Any] = []
    folder = os.path.join(os.path.dirname(torch.__file__), "lib")
    for name in ("libm.so.6", "libc.so.6", "libSystem.B.dylib", "ucrtbase",
                 os.path.join(folder, "libtorch_cpu.so"), os.path.join(folder, "libtorch_cpu.dylib"),
                 os.path.join(folder, "torch_cpu.dll")):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return tuple(found)


@functools.cache
def resolve(name: str) -> int | None:
    """The address of a function in this process, or None."""
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        except AttributeError:
            continue
    return None

"""How dtypes look in LLVM text: in memory, in registers, as constants; and the values that expressions become."""

from __future__ import annotations

import math
import struct

import torch

from .errors import UnsupportedDtype

MEMORY: dict[torch.dtype, str] = {
    torch.float32: "float", torch.float64: "double", torch.float16: "half", torch.bfloat16: "i16",
    torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.bool: "i8",
    torch.uint8: "i8", torch.uint16: "i16", torch.uint32: "i32", torch.uint64: "i64",
}
"""Element types in memory. A bfloat16 is kept as its bits: LLVM would convert it lane by lane through library calls."""

REGISTER: dict[torch.dtype, str] = {
    **MEMORY, torch.bool: "i1", torch.float16: "float", torch.bfloat16: "float",
}
"""Element types of values. Half-precision values are held in float, already rounded."""

FLOATS = frozenset({torch.float32, torch.float64, torch.float16, torch.bfloat16})
HALVES = frozenset({torch.float16, torch.bfloat16})
UNSIGNED = frozenset({torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.bool})
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "float": 32, "double": 64, "half": 16}
MANGLED = {"float": "f32", "double": "f64", "half": "f16", "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32",
           "i64": "i64", "ptr": "p0"}


def memory(dtype: torch.dtype) -> str:
    try:
        return MEMORY[dtype]
    except KeyError:
        raise UnsupportedDtype(dtype) from None


def register(dtype: torch.dtype) -> str:
    try:
        return REGISTER[dtype]
    except KeyError:
        raise UnsupportedDtype(dtype) from None


def vec(element: str, lanes: int) -> str:
    """The LLVM type of `lanes` elements; of one, the scalar type."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def mangle(element: str, lanes: int) -> str:
    """The suffix of an overloaded intrinsic: f32, v8f32 ..."""
    return MANGLED[element] if lanes == 1 else f"v{lanes}{MANGLED[element]}"


def double_bits(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def float_text(value: float, element: str) -> str:
    """A float constant as the bits of a double, after rounding to the element type."""
    if element == "float" and math.isfinite(value):
        try:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            value = math.copysign(math.inf, value)
    return double_bits(value)


def constant(value: int | float | bool, element: str) -> str:
    """A scalar constant of an LLVM element type; integers wrap to its width."""
    if element in ("float", "double"):
        return float_text(float(value), element)
    if element == "i1":
        return "true" if value else "false"
    bits = BITS[element]
    v = int(value) & ((1 << bits) - 1)
    return str(v - (1 << bits) if v >> (bits - 1) else v)


def round_half(value: float, dtype: torch.dtype) -> float:
    """A constant rounded to float16 or bfloat16."""
    return float(torch.tensor(value, dtype=dtype))


class V:
    """A value: its SSA name or constant text, dtype, number of lanes (1: uniform), and how deep in loops it varies.

    `value` is the Python number if it is a constant. `element` is its LLVM element type.
    """

    __slots__ = ("name", "dtype", "lanes", "depth", "value", "element")

    def __init__(self, name: str, dtype: torch.dtype, lanes: int, depth: int, value: int | float | bool | None = None):
        self.name = name
        self.dtype = dtype
        self.lanes = lanes
        self.depth = depth
        self.value = value
        self.element = REGISTER[dtype]

    def __repr__(self) -> str:
        return f"V({self.name}: {self.dtype} x{self.lanes} @{self.depth})"

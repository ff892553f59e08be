"""What the LLVM code generator refuses, and why."""

from __future__ import annotations

from typing import Any


class CodegenError(ValueError):
    """A kernel that cannot be printed as LLVM text."""


class UnsupportedDtype(CodegenError):
    def __init__(self, dtype: Any):
        super().__init__(f"the LLVM code generator has no values of dtype {dtype}; lower the operation that makes them "
                         "to an Extern, so that torch runs it")


class UnknownFunction(CodegenError):
    def __init__(self, fn: str, dtype: Any):
        super().__init__(f"scalar function {fn!r} of {dtype} has no LLVM emitter; add it to codegen/llvm/expr.py or "
                         "lower the operation to an Extern")


class UnknownSize(CodegenError):
    def __init__(self, size: Any, kernel: str):
        super().__init__(f"kernel {kernel} uses the size {size}, which its `symbols` do not give; add it to "
                         "Kernel.symbols")

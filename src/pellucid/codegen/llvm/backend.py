"""The CPU code generator as a `CodeTarget`: kernels in, a unit of object code out."""

from __future__ import annotations

from ...ir.types import Kernel
from ..types import Unit
from . import jit, module
from .target import Cpu, host


class LlvmTarget:
    """Compiles scheduled kernels for `cpu` (default: this process's)."""

    name = "llvm"
    accepts = "loops"

    def __init__(self, cpu: Cpu | None = None):
        self._cpu = cpu

    @property
    def cpu(self) -> Cpu:
        return host() if self._cpu is None else self._cpu

    def compile(self, kernels: tuple[Kernel, ...]) -> Unit:
        """One module for all kernels; equal ones are compiled once. Raises CodegenError for what cannot be printed."""
        text, entries = module.print_module(kernels, self.cpu)
        return Unit(text, jit.assemble(text, self.cpu), entries)

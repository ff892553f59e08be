"""The CPU that code is made for: its name, features and vector width, detected once, and its LLVM target machine."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cpu:
    """What code generation must know of a processor.

    vector_bytes   width of a vector register that integer and float instructions use (64 AVX-512, 32 AVX2, 16 other)
    masked         masked loads and stores of 4 and 8 byte elements are instructions
    masked_small   so are those of 1 and 2 byte elements
    gather         a gather instruction is at least as fast as loading lane by lane
    jump           assembly of an entry that sets the sixth integer argument and jumps to `target`; None where the
                   calling convention has no such register
    """

    triple: str
    name: str
    features: str
    vector_bytes: int
    masked: bool = False
    masked_small: bool = False
    gather: bool = False
    jump: str | None = None


def with_features(triple: str, name: str, features: dict[str, bool]) -> Cpu:
    """A `Cpu` from LLVM's feature table."""
    has = lambda f: bool(features.get(f))  # noqa: E731
    wide = all(has(f) for f in ("avx512f", "avx512vl", "avx512dq", "avx512bw"))
    avx2 = has("avx2") and has("fma")
    text = ",".join(("+" if on else "-") + f for f, on in sorted(features.items()))
    return Cpu(triple, name, text, 64 if wide else 32 if avx2 else 16, wide or avx2, wide, wide, _jump(triple))


def _jump(triple: str) -> str | None:
    set_sixth = {"x86_64": "movl ${number}, %r9d; jmp", "aarch64": "mov w5, #{number}; b"}.get(triple.split("-")[0])
    if set_sixth is None or "linux" not in triple:
        return None
    return (".text; .p2align 4; .globl {entry}; .type {entry},@function; {entry}: " + set_sixth
            + " {target}; .size {entry}, .-{entry}")


@functools.lru_cache(maxsize=1)
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    return llvm


def llvm() -> Any:
    """llvmlite.binding, initialised; imported on first use, since its import takes 40 to 170 ms."""
    return _llvm()


@functools.lru_cache(maxsize=1)
def host() -> Cpu:
    """The processor that this process runs on."""
    ll = llvm()
    return with_features(ll.get_process_triple(), ll.get_host_cpu_name(), dict(ll.get_host_cpu_features()))


@functools.lru_cache(maxsize=8)
def machine(cpu: Cpu) -> Any:
    """LLVM's target machine for `cpu`.

    Level 1: level 0 cannot emit masked AVX-512 code, and higher levels take longer for no faster loops. Small code
    model: constants are then addressed relative to the instruction, not through a table in the loop.
    """
    ll = llvm()
    target = ll.Target.from_triple(cpu.triple)
    return target.create_target_machine(cpu=cpu.name, features=cpu.features, opt=1, reloc="pic", codemodel="small",
                                        jit=True)

"""Small kernels in LLVM text, and plans around them, for the native runner's tests."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from pellucid.ir.types import Axis, Buffer, Extern, For, Kernel, View
from pellucid.runtime.native import jit
from pellucid.schedule.types import ExternStep, KernelStep, NewOutput, Place, Plan
from pellucid.shapes.dim import Dim, Size

F32 = torch.float32

HEAD = "define void @{name}(ptr %bufs, ptr %sizes, i64 %begin, i64 %end, ptr %status) {{\n"

LOOP = """
entry:
  {entry}
  br label %head
head:
  %i = phi i64 [%begin, %entry], [%i1, %body]
  %go = icmp slt i64 %i, %end
  br i1 %go, label %body, label %exit
body:
  {body}
  %i1 = add i64 %i, 1
  br label %head
exit:
  ret void
}}
"""


def pointer(k: int) -> str:
    return f"%pp{k} = getelementptr ptr, ptr %bufs, i64 {k}\n  %p{k} = load ptr, ptr %pp{k}"


def pointwise(name: str, inputs: int, body: str) -> str:
    """out[i] = body of %x0, %x1 ...; writes %y. Buffers: the inputs, then the output."""
    entry = "\n  ".join(pointer(k) for k in range(inputs + 1))
    loads = "\n  ".join(f"%q{k} = getelementptr float, ptr %p{k}, i64 %i\n  %x{k} = load float, ptr %q{k}"
                        for k in range(inputs))
    store = f"%q{inputs} = getelementptr float, ptr %p{inputs}, i64 %i\n  store float %y, ptr %q{inputs}"
    return HEAD.format(name=name) + LOOP.format(entry=entry, body=f"{loads}\n  {body}\n  {store}")


TEXTS = {
    "add_one": pointwise("add_one", 1, "%y = fadd float %x0, 1.0"),
    "double": pointwise("double", 1, "%y = fmul float %x0, 2.0"),
    "add": pointwise("add", 2, "%y = fadd float %x0, %x1"),
    "relu": pointwise("relu", 1, "%c = fcmp ogt float %x0, 0.0\n  %y = select i1 %c, float %x0, float 0.0"),
    # y = x + the first two sizes
    "add_sizes": pointwise("add_sizes", 1, "%s0 = load i64, ptr %sizes\n  %sp = getelementptr i64, ptr %sizes, i64 1\n"
                           "  %s1 = load i64, ptr %sp\n  %s = add i64 %s0, %s1\n  %sf = sitofp i64 %s to float\n"
                           "  %y = fadd float %x0, %sf"),
    # sets status to 5 where x < 0
    "check": pointwise("check", 1, "%bad = fcmp olt float %x0, 0.0\n  %dummy = alloca i32\n"
                       "  %at = select i1 %bad, ptr %status, ptr %dummy\n  store i32 5, ptr %at\n"
                       "  %y = fadd float %x0, 0.0"),
}


@functools.cache
def kernels() -> dict[str, int]:
    """Addresses of the kernels by name."""
    linked = jit.link(jit.compile_text("".join(TEXTS.values())), {}, list(TEXTS))
    KEEP.append(linked)
    return linked.address


KEEP: list[object] = []


def contiguous(shape: Sequence[Size]) -> tuple[Size, ...]:
    strides: list[Size] = []
    step: Size = 1
    for s in reversed(shape):
        strides.append(step)
        step = step * s
    return tuple(reversed(strides))


def buffer(id: int, shape: Sequence[Size], space: str = "arena", index: int | None = None,
           dtype: torch.dtype = F32, strides: Sequence[Size] | None = None) -> Buffer:
    return Buffer(id, dtype, tuple(shape), tuple(strides) if strides is not None else contiguous(shape), space, index)


def whole(b: Buffer) -> View:
    return View(b.id, b.dtype, b.shape, b.strides)


def numel(shape: Sequence[Size]) -> Size:
    n: Size = 1
    for s in shape:
        n = n * s
    return n


def kernel_step(name: str, *buffers: Buffer, symbols: tuple[Dim, ...] = (), grain: Size = 1 << 40,
                can_raise: bool = False) -> KernelStep:
    """A step of one of TEXTS' kernels over all elements of the last buffer."""
    body = (For(Axis(0, 1), (), "parallel"),)
    ids = [b.id for b in buffers]
    kernel = Kernel(name, body, tuple(buffers), symbols, reads=tuple(ids[:-1]), writes=(ids[-1],), can_raise=can_raise,
                    origins=(3,))
    return KernelStep(kernel, numel(buffers[-1].shape), grain, can_raise=can_raise)


def gemm_step(a: View, b: View, c: View, bias: View | None = None, **params: object) -> ExternStep:
    ins = (a, b) if bias is None else (a, b, bias)
    return ExternStep(Extern("gemm", ins, (c,), tuple(sorted(params.items()))))


def new_output(b: Buffer) -> NewOutput:
    return NewOutput(b.id, b.dtype, b.shape, b.strides)


def places(steps: int, *buffers: Buffer) -> tuple[tuple[Place, ...], Size]:
    """One after the other, each aligned to 64 bytes."""
    out: list[Place] = []
    at: Size = 0
    for b in buffers:
        nbytes = numel(b.shape) * b.dtype.itemsize
        out.append(Place(b.id, at, nbytes, 0, steps - 1))
        at = at + ((nbytes + 63) // 64) * 64
    return tuple(out), at


def add_one_plan(n: int = 8, kernel: str = "add_one") -> Plan:
    x, y = buffer(0, (n,), "input", 0), buffer(1, (n,), "output", 0)
    return Plan((x, y), (kernel_step(kernel, x, y),), (), 0, (new_output(y),))



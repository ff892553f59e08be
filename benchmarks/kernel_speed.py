"""Speed of generated kernels against eager, and what a kernel costs to compile. One thread.

    python benchmarks/kernel_speed.py [name ...]

Each row: milliseconds of the kernel and of eager (the fastest of many calls in turn), their ratio, and the CPU
milliseconds to print, compile and link one kernel.
"""

from __future__ import annotations

import ctypes
import functools
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pellucid.codegen.llvm import jit, module  # noqa: E402
from pellucid.codegen.llvm.target import host, llvm, machine  # noqa: E402
from pellucid.ir.build import call  # noqa: E402
from pellucid.ir.types import Accumulator, Fold, For, Let, Stmt, Write  # noqa: E402
from tests.codegen.llvm.harness import ENTRY, Builder, at, lit, map_kernel, nest, put  # noqa: E402

F32 = torch.float32


def f(value: float):  # noqa: ANN201
    return lit(value, F32)


def gelu(e):  # noqa: ANN001, ANN201
    return call("mul", call("mul", e, f(0.5)), call("add", f(1.0), call("erf", call("mul", e, f(math.sqrt(0.5))))))


def pointwise_chain():  # noqa: ANN201
    x, out = torch.randn(1024, 4096), torch.empty(1024)
    b = Builder()
    v, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(1024), b.axis(4096)
    e, s = at(v, i, j), b.var(F32)
    value = call("add", call("mul", e, call("sigmoid", e)), gelu(e))
    body = nest([i], ["parallel"], [Fold((j,), (), (Accumulator(s, "sum", value),)),
                                    put(o, [i], call("div", s, f(4096.0)))])
    return b, body, out, lambda: (x * torch.sigmoid(x) + torch.nn.functional.gelu(x)).mean(-1)


def ln_gelu_residual():  # noqa: ANN201
    x, w, bias = torch.randn(64 * 512, 768), torch.randn(768), torch.randn(768)
    out = torch.empty_like(x)
    b = Builder()
    v, wv, bv, o = (b.tensor(t) for t in (x, w, bias, out))
    i, j, k, m = b.axis(x.shape[0]), b.axis(768), b.axis(768), b.axis(768)
    s, q, mean, rstd = (b.var(F32) for _ in range(4))
    d = call("sub", at(v, i, k), mean)
    y = call("add", call("mul", call("mul", call("sub", at(v, i, m), mean), rstd), at(wv, m)), at(bv, m))
    body: list[Stmt] = [
        Fold((j,), (), (Accumulator(s, "sum", at(v, i, j)),)), Let(mean, call("div", s, f(768.0))),
        Fold((k,), (), (Accumulator(q, "sum", call("mul", d, d)),)),
        Let(rstd, call("rsqrt", call("add", call("div", q, f(768.0)), f(1e-5)))),
        For(m, (Write(o, at(o, i, m).index, call("add", at(v, i, m), gelu(y))),), "vector")]
    return b, nest([i], ["parallel"], body), out, lambda: x + torch.nn.functional.gelu(
        torch.nn.functional.layer_norm(x, (768,), w, bias))


def softmax():  # noqa: ANN201
    x, out = torch.randn(2048, 256), torch.empty(2048, 256)
    b = Builder()
    v, o, row = b.tensor(x), b.tensor(out), b.row(F32, (256,))
    i, j, k, m = (b.axis(n) for n in (2048, 256, 256, 256))
    mx, s, e = b.var(F32), b.var(F32), b.var(F32)
    body = [Fold((j,), (), (Accumulator(mx, "max", at(v, i, j)),)),
            Fold((k,), (Let(e, call("exp", call("sub", at(v, i, k), mx))), put(row, [k], e)),
                 (Accumulator(s, "sum", e),)),
            For(m, (put(o, [i, m], call("div", at(row, m), s)),), "vector")]
    return b, nest([i], ["parallel"], body), out, lambda: torch.softmax(x, -1)


def bias_gelu():  # noqa: ANN201
    x, bias, out = torch.randn(512, 3072), torch.randn(3072), torch.empty(512, 3072)
    b, body = map_kernel(lambda p, q: gelu(call("add", p, q)), [x, bias.expand(512, 3072)], out)
    return b, body, out, lambda: torch.nn.functional.gelu(x + bias)


def tanh_map():  # noqa: ANN201
    x, out = torch.randn(512, 1024), torch.empty(512, 1024)
    b, body = map_kernel(lambda p: call("tanh", p), [x], out)
    return b, body, out, lambda: torch.tanh(x)


def add_small():  # noqa: ANN201
    x, y, out = torch.randn(128, 256), torch.randn(128, 256), torch.empty(128, 256)
    b, body = map_kernel(lambda p, q: call("add", p, q), [x, y], out)
    return b, body, out, lambda: x + y


def add_large():  # noqa: ANN201
    x, y, out = torch.randn(4096, 4096), torch.randn(4096, 4096), torch.empty(4096, 4096)
    b, body = map_kernel(lambda p, q: call("add", p, q), [x, y], out)
    return b, body, out, lambda: x + y


def transpose_copy():  # noqa: ANN201
    x, out = torch.randn(1024, 1024), torch.empty(1024, 1024)
    b, body = map_kernel(lambda p: p, [x.t()], out)
    return b, body, out, lambda: x.t().contiguous()


def column_sum():  # noqa: ANN201
    x, out = torch.randn(2048, 768), torch.empty(768)
    b = Builder()
    v, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(2048), b.axis(768)
    s = b.var(F32)
    body = nest([j], ["vector"], [Fold((i,), (), (Accumulator(s, "sum", at(v, i, j)),), False), put(o, [j], s)])
    return b, body, out, lambda: x.sum(0)


def row_sum():  # noqa: ANN201
    x, out = torch.randn(256, 768), torch.empty(256)
    b = Builder()
    v, o = b.tensor(x), b.tensor(out)
    i, j = b.axis(256), b.axis(768)
    s = b.var(F32)
    body = nest([i], ["parallel"], [Fold((j,), (), (Accumulator(s, "sum", at(v, i, j)),)), put(o, [i], s)])
    return b, body, out, lambda: x.sum(1)


CASES: dict[str, Callable] = {c.__name__: c for c in (
    pointwise_chain, ln_gelu_residual, softmax, bias_gelu, tanh_map, add_small, add_large, transpose_copy, column_sum,
    row_sum)}


def cpu_ms(fn: Callable[[], object], n: int = 7) -> float:
    best = math.inf
    for _ in range(n):
        t = time.thread_time()
        fn()
        best = min(best, time.thread_time() - t)
    return best * 1e3


def fastest(*fns: Callable[[], object], seconds: float = 1.0) -> list[float]:
    """Milliseconds of each, the fastest of calls made in turn."""
    best = [math.inf] * len(fns)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for k, fn in enumerate(fns):
            for _ in range(3):
                t = time.perf_counter()
                fn()
                best[k] = min(best[k], time.perf_counter() - t)
    return [b * 1e3 for b in best]


def compile_times(kernel) -> tuple[float, float, float, int]:  # noqa: ANN001
    cpu = host()
    text, entries = module.print_module([kernel], cpu)
    printed = cpu_ms(lambda: module.print_module([kernel], cpu))
    compiled = cpu_ms(lambda: machine(cpu).emit_object(llvm().parse_assembly(text)))
    from pellucid.codegen.types import Unit

    unit = Unit(text, jit.assemble(text, cpu), entries)
    linked = cpu_ms(lambda: jit.load(unit))
    return printed, compiled, linked, text.count("\n")


def main() -> None:
    torch.set_num_threads(1)
    names = sys.argv[1:] or list(CASES)
    print(f"{'kernel':18s} {'ours ms':>9s} {'eager ms':>9s} {'ratio':>6s}   print compile link ms  lines")
    kernels = []
    for name in names:
        b, body, out, eager = CASES[name]()
        kernel = b.kernel(body, name)
        kernels.append(kernel)
        printed, compiled, linked, lines = compile_times(kernel)
        text, entries = module.print_module([kernel], host())
        from pellucid.codegen.types import Unit

        loaded = jit.load(Unit(text, jit.assemble(text, host()), entries))
        entry = ENTRY(loaded.addresses[name])
        pointers = (ctypes.c_void_p * len(b.tensors))(*[t.data_ptr() for t in b.tensors])
        status = ctypes.c_int32(0)
        extent = b.extent(kernel)
        run = functools.partial(entry, pointers, None, 0, extent, ctypes.byref(status))
        ours, theirs = fastest(run, eager)
        want = eager()
        error = (out - want).abs().max() / want.abs().max()
        assert error < 1e-5, f"{name}: relative error {error}"
        times = f"{printed:5.2f} {compiled:7.2f} {linked:4.2f}"
        print(f"{name:18s} {ours:9.3f} {theirs:9.3f} {theirs / ours:6.2f}   {times}     {lines:5d}", flush=True)
    cpu = host()
    text, _ = module.print_module(kernels, cpu)
    whole = cpu_ms(lambda: machine(cpu).emit_object(llvm().parse_assembly(text)), 3)
    printed = cpu_ms(lambda: module.print_module(kernels, cpu), 3)
    print(f"all {len(kernels)} in one module: {whole / len(kernels):.2f} ms a kernel to compile, "
          f"{printed / len(kernels):.2f} to print")


if __name__ == "__main__":
    main()

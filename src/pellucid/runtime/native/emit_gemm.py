"""Emits matrix products: the BLAS inside torch called by address, and dot products of our own where m is 1."""

from __future__ import annotations

from .builder import LIKELY, UNLIKELY, Function, Value
from .emit_base import F32, F64, I32, I64, PTR, VOID, Base
from .emit_steps import parallel
from .records import FRAME, GEMM_STEP, Record

BLAS_SIGNATURE = [PTR] * 13
ROWS = 4
"""Dot products computed side by side."""
BATCH_JOB = Record("step", "frame")
DOT_JOB = Record("n", "k", "w", "ldw", "x", "y", "bias", "bias_stride", "alpha")
BATCH_WORK = 1 << 18
"""Multiply-adds below which a batch is not split over threads."""
DOT_WORK = 1 << 16


def emit_gemm(b: Base) -> None:
    _emit_dots(b)
    _emit_one(b)
    m = b.m
    with m.function("gemm_part", VOID, [("job", PTR)], cold=True) as (f, job):
        begin, end = f.slot(I64), f.slot(I64)
        s, frame = f.load(PTR, job, BATCH_JOB.step), f.load(PTR, job, BATCH_JOB.frame)
        batch = f.element(I64, f.load(PTR, frame, FRAME.values), f.load(I64, s, GEMM_STEP.batch))
        f.call(b.own("my_part"), batch, begin, end)
        with f.for_(f.load(I64, end), f.load(I64, begin)) as i:
            f.call(b.own("gemm_one"), s, frame, i, 0)
        f.ret()
    with m.function("gemm_step", VOID, [("step", PTR), ("frame", PTR)], cold=True) as (f, s, frame):
        values = f.load(PTR, frame, FRAME.values)
        batch, mm, n, k = (f.element(I64, values, f.load(I64, s, x)) for x in (
            GEMM_STEP.batch, GEMM_STEP.m, GEMM_STEP.n, GEMM_STEP.k))
        with f.if_(batch == 1, LIKELY):
            f.call(b.own("gemm_one"), s, frame, 0, 1)
            f.ret()
        threads = f.variable(I64, 1)
        with f.if_(batch * mm * n * k >= BATCH_WORK):
            threads.set(f.smin(f.call(b.own("threads"), frame), batch))
        with f.if_(threads.get() > 1) as many:
            job = f.slot("i8", BATCH_JOB.size, 16)
            f.store(s, job, BATCH_JOB.step)
            f.store(frame, job, BATCH_JOB.frame)
            parallel(f, b, "gemm_part", job, threads.get())
        with many.else_():
            with f.for_(batch) as i:
                f.call(b.own("gemm_one"), s, frame, i, 1)
        f.ret()


def _emit_one(b: Base) -> None:
    """gemm_one(step, frame, batch number, may_split): one matrix product."""
    m = b.m
    letters = {t: m.string(t) for t in "NT"}
    with m.function("gemm_one", VOID, [("step", PTR), ("frame", PTR), ("i", I64), ("may_split", I64)]) as (
            f, s, frame, i, may_split):
        values, buffers = f.load(PTR, frame, FRAME.values), f.load(PTR, frame, FRAME.buffers)

        def val(field: int) -> Value:
            return f.element(I64, values, f.load(I64, s, field))

        itemsize = f.load(I64, s, GEMM_STEP.itemsize)

        def place(buffer: int, offset: int, batch: int) -> Value:
            start = f.element(PTR, buffers, f.load(I64, s, buffer))
            return start + (val(offset) + val(batch) * i) * itemsize

        mm, n, k = val(GEMM_STEP.m), val(GEMM_STEP.n), val(GEMM_STEP.k)
        with f.if_((mm == 0) | (n == 0), UNLIKELY):
            f.ret()
        pa = place(GEMM_STEP.a, GEMM_STEP.a_offset, GEMM_STEP.a_batch)
        pb = place(GEMM_STEP.b, GEMM_STEP.b_offset, GEMM_STEP.b_batch)
        pc = place(GEMM_STEP.c, GEMM_STEP.c_offset, GEMM_STEP.c_batch)
        lda, ldb, ldc = val(GEMM_STEP.lda), val(GEMM_STEP.ldb), val(GEMM_STEP.ldc)
        has_bias = f.load(I64, s, GEMM_STEP.bias) >= 0
        bias = f.variable(PTR, None)
        row, column = f.variable(I64, 0), f.variable(I64, 0)
        with f.if_(has_bias):
            bias.set(place(GEMM_STEP.bias, GEMM_STEP.bias_offset, GEMM_STEP.bias_batch))
            row.set(val(GEMM_STEP.bias_row))
            column.set(val(GEMM_STEP.bias_column))
        alpha = f.load(F64, s, GEMM_STEP.alpha)
        with f.if_((f.load(I64, s, GEMM_STEP.dot) != 0) & (mm == 1)):
            job = f.slot("i8", DOT_JOB.size, 16)
            for value, at in ((n, DOT_JOB.n), (k, DOT_JOB.k), (pb, DOT_JOB.w), (ldb, DOT_JOB.ldw), (pa, DOT_JOB.x),
                              (pc, DOT_JOB.y), (bias.get(), DOT_JOB.bias), (column.get(), DOT_JOB.bias_stride),
                              (alpha, DOT_JOB.alpha)):
                f.store(value, job, at)
            threads = f.variable(I64, 1)
            with f.if_((may_split != 0) & (n * k >= 2 * DOT_WORK)):
                threads.set(f.smin(f.call(b.own("threads"), frame), (n * k) / DOT_WORK))
            with f.if_(threads.get() > 1) as many:
                parallel(f, b, "dots_part", job, threads.get())
            with many.else_():
                f.call(b.own("dots"), job, 0, n)
            f.ret()
        with f.if_(has_bias):
            f.call(b.own("fill_rows"), pc, ldc, mm, n, bias.get(), row.get(), column.get(), itemsize)
        ints = f.slot(I32, 6)
        # BLAS is column-major: C' (n x m) = B' A'. A leading dimension is at least the length of its columns.
        ta, tb = f.load(I64, s, GEMM_STEP.trans_a) != 0, f.load(I64, s, GEMM_STEP.trans_b) != 0
        lda = f.smax(lda, f.select(ta, mm, k))
        ldb = f.smax(ldb, f.select(tb, k, n))
        for j, x in enumerate((n, mm, k, f.smax(ldb, 1), f.smax(lda, 1), f.smax(ldc, n))):
            f.store(f.trunc(x, I32), f.index(ints, j, I32))
        scale, zero_one = f.slot(F64), f.slot(F64)
        with f.if_(f.load(I64, s, GEMM_STEP.double) != 0) as double:
            f.store(alpha, scale)
            f.store(f.convert(f.zext(has_bias), F64, "sitofp"), zero_one)
        with double.else_():
            f.store(f.convert(alpha, F32, "fptrunc"), scale)
            f.store(f.convert(f.zext(has_bias), F32, "sitofp"), zero_one)
        n_, t_ = letters["N"].at(f), letters["T"].at(f)
        numbers = [f.index(ints, j, I32) for j in range(6)]
        f.call(f.load(PTR, s, GEMM_STEP.function), f.select(tb, t_, n_, PTR), f.select(ta, t_, n_, PTR), *numbers[:3],
               scale, pb, numbers[3], pa, numbers[4], zero_one, pc, numbers[5], ret=VOID, params=BLAS_SIGNATURE)
        f.ret()


def _emit_dots(b: Base) -> None:
    """y[j] = alpha * dot(w[j], x) + bias[j], w's rows contiguous: ROWS rows at a time, in vectors."""
    m = b.m
    w = b.vector_bytes // 4
    vec = f"<{w} x float>"
    mask_t = f"<{w} x i1>"
    fma = m.extern(f"llvm.fma.v{w}f32", vec, [vec, vec, vec])
    lanes = m.extern(f"llvm.get.active.lane.mask.v{w}i1.i64", mask_t, [I64, I64])
    masked = m.extern(f"llvm.masked.load.v{w}f32.p0", vec, [PTR, mask_t, vec])
    total = m.extern(f"llvm.vector.reduce.fadd.v{w}f32", F32, [F32, vec])

    def raw(f: Function, type: str, text: str) -> Value:
        return f.emit(type, text)

    def load(f: Function, p: Value) -> Value:
        return raw(f, vec, f"load {vec}, ptr {p.name}, align 4")

    zero = "zeroinitializer"

    def rows(f: Function, job: Value, first: Value, count: int) -> None:
        """Rows first .. first + count - 1."""
        k, ldw = f.load(I64, job, DOT_JOB.k), f.load(I64, job, DOT_JOB.ldw)
        x, weights = f.load(PTR, job, DOT_JOB.x), f.load(PTR, job, DOT_JOB.w)
        at = [f.index(weights, (first + r) * ldw, F32) for r in range(count)]
        sums = [f.variable(vec) for _ in range(count)]
        for s in sums:
            f.line(f"store {vec} {zero}, ptr {s.slot.name}")
        whole = k & -w
        with f.for_(whole, 0, w) as i:
            xs = load(f, f.index(x, i, F32))
            for s, row in zip(sums, at):
                s.set(f.call(fma, load(f, f.index(row, i, F32)), xs, s.get()))
        with f.if_(whole < k):
            mask = f.call(lanes, whole, k)
            none = Value(f, vec, zero)
            xs = f.call(masked, f.index(x, whole, F32), mask, none)
            for s, row in zip(sums, at):
                s.set(f.call(fma, f.call(masked, f.index(row, whole, F32), mask, none), xs, s.get()))
        alpha = f.convert(f.load(F64, job, DOT_JOB.alpha), F32, "fptrunc")
        bias, y = f.load(PTR, job, DOT_JOB.bias), f.load(PTR, job, DOT_JOB.y)
        for r, s in enumerate(sums):
            name = raw(f, F32, f"call reassoc float @llvm.vector.reduce.fadd.v{w}f32(float -0.0, {vec} {s.get().name})")
            value = f.variable(F32, raw(f, F32, f"fmul float {name.name}, {alpha.name}"))
            with f.if_(bias != 0):
                add = f.load(F32, f.index(bias, (first + r) * f.load(I64, job, DOT_JOB.bias_stride), F32))
                value.set(raw(f, F32, f"fadd float {value.get().name}, {add.name}"))
            f.store(value.get(), f.index(y, first + r, F32))

    assert total.ret == F32
    with m.function("dots", VOID, [("job", PTR), ("begin", I64), ("end", I64)]) as (f, job, begin, end):
        whole = begin + ((end - begin) & -ROWS)
        with f.for_(whole, begin, ROWS) as j:
            rows(f, job, j, ROWS)
        with f.for_(end, whole) as j:
            rows(f, job, j, 1)
        f.ret()
    with m.function("dots_part", VOID, [("job", PTR)], cold=True) as (f, job):
        begin, end = f.slot(I64), f.slot(I64)
        f.call(b.own("my_part"), f.load(I64, job, DOT_JOB.n), begin, end)
        f.call(b.own("dots"), job, f.load(I64, begin), f.load(I64, end))
        f.ret()
    # c[r, :] = bias[r * row : : column]
    with m.function("fill_rows", VOID, [("c", PTR), ("ldc", I64), ("m", I64), ("n", I64), ("bias", PTR), ("row", I64),
                                        ("column", I64), ("itemsize", I64)], cold=True) as (
            f, c, ldc, mm, n, bias, row, column, itemsize):
        with f.for_(mm) as r:
            to, source = c + r * ldc * itemsize, bias + r * row * itemsize
            with f.if_(column == 1, LIKELY) as dense:
                f.call(b.c("memcpy"), to, source, n * itemsize)
            with dense.else_():
                with f.for_(n) as j:
                    a, z = source + j * column * itemsize, to + j * itemsize
                    with f.if_(itemsize == 4) as single:
                        f.store(f.load(I32, a), z)
                    with single.else_():
                        f.store(f.load(I64, a), z)
        f.ret()

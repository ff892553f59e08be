"""Emits the interpreter of a plan's steps: kernels, alone or over torch's threads, and calls of torch's operators."""

from __future__ import annotations

from .builder import LIKELY, UNLIKELY, Function, Value
from .emit_base import I32, I64, PTR, VOID, Base, fail
from .records import (
    CALL_STEP,
    CPP_ERROR,
    FINE,
    FRAME,
    GEMM_STEP,
    HANDLE,
    INDEX_FAILED,
    INTEGER,
    KERNEL_STEP,
    PLAN,
    PYTHON_ERROR,
    PYTHON_STEP,
    RAW,
    RETURN,
    RETURN_POINTER,
    STEP_CALL,
    STEP_GEMM,
    STEP_KERNEL,
    TENSOR,
    TENSOR_POINTER,
    VALUE,
    VALUES_POINTER,
    Record,
)

KERNEL_SIGNATURE = [PTR, PTR, I64, I64, PTR]
JOB = Record("function", "buffers", "sizes", "extent", "status")
MAX_HANDLES, MAX_INTEGERS, MAX_RETURNS, MAX_DOUBLES = 16, 24, 4, 4


def emit_steps(b: Base) -> None:
    _emit_threads(b)
    _emit_kernel(b)
    _emit_call(b)
    _emit_python(b)


def emit_interpreter(b: Base) -> None:
    m = b.m
    # Runs all steps; the code is left in the frame.
    with m.function("run_steps", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        step = f.variable(PTR, f.load(PTR, plan, PLAN.step_words))
        with f.for_(f.load(I64, plan, PLAN.steps)) as i:
            s = step.get()
            f.store(i, frame, FRAME.step)
            op = f.load(I64, s)
            with f.if_(op == STEP_KERNEL, LIKELY) as kernel:
                f.call(b.own("kernel_step"), s, frame)
            with kernel.else_():
                with f.if_(op == STEP_GEMM, LIKELY) as gemm:
                    f.call(b.own("gemm_step"), s, frame)
                with gemm.else_():
                    with f.if_(op == STEP_CALL) as call:
                        f.call(b.own("call_step"), s, frame)
                    with call.else_():
                        f.call(b.own("python_step"), s, frame)
            with f.if_(f.load(I64, frame, FRAME.code) != FINE, UNLIKELY):
                f.ret()
            step.set(f.index(s, f.load(I64, s, 8)))
        f.ret()


def _emit_threads(b: Base) -> None:
    m = b.m
    # The number of threads that this call may use: torch's, or 1 inside a parallel region or a forked child.
    with m.function("threads", I64, [("frame", PTR)], cold=True) as (f, frame):
        known = f.load(I64, frame, FRAME.threads)
        with f.if_(known != 0, LIKELY):
            f.ret(known)
        n = f.variable(I64, 1)
        with f.if_(f.load(I64, b.data(f, "forked")) == 0):
            with f.if_(f.call(b.torch("in_parallel_region")) ^ 1):
                n.set(f.sext(f.call(b.torch("num_threads"))))
        f.store(n.get(), frame, FRAME.threads)
        f.ret(n.get())

    # This thread's part [begin, end) of `extent` iterations: static chunks.
    with m.function("my_part", VOID, [("extent", I64), ("begin", PTR), ("end", PTR)], cold=True) as (
            f, extent, begin, end):
        t, n = f.sext(f.call(b.c("omp_get_thread_num"))), f.sext(f.call(b.c("omp_get_num_threads")))
        chunk = (extent + n - 1) / n
        first = f.smin(t * chunk, extent)
        f.store(first, begin)
        f.store(f.smin(first + chunk, extent), end)
        f.ret()


def parallel(f: Function, b: Base, body: str, job: Value, threads: Value) -> None:
    """Run function `body`(job) on `threads` threads of torch's pool."""
    f.call(b.c("GOMP_parallel"), Value(f, PTR, f"@{body}"), job, f.trunc(threads, I32), 0)


def _emit_kernel(b: Base) -> None:
    m = b.m
    with m.function("kernel_part", VOID, [("job", PTR)], cold=True) as (f, job):
        begin, end = f.slot(I64), f.slot(I64)
        f.call(b.own("my_part"), f.load(I64, job, JOB.extent), begin, end)
        first, last = f.load(I64, begin), f.load(I64, end)
        with f.if_(first < last):
            f.call(f.load(PTR, job, JOB.function), f.load(PTR, job, JOB.buffers), f.load(PTR, job, JOB.sizes), first,
                   last,
                   f.load(PTR, job, JOB.status), ret=VOID, params=KERNEL_SIGNATURE)
        f.ret()
    with m.function("kernel_step", VOID, [("step", PTR), ("frame", PTR)]) as (f, s, frame):
        buffers, values = f.load(PTR, frame, FRAME.buffers), f.load(PTR, frame, FRAME.values)
        mine = f.load(PTR, frame, FRAME.scratch)
        with f.for_(f.load(I64, s, KERNEL_STEP.buffers)) as i:
            f.store(f.element(PTR, buffers, f.element(I64, s + KERNEL_STEP.size, i)), f.index(mine, i))
        function, status = f.load(PTR, s, KERNEL_STEP.function), frame + FRAME.status
        sizes = f.index(values, f.load(I64, s, KERNEL_STEP.sizes))
        extent = f.element(I64, values, f.load(I64, s, KERNEL_STEP.extent))
        grain = f.smax(f.element(I64, values, f.load(I64, s, KERNEL_STEP.grain)), 1)
        threads = f.variable(I64, 1)
        with f.if_(extent >= grain * 2, UNLIKELY):
            threads.set(f.smin(f.call(b.own("threads"), frame), extent / grain))
        with f.if_(threads.get() > 1, UNLIKELY) as many:
            job = f.slot("i8", JOB.size, 16)
            for value, at in ((function, JOB.function), (mine, JOB.buffers), (sizes, JOB.sizes), (extent, JOB.extent),
                              (status, JOB.status)):
                f.store(value, job, at)
            parallel(f, b, "kernel_part", job, threads.get())
        with many.else_():
            f.call(function, mine, sizes, 0, extent, status, ret=VOID, params=KERNEL_SIGNATURE)
        with f.if_(f.load(I64, s, KERNEL_STEP.can_raise) != 0, UNLIKELY):
            with f.if_(f.load(I32, status) != 0, UNLIKELY):
                f.store(INDEX_FAILED, frame, FRAME.code)
        f.ret()


def _emit_call(b: Base) -> None:
    """A call of a C function of the shim: integers, pointers and doubles in, tensors out.

    By the C calling convention doubles and integers are counted apart, and arguments beyond a function's own are not
    looked at, so one call with the most of each serves every function.
    """
    m = b.m
    # *out = an at::Tensor handle for a HANDLE record: the input's own, or a temporary. Returns whether it is temporary.
    with m.function("operand", "i1", [("h", PTR), ("frame", PTR), ("out", PTR)], cold=True) as (f, h, frame, out):
        number = f.load(I64, h, HANDLE.input)
        with f.if_(number >= 0):
            f.store(f.element(PTR, f.load(PTR, frame, FRAME.args), number) + b.o.handle, out)
            f.ret(0)
        values = f.load(PTR, frame, FRAME.values)
        start = f.element(PTR, f.load(PTR, frame, FRAME.buffers), f.load(I64, h, HANDLE.buffer))
        data = start + f.element(I64, values, f.load(I64, h, HANDLE.offset)) * f.load(I64, h, HANDLE.itemsize)
        code = f.call(b.own("make_handle"), data, f.load(I64, h, HANDLE.ndim),
                      f.index(values, f.load(I64, h, HANDLE.shape)), f.index(values, f.load(I64, h, HANDLE.strides)),
                      f.load(I64, h, HANDLE.dtype), out)
        with f.if_(code != 0, UNLIKELY):
            fail(f, b, frame, CPP_ERROR, m.string("a temporary tensor could not be made").at(f))
            f.store(None, out)
            f.ret(0)
        f.ret(1)

    # Frees the temporary tensor of a handle.
    with m.function("drop", VOID, [("handle", PTR)], cold=True) as (f, handle):
        with f.if_(handle != 0):
            f.call(b.c("aoti_torch_delete_tensor_object"), handle)
        f.ret()

    # Puts a returned tensor where its RETURN record says; the handle is consumed.
    with m.function("take_return", VOID, [("r", PTR), ("frame", PTR), ("handle", PTR)], cold=True) as (
            f, r, frame, handle):
        number = f.load(I64, r, RETURN.buffer)
        with f.if_((number < 0) | (handle == 0)):
            f.call(b.own("drop"), handle)
            f.ret()
        values, buffers = f.load(PTR, frame, FRAME.values), f.load(PTR, frame, FRAME.buffers)
        shape, strides = (f.index(values, f.load(I64, r, k)) for k in (RETURN.shape, RETURN.strides))
        ndim, itemsize = f.load(I64, r, RETURN.ndim), f.load(I64, r, RETURN.itemsize)
        impl = f.load(PTR, handle)
        n, sizes_, strides_ = b.sizes_strides(f, impl)
        same = f.variable("i1", n == ndim)
        with f.if_(same.get()):
            with f.for_(ndim) as d:
                size = f.element(I64, shape, d)
                fits = (f.element(I64, sizes_, d) == size) & (
                    (f.element(I64, strides_, d) == f.element(I64, strides, d)) | (size <= 1))
                same.set(same.get() & fits)
        new = f.load(I64, r, RETURN.new)
        with f.if_(same.get() & (f.load(I64, r, RETURN.adopt) != 0), LIKELY) as adopt:
            f.store(b.data_pointer(f, impl, itemsize), f.index(buffers, number))
            with f.if_(new >= 0) as output:
                f.store(impl, f.index(f.load(PTR, frame, FRAME.news), new))
                f.store(Value(f, PTR, m.variable_extern("_ZN3c1019UndefinedTensorImpl10_singletonE")), handle)
                f.call(b.own("drop"), handle)
            with output.else_():
                count = f.load(I64, frame, FRAME.kept_count)
                f.store(handle, f.index(f.load(PTR, frame, FRAME.kept), count))
                f.store(count + 1, frame, FRAME.kept_count)
        with adopt.else_():
            with f.if_(new >= 0):
                f.call(b.own("new_tensor"), f.load(PTR, frame, FRAME.plan), frame, new)
            start = f.element(PTR, buffers, number)
            data = start + f.element(I64, values, f.load(I64, r, RETURN.offset)) * itemsize
            to = f.slot(PTR)
            f.store(None, to)
            code = f.variable(I32, f.call(b.own("make_handle"), data, ndim, shape, strides,
                                          f.load(I64, r, RETURN.dtype), to))
            with f.if_(code.get() == 0):
                code.set(f.call(b.c("aoti_torch_copy_"), f.load(PTR, to), handle, 0))
            f.call(b.own("drop"), f.load(PTR, to))
            f.call(b.own("drop"), handle)
            with f.if_(code.get() != 0, UNLIKELY):
                fail(f, b, frame, CPP_ERROR, m.string("a result could not be copied to its place").at(f))
        f.ret()

    with m.function("call_step", VOID, [("step", PTR), ("frame", PTR)], cold=True) as (f, s, frame):
        handles, temporary = f.slot(PTR, MAX_HANDLES), f.slot(I64, MAX_HANDLES)
        integers, returns = f.slot(I64, MAX_INTEGERS), f.slot(PTR, MAX_RETURNS)
        doubles = f.slot("double", MAX_DOUBLES)
        values = f.load(PTR, frame, FRAME.values)
        count = f.load(I64, s, CALL_STEP.handles)
        at = s + CALL_STEP.size
        with f.for_(count) as i:
            made = f.call(b.own("operand"), at + i * HANDLE.size, frame, f.index(handles, i))
            f.store(f.zext(made), f.index(temporary, i))
        at = at + count * HANDLE.size
        n = f.load(I64, s, CALL_STEP.integers)
        for i in range(MAX_RETURNS):
            f.store(None, f.index(returns, i))
        with f.for_(n) as i:
            r = at + i * INTEGER.size
            payload, slot = f.load(I64, r, INTEGER.payload), f.index(integers, i)
            with f.switch(f.load(I64, r, INTEGER.kind), [VALUE, TENSOR, TENSOR_POINTER, VALUES_POINTER,
                                                         RETURN_POINTER, RAW]
                          ) as kinds:
                with kinds.case(VALUE):
                    f.store(f.element(I64, values, payload), slot)
                with kinds.case(TENSOR):
                    f.store(f.element(I64, handles, payload), slot)
                with kinds.case(TENSOR_POINTER):
                    f.store(f.index(handles, payload), slot)
                with kinds.case(VALUES_POINTER):
                    f.store(f.index(values, payload), slot)
                with kinds.case(RETURN_POINTER):
                    f.store(f.index(returns, payload), slot)
                with kinds.case(RAW):
                    f.store(payload, slot)
        at = at + n * INTEGER.size
        first_return, ret_count = at, f.load(I64, s, CALL_STEP.returns)
        at = at + ret_count * RETURN.size
        with f.for_(f.load(I64, s, CALL_STEP.doubles)) as i:
            f.store(f.element(I64, at, i), f.index(doubles, i))
        with f.if_(f.load(I64, frame, FRAME.code) == FINE, LIKELY):
            arguments = [f.element(I64, integers, i) for i in range(MAX_INTEGERS)]
            arguments += [f.element("double", doubles, i) for i in range(MAX_DOUBLES)]
            code = f.call(f.load(PTR, s, CALL_STEP.function), *arguments, ret=I32,
                          params=[I64] * MAX_INTEGERS + ["double"] * MAX_DOUBLES)
            with f.if_(code != 0, UNLIKELY) as bad:
                fail(f, b, frame, CPP_ERROR, m.string("torch's operator raised an error").at(f))
            with bad.else_():
                with f.for_(ret_count) as i:
                    f.call(b.own("take_return"), first_return + i * RETURN.size, frame, f.element(PTR, returns, i))
        with f.for_(count) as i:
            with f.if_(f.element(I64, temporary, i) != 0):
                f.call(b.own("drop"), f.element(PTR, handles, i))
        f.ret()


def _emit_python(b: Base) -> None:
    m = b.m
    # A tuple of `count` Python tensors by HANDLE records, or null with an error set.
    with m.function("tensor_tuple", PTR, [("records", PTR), ("count", I64), ("frame", PTR)], cold=True) as (
            f, records, count, frame):
        with f.catching() as catch:
            made = f.call(b.c("PyTuple_New"), count)
            handle = f.slot(PTR)
            with f.for_(count) as i:
                h = records + i * HANDLE.size
                number = f.load(I64, h, HANDLE.input)
                slot = f.index(made + TUPLE_ITEMS, i)
                with f.if_(number >= 0) as own:
                    obj = f.element(PTR, f.load(PTR, frame, FRAME.args), number)
                    f.call(b.c("Py_IncRef"), obj)
                    f.store(obj, slot)
                with own.else_():
                    f.call(b.own("operand"), h, frame, handle)
                    f.store(f.call(b.torch("wrap_shared"), f.load(PTR, handle)), slot)
                    f.call(b.own("drop"), f.load(PTR, handle))
            f.ret(made)
        with catch.handler() as message:
            fail(f, b, frame, CPP_ERROR, message)
        f.ret(None)

    with m.function("python_step", VOID, [("step", PTR), ("frame", PTR)], cold=True) as (f, s, frame):
        n_in, n_out = f.load(I64, s, PYTHON_STEP.ins), f.load(I64, s, PYTHON_STEP.outs)
        at = s + PYTHON_STEP.size
        pair = f.slot(PTR, 2)
        ins = f.call(b.own("tensor_tuple"), at, n_in, frame)
        with f.if_(ins == 0, UNLIKELY):
            f.ret()
        outs = f.call(b.own("tensor_tuple"), at + n_in * HANDLE.size, n_out, frame)
        with f.if_(outs == 0, UNLIKELY):
            f.call(b.c("Py_DecRef"), ins)
            f.ret()
        f.store(ins, pair)
        f.store(outs, pair, 8)
        result = f.call(b.c("PyObject_Vectorcall"), f.load(PTR, s, PYTHON_STEP.function), pair, 2, None)
        with f.if_(result == 0, UNLIKELY) as bad:
            f.store(PYTHON_ERROR, frame, FRAME.code)
        with bad.else_():
            f.call(b.c("Py_DecRef"), result)
        f.call(b.c("Py_DecRef"), ins)
        f.call(b.c("Py_DecRef"), outs)
        f.ret()


TUPLE_ITEMS = tuple.__basicsize__
"""Where a tuple's items begin."""

__all__ = ["GEMM_STEP", "emit_steps", "parallel"]

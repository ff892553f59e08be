"""Emits a whole call of a plan: outputs, steps with or without the GIL, commits, results; and the built-in
`plan_run`."""

from __future__ import annotations

from .builder import LIKELY, UNLIKELY, Function, Value
from .emit_base import I32, I64, PTR, VOID, Base, fail
from .emit_steps import TUPLE_ITEMS
from .jit import PAYLOAD
from .records import (
    BAD_ARGUMENT,
    COMMIT,
    CPP_ERROR,
    FINE,
    FIXED,
    FRAME,
    INPUT,
    INPUT_ITSELF,
    INPUT_VIEW,
    NEW,
    NEW_TENSOR,
    NEW_VIEW,
    NO_MEMORY,
    OUTPUT,
    OUTPUT_ITSELF,
    OUTPUT_VIEW,
    PLACE,
    PLAN,
    PYTHON_ERROR,
)

STRONG = 0xFFFFFFFF
"""A storage's word 1 counts strong references in its low half; its top bit says that a Python object wraps it."""
COUNT = 8


def emit_run(b: Base) -> None:
    _emit_hold(b)
    _emit_commit(b)
    _emit_outputs(b)
    _emit_execute(b)
    _emit_error(b)
    _emit_run_bound(b)
    _emit_builtin(b)


def _emit_hold(b: Base) -> None:
    """While the GIL is released, inputs and their storages are held: another thread may drop or resize them."""
    m = b.m
    with m.function("hold_inputs", VOID, [("plan", PTR), ("frame", PTR)], cold=True) as (f, plan, frame):
        records, args = f.load(PTR, plan, PLAN.input_records), f.load(PTR, frame, FRAME.args)
        held = f.load(PTR, frame, FRAME.storages)
        with f.for_(f.load(I64, plan, PLAN.inputs)) as i:
            obj = f.element(PTR, args, i)
            f.call(b.c("Py_IncRef"), obj)
            f.store(None, f.index(held, i))
            with f.if_(f.load(I64, records + i * INPUT.size, INPUT.kind) == 0):
                storage = f.load(PTR, b.impl(f, obj), b.o.storage)
                f.store(storage, f.index(held, i))
                old = f.emit(I64, f"atomicrmw add ptr {(storage + COUNT).name}, i64 1 acq_rel")
                with f.if_(((old & STRONG) == 1) & (old < 0), UNLIKELY):
                    f.call(b.torch("storage_incref_pyobject"), storage)
        f.ret()

    # The last reference to a storage is given up by way of a tensor that dies with it.
    with m.function("free_storage", VOID, [("storage", PTR)], cold=True) as (f, storage):
        none = f.slot(I64)
        f.store(0, none)
        one = f.slot(I64)
        f.store(1, one)
        slot = f.slot(PTR)
        with f.catching() as catch:
            f.call(b.torch("empty_strided"), slot, none, 1, one, 1, 1, 0)
            impl = f.load(PTR, slot)
            f.store(storage, impl, b.o.storage)
            f.call(b.c("Py_DecRef"), f.call(b.torch("wrap"), slot))
            f.ret()
        with catch.handler():
            pass
        f.ret()

    with m.function("release_inputs", VOID, [("plan", PTR), ("frame", PTR)], cold=True) as (f, plan, frame):
        args, held = f.load(PTR, frame, FRAME.args), f.load(PTR, frame, FRAME.storages)
        with f.for_(f.load(I64, plan, PLAN.inputs)) as i:
            storage = f.element(PTR, held, i)
            with f.if_(storage != 0):
                with f.loop() as loop:
                    old = f.load(I64, storage, COUNT)
                    with f.if_((old & STRONG) == 1, UNLIKELY):
                        f.call(b.own("free_storage"), storage)
                        loop.break_()
                    pair = f.emit("{ i64, i1 }", f"cmpxchg ptr {(storage + COUNT).name}, i64 {old.name}, "
                                                 f"i64 {(old - 1).name} acq_rel acquire")
                    done = f.emit("i1", f"extractvalue {{ i64, i1 }} {pair.name}, 1")
                    with f.if_(done, LIKELY):
                        with f.if_(((old & STRONG) == 2) & (old < 0), UNLIKELY):
                            f.call(b.torch("storage_decref_pyobject"), storage)
                        loop.break_()
            f.call(b.c("Py_DecRef"), f.element(PTR, args, i))
        f.ret()


def _emit_commit(b: Base) -> None:
    """Writes to inputs that the caller sees: by copy_, which refuses what eager refuses and counts the version up."""
    m = b.m
    with m.function("commit", VOID, [("plan", PTR), ("frame", PTR)], cold=True) as (f, plan, frame):
        values, buffers = f.load(PTR, frame, FRAME.values), f.load(PTR, frame, FRAME.buffers)
        args, records = f.load(PTR, frame, FRAME.args), f.load(PTR, plan, PLAN.commit_records)
        handle = f.slot(PTR)
        with f.catching() as catch:
            with f.for_(f.load(I64, plan, PLAN.commits)) as i:
                r = records + i * COMMIT.size
                f.call(b.own("make_handle"), f.element(PTR, buffers, f.load(I64, r, COMMIT.buffer)),
                       f.load(I64, r, COMMIT.ndim), f.index(values, f.load(I64, r, COMMIT.shape)),
                       f.index(values, f.load(I64, r, COMMIT.strides)), f.load(I64, r, COMMIT.dtype), handle)
                target = f.element(PTR, args, f.load(I64, r, COMMIT.input)) + b.o.handle
                f.call(b.torch("copy_"), target, f.load(PTR, handle), 0)
                f.call(b.own("drop"), f.load(PTR, handle))
            inputs = f.load(PTR, plan, PLAN.input_records)
            with f.for_(f.load(I64, plan, PLAN.inputs)) as i:
                with f.if_(f.load(I64, inputs + i * INPUT.size, INPUT.written) != 0, UNLIKELY):
                    f.call(b.torch("bump_version"), f.element(PTR, args, i) + b.o.handle)
            f.ret()
        with catch.handler() as message:
            fail(f, b, frame, CPP_ERROR, message)
            f.call(b.own("drop"), f.load(PTR, handle))
        f.ret()


def _emit_outputs(b: Base) -> None:
    """make_outputs(plan, frame, results): Python objects, new references; false with the frame's code set."""
    m = b.m
    with m.function("view_of", PTR, [("frame", PTR), ("r", PTR), ("base", PTR)], cold=True) as (f, frame, r, base):
        values = f.load(PTR, frame, FRAME.values)
        n = f.load(I64, r, OUTPUT.ndim)
        offset, made = f.slot(I64, 2, 16), f.slot(PTR)
        impl = f.load(PTR, base)
        f.store(f.load(I64, impl, b.o.storage_offset) + f.element(I64, values, f.load(I64, r, OUTPUT.offset)), offset)
        f.store(1, offset, 8)  # the optional is engaged
        with f.catching() as catch:
            f.call(b.torch("as_strided"), made, base, f.index(values, f.load(I64, r, OUTPUT.shape)), n,
                   f.index(values, f.load(I64, r, OUTPUT.strides)), n, offset)
            f.ret(f.call(b.torch("wrap"), made))
        with catch.handler() as message:
            fail(f, b, frame, CPP_ERROR, message)
        f.ret(None)

    with m.function("wrap_new", PTR, [("frame", PTR), ("slot", PTR)]) as (f, frame, slot):
        with f.catching() as catch:
            made = f.call(b.torch("wrap"), slot)
            f.store(None, slot)
            with f.if_(made == 0, UNLIKELY):
                f.store(PYTHON_ERROR, frame, FRAME.code)
            f.ret(made)
        with catch.handler() as message:
            fail(f, b, frame, CPP_ERROR, message)
        f.ret(None)

    with m.function("make_outputs", VOID, [("plan", PTR), ("frame", PTR), ("results", PTR)]) as (
            f, plan, frame, results):
        args, news = f.load(PTR, frame, FRAME.args), f.load(PTR, frame, FRAME.news)
        records = f.load(PTR, plan, PLAN.output_records)
        count = f.load(I64, plan, PLAN.outputs)
        with f.for_(count) as i:
            f.store(None, f.index(results, i))
        with f.for_(count) as i:
            r = records + i * OUTPUT.size
            number = f.load(I64, r, OUTPUT.number)
            made = f.variable(PTR, None)
            with f.switch(f.load(I64, r, OUTPUT.kind), [NEW_TENSOR, INPUT_ITSELF, OUTPUT_ITSELF, INPUT_VIEW,
                                                        OUTPUT_VIEW,
                                                        NEW_VIEW]) as kinds:
                with kinds.case(NEW_TENSOR):
                    made.set(f.call(b.own("wrap_new"), frame, f.index(news, number)))
                for kind, table in ((INPUT_ITSELF, args), (OUTPUT_ITSELF, results)):
                    with kinds.case(kind):
                        obj = f.element(PTR, table, number)
                        f.call(b.c("Py_IncRef"), obj)
                        made.set(obj)
                for kind, table in ((INPUT_VIEW, args), (OUTPUT_VIEW, results)):
                    with kinds.case(kind):
                        made.set(f.call(b.own("view_of"), frame, r, f.element(PTR, table, number) + b.o.handle))
                with kinds.case(NEW_VIEW):
                    owner = f.call(b.own("wrap_new"), frame, f.index(news, number))
                    with f.if_(owner != 0, LIKELY):
                        made.set(f.call(b.own("view_of"), frame, r, owner + b.o.handle))
                        f.call(b.c("Py_DecRef"), owner)
            f.store(made.get(), f.index(results, i))
            with f.if_(made.get() == 0, UNLIKELY):
                with f.for_(i) as j:
                    f.call(b.c("Py_DecRef"), f.element(PTR, results, j))
                f.ret()
        f.ret()


def _emit_execute(b: Base) -> None:
    """execute(plan, frame): everything between binding and making outputs. The frame's code says how it went."""
    m = b.m
    with m.function("prepare", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        values, buffers = f.load(PTR, frame, FRAME.values), f.load(PTR, frame, FRAME.buffers)
        places = f.load(I64, plan, PLAN.places)
        with f.if_(places != 0):
            with f.if_(f.load(I64, plan, PLAN.stack_arena) != 0) as small:
                f.store(frame + f.load(I64, plan, PLAN.frame_bytes), frame, FRAME.arena)
            with small.else_():
                with f.if_(f.call(b.own("arena_enter"), plan, frame) ^ 1, UNLIKELY):
                    f.store(NO_MEMORY, frame, FRAME.code)
                    f.ret()
            arena, records = f.load(PTR, frame, FRAME.arena), f.load(PTR, plan, PLAN.place_records)
            with f.for_(places) as i:
                r = records + i * PLACE.size
                f.store(arena + f.element(I64, values, f.load(I64, r, PLACE.offset)),
                        f.index(buffers, f.load(I64, r, PLACE.buffer)))
        records = f.load(PTR, plan, PLAN.fixed_records)
        with f.for_(f.load(I64, plan, PLAN.fixed)) as i:
            r = records + i * FIXED.size
            f.store(f.load(PTR, r, FIXED.address), f.index(buffers, f.load(I64, r, FIXED.buffer)))
        records = f.load(PTR, plan, PLAN.new_records)
        with f.for_(f.load(I64, plan, PLAN.news)) as i:
            with f.if_(f.load(I64, records + i * NEW.size, NEW.adopted) == 0, LIKELY):
                f.call(b.own("new_tensor"), plan, frame, i)
        f.ret()

    with m.function("execute", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        f.call(b.own("prepare"), plan, frame)
        with f.if_(f.load(I64, frame, FRAME.code) == FINE, LIKELY):
            with f.if_(f.load(I64, plan, PLAN.hold) != 0, UNLIKELY):
                f.call(b.c("Py_IncRef"), f.load(PTR, plan, PLAN.owner))
                f.call(b.own("hold_inputs"), plan, frame)
                f.store(1, frame, FRAME.held)
            with f.if_(f.load(I64, plan, PLAN.release) != 0) as long:
                state = f.call(b.c("PyEval_SaveThread"))
                f.call(b.own("run_steps"), plan, frame)
                f.call(b.c("PyEval_RestoreThread"), state)
            with long.else_():
                f.call(b.own("run_steps"), plan, frame)
            with f.if_((f.load(I64, plan, PLAN.writes) != 0) & (f.load(I64, frame, FRAME.code) == FINE), UNLIKELY):
                f.call(b.own("commit"), plan, frame)
        f.ret()

    # Gives back what the call took, after its outputs were made.
    with m.function("finish", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        kept = f.load(PTR, frame, FRAME.kept)
        with f.for_(f.load(I64, frame, FRAME.kept_count)) as i:
            f.call(b.own("drop"), f.element(PTR, kept, i))
        with f.if_(f.load(PTR, frame, FRAME.chunk) != 0):
            f.call(b.own("arena_leave"), frame)
        with f.if_(f.load(I64, frame, FRAME.code) != FINE, UNLIKELY):
            news = f.load(PTR, frame, FRAME.news)
            with f.for_(f.load(I64, plan, PLAN.news)) as i:
                slot = f.index(news, i)
                with f.if_(f.load(PTR, slot) != 0):
                    obj = f.call(b.own("wrap_new"), frame, slot)
                    with f.if_(obj != 0):
                        f.call(b.c("Py_DecRef"), obj)
        f.ret()

    # After finish: the references of a call that released the GIL.
    with m.function("let_go", VOID, [("plan", PTR), ("frame", PTR)], cold=True) as (f, plan, frame):
        f.call(b.own("release_inputs"), plan, frame)
        f.call(b.c("Py_DecRef"), f.load(PTR, plan, PLAN.owner))
        f.ret()


def _emit_error(b: Base) -> None:
    """raise_failure(plan, frame): the Python exception for the frame's code, made by error_type(code, step,
    message)."""
    m = b.m
    build = m.extern("Py_BuildValue", PTR, [PTR], variadic=True)
    with m.function("raise_failure", VOID, [("plan", PTR), ("frame", PTR)], cold=True) as (f, plan, frame):
        code = f.load(I64, frame, FRAME.code)
        with f.if_(code == PYTHON_ERROR):
            f.ret()
        message = f.load(PTR, frame, FRAME.message)
        arguments = f.call(build, m.string("(LLLz)").at(f), code, f.load(I64, frame, FRAME.step),
                           f.sext(f.load(I32, frame, FRAME.status)), message)
        f.call(b.c("free"), message)
        with f.if_(arguments != 0):
            raiser = f.load(PTR, plan, PLAN.error_type)
            pair = f.slot(PTR)
            f.store(arguments, pair)
            made = f.call(b.c("PyObject_Vectorcall"), raiser, pair, 1, None)
            with f.if_(made != 0):
                f.call(b.c("PyErr_SetObject"), f.load(PTR, made, 8), made)
                f.call(b.c("Py_DecRef"), made)
            f.call(b.c("Py_DecRef"), arguments)
        f.ret()


def results_tuple(f: Function, b: Base, count: Value, results: Value) -> Value:
    """A tuple that takes over the references in `results`."""
    made = f.call(b.c("PyTuple_New"), count)
    f.call(b.c("memcpy"), made + TUPLE_ITEMS, results, count * 8)
    return made


def _emit_builtin(b: Base) -> None:
    m = b.m
    with m.function("plan_run", PTR, [("self", PTR), ("args", PTR), ("n", I64)], internal=False) as (f, self, args, n):
        plan = f.load(PTR, self, PAYLOAD)
        with f.if_(n != f.load(I64, plan, PLAN.inputs), UNLIKELY):
            f.call(b.own("raise_argument"), plan, -1)
            f.ret(None)
        types = b.data(f, "types", 4)
        bad = f.call(b.own("check_inputs"), plan, args, f.load(PTR, types), f.load(PTR, types, 8))
        with f.if_(bad >= 0, UNLIKELY):
            f.call(b.own("raise_argument"), plan, bad)
            f.ret(None)
        frame = f.stack(f.load(I64, plan, PLAN.frame_bytes) + f.load(I64, plan, PLAN.stack_arena))
        f.call(b.own("open_frame"), plan, frame, args)
        with f.if_(f.call(b.own("bind"), plan, frame) != FINE, UNLIKELY):
            f.call(b.own("raise_failure"), plan, frame)
            f.ret(None)
        f.ret(f.call(b.own("run_bound"), plan, frame, None))


def _emit_run_bound(b: Base) -> None:
    """raise_argument, and run_bound(plan, frame, outputs): runs a bound frame. With `outputs` null, the result object
    (a tuple,
     or the single output) or null with an error set; else outputs are stored there, and what went wrong is left
    in the frame."""
    m = b.m
    # Drops what is known of a failure that the caller deals with otherwise.
    with m.function("forget_failure", VOID, [("frame", PTR)], cold=True) as (f, frame):
        f.call(b.c("free"), f.load(PTR, frame, FRAME.message))
        f.store(None, frame, FRAME.message)
        f.call(b.c("PyErr_Clear"))
        f.ret()
    with m.function("raise_argument", VOID, [("plan", PTR), ("number", I64)], cold=True) as (f, plan, number):
        frame = f.slot("i8", FRAME.size, 16)
        for name in ("status", "message"):
            f.store(0, frame, getattr(FRAME, name))
        f.store(BAD_ARGUMENT, frame, FRAME.code)
        f.store(number, frame, FRAME.step)
        f.call(b.own("raise_failure"), plan, frame)
        f.ret()
    with m.function("run_bound", PTR, [("plan", PTR), ("frame", PTR), ("outputs", PTR)]) as (f, plan, frame, outputs):
        count = f.load(I64, plan, PLAN.outputs)
        results = f.variable(PTR, outputs)
        f.call(b.own("execute"), plan, frame)
        with f.if_(outputs == 0):
            # The scratch list is not needed after the last step.
            results.set(f.load(PTR, frame, FRAME.scratch))
        good = f.load(I64, frame, FRAME.code) == FINE
        with f.if_(good, LIKELY):
            f.call(b.own("make_outputs"), plan, frame, results.get())
        f.call(b.own("finish"), plan, frame)
        with f.if_(f.load(I64, frame, FRAME.held) != 0, UNLIKELY):
            f.call(b.own("let_go"), plan, frame)
        with f.if_(f.load(I64, frame, FRAME.code) != FINE, UNLIKELY):
            with f.if_(outputs == 0):
                f.call(b.own("raise_failure"), plan, frame)
            f.ret(None)
        f.store(f.load(I64, plan, PLAN.runs) + 1, plan, PLAN.runs)
        with f.if_(outputs != 0):
            f.ret(outputs)
        with f.if_(f.load(I64, plan, PLAN.single) != 0):
            f.ret(f.load(PTR, results.get()))
        f.ret(results_tuple(f, b, count, results.get()))

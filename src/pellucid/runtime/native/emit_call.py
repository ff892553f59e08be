"""Emits the call of a compiled callable: bind the arguments, find the entry that fits, run its plan, build the
result."""

from __future__ import annotations

from .builder import LIKELY, UNLIKELY, Function, Value
from .emit_base import F64, I8, I16, I32, I64, PTR, VOID, Base
from .emit_check import TYPE, emit_checks
from .emit_run import results_tuple
from .emit_steps import TUPLE_ITEMS
from .jit import PAYLOAD
from .records import (
    BUILD,
    CALL,
    ENTRY,
    FILL,
    FINE,
    FRAME,
    MAKE_DICT,
    MAKE_LIST,
    MAKE_TUPLE,
    PLAN,
    PUSH_CONSTANT,
    PUSH_OUTPUT,
    PUSH_REGISTER,
    PUSH_VALUE,
    RESULT_FINISH,
    RESULT_NONE,
    RESULT_OUTPUT,
    RESULT_RECIPE,
    SNAPSHOT,
)
from .vectorcall import VECTORCALL_OFFSET

ARGUMENTS = (1 << 63) - 1
"""The number of arguments is all but the top bit (PY_VECTORCALL_ARGUMENTS_OFFSET)."""
LIST_ITEMS = list.__basicsize__ - 16
"""Where a list keeps the pointer to its items: behind its length."""


def emit_call(b: Base) -> None:
    emit_checks(b)
    _emit_bind(b)
    _emit_fits(b)
    _emit_result(b)
    _emit_entry(b)
    _emit_builtin(b)


def _emit_bind(b: Base) -> None:
    m = b.m
    # Number of the parameter that a keyword names, or -1.
    with m.function("find_keyword", I64, [("call", PTR), ("name", PTR)], cold=True) as (f, call, name):
        names, n = f.load(PTR, call, CALL.names), f.load(I64, call, CALL.params)
        with f.for_(n) as i:
            with f.if_(f.element(PTR, names, i) == name):
                f.ret(i)
        with f.for_(n) as i:
            mine = f.element(PTR, names, i)
            with f.if_(mine != 0):
                with f.if_(f.call(b.c("PyUnicode_Compare"), mine, name) == 0):
                    f.ret(i)
        f.ret(-1)

    # Arguments to registers. 1: bound; 0: not (the slow path raises what Python would). New objects for *args and
    # **kwargs are left in their registers, to be released by drop_extra.
    with m.function("bind_arguments", I64,
                    [("call", PTR), ("args", PTR), ("n", I64), ("kwnames", PTR), ("regs", PTR)]) as (
            f, call, args, n, kwnames, regs):
        params = f.load(I64, call, CALL.params)
        first, limit = f.load(I64, call, CALL.first), f.load(I64, call, CALL.limit)
        varargs, varkw = f.load(I64, call, CALL.varargs), f.load(I64, call, CALL.varkw)
        with f.for_(params) as i:
            f.store(None, f.index(regs, i))
        receiver = f.load(PTR, call, CALL.receiver)
        with f.if_(receiver != 0):
            f.store(receiver, regs)
        room = limit - first
        given = f.smin(n, room)
        with f.for_(given) as i:
            f.store(f.element(PTR, args, i), f.index(regs, first + i))
        with f.if_(n > room, UNLIKELY):
            with f.if_(varargs < 0):
                f.ret(0)
        with f.if_(varargs >= 0, UNLIKELY):
            rest = f.smax(n - room, 0)
            extra = f.call(b.c("PyTuple_New"), rest)
            with f.for_(rest) as i:
                obj = f.element(PTR, args, room + i)
                f.call(b.c("Py_IncRef"), obj)
                f.store(obj, f.index(extra + TUPLE_ITEMS, i))
            f.store(extra, f.index(regs, varargs))
        with f.if_(varkw >= 0, UNLIKELY):
            f.store(f.call(b.c("PyDict_New")), f.index(regs, varkw))
        with f.if_(kwnames != 0):
            with f.for_(f.load(I64, kwnames, TUPLE_ITEMS - 8)) as i:
                name = f.element(PTR, kwnames + TUPLE_ITEMS, i)
                value = f.element(PTR, args, n + i)
                at = f.call(b.own("find_keyword"), call, name)
                with f.if_(at >= 0, LIKELY) as known:
                    slot = f.index(regs, at)
                    with f.if_(f.load(PTR, slot) != 0, UNLIKELY):
                        f.ret(0)
                    f.store(value, slot)
                with known.else_():
                    with f.if_(varkw < 0):
                        f.ret(0)
                    with f.if_(f.call(b.c("PyDict_SetItem"), f.element(PTR, regs, varkw), name, value) != 0):
                        f.call(b.c("PyErr_Clear"))
                        f.ret(0)
        defaults = f.load(PTR, call, CALL.defaults)
        with f.for_(params) as i:
            slot = f.index(regs, i)
            with f.if_(f.load(PTR, slot) == 0):
                default = f.element(PTR, defaults, i)
                with f.if_(default == 0, UNLIKELY):
                    f.ret(0)
                f.store(default, slot)
        f.ret(1)

    # Releases the new objects in the registers of *args and **kwargs (numbers, or -1).
    with m.function("drop_extra", VOID, [("regs", PTR), ("varargs", I64), ("varkw", I64)]) as (f, regs, varargs, varkw):
        for at in (varargs, varkw):
            with f.if_(at >= 0, UNLIKELY):
                obj = f.element(PTR, regs, at)
                with f.if_(obj != 0):
                    f.call(b.c("Py_DecRef"), obj)
        f.ret()

    # A tuple of the n parameters' values, for Python callables of an entry.
    with m.function("arguments_tuple", PTR, [("n", I64), ("regs", PTR)], cold=True) as (f, n, regs):
        with f.for_(n) as i:
            f.call(b.c("Py_IncRef"), f.element(PTR, regs, i))
        f.ret(results_tuple(f, b, n, regs))


def _emit_fits(b: Base) -> None:
    """entry_fits(params, entry, regs): whether all of the entry's conditions but the plan's hold; -1 with an error
    set."""
    m = b.m
    with m.function("entry_fits", I64, [("params", I64), ("entry", PTR), ("regs", PTR)]) as (f, params, entry, regs):
        with f.if_(f.load(I64, entry, ENTRY.stale) != 0, UNLIKELY):
            f.ret(0)
        with f.if_(f.call(b.own("arguments_fit"), f.load(PTR, entry, ENTRY.checks), regs) == 0):
            f.ret(0)
        with f.if_(f.call(b.own("probes_fit"), f.load(PTR, entry, ENTRY.probe_records),
                          f.load(I64, entry, ENTRY.probes))
                   == 0, UNLIKELY):
            f.ret(0)
        with f.if_(f.call(b.own("state_fits"), entry) == 0, UNLIKELY):
            f.store(1, entry, ENTRY.stale)
            f.ret(0)
        python = f.load(PTR, entry, ENTRY.python_check)
        with f.if_(python != 0, UNLIKELY):
            slot = f.slot(PTR)
            f.store(f.call(b.own("arguments_tuple"), params, regs), slot)
            result = f.call(b.c("PyObject_Vectorcall"), python, slot, 1, None)
            f.call(b.c("Py_DecRef"), f.load(PTR, slot))
            with f.if_(result == 0, UNLIKELY):
                f.ret(-1)
            truth = f.call(b.c("PyObject_IsTrue"), result)
            f.call(b.c("Py_DecRef"), result)
            f.ret(f.sext(truth))
        f.ret(1)


def _emit_result(b: Base) -> None:
    """build(entry, outputs, regs, values, work): the result by the entry's postfix program; takes no references."""
    m = b.m
    with m.function("build", PTR,
                    [("entry", PTR), ("outputs", PTR), ("regs", PTR), ("values", PTR), ("work", PTR)], cold=True) as (
            f, entry, outputs, regs, values, work):
        depth = f.variable(I64, 0)
        records = f.load(PTR, entry, ENTRY.result_records)
        with f.for_(f.load(I64, entry, ENTRY.result)) as i:
            r = records + i * BUILD.size
            x = f.load(I64, r, BUILD.operand)
            made = f.variable(PTR, None)
            count = f.variable(I64, 0)
            with f.switch(f.load(I64, r, BUILD.op), [PUSH_OUTPUT, PUSH_REGISTER, PUSH_CONSTANT, PUSH_VALUE, MAKE_TUPLE,
                                                     MAKE_LIST, MAKE_DICT]) as ops:
                for op, table in ((PUSH_OUTPUT, outputs), (PUSH_REGISTER, regs)):
                    with ops.case(op):
                        obj = f.element(PTR, table, x)
                        f.call(b.c("Py_IncRef"), obj)
                        made.set(obj)
                with ops.case(PUSH_CONSTANT):
                    obj = f.pointer(x)
                    f.call(b.c("Py_IncRef"), obj)
                    made.set(obj)
                with ops.case(PUSH_VALUE):
                    made.set(f.call(b.c("PyLong_FromLongLong"), f.element(I64, values, x)))
                with ops.case(MAKE_TUPLE):
                    count.set(x)
                    made.set(results_tuple(f, b, x, f.index(work, depth.get() - x)))
                with ops.case(MAKE_LIST):
                    count.set(x)
                    new = f.call(b.c("PyList_New"), x)
                    f.call(b.c("memcpy"), f.load(PTR, new, LIST_ITEMS), f.index(work, depth.get() - x), x * 8)
                    made.set(new)
                with ops.case(MAKE_DICT):
                    count.set(x * 2)
                    new = f.call(b.c("PyDict_New"))
                    base = f.index(work, depth.get() - x * 2)
                    with f.for_(x) as j:
                        key, value = f.element(PTR, base, j * 2), f.element(PTR, base, j * 2 + 1)
                        f.call(b.c("PyDict_SetItem"), new, key, value)
                        f.call(b.c("Py_DecRef"), key)
                        f.call(b.c("Py_DecRef"), value)
                    made.set(new)
            top = depth.get() - count.get()
            f.store(made.get(), f.index(work, top))
            depth.set(top + 1)
        f.ret(f.load(PTR, work))

    # finish(outputs tuple, arguments tuple)
    with m.function("call_finish", PTR,
                    [("params", I64), ("entry", PTR), ("outputs", PTR), ("count", I64), ("regs", PTR)],
                    cold=True) as (f, params, entry, outputs, count, regs):
        pair = f.slot(PTR, 2)
        outs = results_tuple(f, b, count, outputs)
        ins = f.call(b.own("arguments_tuple"), params, regs)
        f.store(outs, pair)
        f.store(ins, pair, 8)
        result = f.call(b.c("PyObject_Vectorcall"), f.load(PTR, entry, ENTRY.finish), pair, 2, None)
        f.call(b.c("Py_DecRef"), outs)
        f.call(b.c("Py_DecRef"), ins)
        f.ret(result)


def _emit_entry(b: Base) -> None:
    m = b.m
    # The entry's plan and result. *done = 0 where it does not fit after all, or a step failed before any commit.
    with m.function("run_entry", PTR, [("params", I64), ("entry", PTR), ("regs", PTR), ("inputs", PTR),
                                       ("outputs", PTR), ("work", PTR), ("frame", PTR), ("done", PTR)]) as (
            f, params, entry, regs, inputs, outputs, work, frame, done):
        f.store(1, done)
        plan = f.load(PTR, entry, ENTRY.plan)
        count = f.variable(I64, 0)
        values = f.variable(PTR, None)
        with f.if_(plan != 0, LIKELY):
            n = f.load(I64, entry, ENTRY.inputs)
            f.call(b.c("memcpy"), inputs, f.load(PTR, entry, ENTRY.input_template), n * 8)
            fills = f.load(PTR, entry, ENTRY.fill_records)
            with f.for_(f.load(I64, entry, ENTRY.fills)) as i:
                r = fills + i * FILL.size
                f.store(f.element(PTR, regs, f.load(I64, r, FILL.register)),
                        f.index(inputs, f.load(I64, r, FILL.input)))
            f.call(b.own("open_frame"), plan, frame, inputs)
            with f.if_(f.call(b.own("bind"), plan, frame) != FINE, UNLIKELY):
                f.store(0, done)
                f.ret(None)
            f.call(b.own("run_bound"), plan, frame, outputs)
            with f.if_(f.load(I64, frame, FRAME.code) != FINE, UNLIKELY):
                f.call(b.own("forget_failure"), frame)
                f.store(0, done)
                f.ret(None)
            count.set(f.load(I64, plan, PLAN.outputs))
            values.set(f.load(PTR, frame, FRAME.values))
        f.store(f.load(I64, entry, ENTRY.hits) + 1, entry, ENTRY.hits)
        kind = f.load(I64, entry, ENTRY.result_kind)
        with f.if_(kind == RESULT_OUTPUT, LIKELY):
            f.ret(f.load(PTR, outputs))
        with f.if_(kind == RESULT_NONE):
            none = f.load(PTR, b.data(f, "types", 4), 16)
            f.call(b.c("Py_IncRef"), none)
            with f.for_(count.get()) as i:
                f.call(b.c("Py_DecRef"), f.element(PTR, outputs, i))
            f.ret(none)
        with f.if_(kind == RESULT_FINISH):
            f.ret(f.call(b.own("call_finish"), params, entry, outputs, count.get(), regs))
        result = f.call(b.own("build"), entry, outputs, regs, values.get(), work)
        with f.for_(count.get()) as i:
            f.call(b.c("Py_DecRef"), f.element(PTR, outputs, i))
        f.ret(result)


def _emit_builtin(b: Base) -> None:
    m = b.m
    with m.function("call_compiled", PTR, [("self", PTR), ("args", PTR), ("n", I64), ("kwnames", PTR)],
                    internal=False) as (
            f, self, args, n, kwnames):
        call = f.load(PTR, self, PAYLOAD)
        snapshot = f.load(PTR, call, CALL.snapshot)
        entries = f.load(I64, snapshot, SNAPSHOT.entries)
        done = f.slot(I64)
        f.store(0, done)
        with f.if_(entries != 0, LIKELY):
            regs = f.stack(f.load(I64, snapshot, SNAPSHOT.stack_bytes))
            owner = f.load(PTR, snapshot, SNAPSHOT.owner)
            f.call(b.c("Py_IncRef"), owner)
            result = f.variable(PTR, None)
            # Read now: the signature may be changed while the call runs.
            params, varargs, varkw = (f.load(I64, call, k) for k in (CALL.params, CALL.varargs, CALL.varkw))
            bound = f.call(b.own("bind_arguments"), call, args, n, kwnames, regs)
            with f.if_(bound != 0, LIKELY):
                inputs = f.index(regs, f.load(I64, snapshot, SNAPSHOT.registers))
                outputs = f.index(inputs, f.load(I64, snapshot, SNAPSHOT.inputs))
                work = f.index(outputs, f.load(I64, snapshot, SNAPSHOT.outputs))
                frame = regs + (f.load(I64, snapshot,
                                       SNAPSHOT.stack_bytes) - f.load(I64, snapshot, SNAPSHOT.frame_bytes))
                pointers = f.load(PTR, snapshot, SNAPSHOT.entry_pointers)
                with f.for_loop(entries) as (i, loop):
                    entry = f.element(PTR, pointers, i)
                    fits = f.call(b.own("entry_fits"), params, entry, regs)
                    with f.if_(fits != 0, LIKELY):
                        with f.if_(fits < 0, UNLIKELY):
                            f.store(1, done)
                            loop.break_()
                        result.set(f.call(b.own("run_entry"), params, entry, regs, inputs, outputs, work, frame, done))
                        with f.if_(f.load(I64, done) != 0, LIKELY):
                            loop.break_()
            f.call(b.own("drop_extra"), regs, varargs, varkw)
            f.call(b.c("Py_DecRef"), owner)
            with f.if_(f.load(I64, done) != 0, LIKELY):
                f.store(f.load(I64, call, CALL.fast_calls) + 1, call, CALL.fast_calls)
                f.ret(result.get())
        f.store(f.load(I64, call, CALL.slow_calls) + 1, call, CALL.slow_calls)
        f.ret(f.call(b.c("PyObject_Vectorcall"), f.load(PTR, call, CALL.slow), args, n, kwnames))

    # The same for a callable object that holds this function's address and, behind it, the built-in's `self`.
    with m.function("call_object", PTR, [("callable", PTR), ("args", PTR), ("flagged", I64), ("kwnames", PTR)],
                    internal=False) as (f, callable_, args, flagged, kwnames):
        place = callable_ + f.load(I64, f.load(PTR, callable_, TYPE), VECTORCALL_OFFSET)
        n = flagged & ARGUMENTS
        f.ret(f.call(b.own("call_compiled"), f.load(PTR, place, 8), args, n, kwnames))


__all__ = ["F64", "I16", "I32", "I8", "RESULT_RECIPE", "Function", "Value", "emit_call"]

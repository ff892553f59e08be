"""Emits `bind`: reads a call's inputs, finds the sizes, checks the conditions. It has no effect outside the frame."""

from __future__ import annotations

from .builder import UNLIKELY, Function, Value
from .emit_base import I1, I16, I32, I64, PTR, VOID, Base, fail
from .records import (
    BAD_ARGUMENT,
    CONDITION,
    CONDITION_FAILED,
    CONDITION_OPS,
    FINE,
    FRAME,
    INPUT,
    PLAN,
    READ,
    READ_TENSOR,
    READ_WRITTEN,
    SIZE_OP,
    SIZE_OPS,
    SYMBOL,
)


def emit_bind(b: Base) -> None:
    _emit_frame(b)
    _emit_inputs(b)
    _emit_sizes(b)
    _emit_check(b)
    m = b.m
    # Returns the code: FINE or what went wrong.
    with m.function("bind", I64, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        f.call(b.own("read_inputs"), plan, frame)
        with f.if_(f.load(I64, plan, PLAN.dynamic) != 0):
            f.call(b.own("find_sizes"), plan, frame)
        f.ret(f.load(I64, frame, FRAME.code))


def _emit_frame(b: Base) -> None:
    """open_frame(plan, frame, args): the frame's arrays lie behind its fields."""
    with b.m.function("open_frame", VOID, [("plan", PTR), ("frame", PTR), ("args", PTR)]) as (f, plan, frame, args):
        f.store(plan, frame, FRAME.plan)
        f.store(args, frame, FRAME.args)
        at = frame + FRAME.size
        f.store(at, frame, FRAME.buffers)
        at = f.index(at, f.load(I64, plan, PLAN.buffers))
        for name in ("news", "kept", "storages", "scratch"):
            f.store(at, frame, getattr(FRAME, name))
            at = f.index(at, f.load(I64, plan, PLAN.inputs if name == "storages" else getattr(PLAN, name)))
        constants = f.load(PTR, plan, PLAN.constants)
        f.store(constants, frame, FRAME.values)
        with f.if_(f.load(I64, plan, PLAN.dynamic) != 0):
            f.store(at, frame, FRAME.values)
            f.call(b.c("memcpy"), at, constants, f.load(I64, plan, PLAN.values) * 8)
        for name in ("kept_count", "arena", "chunk", "arena_used", "status", "step", "message", "code", "threads",
                     "held"):
            f.store(0, frame, getattr(FRAME, name))
        with f.for_(f.load(I64, plan, PLAN.news)) as i:
            f.store(0, f.index(f.load(PTR, frame, FRAME.news), i))
        f.ret()


def _emit_inputs(b: Base) -> None:
    m = b.m
    # Data pointers of tensor inputs and values of integer inputs.
    with m.function("read_inputs", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        buffers, args = f.load(PTR, frame, FRAME.buffers), f.load(PTR, frame, FRAME.args)
        records = f.load(PTR, plan, PLAN.read_records)
        overflow = f.slot(I32)
        with f.for_(f.load(I64, plan, PLAN.reads)) as i:
            r = records + i * READ.size
            obj = f.element(PTR, args, f.load(I64, r, READ.argument))
            kind = f.load(I64, r, READ.kind)
            with f.if_(kind == READ_TENSOR) as tensor:
                start = b.data_pointer(f, b.impl(f, obj), f.load(I64, r, READ.itemsize))
                f.store(start, f.index(buffers, f.load(I64, r, READ.buffer)))
            with tensor.else_():
                with f.if_(kind == READ_WRITTEN) as written:
                    slot = f.index(buffers, f.load(I64, r, READ.buffer))
                    f.call(b.c("aoti_torch_get_data_ptr"), obj + b.o.handle, slot)
                with written.else_():
                    value = f.call(b.c("PyLong_AsLongLongAndOverflow"), obj, overflow)
                    values = f.load(PTR, frame, FRAME.values)
                    f.store(value, f.index(values, f.load(I64, r, READ.value)))
                    bad = (f.load(I32, overflow) != 0)
                    with f.if_(bad, UNLIKELY):
                        fail(f, b, frame, BAD_ARGUMENT, m.string("an integer input is beyond 64 bits").at(f))
        f.ret()


def size_arithmetic(f: Function, op: Value, x: Value, y: Value) -> Value:
    """The result of SIZE_OPS number `op`; floor division and modulo are Python's; y is not 0 for those."""
    out = f.variable(I64, 0)
    with f.switch(op, list(SIZE_OPS.values())) as s:
        for name, code in SIZE_OPS.items():
            with s.case(code):
                if name == "add":
                    out.set(x + y)
                elif name == "sub":
                    out.set(x - y)
                elif name == "mul":
                    out.set(x * y)
                elif name == "min":
                    out.set(f.smin(x, y))
                elif name == "max":
                    out.set(f.smax(x, y))
                elif name == "copy":
                    out.set(x)
                else:
                    r = x.remainder(y)
                    down = (r != 0) & ((r ^ y) < 0)
                    if name == "mod":
                        out.set(f.select(down, r + y, r))
                    else:
                        out.set((x / y) - f.zext(down))
    return out.get()


def _emit_sizes(b: Base) -> None:
    m = b.m
    with m.function("find_sizes", VOID, [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        values, args = f.load(PTR, frame, FRAME.values), f.load(PTR, frame, FRAME.args)
        records = f.load(PTR, plan, PLAN.symbol_records)
        with f.for_(f.load(I64, plan, PLAN.symbols)) as i:
            r = records + i * SYMBOL.size
            obj = f.element(PTR, args, f.load(I64, r, SYMBOL.input))
            _, sizes, strides = b.sizes_strides(f, b.impl(f, obj))
            dim, to = f.load(I64, r, SYMBOL.dim), f.index(values, f.load(I64, r, SYMBOL.value))
            with f.if_(dim >= 0):
                f.store(f.element(I64, sizes, dim), to)
            with f.if_(dim < 0):
                f.store(f.element(I64, strides, dim ^ -1), to)
        records = f.load(PTR, plan, PLAN.program_records)
        with f.for_(f.load(I64, plan, PLAN.program)) as i:
            r = records + i * SIZE_OP.size
            op = f.load(I64, r, SIZE_OP.op)
            x, y = (f.element(I64, values, f.load(I64, r, k)) for k in (SIZE_OP.a, SIZE_OP.b))
            divides = (op == SIZE_OPS["floordiv"]) | (op == SIZE_OPS["mod"])
            with f.if_((y == 0) & divides, UNLIKELY):
                fail(f, b, frame, CONDITION_FAILED, m.string("a size is divided by zero").at(f))
                f.ret()
            f.store(size_arithmetic(f, op, x, y), f.index(values, f.load(I64, r, SIZE_OP.to)))
        records = f.load(PTR, plan, PLAN.condition_records)
        with f.for_(f.load(I64, plan, PLAN.conditions)) as i:
            r = records + i * CONDITION.size
            op = f.load(I64, r, CONDITION.op)
            x, y = (f.element(I64, values, f.load(I64, r, k)) for k in (CONDITION.a, CONDITION.b))
            equal, less = x == y, x < y
            holds = f.select(op == CONDITION_OPS["=="], equal, f.select(
                op == CONDITION_OPS["!="], equal ^ 1, f.select(op == CONDITION_OPS["<"], less, less | equal,
                                                               I1), I1), I1)
            with f.if_(holds ^ 1, UNLIKELY):
                f.store(CONDITION_FAILED, frame, FRAME.code)
                f.store(i, frame, FRAME.step)
                f.ret()
        f.ret()


def _emit_check(b: Base) -> None:
    """check_inputs(plan, args): number of the first argument that is not what the plan was made for, or -1."""
    m = b.m
    with m.function("check_inputs", I64, [("plan", PTR), ("args", PTR), ("tensor_type", PTR), ("int_type", PTR)],
                    cold=True) as (f, plan, args, tensor_type, int_type):
        records = f.load(PTR, plan, PLAN.input_records)
        with f.for_(f.load(I64, plan, PLAN.inputs)) as i:
            r = records + i * INPUT.size
            obj = f.element(PTR, args, i)
            type_ = f.load(PTR, obj, 8)
            with f.if_(f.load(I64, r, INPUT.kind) == 0) as tensor:
                with f.if_(type_ != tensor_type):
                    with f.if_(f.call(b.c("PyType_IsSubtype"), type_, tensor_type) == 0, UNLIKELY):
                        f.ret(i)
                impl = b.impl(f, obj)
                n, sizes, strides = b.sizes_strides(f, impl)
                same = (f.zext(f.load(I16, impl, b.o.dtype)) == f.load(I64, r, INPUT.dtype)) & (
                    n == f.load(I64, r, INPUT.ndim))
                with f.if_(same ^ 1, UNLIKELY):
                    f.ret(i)
                shape = f.load(PTR, r, INPUT.shape)
                with f.for_(n) as d:
                    for have, want in ((sizes, shape), (strides, f.index(shape, n))):
                        w = f.element(I64, want, d)
                        # The stride of a dimension of size 1 does not matter to any step.
                        with f.if_((f.element(I64, have, d) != w) & (w >= 0), UNLIKELY):
                            if want is shape:
                                f.ret(i)
                            else:
                                with f.if_(f.element(I64, sizes, d) > 1):
                                    f.ret(i)
            with tensor.else_():
                bad = (type_ != int_type) & (f.load(I64, r, INPUT.kind) == 1)
                with f.if_(bad, UNLIKELY):
                    f.ret(i)
        f.ret(-1)


__all__ = ["FINE", "emit_bind"]

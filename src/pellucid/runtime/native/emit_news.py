"""Emits the making of a call's new tensors: by torch, or, small ones of constant sizes, as copies of an image.

torch's own way takes most of the time of a small call: its allocator aligns by posix_memalign, and sizes, contiguity
and dispatch keys are worked out anew. A copy takes four plain allocations; what is made is an ordinary tensor.
"""

from __future__ import annotations

from ...torchdoor.fresh import ALIGNMENT
from .builder import LIKELY, Function, Value
from .emit_base import I64, PTR, VOID, Base, fail
from .records import CPP_ERROR, FRAME, IMAGE, NEW, PLAN


def emit_news(b: Base) -> None:
    """new_tensor(plan, frame, k): allocates new tensor number k and its buffer's data pointer."""
    m = b.m
    if b.fresh is not None:
        _emit_copy(b)
    with m.function("new_tensor", VOID, [("plan", PTR), ("frame", PTR), ("k", I64)]) as (f, plan, frame, k):
        values = f.load(PTR, frame, FRAME.values)
        r = f.load(PTR, plan, PLAN.new_records) + k * NEW.size
        n = f.load(I64, r, NEW.ndim)
        slot = f.index(f.load(PTR, frame, FRAME.news), k)
        data = f.index(f.load(PTR, frame, FRAME.buffers), f.load(I64, r, NEW.buffer))
        if b.fresh is not None:
            image = f.load(PTR, r, NEW.image)
            with f.if_(image != 0, LIKELY):
                # A profiler of memory is told by torch's allocator only.
                with f.if_(f.call(b.torch("memory_profiling")) ^ 1, LIKELY):
                    with f.if_(f.call(b.own("copy_image"), image, slot, data) != 0, LIKELY):
                        f.ret()
        with f.catching() as catch:
            f.call(b.torch("empty_strided"), slot, f.index(values, f.load(I64, r, NEW.shape)), n,
                   f.index(values, f.load(I64, r, NEW.strides)), n, f.trunc(f.load(I64, r, NEW.dtype), "i16"), 0)
            storage = f.load(PTR, f.load(PTR, slot), b.o.storage)
            f.store(f.load(PTR, storage, b.o.storage_data), data)
            f.ret()
        with catch.handler() as message:
            f.store(None, slot)
            fail(f, b, frame, CPP_ERROR, message)
        f.ret()


def _emit_copy(b: Base) -> None:
    """copy_image(image, slot, data): 1 with a TensorImpl in *slot and its memory in *data, 0 where there is no
    memory."""
    o, fresh = b.o, b.fresh
    assert fresh is not None
    with b.m.function("copy_image", I64, [("image", PTR), ("slot", PTR), ("data", PTR)]) as (f, image, slot, data):
        def copy(name: str) -> Value:
            size = f.load(I64, image, getattr(IMAGE, name + "_bytes"))
            made: Value = f.call(b.c("malloc"), size)
            with f.if_(made != 0, LIKELY):
                f.call(b.c("memcpy"), made, f.load(PTR, image, getattr(IMAGE, name)), size)
            return made

        impl, storage = copy("impl"), copy("storage")
        memory = f.call(b.c("malloc"), f.load(I64, image, IMAGE.data_bytes) + ALIGNMENT)
        version = f.variable(PTR, None)
        good = (impl != 0) & (storage != 0) & (memory != 0)
        with f.if_(f.load(I64, image, IMAGE.version_bytes) != 0, LIKELY) as counted:
            version.set(copy("version"))
            done = good & (version.get() != 0)
            with f.if_(done ^ 1):
                _free(f, b, impl, storage, memory, version.get())
                f.ret(0)
        with counted.else_():
            with f.if_(good ^ 1):
                _free(f, b, impl, storage, memory)
                f.ret(0)
        aligned = f.pointer((f.word(memory) + (ALIGNMENT - 1)) & -ALIGNMENT)
        f.store(storage, impl, o.storage)
        f.store(version.get(), impl, fresh.version)
        f.store(aligned, storage, o.storage_data)
        f.store(memory, storage, fresh.context)
        f.store(Value(f, PTR, f"@{b.c('free').name}"), storage, fresh.deleter)
        f.store(impl, slot)
        f.store(aligned, data)
        f.ret(1)


def _free(f: Function, b: Base, *parts: Value) -> None:
    for p in parts:
        f.call(b.c("free"), p)

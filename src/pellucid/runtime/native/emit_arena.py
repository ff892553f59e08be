"""Emits the arena: a stack of memory a thread, from which each call takes a frame and gives it back at its end.

A thread's region is a list of chunks, the newest on top. A call whose frame does not fit gets a new, bigger chunk on
top of those in use; once a chunk is empty, smaller ones below it that are empty too are freed, and a chunk that was
four times too big for its last 256 frames is freed. The thread's exit frees all.
"""

from __future__ import annotations

from .builder import UNLIKELY
from .emit_base import I32, I64, PTR, VOID, Base
from .records import FRAME, PLAN, Record

CHUNK = Record("previous", "capacity", "top", "uses", "peak", "pad1", "pad2", "pad3")
"""Its memory follows, aligned to 64 bytes."""
FIRST = 1 << 20
KEY = "arena_key"


def emit_arena(b: Base) -> None:
    m = b.m

    def key(f):  # type: ignore[no-untyped-def]
        return f.load(I32, b.data(f, KEY))

    # Frees a list of chunks; the destructor of the thread's key.
    with m.function("arena_free", VOID, [("chunk", PTR)], internal=False, cold=True) as (f, chunk):
        current = f.variable(PTR, chunk)
        with f.loop() as loop:
            c = current.get()
            with f.if_(c == 0):
                loop.break_()
            current.set(f.load(PTR, c, CHUNK.previous))
            f.call(b.c("free"), c)
        f.ret()

    # A new chunk for at least `need` bytes on top of the thread's list; null where there is no memory.
    with m.function("arena_grow", PTR, [("top", PTR), ("need", I64)], cold=True) as (f, top, need):
        capacity = f.variable(I64, f.smax(need, FIRST))
        below = f.variable(PTR, top)
        with f.if_(top != 0):
            capacity.set(f.smax(capacity.get(), f.load(I64, top, CHUNK.capacity) * 2))
            with f.if_(f.load(I64, top, CHUNK.top) == 0):
                below.set(f.load(PTR, top, CHUNK.previous))
                f.call(b.c("pthread_setspecific"), key(f), below.get())
                f.call(b.c("free"), top)
        out = f.slot(PTR)
        size = capacity.get() + CHUNK.size
        with f.if_(f.call(b.c("posix_memalign"), out, 64, size) != 0, UNLIKELY):
            f.ret(None)
        made = f.load(PTR, out)
        f.store(below.get(), made, CHUNK.previous)
        f.store(capacity.get(), made, CHUNK.capacity)
        for name in ("top", "uses", "peak"):
            f.store(0, made, getattr(CHUNK, name))
        f.call(b.c("pthread_setspecific"), key(f), made)
        f.ret(made)

    # Takes the call's arena frame; false where there is no memory.
    with m.function("arena_enter", "i1", [("plan", PTR), ("frame", PTR)]) as (f, plan, frame):
        values = f.load(PTR, frame, FRAME.values)
        wanted = f.element(I64, values, f.load(I64, plan, PLAN.arena_bytes))
        need = (wanted + 63) & -64
        chunk = f.variable(PTR, f.call(b.c("pthread_getspecific"), key(f)))
        fits = f.variable("i1", 0)
        with f.if_(chunk.get() != 0):
            c = chunk.get()
            fits.set(f.load(I64, c, CHUNK.top) + need <= f.load(I64, c, CHUNK.capacity))
        with f.if_(fits.get() ^ 1, UNLIKELY):
            chunk.set(f.call(b.own("arena_grow"), chunk.get(), need))
            with f.if_(chunk.get() == 0, UNLIKELY):
                f.ret(0)
        c = chunk.get()
        top = f.load(I64, c, CHUNK.top)
        f.store(c, frame, FRAME.chunk)
        f.store(c + (top + CHUNK.size), frame, FRAME.arena)
        f.store(need, frame, FRAME.arena_used)
        f.store(top + need, c, CHUNK.top)
        f.store(f.smax(f.load(I64, c, CHUNK.peak), top + need), c, CHUNK.peak)
        f.ret(1)

    # Gives it back.
    with m.function("arena_leave", VOID, [("frame", PTR)]) as (f, frame):
        c = f.load(PTR, frame, FRAME.chunk)
        with f.if_(c == 0):
            f.ret()
        top = f.load(I64, c, CHUNK.top) - f.load(I64, frame, FRAME.arena_used)
        f.store(top, c, CHUNK.top)
        with f.if_(top == 0):
            below = f.load(PTR, c, CHUNK.previous)
            with f.if_(below != 0, UNLIKELY):
                with f.if_(f.load(I64, below, CHUNK.top) == 0):
                    f.store(f.load(PTR, below, CHUNK.previous), c, CHUNK.previous)
                    f.call(b.c("free"), below)
            uses = f.load(I64, c, CHUNK.uses) + 1
            f.store(uses, c, CHUNK.uses)
            with f.if_((uses & 255) == 0, UNLIKELY):
                small = f.load(I64, c, CHUNK.peak) * 4 < f.load(I64, c, CHUNK.capacity)
                big = f.load(I64, c, CHUNK.capacity) > FIRST
                f.store(0, c, CHUNK.peak)
                current = f.call(b.c("pthread_getspecific"), key(f)) == c
                with f.if_(small & big & current):
                    f.call(b.c("pthread_setspecific"), key(f), f.load(PTR, c, CHUNK.previous))
                    f.call(b.c("free"), c)
        f.ret()

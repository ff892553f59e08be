"""Emits the checks of an entry: conditions on arguments, global state, polled words, tensors and dictionaries."""

from __future__ import annotations

from collections.abc import Callable

from . import records as R
from .builder import LIKELY, UNLIKELY, Function, Value
from .emit_base import I8, I16, I32, I64, PTR, Base
from .emit_setters import COUNTED, DICT_EVENTS, REPLACED, WATCHED
from .records import BLOCK, CHECK, DICT, ENTRY, KEY, LAYOUT, OWNED, PROBE, TENSOR_CHECK, WORD

DICT_USED, DICT_TAG = 16, 24
TYPE, LENGTH, TUPLE_ITEMS, LIST_ITEMS, FLOAT, CELL = 8, 16, 24, 24, 16, 16
"""Offsets that pylayout() verifies on the running Python."""
UNROLLED = 8
"""Dictionaries whose tags are compared between two branches"""
BLOCK_VECTOR = 8
"""Words of a tensor compared at once"""


def emit_checks(b: Base) -> None:
    _emit_probes(b)
    _emit_dicts(b)
    _emit_state(b)
    _emit_tensor(b)
    _emit_overlap(b)
    _emit_arguments(b)


def _emit_probes(b: Base) -> None:
    m = b.m
    with m.function("probes_fit", I64, [("records", PTR), ("count", I64)]) as (f, records, count):
        with f.for_(count) as i:
            r = records + i * PROBE.size
            got = f.call(f.load(PTR, r, PROBE.function), f.load(I64, r, PROBE.argument), ret=I64, params=[I64])
            value = f.variable(I64, got)
            offset = f.load(I64, r, PROBE.offset)
            with f.if_(offset >= 0):
                value.set(f.load(I64, f.pointer(got) + offset))
            with f.if_((value.get() & f.load(I64, r, PROBE.mask)) != f.load(I64, r, PROBE.expected), UNLIKELY):
                f.ret(0)
        f.ret(1)


def _emit_dicts(b: Base) -> None:
    m = b.m
    # The dictionary d against the keys of a DICT record.
    with m.function("keys_fit", I64, [("r", PTR), ("d", PTR)], cold=True) as (f, r, d):
        used = f.load(I64, r, DICT.used)
        with f.if_((used >= 0) & (f.load(I64, d, DICT_USED) != used)):
            f.ret(0)
        keys, n = f.load(PTR, r, DICT.key_records), f.load(I64, r, DICT.keys)
        with f.for_(n) as i:
            k = keys + i * KEY.size
            have = f.call(b.c("_PyDict_GetItem_KnownHash"), d, f.load(PTR, k, KEY.key), f.load(I64, k, KEY.hash))
            want = f.load(I64, k, KEY.value)
            with f.if_(want == 1) as any_:
                with f.if_(have == 0):
                    f.ret(0)
            with any_.else_():
                with f.if_(f.word(have) != want):
                    f.ret(0)
        with f.if_(f.load(I64, r, DICT.ordered) != 0):
            position, key = f.slot(I64), f.slot(PTR)
            f.store(0, position)
            with f.for_(n) as i:
                with f.if_(f.call(b.c("PyDict_Next"), d, position, key, None) == 0):
                    f.ret(0)
                with f.if_(f.load(PTR, key) != f.load(PTR, keys + i * KEY.size, KEY.key)):
                    f.ret(0)
        f.ret(1)

    # Some tag has changed: look into the dictionaries whose tag did, and keep the new tags.
    with m.function("changed_dicts_fit", I64, [("entry", PTR)], cold=True) as (f, entry):
        pointers, tags = f.load(PTR, entry, ENTRY.dict_pointers), f.load(PTR, entry, ENTRY.dict_tags)
        records = f.load(PTR, entry, ENTRY.dict_records)
        with f.for_(f.load(I64, entry, ENTRY.dicts)) as i:
            d = f.element(PTR, pointers, i)
            tag = f.load(I64, d, DICT_TAG)
            with f.if_(tag != f.element(I64, tags, i)):
                with f.if_(f.call(b.own("keys_fit"), records + i * DICT.size, d) == 0):
                    f.ret(0)
                f.store(tag, f.index(tags, i))
        f.ret(1)

    with m.function("dicts_fit", I64, [("entry", PTR)]) as (f, entry):
        events = f.load(I64, b.data(f, DICT_EVENTS))
        with f.if_(events == f.load(I64, entry, ENTRY.dict_events)):
            f.ret(1)
        pointers, tags = f.load(PTR, entry, ENTRY.dict_pointers), f.load(PTR, entry, ENTRY.dict_tags)
        count = f.load(I64, entry, ENTRY.dicts)
        different = f.variable(I64, 0)

        def differs(i: Value) -> Value:
            return f.load(I64, f.element(PTR, pointers, i), DICT_TAG) ^ f.element(I64, tags, i)

        whole = count & -UNROLLED
        with f.for_(whole, 0, UNROLLED) as i:
            together = differs(i)
            for k in range(1, UNROLLED):
                together = together | differs(i + k)
            different.set(different.get() | together)
        with f.for_(count, whole) as i:
            different.set(different.get() | differs(i))
        with f.if_(different.get() != 0, UNLIKELY):
            with f.if_(f.call(b.own("changed_dicts_fit"), entry) == 0):
                f.ret(0)
        with f.if_(f.load(I64, b.data(f, WATCHED)) != 0):
            f.store(events, entry, ENTRY.dict_events)
        f.ret(1)


def _emit_state(b: Base) -> None:
    m = b.m
    # Somewhere an object's class or dictionary was replaced: whether these objects still have theirs.
    with m.function("owners_fit", I64, [("entry", PTR)], cold=True) as (f, entry):
        owned = f.load(PTR, entry, ENTRY.owned_records)
        with f.for_(f.load(I64, entry, ENTRY.owned)) as i:
            r = owned + i * OWNED.size
            with f.if_(f.load(I64, f.load(PTR, r, OWNED.address)) != f.load(I64, r, OWNED.expected)):
                f.ret(0)
        pointers, records = f.load(PTR, entry, ENTRY.dict_pointers), f.load(PTR, entry, ENTRY.dict_records)
        with f.for_(f.load(I64, entry, ENTRY.dicts)) as i:
            slot = f.load(PTR, records + i * DICT.size, DICT.slot)
            with f.if_(slot != 0):
                with f.if_(f.load(I64, slot) != f.element(I64, pointers, i)):
                    f.ret(0)
        f.ret(1)

    with m.function("blocks_fit", I64, [("records", PTR), ("count", I64)]) as (f, records, count):
        from_ = b.o.keyset + 8 - 8 * R.BLOCK_WORDS
        wide = f"<{BLOCK_VECTOR} x i64>"
        with f.for_(count) as i:
            r = records + i * BLOCK.size
            impl, layout = f.load(PTR, r, BLOCK.impl), f.load(PTR, r, BLOCK.layout)
            with f.if_(f.load(PTR, f.load(PTR, r, BLOCK.object), b.o.handle) != impl, UNLIKELY):
                f.ret(0)

            def differs(word: int) -> Value:
                have, want, mask = (f.emit(wide, f"load {wide}, ptr {f.offset(p, at + 8 * word).name}, align 8")
                                    for p, at in ((impl, from_), (layout, LAYOUT.w0), (layout, LAYOUT.m0)))
                return (have ^ want) & mask

            together = differs(0)
            last = R.BLOCK_WORDS - BLOCK_VECTOR
            for word in (*range(BLOCK_VECTOR, last, BLOCK_VECTOR), last):
                together = together | differs(word)
            bits = f.emit(f"i{64 * BLOCK_VECTOR}", f"bitcast {wide} {together.name} to i{64 * BLOCK_VECTOR}")
            with f.if_(bits != 0, UNLIKELY):
                f.ret(0)
            grad = f.load(I64, layout, LAYOUT.requires_grad)
            with f.if_(grad != 2):
                with f.if_(_grad_differs(f, b, impl, grad), UNLIKELY):
                    f.ret(0)
        f.ret(1)

    with m.function("state_fits", I64, [("entry", PTR)]) as (f, entry):
        replaced = f.load(I64, b.data(f, REPLACED))
        with f.if_(replaced != f.load(I64, entry, ENTRY.replaced), UNLIKELY):
            with f.if_(f.call(b.own("owners_fit"), entry) == 0):
                f.ret(0)
            with f.if_(f.load(I64, b.data(f, COUNTED)) != 0):
                f.store(replaced, entry, ENTRY.replaced)
        records = f.load(PTR, entry, ENTRY.word_records)
        with f.for_(f.load(I64, entry, ENTRY.words)) as i:
            # In order: a word may say that the next address is still valid.
            r = records + i * WORD.size
            got = f.load(I64, f.load(PTR, r, WORD.address)) & f.load(I64, r, WORD.mask)
            with f.if_(got != f.load(I64, r, WORD.expected), UNLIKELY):
                f.ret(0)
        with f.if_(f.call(b.own("dicts_fit"), entry) == 0, UNLIKELY):
            f.ret(0)
        f.ret(f.call(b.own("blocks_fit"), f.load(PTR, entry, ENTRY.block_records), f.load(I64, entry, ENTRY.blocks)))


def _grad_differs(f: Function, b: Base, impl: Value, want: Value) -> Value:
    """Whether requires_grad is not `want` (0, 1; 2: not asked)."""
    got = f.variable(I64, 0)
    meta = f.load(PTR, impl, b.o.autograd_meta)
    with f.if_(meta != 0):
        got.set(f.zext(f.load(I8, meta, b.o.meta_requires_grad)))
    return (want != 2) & (got.get() != want)


def _emit_tensor(b: Base) -> None:
    m = b.m
    with m.function("tensor_fits", I64, [("r", PTR), ("obj", PTR)]) as (f, r, obj):
        with f.if_(f.load(PTR, obj, TYPE) != f.load(PTR, r, TENSOR_CHECK.type), UNLIKELY):
            f.ret(0)
        impl = b.impl(f, obj)
        same = (f.load(I64, impl, b.o.keyset) == f.load(I64, r, TENSOR_CHECK.keyset)) & (
            f.zext(f.load(I16, impl, b.o.dtype)) == f.load(I64, r, TENSOR_CHECK.dtype))
        n, sizes, strides = b.sizes_strides(f, impl)
        with f.if_((same & (n == f.load(I64, r, TENSOR_CHECK.ndim))) ^ 1, UNLIKELY):
            f.ret(0)
        with f.if_(_grad_differs(f, b, impl, f.load(I64, r, TENSOR_CHECK.requires_grad)), UNLIKELY):
            f.ret(0)
        want_sizes = r + TENSOR_CHECK.size
        want_strides = f.index(want_sizes, n)
        with f.for_(n) as d:
            for have, want in ((sizes, want_sizes), (strides, want_strides)):
                w = f.element(I64, want, d)
                with f.if_((f.element(I64, have, d) != w) & (w != -1)):
                    f.ret(0)
        with f.if_(f.load(I64, r, TENSOR_CHECK.contiguous) != 0):
            step = f.variable(I64, 1)
            with f.for_(n) as k:
                d = n - 1 - k
                size = f.element(I64, sizes, d)
                with f.if_((size != 1) & (f.element(I64, strides, d) != step.get())):
                    # An empty tensor is contiguous whatever its strides.
                    with f.if_(f.load(I64, impl, b.o.numel) != 0):
                        f.ret(0)
                step.set(step.get() * size)
        f.ret(1)


def _emit_overlap(b: Base) -> None:
    m = b.m
    # [first, last) of the bytes that a tensor spans; empty where it has no elements.
    with m.function("extent", "void", [("obj", PTR), ("itemsize", I64), ("out", PTR)], cold=True) as (
            f, obj, itemsize, out):
        impl = b.impl(f, obj)
        n, sizes, strides = b.sizes_strides(f, impl)
        last = f.variable(I64, 0)
        with f.for_(n) as d:
            last.set(last.get() + (f.element(I64, sizes, d) - 1) * f.element(I64, strides, d))
        start = f.word(b.data_pointer(f, impl, itemsize))
        f.store(start, out)
        f.store(start + (last.get() + 1) * itemsize, out, 8)
        with f.if_(f.load(I64, impl, b.o.numel) == 0):
            f.store(start, out, 8)
        f.ret()
    # records: pairs (register, itemsize) after the CHECK's count in `a`
    with m.function("disjoint", I64, [("r", PTR), ("regs", PTR)], cold=True) as (f, r, regs):
        n = f.load(I64, r, CHECK.a)
        pairs = r + CHECK.size
        one, two = f.slot(I64, 2), f.slot(I64, 2)
        with f.for_(n) as i:
            f.call(b.own("extent"), f.element(PTR, regs, f.element(I64, pairs, i * 2)),
                   f.element(I64, pairs, i * 2 + 1), one)
            with f.for_(i) as j:
                f.call(b.own("extent"), f.element(PTR, regs, f.element(I64, pairs, j * 2)),
                       f.element(I64, pairs, j * 2 + 1), two)
                a0, a1, b0, b1 = (f.load(I64, p, o) for p in (one, two) for o in (0, 8))
                with f.if_((a0 < b1) & (b0 < a1) & (a0 != a1) & (b0 != b1)):
                    f.ret(0)
        f.ret(1)


class _Check:
    """One CHECK record being emitted: its fields, and the ends of its conditions."""

    def __init__(self, f: Function, b: Base, r: Value, regs: Value):
        self.f, self.b, self.r, self.regs = f, b, r, regs
        self.obj = f.element(PTR, regs, f.load(I64, r, CHECK.register))
        self.a, self.b_, self.c = (f.load(I64, r, k) for k in (CHECK.a, CHECK.b, CHECK.c))

    def need(self, condition: Value) -> None:
        with self.f.if_(condition ^ 1, UNLIKELY):
            self.f.ret(0)

    def is_type(self, word: Value) -> None:
        self.need(self.f.word(self.f.load(PTR, self.obj, TYPE)) == word)

    def put(self, value: Value) -> None:
        """The loaded object, into register `a`."""
        self.need(value != 0)
        self.f.store(value, self.f.index(self.regs, self.a))

    def number(self) -> Value:
        f = self.f
        overflow = f.slot(I32)
        self.is_type(f.load(I64, self.b.data(f, "types", 4), 8))
        value: Value = f.call(self.b.c("PyLong_AsLongLongAndOverflow"), self.obj, overflow)
        self.need(f.load(I32, overflow) == 0)
        return value


def _range(k: _Check) -> None:
    value = k.number()
    k.need((value >= k.a) & (value <= k.b_))


def _text(k: _Check) -> None:
    with k.f.if_(k.f.word(k.obj) != k.a, UNLIKELY):
        k.is_type(k.b_)
        k.need(k.f.call(k.b.c("PyUnicode_Compare"), k.obj, k.f.pointer(k.a)) == 0)


def _item(k: _Check) -> None:
    k.is_type(k.c)
    k.need(k.b_ < k.f.load(I64, k.obj, LENGTH))
    k.put(k.f.element(PTR, k.obj + TUPLE_ITEMS, k.b_))


def _list_item(k: _Check) -> None:
    k.is_type(k.c)
    k.need(k.b_ < k.f.load(I64, k.obj, LENGTH))
    k.put(k.f.element(PTR, k.f.load(PTR, k.obj, LIST_ITEMS), k.b_))


def _looked_up(k: _Check) -> Value:
    """obj[key] or null; b points to (key, hash, type)."""
    p = k.f.pointer(k.b_)
    k.is_type(k.f.load(I64, p, 16))
    found: Value = k.f.call(k.b.c("_PyDict_GetItem_KnownHash"), k.obj, k.f.load(PTR, p), k.f.load(I64, p, 8))
    return found


def _instance_dict(k: _Check) -> None:
    k.is_type(k.c)
    slot = k.f.call(k.b.c("_PyObject_GetDictPtr"), k.obj)
    k.need(slot != 0)
    k.put(k.f.load(PTR, slot))


def _float(k: _Check) -> None:
    k.is_type(k.b_)
    k.need(k.f.load(I64, k.obj, FLOAT) == k.a)


def _length(k: _Check) -> None:
    k.is_type(k.c)
    k.need(k.f.load(I64, k.obj, LENGTH) == k.a)


def _cell(k: _Check) -> None:
    k.is_type(k.c)
    k.put(k.f.load(PTR, k.obj, CELL))


def _keys(k: _Check) -> None:
    """a points to a DICT record of which only the keys matter."""
    k.is_type(k.b_)
    k.need(k.f.call(k.b.own("keys_fit"), k.f.pointer(k.a), k.obj) == 1)


OFTEN: dict[int, Callable[[_Check], None]] = {
    R.CHECK_TYPE: lambda k: k.is_type(k.a),
    R.CHECK_IS: lambda k: k.need(k.f.word(k.obj) == k.a),
    R.CHECK_INT: lambda k: k.need(k.number() == k.a),
    R.CHECK_RANGE: _range,
    R.CHECK_TEXT: _text,
}
RARE: dict[int, Callable[[_Check], None]] = {
    R.CHECK_FLOAT: _float, R.CHECK_LENGTH: _length, R.CHECK_ITEM: _item, R.CHECK_LIST_ITEM: _list_item,
    R.CHECK_DICT_ITEM: lambda k: k.put(_looked_up(k)),
    R.CHECK_DICT_ABSENT: lambda k: k.need(_looked_up(k) == 0),
    R.CHECK_INSTANCE_DICT: _instance_dict,
    R.CHECK_SAME: lambda k: k.need(k.f.word(k.obj) == k.f.word(k.f.element(PTR, k.regs, k.a))),
    R.CHECK_CONSTANT: lambda k: k.f.store(k.f.pointer(k.b_), k.f.index(k.regs, k.a)),
    R.CHECK_CELL: _cell, R.CHECK_KEYS: _keys,
    R.CHECK_OVERLAP: lambda k: k.need(k.f.call(k.b.own("disjoint"), k.r, k.regs) == 1),
}


def _emit_arguments(b: Base) -> None:
    """arguments_fit(check words, registers)"""
    m = b.m
    with m.function("rare_check", I64, [("r", PTR), ("regs", PTR)], cold=True) as (f, r, regs):
        k = _Check(f, b, r, regs)
        with f.switch(f.load(I64, r, CHECK.op), list(RARE)) as ops:
            for code, write in RARE.items():
                with ops.case(code):
                    write(k)
            with ops.otherwise():
                f.ret(0)
        f.ret(1)
    with m.function("arguments_fit", I64, [("words", PTR), ("regs", PTR)]) as (f, words, regs):
        at = f.variable(PTR, words)
        with f.loop() as loop:
            r = at.get()
            op = f.load(I64, r, CHECK.op)
            with f.if_(op == R.CHECK_TENSOR, LIKELY):
                with f.if_(f.call(b.own("tensor_fits"), r, f.element(PTR, regs, f.load(I64, r, CHECK.register))) == 0):
                    f.ret(0)
                at.set(f.index(r, f.load(I64, r, CHECK.words)))
                loop.continue_()
            with f.if_(op == R.CHECK_END):
                f.ret(1)
            k = _Check(f, b, r, regs)
            with f.switch(op, list(OFTEN)) as ops:
                for code, write in OFTEN.items():
                    with ops.case(code):
                        write(k)
                with ops.otherwise():
                    k.need(f.call(b.own("rare_check"), r, regs) == 1)
            at.set(f.index(r, f.load(I64, r, CHECK.words)))
        f.unreachable()

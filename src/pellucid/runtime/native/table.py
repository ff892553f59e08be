"""From a Plan to the table of words that the native runner reads."""

from __future__ import annotations

import array
import ctypes
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ...ir.types import Buffer, BufferId, View
from ...schedule.types import KernelStep, NewOutput, Plan, ViewOfInput, ViewOfOutput
from ...shapes.dim import Dim, Size, hint, product
from ...shapes.env import SizeGuard
from ...torchdoor.fresh import image
from ...torchdoor.layout import dtype_code
from ...torchdoor.symbols import Unavailable
from . import records as R
from .sizes import Values

SMALL_ARENA = 1 << 14
"""An arena frame of constant size up to this many bytes lies on the stack."""
RELEASE_NS = 20_000
"""Plans estimated to take longer release the GIL."""
BYTES_PER_NS, FLOPS_PER_NS = 10.0, 60.0
_POINTERS = {"input_records", "read_records", "constants", "symbol_records", "program_records", "condition_records",
             "place_records", "fixed_records", "new_records", "step_words", "commit_records", "output_records"}


def bits(x: float) -> int:
    """The 64 bits of a double as a signed integer."""
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


class Blob:
    """Words with pointers among themselves, fixed up when their address is known."""

    def __init__(self, first: int):
        self.words: list[int] = [0] * first
        self.pointers: list[int] = []

    def add(self, words: Sequence[int]) -> int:
        """Append; returns the byte offset. Words of memory may be unsigned: padding can hold anything."""
        at = 8 * len(self.words)
        self.words.extend([w - (1 << 64) if w >= 1 << 63 else w for w in words])
        return at

    def place(self) -> tuple[Any, int]:
        """The words in memory, and their address."""
        words = array.array("q", self.words)
        base = words.buffer_info()[0]
        for k in self.pointers:
            words[k] += base
        return (ctypes.c_int64 * len(words)).from_buffer(words), base


class TableBuilder:
    """Builds one plan's table. The extern rows (externs.py) write their steps through it."""

    def __init__(self, plan: Plan, kernels: Mapping[str, int], guards: Sequence[SizeGuard] = ()):
        self.plan = plan
        self.kernels = kernels
        self.values = Values()
        self.held: list[Any] = []
        """Objects that the table points to."""
        self.number: dict[BufferId, int] = {b.id: k for k, b in enumerate(plan.buffers)}
        self.buffers: dict[BufferId, Buffer] = {b.id: b for b in plan.buffers}
        self.named: set[BufferId] = set()
        """The buffers whose address something reads."""
        self.step_of: list[int] = []
        """For each native step, the number of the plan's step."""
        self.kept = 0
        self.python_steps = 0
        self.ns = 0.0
        self.release = False
        self.scratch = len(plan.outputs)
        self.adopted: set[BufferId] = set()
        self.inputs = self._input_count()
        self.guards = (*plan.preconditions, *(g for g in guards if g not in plan.preconditions))

    # ---------------------------------------------------------------- helpers for rows
    def view_handle(self, v: View) -> list[int]:
        """A HANDLE record: the view as a tensor."""
        buffer = self.buffers[v.buffer]
        return [self.slot(v.buffer), self.values.of(v.offset), len(v.shape), self.values.run(v.shape),
                self.values.run(v.strides), dtype_code(v.dtype), v.dtype.itemsize, self.whole_input(v, buffer)]

    def whole_input(self, v: View, buffer: Buffer) -> int:
        """The number of the graph input that this view is all of, or -1."""
        whole = (buffer.space in ("input", "constant") and buffer.index is not None and v.shape == buffer.shape
                 and v.strides == buffer.strides and v.dtype == buffer.dtype and type(v.offset) is int
                 and v.offset == 0)
        return buffer.index if whole else -1  # type: ignore[return-value]

    def return_record(self, v: View | None) -> list[int]:
        """A RETURN record: take the returned tensor as the buffer where the view is all of it, else copy; None:
        drop."""
        if v is None:
            return [-1, 0, 0, 0, 0, 0, 0, -1, 0]
        buffer = self.buffers[v.buffer]
        whole = v.shape == buffer.shape and v.strides == buffer.strides and type(v.offset) is int and v.offset == 0
        adopt = whole and buffer.space in ("arena", "output") and self._written_once(v.buffer)
        new = -1
        if adopt and buffer.space == "output":
            new = self.new_number[v.buffer]
            self.adopted.add(v.buffer)
        self.kept += 1
        return [self.slot(v.buffer), self.values.of(v.offset), len(v.shape), self.values.run(v.shape),
                self.values.run(v.strides), dtype_code(v.dtype), v.dtype.itemsize, new, int(adopt)]

    def _written_once(self, buffer: BufferId) -> bool:
        return self.writers.get(buffer, 0) == 1

    def count(self, flops: float = 0.0, bytes_: float = 0.0, ns: float = 0.0) -> None:
        """Add to the estimate of the plan's time."""
        self.ns += flops / FLOPS_PER_NS + bytes_ / BYTES_PER_NS + ns

    # ---------------------------------------------------------------- parts
    def _input_count(self) -> int:
        """How many arguments the plan takes: the highest input that anything names, plus one."""
        plan = self.plan
        used = [b.index for b in plan.buffers if b.space in ("input", "constant") and b.index is not None]
        used += [d.input for d in plan.symbols] + [c.input for c in plan.commits]
        used += [o.input for o in plan.outputs if isinstance(o, ViewOfInput)]
        return max(used, default=-1) + 1

    def slot(self, buffer: BufferId) -> int:
        """Where the address of a buffer stands that a step, an output or a commit names."""
        self.named.add(buffer)
        return self.number[buffer]

    def _inputs(self, blob: Blob, count: int) -> list[int]:
        by_index: dict[int, Buffer] = {b.index: b for b in self.plan.buffers
                                       if b.space in ("input", "constant") and b.index is not None}
        scalars = {d.input: d for d in self.plan.symbols if d.dim is None}
        written = self._written_inputs()
        words: list[int] = []
        for i in range(count):
            b = by_index.get(i)
            if b is not None:
                shape = [-1 if isinstance(s, Dim) else s for s in (*b.shape, *b.strides)]
                blob.pointers.append(-len(words) - R.INPUT.shape // 8 - 1)
                words += [0, self.number[b.id], b.dtype.itemsize, dtype_code(b.dtype), len(b.shape), blob.add(shape), 0,
                          int(b.id in written)]
            elif i in scalars:
                words += [1, -1, 0, 0, 0, 0, self.values.symbol(scalars[i].sym), 0]
            else:
                words += [2, -1, 0, 0, 0, 0, 0, 0]
        return words

    def _reads(self) -> list[int]:
        """READ records of the arguments that a step, an output or a commit names; called when all are written."""
        written = self._written_inputs()
        words: list[int] = []
        for b in self.plan.buffers:
            if b.space not in ("input", "constant") or b.index is None or b.id not in self.named:
                continue
            kind = R.READ_WRITTEN if b.id in written else R.READ_TENSOR
            words += R.READ.words(kind=kind, argument=b.index, buffer=self.number[b.id],
                                  itemsize=b.dtype.itemsize)
        for d in self.plan.symbols:
            if d.dim is None:
                words += R.READ.words(kind=R.READ_INTEGER, argument=d.input, value=self.values.symbol(d.sym))
        return words

    def _written_inputs(self) -> set[BufferId]:
        out: set[BufferId] = set()
        for s in self.plan.steps:
            ids = s.kernel.writes if isinstance(s, KernelStep) else [v.buffer for v in s.extern.outs]
            out |= {i for i in ids if self.buffers[i].space == "input"}
        return out

    def _count_writers(self) -> dict[BufferId, int]:
        n: dict[BufferId, int] = {}
        for s in self.plan.steps:
            for i in set(s.kernel.writes if isinstance(s, KernelStep) else [v.buffer for v in s.extern.outs]):
                n[i] = n.get(i, 0) + 1
        return n

    def _kernel(self, step: KernelStep) -> list[int]:
        k = step.kernel
        if k.name not in self.kernels:
            raise ValueError(f"no machine code for kernel {k.name!r}; known: {', '.join(self.kernels) or 'none'}")
        self.scratch = max(self.scratch, len(k.buffers))
        self.count(bytes_=sum(hint(product(b.shape)) * b.dtype.itemsize for b in k.buffers), ns=50)
        v = self.values
        return [R.STEP_KERNEL, R.KERNEL_STEP.size // 8 + len(k.buffers), self.kernels[k.name], len(k.buffers),
                v.run(k.symbols), v.of(step.extent), v.of(step.grain), int(step.can_raise or k.can_raise),
                *(self.slot(b.id) for b in k.buffers)]

    def _outputs(self) -> tuple[list[int], list[int], int]:
        """(NEW records, OUTPUT records, number of new tensors)"""
        v = self.values
        news: list[int] = []
        made: list[int] = []
        for b, k in self.new_number.items():
            buf = self.buffers[b]
            news += [self.slot(b), k, dtype_code(buf.dtype), len(buf.shape), v.run(buf.shape), v.run(buf.strides),
                     int(b in self.adopted), self._image(buf)]
        for o in self.plan.outputs:
            place = [len(o.shape), v.run(o.shape), v.run(o.strides), v.of(o.offset)]
            if isinstance(o, NewOutput):
                buf = self.buffers[o.buffer]
                same = (o.shape, o.strides, o.offset) == (buf.shape, buf.strides, 0)
                made += [R.NEW_TENSOR if same else R.NEW_VIEW, self.new_number[o.buffer], *place]
            elif isinstance(o, ViewOfInput):
                made += [R.INPUT_ITSELF if o.whole else R.INPUT_VIEW, o.input, *place]
            elif isinstance(o, ViewOfOutput):
                made += [R.OUTPUT_ITSELF if o.whole else R.OUTPUT_VIEW, o.output, *place]
            else:
                raise TypeError(f"{type(o).__name__} is no kind of output")
        return news, made, len(self.new_number)

    def _image(self, buf: Buffer) -> int:
        """The address of the IMAGE of an output tensor that is small and of constant sizes, else 0."""
        sizes = (*buf.shape, *buf.strides)
        if any(type(n) is not int for n in sizes):
            return 0
        try:
            made = image([hint(n) for n in buf.shape], [hint(n) for n in buf.strides], buf.dtype)
        except Unavailable:
            return 0
        parts = [ctypes.create_string_buffer(p, max(len(p), 1)) for p in (made.impl, made.storage, made.version)]
        words: list[int] = []
        for part, content in zip(parts, (made.impl, made.storage, made.version), strict=True):
            words += [ctypes.addressof(part), len(content)]
        record = (ctypes.c_int64 * (R.IMAGE.size // 8))(*words, made.nbytes)
        self.held += [parts, record]
        return ctypes.addressof(record)

    # ---------------------------------------------------------------- all together
    def build(self, single: bool, raiser: Any, owner: Any, inputs: int | None = None) -> tuple[Any, int]:
        """(memory, address) of the table. `inputs`: number of arguments, where the plan does not use the last ones."""
        from .externs import extern_steps

        plan, v = self.plan, self.values
        blob = Blob(R.PLAN.size // 8)
        head: dict[str, int] = {}
        self.new_number = {b.id: k for k, b in enumerate(b for b in plan.buffers if b.space == "output")}
        self.writers = self._count_writers()
        symbols: list[int] = []
        for d in plan.symbols:
            at = v.symbol(d.sym)
            if d.dim is not None:
                symbols += [d.input, d.dim, at]
        if inputs is not None and inputs < self.inputs:
            raise ValueError(f"inputs={inputs}, but the plan reads input {self.inputs - 1}")
        count = self.inputs if inputs is None else inputs
        input_words = self._inputs(blob, count)
        first = blob.add(input_words) // 8
        blob.pointers = [first - k - 1 if k < 0 else k for k in blob.pointers]
        steps: list[list[int]] = []
        for k, s in enumerate(plan.steps):
            self.release = self.release or s.gil == "release"
            steps += [self._kernel(s)] if isinstance(s, KernelStep) else extern_steps(self, s)
            self.step_of += [k] * (len(steps) - len(self.step_of))
        news, outputs, new_count = self._outputs()
        places = [w for p in plan.places for w in (self.slot(p.buffer), v.of(p.offset))]
        commits = [w for c in plan.commits for w in (
            c.input, self.slot(c.buffer), dtype_code(self.buffers[c.buffer].dtype), len(c.shape), v.run(c.shape),
            v.run(c.strides))]
        conditions = [w for g in self.guards for w in (R.CONDITION_OPS[g.op], v.of(g.lhs), v.of(g.rhs))]
        head["arena_bytes"] = v.of(plan.arena_bytes)
        program = [w for op in v.program for w in op]
        dynamic, reads = bool(v.program or v.symbols), self._reads()
        for name, words in (("symbol_records", symbols), ("program_records", program),
                            ("condition_records", conditions),
                            ("place_records",
                             places), ("new_records", news), ("step_words", [w for s in steps for w in s]),
                            ("commit_records", commits), ("read_records", reads), ("output_records", outputs),
                            ("constants", v.constants),
                            ("fixed_records", [])):
            head[name] = blob.add(words)
        head["input_records"] = 8 * first
        small = type(plan.arena_bytes) is int and plan.arena_bytes <= SMALL_ARENA and plan.places
        head |= {
            "inputs": count, "reads": len(reads) // len(R.READ.fields), "buffers": len(plan.buffers),
            "values": len(v.constants), "dynamic": int(dynamic),
            "symbols": len(symbols) // 3, "program": len(v.program), "conditions": len(self.guards),
            "places": len(plan.places), "news": new_count, "steps": len(steps), "commits": len(plan.commits),
            "writes": int(bool(plan.commits) or bool(self._written_inputs())),
            "outputs": len(plan.outputs), "scratch": self.scratch, "kept": self.kept, "single": int(single),
            "owner": id(owner), "error_type": id(raiser),
            "stack_arena": (hint(plan.arena_bytes) + 63) // 64 * 64 if small else 0,
            "release": int(self.python_steps == 0 and (self.release or self.ns > RELEASE_NS)),
        }
        head["hold"] = int(head["release"] or self.python_steps > 0)
        frame = R.FRAME.size + 8 * (len(plan.buffers) + new_count + self.kept + count + self.scratch +
                                    (len(v.constants) if dynamic else 0))
        head["frame_bytes"] = (frame + 63) // 64 * 64
        for k, name in enumerate(R.PLAN.fields):
            blob.words[k] = head.get(name, 0)
            if name in _POINTERS:
                blob.pointers.append(k)
        return blob.place()


__all__ = ["TableBuilder", "Size", "bits", "torch"]

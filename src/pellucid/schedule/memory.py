"""The call's frame: which bytes each intermediate buffer gets, so that buffers whose lives do not meet share them.

Sizes known now are packed by best fit into one region. A buffer of symbolic size gets a slot after it; a slot is used
again only by a buffer of provably equal or smaller size. A buffer may take the place of one that the same kernel reads
for the last time, where the kernel reads each element only at the point where it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.types import Buffer, BufferId, Expr, For, Kernel, Let, Load, View, Write
from ..ir.walk import loads
from ..shapes.dim import Size, exact_quotient, floordiv, hint
from ..shapes.env import prove
from .types import KernelStep, Place, Step

ALIGN = 64


def touched(step: Step) -> tuple[tuple[BufferId, ...], tuple[BufferId, ...]]:
    """(read, written) buffers of a step."""
    if isinstance(step, KernelStep):
        return step.kernel.reads, step.kernel.writes
    return tuple([v.buffer for v in step.extern.ins]), tuple([v.buffer for v in step.extern.outs])


def nbytes(b: Buffer) -> Size:
    """Bytes that a buffer spans."""
    if any(type(n) is int and n == 0 for n in b.shape):
        return 0
    extent: Size = 1
    for n, s in zip(b.shape, b.strides):
        extent = extent + (n - 1) * s
    return extent * b.dtype.itemsize


def aligned(n: Size) -> Size:
    if isinstance(n, int):
        return -(-n // ALIGN) * ALIGN
    return n if exact_quotient(n, ALIGN) is not None else floordiv(n + (ALIGN - 1), ALIGN) * ALIGN


@dataclass(slots=True)
class _Slot:
    offset: Size
    size: Size
    free: bool = False


class Packer:
    """Places buffers step by step. Static ones in a list of free gaps, symbolic ones in slots."""

    def __init__(self) -> None:
        self.gaps: list[tuple[int, int]] = []
        self.top = 0
        self.slots: list[_Slot] = []
        self.slot_of: dict[BufferId, _Slot] = {}
        self.at: dict[BufferId, tuple[int, int]] = {}

    def take(self, b: BufferId, size: Size) -> None:
        size = aligned(size)
        if not isinstance(size, int):
            slot = next((s for s in self.slots if s.free and (s.size == size or prove("<=", size, s.size))), None)
            if slot is None:
                slot = _Slot(0, size)
                self.slots.append(slot)
            slot.free = False
            self.slot_of[b] = slot
            return
        best = None
        for k, (_, n) in enumerate(self.gaps):
            if n >= size and (best is None or n < self.gaps[best][1]):
                best = k
        if best is not None:
            at, n = self.gaps.pop(best)
            if n > size:
                self.gaps.append((at + size, n - size))
        elif self.gaps and (tail := max(self.gaps))[0] + tail[1] == self.top:  # grow the gap at the end
            self.gaps.remove(tail)
            at, self.top = tail[0], tail[0] + size
        else:
            at, self.top = self.top, self.top + size
        self.at[b] = (at, size)

    def inherit(self, b: BufferId, dead: BufferId) -> None:
        """b takes the place of `dead`, which has the same size and ends here."""
        if dead in self.slot_of:
            self.slot_of[b] = self.slot_of.pop(dead)
        else:
            self.at[b] = self.at.pop(dead)

    def release(self, b: BufferId) -> None:
        if b in self.slot_of:
            self.slot_of.pop(b).free = True
            return
        if b not in self.at:  # its place was inherited
            return
        at, n = self.at.pop(b)
        if n == 0:
            return
        self.gaps.append((at, n))
        self.gaps.sort()
        merged: list[tuple[int, int]] = []
        for a, m in self.gaps:
            if merged and merged[-1][0] + merged[-1][1] == a:
                merged[-1] = (merged[-1][0], merged[-1][1] + m)
            else:
                merged.append((a, m))
        self.gaps = merged


def plan_memory(steps: Sequence[Step], buffers: dict[BufferId, Buffer],
                at_end: set[BufferId]) -> tuple[tuple[Place, ...], Size]:
    """Places of the arena buffers that the steps touch, and the frame's size in bytes.

    `at_end`: buffers that are still read after the last step (commits).
    """
    first: dict[BufferId, int] = {}
    last: dict[BufferId, int] = {}
    for k, step in enumerate(steps):
        for bs in touched(step):
            for b in bs:
                if buffers[b].space == "arena":
                    first.setdefault(b, k)
                    last[b] = k
    for b in at_end:
        if b in last:
            last[b] = len(steps)
    starts: dict[int, list[BufferId]] = {}
    ends: dict[int, list[BufferId]] = {}
    for b, k in first.items():
        starts.setdefault(k, []).append(b)
        ends.setdefault(last[b], []).append(b)
    packer = Packer()
    found: dict[BufferId, tuple[int, int] | _Slot] = {}
    sizes = {b: nbytes(buffers[b]) for b in first}
    for k, step in enumerate(steps):
        dying = [b for b in ends.get(k, ()) if first[b] < k]
        for b in sorted(starts.get(k, ()), key=lambda b: -hint(sizes[b])):
            donor = next((d for d in dying if sizes[d] == sizes[b] and isinstance(step, KernelStep)
                          and same_points(step.kernel, d, b)), None)
            if donor is not None:
                dying.remove(donor)
                packer.inherit(b, donor)
            else:
                packer.take(b, sizes[b])
            found[b] = packer.slot_of[b] if b in packer.slot_of else packer.at[b]
        for b in ends.get(k, ()):
            packer.release(b)
    total: Size = packer.top
    for slot in packer.slots:
        slot.offset = total
        total = total + slot.size
    places = []
    for b, where in found.items():
        offset = where.offset if isinstance(where, _Slot) else where[0]
        places.append(Place(b, offset, sizes[b], first[b], last[b]))
    return tuple(places), total


def same_points(kernel: Kernel, read: BufferId, written: BufferId) -> bool:
    """Whether a straight-line kernel reads `read` only at the very element where it then writes `written`.

    All of a point's loads come before its writes (the printer sees to it), so the two may be one memory.
    """
    body = kernel.body
    while len(body) == 1 and isinstance(body[0], For):
        body = body[0].body
    target: tuple[View, tuple[Expr, ...]] | None = None
    roots: list[Expr] = []
    for s in body:
        if isinstance(s, Let):
            roots.append(s.value)
        elif isinstance(s, Write):
            roots.append(s.value)
            roots.extend(s.index)
            if s.view.buffer == written:
                if target is not None or s.combine is not None:
                    return False
                target = s.view, s.index
        else:
            return False
    if target is None:
        return False
    view, index = target
    mine: list[Load] = [x for x in loads(roots) if x.view.buffer == read]
    return all(x.view.dtype.itemsize == view.dtype.itemsize and x.view.strides == view.strides
               and x.view.offset == view.offset and x.index == index and x.mask is None for x in mine)

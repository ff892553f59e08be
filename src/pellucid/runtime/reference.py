"""The reference runner: plans and programs evaluated in plain Python and torch, with no native piece.

It defines what the native runner must do, step by step: read sizes, check preconditions, lay out the arena, run steps,
make outputs, commit mutations after the last step. Arena and output memory starts as nan, so that a read before a write
or a wrong lifetime shows in the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from ..codegen.types import Unit
from ..graph.types import SymbolDef
from ..ir.types import Buffer, BufferId, Extern, Kernel, Program
from ..schedule.types import ExternStep, KernelStep, NewOutput, Plan, ViewOfInput, ViewOfOutput
from ..shapes.dim import Sym, evaluate
from ..shapes.env import holds
from .errors import IndexFailed, PreconditionFailed, StepFailed
from .evaluate import Evaluator, Memory, flat_of, poison
from .reference_externs import run_extern


def read_symbols(defs: Sequence[SymbolDef], inputs: Sequence[Any]) -> dict[Sym, int]:
    """The values of a plan's symbols in this call."""
    return {d.sym: d.read(inputs[d.input]) for d in defs}


def _input_flats(buffers: Sequence[Buffer], inputs: Sequence[Any]) -> dict[BufferId, torch.Tensor]:
    flats = {}
    for b in buffers:
        if b.space in ("input", "constant") and b.index is not None:
            t = inputs[b.index]
            if not isinstance(t, torch.Tensor) or t.dtype != b.dtype:
                raise TypeError(f"graph input {b.index} should be a {b.dtype} tensor, got "
                                f"{t.dtype if isinstance(t, torch.Tensor) else type(t).__name__}")
            flats[b.id] = flat_of(t)
    return flats


def run_program(program: Program, inputs: Sequence[Any],
                symbol_values: Mapping[Sym, int] | None = None) -> list[torch.Tensor]:
    """Evaluate a program's loops in order; returns its outputs as strided views of their buffers.

    inputs: the graph's inputs (tensors; numbers where the graph has scalars). Raises IndexFailed where an index checked
    by the program is out of range.
    """
    memory = Memory(_input_flats(program.buffers, inputs), symbol_values or {})
    for b in program.buffers:
        if b.id not in memory.flats:
            memory.flats[b.id] = poison(memory.new(b))
    with torch.no_grad():
        for loop in program.loops:
            if isinstance(loop, Extern):
                run_extern(loop, memory)
            else:
                Evaluator(memory).loop(loop)
        return [memory.tensor(v) for v in program.outputs]


def run_kernel(kernel: Kernel, memory: Memory) -> None:
    """Evaluate one kernel's statements on the buffers of `memory`."""
    Evaluator(memory, frozenset(kernel.writes) | {r.id for r in kernel.rows}).kernel(kernel)


class ReferenceRunner:
    """Makes runners of plans that need nothing but torch."""

    name = "reference"

    def make(self, plan: Plan, unit: Unit | None = None) -> Callable[..., tuple[Any, ...]]:
        """A callable of the graph's inputs that returns the tuple of its outputs; `unit` (machine code) is not used.

        Raises PreconditionFailed or StepFailed before anything visible is written.
        """
        return _ReferencePlan(plan)


class _ReferencePlan:
    def __init__(self, plan: Plan):
        self.plan = plan
        self.buffers = {b.id: b for b in plan.buffers}

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        plan = self.plan
        symbols = read_symbols(plan.symbols, inputs)
        for p in plan.preconditions:
            if not holds(p.op, evaluate(p.lhs, symbols), evaluate(p.rhs, symbols)):
                raise PreconditionFailed(f"the plan needs {p}, which does not hold for {_values(symbols)}")
        with torch.no_grad():
            memory, owners = self._memory(inputs, symbols)
            for k, step in enumerate(plan.steps):
                self._step(k, step, memory)
            outputs = self._outputs(inputs, memory, owners)
            values = [memory.flats[c.buffer].as_strided(memory.sizes(c.shape), memory.sizes(c.strides), memory.flats[
                c.buffer].storage_offset()) for c in plan.commits]
        for c, value in zip(plan.commits, values):
            inputs[c.input].copy_(value)
        return outputs

    def _memory(self, inputs: Sequence[Any], symbols: Mapping[Sym, int]) -> tuple[Memory, dict[BufferId, torch.Tensor]]:
        """The flat tensor of every buffer, and the storage-owning tensor of each output buffer."""
        plan = self.plan
        memory = Memory(_input_flats(plan.buffers, inputs), symbols)
        frame = torch.empty(memory.size(plan.arena_bytes), dtype=torch.uint8).fill_(255)
        for place in plan.places:
            b = self.buffers[place.buffer]
            at, n = memory.size(place.offset), memory.size(place.nbytes)
            if at % 64:
                raise ValueError(f"buffer {b.id} is placed at byte {at} of the arena, which is not a multiple of 64")
            memory.flats[b.id] = frame[at:at + n].view(b.dtype)
        owners = {}
        for b in plan.buffers:
            if b.space == "output":
                owners[b.id] = poison(torch.empty_strided(memory.sizes(b.shape), memory.sizes(b.strides),
                                                          dtype=b.dtype, device=b.device))
                memory.flats[b.id] = flat_of(owners[b.id])
        return memory, owners

    def _step(self, number: int, step: KernelStep | ExternStep, memory: Memory) -> None:
        try:
            if isinstance(step, KernelStep):
                run_kernel(step.kernel, memory)
            else:
                run_extern(step.extern, memory)
        except IndexFailed as e:
            origins = step.kernel.origins if isinstance(step, KernelStep) else ()
            raise StepFailed(f"step {number}: {e}", number, origins[0] if origins else None) from e
        except (RuntimeError, ValueError, IndexError) as e:
            if not step.can_raise:
                raise
            raise StepFailed(f"step {number}: {e}", number) from e

    def _outputs(self, inputs: Sequence[Any], memory: Memory, owners: dict[BufferId, torch.Tensor]) -> tuple[Any, ...]:
        made: list[Any] = []
        for o in self.plan.outputs:
            shape, strides = memory.sizes(o.shape), memory.sizes(o.strides)
            offset = memory.size(o.offset)
            if isinstance(o, NewOutput):
                t = owners[o.buffer]
                if offset or t.shape != shape or t.stride() != strides:
                    t = t.as_strided(shape, strides, offset)
            elif isinstance(o, ViewOfInput) or isinstance(o, ViewOfOutput):
                t = inputs[o.input] if isinstance(o, ViewOfInput) else made[o.output]
                if not o.whole:
                    t = t.as_strided(shape, strides, t.storage_offset() + offset)
            else:
                raise TypeError(f"{type(o).__name__} is no kind of output")
            made.append(t)
        return tuple(made)


def _values(symbols: Mapping[Sym, int]) -> str:
    return ", ".join(f"{s.name} = {v}" for s, v in symbols.items()) or "no symbols"

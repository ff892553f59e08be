"""NativeRunner: makes of a plan a built-in function that runs it without Python bytecode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...schedule.types import KernelStep, Plan
from ...shapes.env import SizeGuard
from ..errors import PreconditionFailed, StepFailed
from . import jit
from . import records as R
from .program import Program, program
from .table import TableBuilder


class NativePlan:
    """A plan's table in memory. `address` is what native code takes; `held` what it points to."""

    __slots__ = ("plan", "kernels", "memory", "address", "held", "__weakref__")

    def __init__(self, plan: Plan, kernels: Mapping[str, int], single: bool = False, inputs: int | None = None,
                 guards: Sequence[SizeGuard] = (), code: Any = ()):
        self.plan, self.kernels = plan, kernels
        builder = TableBuilder(plan, kernels, guards)
        raiser = _raiser(plan, builder)
        self.memory, self.address = builder.build(single, raiser, self, inputs)
        self.held: tuple[Any, ...] = (raiser, code, *builder.held)

    def field(self, name: str) -> int:
        """A word of the table's head, such as "runs"."""
        return int(self.memory[getattr(R.PLAN, name) // 8])


class NativeRunner:
    """Makes plan runners in native code. Raises torchdoor.symbols.Unavailable where that is not possible here."""

    name = "native"

    def __init__(self) -> None:
        self.program: Program = program()

    def prepare(self, plan: Plan, kernels: Mapping[str, int], *, single: bool = False, inputs: int | None = None,
                guards: Sequence[SizeGuard] = ()) -> NativePlan:
        """The plan's table, for a NativeCallable's entry or for `function`.

        kernels: address of each kernel's machine code, by name. single: return the only output itself, not a tuple.
        inputs: number of graph inputs, where the plan does not use the last ones. guards: conditions on sizes beside
        the plan's own preconditions.
        """
        return NativePlan(plan, kernels, single, inputs, guards)

    def function(self, native: NativePlan, name: str = "plan") -> Callable[..., Any]:
        """A built-in that takes the graph's inputs and returns its outputs."""
        me = jit.Self.of(native.address, native, self.program)
        return jit.builtin(name, self.program.address["plan_run"], me)  # type: ignore[no-any-return]

    def make(self, plan: Plan, kernels: Mapping[str, int], *, single: bool = False,
             inputs: int | None = None) -> Callable[..., Any]:
        """A built-in that runs the plan: called with the graph's inputs in order, returns the tuple of its outputs.

        Raises StepFailed (or PreconditionFailed) before anything visible is written; TypeError for wrong arguments.
        """
        return self.function(self.prepare(plan, kernels, single=single, inputs=inputs))


def _raiser(plan: Plan, builder: TableBuilder) -> Callable[[tuple[int, int, int, str | None]], Exception]:
    """Makes the exception for a failed call: (code, step or number, status, message)."""
    def make(info: tuple[int, int, int, str | None]) -> Exception:
        code, number, status, message = info
        if code == R.BAD_ARGUMENT:
            if message is not None:
                return StepFailed(message)
            if number < 0:
                return TypeError("the plan was called with a wrong number of inputs, or by keyword")
            return TypeError(f"graph input {number} is not what the plan was made for{_expected(plan, number)}")
        if code == R.CONDITION_FAILED:
            if message is not None:
                return PreconditionFailed(message)
            return PreconditionFailed(f"the plan needs {builder.guards[number]}, which does not hold in this call")
        if code == R.NO_MEMORY:
            return MemoryError(f"no memory for the plan's arena frame of {plan.arena_bytes} bytes")
        number = builder.step_of[number] if number < len(builder.step_of) else number
        step = plan.steps[number] if number < len(plan.steps) else None
        if code == R.INDEX_FAILED:
            return StepFailed(f"step {number}: an index is out of range (call {status - 1})", number, status - 1)
        origins = step.kernel.origins if isinstance(step, KernelStep) else ()
        return StepFailed(f"step {number}: {message or 'failed'}", number, origins[0] if origins else None)
    return make


def _expected(plan: Plan, number: int) -> str:
    for b in plan.buffers:
        if b.space in ("input", "constant") and b.index == number:
            shape, strides = ", ".join(map(str, b.shape)), ", ".join(map(str, b.strides))
            return f": a {b.dtype} tensor of shape ({shape}) and strides ({strides})"
    return ""

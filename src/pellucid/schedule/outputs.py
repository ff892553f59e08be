"""How what the graph returns is handed out: fresh tensors, real views of inputs or of other outputs, and commits."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.types import Graph
from ..ir.types import Buffer, BufferId, Program, View
from .types import Commit, NewOutput, Output, ViewOfInput, ViewOfOutput


@dataclass(frozen=True, slots=True)
class Handed:
    """outputs and commits of the plan; `owners`: the buffers that own an output's storage, with the output's number."""

    outputs: tuple[Output, ...]
    commits: tuple[Commit, ...]
    owners: dict[BufferId, int]


def hand_out(program: Program, graph: Graph) -> Handed:
    """Classify outputs by storage.

    Values in an input's storage (also where the input is mutated) are views of the input; the first output in any
    other storage owns it, the later ones are views of that one. `whole` means the same tensor object.
    """
    n = len(graph.outputs)
    if len(program.outputs) != n + len(graph.mutations):
        raise ValueError(f"program.outputs names {len(program.outputs)} views; a graph with {n} outputs and "
                         f"{len(graph.mutations)} mutations needs {n + len(graph.mutations)} (use ir.lower.lower)")
    buffers = {b.id: b for b in program.buffers}
    commits = []
    storage_of_input: dict[BufferId, int] = {b.id: b.index for b in program.buffers
                                             if b.space == "input" and b.index is not None}
    whole_input = {g.value: i for i, g in enumerate(graph.inputs)}
    for m, view in zip(graph.mutations, program.outputs[n:]):
        if buffers[view.buffer].space == "input" and buffers[view.buffer].index == m.input:
            continue
        commits.append(Commit(m.input, view.buffer, view.shape, view.strides))
        storage_of_input[view.buffer] = m.input
        whole_input[m.value] = m.input
    outputs: list[Output] = []
    owners: dict[BufferId, int] = {}
    first_of: dict[int, int] = {}
    for k, (value, view) in enumerate(zip(graph.outputs, program.outputs)):
        if view.buffer in storage_of_input:
            i = storage_of_input[view.buffer]
            outputs.append(ViewOfInput(i, view.shape, view.strides, view.offset, whole_input.get(value) == i))
        elif view.buffer in owners:
            same = first_of.get(value)
            base = same if same is not None else owners[view.buffer]
            offset = view.offset - program.outputs[base].offset
            outputs.append(ViewOfOutput(base, view.shape, view.strides, offset, same is not None))
        else:
            owners[view.buffer] = k
            outputs.append(_new(buffers[view.buffer], view))
        first_of.setdefault(value, k)
    return Handed(tuple(outputs), tuple(commits), owners)


def _new(b: Buffer, view: View) -> NewOutput:
    return NewOutput(b.id, view.dtype, view.shape, view.strides, view.offset)

"""The opaque core operator: a torch call without an entry of its own, run through the dispatcher from Python."""

from __future__ import annotations

from typing import Any

from ...graph.build import GraphBuilder
from ...graph.types import Node, Ref, TensorMeta
from ...ir.build import Lowering
from ...ir.opaque import Slot
from ...ir.types import View
from ..registry import lowering, op


def _opaque(name: str, **flags: Any) -> None:
    @op(name, "target", "args", "kwargs", "metas", can_raise=True, **flags)
    def rule(builder: GraphBuilder, target: str, args: tuple[Any, ...], kwargs: tuple[Any, ...],
             metas: tuple[TensorMeta, ...]) -> tuple[TensorMeta, ...]:
        """target: torchdoor.operators.operator_name; kwargs: (name, value) pairs; metas: of the results."""
        return metas

    @lowering(name)
    def lower(lx: Lowering, node: Node) -> None:
        target, args, kwargs, metas = node.args
        ins: list[View] = []

        def template(x: Any) -> Any:
            if type(x) is Ref:
                ins.append(lx.view(x))
                return Slot(len(ins) - 1)
            return tuple([template(y) for y in x]) if type(x) in (tuple, list) else x
        filled = template(args), template(kwargs)
        lx.extern("opaque", ins, [lx.out(node, k) for k in range(len(metas))], can_raise=True, target=target,
                  args=filled[0], kwargs=filled[1])


_opaque("opaque")
_opaque("opaque_python", runs_python=True)
_opaque("opaque_rng", rng=True)

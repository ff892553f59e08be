"""How the arguments of an opaque call are written down: a structure in which `Slot(k)` stands for operand number k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Slot:
    """Operand number `index` of the extern call."""

    index: int


def fill(template: Any, operands: Sequence[torch.Tensor]) -> Any:
    """The arguments, with operands in their slots."""
    if type(template) is Slot:
        return operands[template.index]
    if type(template) is tuple:
        return tuple([fill(x, operands) for x in template])
    return template

"""What torch says of an operator: whether it writes, aliases, draws random numbers or needs data for shapes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

OpOverload = torch._ops.OpOverload
OpOverloadPacket = torch._ops.OpOverloadPacket


@dataclass(frozen=True, slots=True)
class Effects:
    """Of all overloads that a call could mean (out= forms left out)."""

    writes: bool
    aliases: bool
    rng: bool
    data_shape: bool
    """The result's shape or value depends on data (nonzero, item ...)."""
    custom: bool
    """Not of torch's own namespaces: may run any Python."""
    makes: bool
    """Makes a new tensor from numbers: takes a device."""


def effects(target: Any) -> Effects | None:
    """Of an operator overload, an overload packet, or a torch callable that has an operator's name; None if unknown."""
    overloads = _overloads(target)
    if not overloads:
        return None
    infos = [a.alias_info for o in overloads for a in o._schema.arguments if a.alias_info is not None]
    tags = {t for o in overloads for t in o.tags}
    return Effects(any(i.is_write for i in infos), any(not i.is_write for i in infos) or _aliased_results(overloads),
                   torch.Tag.nondeterministic_seeded in tags,
                   torch.Tag.dynamic_output_shape in tags or torch.Tag.data_dependent_output in tags,
                   overloads[0].namespace not in ("aten", "prims", "quantized"),
                   all(any(a.name == "device" for a in o._schema.arguments) for o in overloads))


def _aliased_results(overloads: list[Any]) -> bool:
    return any(r.alias_info is not None and not r.alias_info.is_write for o in overloads for r in o._schema.returns)


def _overloads(target: Any) -> list[Any]:
    if isinstance(target, OpOverload):
        return [target]
    packet = target if isinstance(target, OpOverloadPacket) else None
    if packet is None:
        name = target if isinstance(target, str) else getattr(target, "__name__", "")
        if name.isidentifier() and operator_name(target) is not None:
            packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return []
    every = [getattr(packet, n) for n in packet.overloads()]
    return [o for o in every if not any(a.is_out for a in o._schema.arguments)]


def operator_name(target: Any) -> str | None:
    """A process-independent name of a torch callable that `operator_by_name` finds again, or None."""
    if isinstance(target, str):
        return f"method:{target}"
    if isinstance(target, OpOverload):
        return f"op:{target.namespace}:{target._schema.name.partition('::')[2]}:{target._overloadname}"
    if isinstance(target, OpOverloadPacket):
        return f"op:{target._qualified_op_name.replace('::', ':')}:"
    name = getattr(target, "__name__", "")
    for space in _SPACES:
        if getattr(_SPACES[space], name, None) is target:
            return f"{space}:{name}"
    for space in ("linalg", "fft", "special"):
        short = name.removeprefix(space + "_")
        if short != name and getattr(_SPACES[space], short, None) is target:
            return f"{space}:{short}"
    return None


class _Drawn:
    """drawn.uniform_(x, ...): a new tensor of x's shape, strides and dtype, filled by x's in-place method."""

    def __getattr__(self, name: str) -> Callable[..., torch.Tensor]:
        fill = getattr(torch.Tensor, name)

        def drawn(x: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
            new = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
            return fill(new, *args, **kwargs)  # type: ignore[no-any-return]
        return drawn


_SPACES: dict[str, Any] = {"drawn": _Drawn(), "torch": torch, "method": torch.Tensor, "functional": torch.nn.functional,
                           "linalg": torch.linalg, "fft": torch.fft, "special": torch.special,
                           "nn": torch._C._nn}


@functools.cache
def operator_by_name(name: str) -> Callable[..., Any]:
    """The callable that `operator_name` named. Raises LookupError where torch has none."""
    space, _, rest = name.partition(":")
    try:
        if space != "op":
            return getattr(_SPACES[space], rest)
        namespace, op, overload = rest.split(":")
        packet = getattr(getattr(torch.ops, namespace), op)
        return getattr(packet, overload) if overload else packet
    except (KeyError, AttributeError, ValueError) as e:
        raise LookupError(f"torch has no operator named {name!r}") from e


def structure_fields() -> dict[str, tuple[str, ...]]:
    """torch.return_types: name of the function -> fields of the named tuple that it returns."""
    found = ((n, getattr(getattr(torch.return_types, n), "__match_args__", None)) for n in dir(torch.return_types))
    return {n: tuple(fields) for n, fields in found if fields}


def function_names() -> list[str]:
    """Names of torch's functions that go straight to an operator, without private and in-place ones."""
    return [n for n in dir(torch._C._VariableFunctions) if n[0] != "_" and n[-1] != "_" and hasattr(torch, n)]

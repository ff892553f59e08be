"""Traces a real model call by call: runs it eagerly under a function mode and expands each torch call beside it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name

from pellucid.graph.build import GraphBuilder, Val
from pellucid.graph.types import TensorMeta
from pellucid.ops.torch_level import MUTATES, expansion_of

from .harness import leaves, mapped, shape_of

META = frozenset(("__get__", "size", "dim", "numel", "is_floating_point", "stride", "__bool__", "item", "__len__",
                  "is_complex", "is_contiguous", "__set__", "storage_offset", "tolist", "__contains__", "__repr__"))


class Tracer(TorchFunctionMode):
    """`problems` lists what differed or was refused; `graph()` closes the trace."""

    def __init__(self) -> None:
        super().__init__()
        self.builder = GraphBuilder()
        self.vals: dict[int, Val] = {}
        self.held: list[torch.Tensor] = []
        self.inputs: list[torch.Tensor] = []
        self.problems: list[str] = []
        self.calls: Counter[str] = Counter()

    def val(self, t: torch.Tensor) -> Val:
        if id(t) not in self.vals:
            self.held.append(t)
            self.inputs.append(t.detach().clone() if t.is_contiguous() else t.detach())
            meta = TensorMeta(t.dtype, tuple(t.shape), tuple(t.stride()))
            self.vals[id(t)] = self.builder.input(meta, f"input {len(self.inputs)}")
        return self.vals[id(t)]

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__name__", "") in META:
            return func(*args, **kwargs)
        name = resolve_name(func) or str(func)
        self.calls[name] += 1
        vargs, vkwargs = mapped(tuple(args), self.val), mapped(dict(kwargs), self.val)
        expected = func(*args, **kwargs)
        fn = expansion_of(func)
        try:
            assert fn is not None, "no expansion"
            made = fn(self.builder, *vargs, **vkwargs)
        except Exception as e:  # noqa: BLE001  every refusal is a problem to report
            self.problems.append(f"{name}: {type(e).__name__} {e}")
            made = None
        if func in MUTATES or (isinstance(expected, torch.Tensor) and args and expected is args[0]):
            target = args[MUTATES.get(func, 0)]
            self.vals[id(target)] = self.builder.fresh(self.vals[id(target)])
            return expected
        if made is not None and shape_of(made) == shape_of(expected):
            for v, t in zip(leaves(made), leaves(expected)):
                if (v.meta.dtype, v.meta.shape, v.meta.strides) != (t.dtype, tuple(t.shape), t.stride()):
                    self.problems.append(f"{name}: {v.meta} instead of {t.dtype} {tuple(t.shape)} {t.stride()}")
                self.vals[id(t)] = v
                self.held.append(t)
        else:
            self.problems.append(f"{name}: structure {made} instead of {shape_of(expected)}")
        return expected

    def data(self) -> list[torch.Tensor]:
        """The graph's inputs in order: tensors met, and constants that expansions made."""
        met = iter(self.inputs)
        return [g.source.obj if g.role == "constant" else next(met) for g in self.builder.inputs]

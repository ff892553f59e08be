"""What a row of the table of architectures holds, and the inputs that rows share."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

Inputs = Callable[[], dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One architecture: a transformers model class, its configuration's keywords, and the inputs of a call.

    kind      encoder, decoder, encoder-decoder, vision, audio, multimodal, experts, state-space or series
    model     name of the class in `transformers`
    config    keywords of its configuration class; a value that is a function is called with no argument
    inputs    makes the keywords of a call
    wide      changes of the configuration for the float64 copy (some fused operators have no float64 kernel)
    """

    kind: str
    model: str
    config: Mapping[str, Any]
    inputs: Inputs
    wide: Mapping[str, Any] = field(default_factory=dict)


def build(row: Row, seed: int = 0, wide: bool = False) -> nn.Module:
    """The model in eval mode, float32, weights drawn after torch.manual_seed(seed)."""
    import transformers

    cls = getattr(transformers, row.model)
    given = {**row.config, **(row.wide if wide else {})}
    config = cls.config_class(**{k: v() if callable(v) else v for k, v in given.items()})
    torch.manual_seed(seed)
    model: nn.Module = cls(config).eval()
    _no_zeros(model)
    return model


def _no_zeros(model: nn.Module) -> None:
    """Parameters that start as a constant (zero biases, norms of one, layer scales) get some noise: an output of
    zeros proves nothing."""
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and p.numel() and bool((p == p.flatten()[0]).all()):
                p.add_(0.05 * torch.randn_like(p))


def exactly(row: Row, model: nn.Module, inputs: Mapping[str, Any]) -> Any:
    """The output of the same model with the same weights in float64."""
    if row.wide:
        exact = build(row, wide=True)
        exact.load_state_dict(model.state_dict())
    else:
        exact = copy.deepcopy(model)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            return exact.double()(**{k: widen(v) for k, v in inputs.items()})
    finally:
        torch.set_default_dtype(default)


def widen(v: Any) -> Any:
    if isinstance(v, torch.Tensor):
        return v.double() if v.is_floating_point() else v.clone()
    if isinstance(v, (list, tuple)):
        return type(v)(widen(x) for x in v)
    return v


def longest_reduction(model: nn.Module) -> int:
    """K: the longest row of a weight with at least two dimensions, the embedding tables left out."""
    tables = {id(m.weight) for m in model.modules() if isinstance(m, nn.Embedding)}
    rows = [
        max(p.numel() // p.shape[0], p.shape[0] if p.ndim == 2 else 1)
        for p in model.parameters()
        if p.ndim >= 2 and id(p) not in tables
    ]
    return max(rows, default=1)


def floor(model: nn.Module) -> float:
    """The relative error that rounding alone may cause: 4 eps sqrt(K)."""
    return 4 * torch.finfo(torch.float32).eps * math.sqrt(longest_reduction(model))


# ------------------------------------------------------------------ inputs
def _generator(seed: int = 1) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ints(*shape: int, low: int = 5, high: int = 500, seed: int = 1) -> torch.Tensor:
    return torch.randint(low, high, shape, generator=_generator(seed))


def floats(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=_generator(seed))


def ids(length: int = 16, **more: Any) -> Inputs:
    """Two rows of token ids, and further keywords (functions are called)."""
    return lambda: {"input_ids": ints(2, length), **{k: v() if callable(v) else v for k, v in more.items()}}


def masked(length: int = 16) -> Inputs:
    """Token ids of two rows; the last five tokens of the second row are padding."""

    def make() -> dict[str, Any]:
        mask = torch.ones(2, length, dtype=torch.long)
        mask[1, -5:] = 0
        return {"input_ids": ints(2, length), "attention_mask": mask}

    return make


def two(length: int = 16, target: int = 8, mask: bool = False) -> Inputs:
    """Token ids for an encoder and for its decoder."""

    def make() -> dict[str, Any]:
        masks = {"attention_mask": torch.ones(2, length, dtype=torch.long)} if mask else {}
        return {"input_ids": ints(2, length), "decoder_input_ids": ints(2, target, seed=2), **masks}

    return make


def pixels(side: int = 32, channels: int = 3, **more: Any) -> Inputs:
    return lambda: {
        "pixel_values": floats(2, channels, side, side),
        **{k: v() if callable(v) else v for k, v in more.items()},
    }


def wave(length: int = 4000) -> Inputs:
    return lambda: {"input_values": floats(2, length)}

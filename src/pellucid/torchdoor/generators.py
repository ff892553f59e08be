"""torch's own random number generators, saved and put back."""

from __future__ import annotations

from typing import Any

import torch


def save() -> tuple[Any, ...]:
    """The state of the CPU generator, and of the CUDA generators if CUDA is in use."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() and torch.cuda.is_initialized() else None
    return torch.get_rng_state(), cuda


def restore(state: tuple[Any, ...]) -> None:
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])

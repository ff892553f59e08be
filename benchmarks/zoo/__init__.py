"""The table of architectures: small configurations of transformers models with random weights."""

from __future__ import annotations

from . import media, mixed, text, vision
from .row import Row

ROWS: dict[str, Row] = {
    **text.ENCODERS,
    **text.DECODERS,
    **text.PAIRS,
    **mixed.EXPERTS,
    **mixed.STATES,
    **mixed.SERIES,
    **vision.VISION,
    **media.AUDIO,
    **media.MULTIMODAL,
}

__all__ = ["ROWS", "Row"]

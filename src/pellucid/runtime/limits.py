"""The error for a callable that was recompiled too often."""

from __future__ import annotations

from ..errors.types import PellucidError


class LimitError(PellucidError):
    """The recompile limit is reached and options={"at_limit": "raise"}."""

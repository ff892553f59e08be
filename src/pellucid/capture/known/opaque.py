"""The few attributes of C objects that are safe to read during capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OPAQUE_ATTRIBUTES: dict[tuple[type, str], Callable[[Any, Any], Any]] = {}
"""(class, attribute) -> fn(cx, value)."""

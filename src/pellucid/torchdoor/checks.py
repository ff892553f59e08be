"""torch's run-time checks of sizes, by function: each takes a condition first, except the one that takes an error."""

from __future__ import annotations

from typing import Any

import torch

CHECKS: dict[Any, int] = {f: 0 for name in ("_check", "_check_index", "_check_value", "_check_type",
                                            "_check_not_implemented")
                          if (f := getattr(torch, name, None)) is not None}
"""Function -> position of its condition."""
if hasattr(torch, "_check_with"):
    CHECKS[torch._check_with] = 1

IS_SIZE: Any = getattr(torch, "_check_is_size", None)
"""Checks that an integer can be a size."""

"""Rows of the native extern table that call one function of torch's C shim each."""

from __future__ import annotations

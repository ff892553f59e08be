"""Program -> Plan: fusion, order, memory, parallel and vector choices."""

from .plan import schedule

__all__ = ["schedule"]

"""`pellucid env`: what this machine offers the compiler, and what is missing, with the reason."""

from __future__ import annotations

import platform

import click


@click.command()
def env() -> None:
    """Show versions, CPU, threads and which runner will be used, with the reason if it is not the native one."""
    import llvmlite
    import torch

    from ..pipeline import choose_runner, unavailable_reason

    reason = unavailable_reason()
    rows = {
        "python": platform.python_version(), "torch": torch.__version__, "llvmlite": llvmlite.__version__,
        "cpu": torch.backends.cpu.get_cpu_capability(), "threads": torch.get_num_threads(),
        "runner": choose_runner("auto"), "native runner": "available" if reason is None else f"unavailable: {reason}",
    }
    for name, value in rows.items():
        click.echo(f"{name:14s} {value}")

"""The Python interpreters on this machine that pellucid's bytecode layer supports."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")


@functools.cache
def interpreter(version: str) -> str | None:
    """Path of a working interpreter of that version, or None. Looks at PATH, then at pyenv's versions."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(map(str, root.glob(f"{version}.*/bin/python")))]
    for path in found:
        if path is not None:
            out = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True,
                                 text=True)
            if out.returncode == 0 and out.stdout.strip() == version:
                return path
    return None

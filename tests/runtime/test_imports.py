"""What a backend does not need is not loaded for it."""

from __future__ import annotations

import subprocess
import sys


def test_the_eager_backend_loads_no_code_generator():
    code = ("import sys, torch, pellucid\n"
            "f = pellucid.compile(lambda x: x + 1, backend='eager')\n"
            "m = pellucid.compile(torch.nn.Linear(2, 2), backend='eager')\n"
            "f(torch.ones(2)); m(torch.ones(1, 2))\n"
            "print('llvmlite' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"

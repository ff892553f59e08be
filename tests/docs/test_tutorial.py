"""The tutorial's compiler runs as documentation says: it asserts its own results, and stays small."""

import subprocess
import sys
from pathlib import Path

MINI = Path(__file__).parents[2] / "docs" / "tutorial" / "mini.py"


def test_the_tutorial_runs():
    done = subprocess.run([sys.executable, str(MINI)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "define void @kernel" in done.stdout and "expected 2, got 3" in done.stdout


def test_the_tutorial_is_about_300_lines():
    assert len(MINI.read_text().splitlines()) < 320

"""The corpus of language features: native against interpreted, stepped with frozen frames, and carried on midway."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .interpreters import VERSIONS, interpreter

HERE = Path(__file__).parent


def run(version: str, script: str, *args: str) -> subprocess.CompletedProcess[str]:
    path = interpreter(version)
    if path is None:
        pytest.skip(f"no working Python {version} on PATH or among pyenv's versions")
    command = [path, "-W", "ignore", str(HERE / script), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("version", VERSIONS)
def test_corpus(version: str) -> None:
    out = run(version, "run_corpus.py")
    assert out.returncode == 0, out.stdout[-4000:] + out.stderr[-4000:]
    assert " 0 differences" in out.stdout


def test_a_difference_is_noticed(tmp_path: Path) -> None:
    """The runner fails when the concrete domain is wrong."""
    (tmp_path / "broken.py").write_text(
        f"import sys; sys.path.insert(0, {str(HERE)!r})\n"
        "import run_corpus\n"
        "run_corpus.load()\n"
        "from pellucid.capture.concrete import Concrete\n"
        "Concrete.truth = lambda self, f, a: True\n"
        "sys.exit(run_corpus.main(['boolean_logic']))\n")
    out = run(VERSIONS[0], str(tmp_path / "broken.py"))
    assert out.returncode == 1, out.stderr[-2000:]
    assert "boolean_logic (interpreted)" in out.stdout


def test_canonical_text_is_the_same_on_every_version() -> None:
    texts = {v: run(v, "canonical.py").stdout for v in VERSIONS if interpreter(v)}
    first = next(iter(texts.values()))
    assert first.count("code ") >= 8
    for version, text in texts.items():
        assert text == first, version


@pytest.mark.parametrize("version", VERSIONS)
def test_standard_library_decodes(version: str) -> None:
    """Depths, jumps, handlers and positions of a part of the standard library agree with dis."""
    out = run(version, "check_against_dis.py", "dataclasses", "inspect", "typing", "contextlib", "asyncio.base_events")
    assert out.returncode == 0, out.stdout[-4000:] + out.stderr[-4000:]

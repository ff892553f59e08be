"""The project's own rules, checked: one door to torch's private names, a first line a file, files one can read."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pellucid"
FILES = sorted(SOURCE.rglob("*.py"))
PRIVATE = re.compile(r"(?:\b(?:import|from)\s+torch\.(?:_\w+|fx\.experimental))"
                     r"|\btorch\._[A-Z]\w*|\btorch\.fx\.experimental")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_private_names_of_torch_only_in_torchdoor(path):
    if path.is_relative_to(SOURCE / "torchdoor"):
        return
    code = "\n".join(line.split("#")[0] for line in path.read_text().splitlines())
    assert not PRIVATE.findall(code)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_says_its_idea_first_and_can_be_read_in_one_sitting(path):
    text = path.read_text()
    if text.strip():
        doc = ast.get_docstring(ast.parse(text))
        assert doc, "no first line that says what the file is for"
    assert len(text.splitlines()) <= 800


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_python_version_is_asked_in_bytecode_only(path):
    if path.is_relative_to(SOURCE / "bytecode") or path.is_relative_to(SOURCE / "runtime" / "native"):
        return
    if path.is_relative_to(SOURCE / "torchdoor"):
        return
    assert "sys.version_info" not in path.read_text()
